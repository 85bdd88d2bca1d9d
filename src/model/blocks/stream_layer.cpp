#include "model/blocks/stream_layer.h"

namespace terrace::model {

using compute::Rows;

Result<StreamLayer> StreamLayer::load(Loader& loader, const HyperConnectionShape& shape, BlockPtr mixer,
                                      BlockPtr feed_forward, size_t layer) {
  StreamLayer result;
  result.shape_ = shape;
  TERRACE_TRY(auto before_mixer, HyperConnection::load(loader, shape, fmt::format("blk.{}.hc_attn_", layer), true));
  TERRACE_TRY(auto before_feed_forward,
              HyperConnection::load(loader, shape, fmt::format("blk.{}.hc_ffn_", layer), true));
  result.parts_.push_back({std::move(before_mixer), std::move(mixer)});
  result.parts_.push_back({std::move(before_feed_forward), std::move(feed_forward)});
  return result;
}

size_t StreamLayer::workspace() const {
  size_t most = 0;
  for (const Part& part : parts_) most = std::max({most, part.connection.workspace(), part.block->workspace()});
  return most + 2 * Workspace::padded(shape_.hidden) + Workspace::padded(shape_.streams);
}

void StreamLayer::forward(const StepContext& context, Rows streams) const {
  for (const Part& part : parts_) {
    context.work.begin(streams.count * workspace());
    const Rows amounts = context.work.rows(streams.count, shape_.streams),
               x = context.work.rows(streams.count, shape_.hidden),
               out = context.work.rows(streams.count, shape_.hidden);
    const size_t mark = context.work.mark();
    part.connection.read(context, streams, amounts, x);
    context.work.back_to(mark);
    part.block->forward(context, x, out);
    part.connection.write(context, out, amounts, streams);
  }
}

}  // namespace terrace::model

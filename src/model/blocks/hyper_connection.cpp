#include "model/blocks/hyper_connection.h"

namespace terrace::model {

using compute::Activation;
using compute::Rows;

Result<HyperConnection> HyperConnection::load(Loader& loader, const HyperConnectionShape& shape,
                                              const std::string& prefix, bool inject) {
  HyperConnection connection;
  connection.shape_ = shape;
  const size_t width = shape.streams * shape.hidden;
  TERRACE_TRY(connection.norm_, loader.vector(prefix + "norm.weight", width));
  TERRACE_TRY(connection.down_, loader.matrix(prefix + "down.weight", shape.low_rank, width));
  TERRACE_TRY(connection.up_, loader.matrix(prefix + "up.weight", width, shape.low_rank));
  if (inject) {
    TERRACE_TRY(connection.inject_, loader.matrix(prefix + "inject.weight", shape.streams, width));
  }
  return connection;
}

size_t HyperConnection::workspace() const {
  return Workspace::padded(shape_.low_rank) + Workspace::padded(shape_.streams * shape_.hidden);
}

void HyperConnection::read(const StepContext& context, Rows streams, Rows amounts, Rows x) const {
  const compute::Norm norm{norm_.data(), shape_.epsilon, shape_.streams};
  const float share = 1.0F / static_cast<float>(shape_.streams);
  const Rows low = context.work.rows(x.count, shape_.low_rank), mix = context.work.rows(x.count, streams.width);
  const compute::Linear down[] = {{down_.get(), nullptr, low, false, share, Activation::silu},
                                  {inject_.get(), nullptr, amounts, false, share, Activation::sigmoid}};
  context.backend.linear(streams, norm, std::span(down).first(inject_ ? 2 : 1));
  const compute::Linear up[] = {{up_.get(), nullptr, mix, false, 1, Activation::sigmoid}};
  context.backend.linear(low, std::nullopt, up);
  context.backend.mix_streams(streams, norm, mix, x);
}

}  // namespace terrace::model

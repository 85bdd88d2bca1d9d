#include "model/blocks/mixture.h"

namespace terrace::model {

using compute::Rows;

Result<MixtureShape> load_mixture_shape(const Loader& loader, const FeedForwardShape& shape) {
  MixtureShape mixture{shape};
  TERRACE_TRY(mixture.experts, loader.count("expert_count", 65536));
  TERRACE_TRY(mixture.used, loader.count("expert_used_count", mixture.experts));
  const bool own_width = loader.has_key("expert_feed_forward_length");
  TERRACE_TRY(mixture.width, loader.count(own_width ? "expert_feed_forward_length" : "feed_forward_length", 1 << 24));
  TERRACE_TRY(mixture.shared_width, loader.count_or_zero("expert_shared_feed_forward_length", size_t{1} << 24));
  return mixture;
}

Result<BlockPtr> MixtureBlock::load(Loader& loader, const MixtureShape& shape, size_t layer) {
  auto block = std::make_unique<MixtureBlock>();
  block->shape_ = shape;
  block->layer_ = layer;
  loader.note_router(layer, shape.used);
  const std::string prefix = fmt::format("blk.{}.", layer);
  if (!shape.norm.empty()) {
    TERRACE_TRY(block->norm_, loader.vector(prefix + shape.norm + ".weight", shape.hidden));
  }
  TERRACE_TRY(block->router_, loader.matrix(prefix + "ffn_gate_inp.weight", shape.experts, shape.hidden));
  TERRACE_TRY(block->router_gain_, loader.vector_or_none(prefix + "ffn_gate_inp.scale", shape.hidden));
  TERRACE_TRY(block->router_bias_, loader.vector_or_none(prefix + "ffn_gate_inp.bias", shape.experts));
  TERRACE_TRY(block->selection_bias_, loader.vector_or_none(prefix + "exp_probs_b.bias", shape.experts));
  TERRACE_CHECK(block->load_experts(loader, prefix + "ffn_"));
  if (shape.shared_width > 0) TERRACE_CHECK(block->load_shared(loader, prefix + "ffn_"));
  return BlockPtr(std::move(block));
}

Status MixtureBlock::load_experts(Loader& loader, const std::string& prefix) {
  const size_t experts = shape_.experts, width = shape_.width, hidden = shape_.hidden;
  const double share = static_cast<double>(shape_.used) / static_cast<double>(experts);
  // gate and up may be one tensor, gate first.
  const bool fused = loader.has(prefix + "gate_up_exps.weight");
  const std::string gate = prefix + (fused ? "gate_up_exps.weight" : "gate_exps.weight"),
                    up = prefix + (fused ? "gate_up_exps.weight" : "up_exps.weight");
  const size_t rows = fused ? 2 * width : width;
  TERRACE_TRY(auto gates, loader.matrices(gate, experts, width, hidden, share, 0, rows));
  TERRACE_TRY(auto ups, loader.matrices(up, experts, width, hidden, share, rows - width, rows));
  TERRACE_TRY(auto downs, loader.matrices(prefix + "down_exps.weight", experts, hidden, width, share));
  TERRACE_TRY(expert_scale_, loader.vector_or_none(prefix + "down_exps.scale", experts));
  TERRACE_TRY(gate_bias_, loader.vector_or_none(prefix + "gate_exps.bias", experts * width));
  TERRACE_TRY(up_bias_, loader.vector_or_none(prefix + "up_exps.bias", experts * width));
  TERRACE_TRY(down_bias_, loader.vector_or_none(prefix + "down_exps.bias", experts * hidden));
  const auto part = [](const std::vector<float>& values, size_t at) {
    return values.empty() ? nullptr : values.data() + at;
  };
  for (size_t e = 0; e < experts; ++e) {
    experts_.push_back({gates[e].get(), ups[e].get(), downs[e].get(), part(gate_bias_, e * width),
                        part(up_bias_, e * width), part(down_bias_, e * hidden)});
    for (auto* list : {&gates, &ups, &downs}) matrices_.push_back(std::move((*list)[e]));
  }
  return Done{};
}

Status MixtureBlock::load_shared(Loader& loader, const std::string& prefix) {
  const size_t width = shape_.shared_width, hidden = shape_.hidden;
  TERRACE_TRY(auto gate, loader.matrix(prefix + "gate_shexp.weight", width, hidden));
  TERRACE_TRY(auto up, loader.matrix(prefix + "up_shexp.weight", width, hidden));
  TERRACE_TRY(auto down, loader.matrix(prefix + "down_shexp.weight", hidden, width));
  if (loader.has(prefix + "gate_inp_shexp.weight")) {
    TERRACE_TRY(shared_gate_, loader.row_matrix(prefix + "gate_inp_shexp.weight", hidden));
  }
  experts_.push_back({gate.get(), up.get(), down.get()});
  for (MatrixPtr* matrix : {&gate, &up, &down}) matrices_.push_back(std::move(*matrix));
  return Done{};
}

size_t MixtureBlock::workspace() const {
  return Workspace::padded(shape_.experts) + Workspace::padded(1) + 2 * Workspace::padded(places());
}

void MixtureBlock::forward(const StepContext& context, Rows x, Rows out) const {
  const Rows scores = context.work.rows(x.count, shape_.experts), shared = context.work.rows(x.count, 1),
             weights = context.work.rows(x.count, places()), chosen = context.work.rows(x.count, places());
  const auto norm = norm_or_none(norm_, shape_.epsilon), own_norm = norm_or_none(router_gain_, shape_.epsilon);
  const compute::Linear projections[] = {
      {router_.get(), data_or_null(router_bias_), scores, /*accumulate=*/false, shape_.router_scale},
      {shared_gate_.get(), nullptr, shared}};
  context.backend.linear(x, own_norm ? own_norm : norm, std::span(projections).first(shared_gate_ ? 2 : 1));
  const compute::Router router{shape_.router, shape_.used, data_or_null(selection_bias_), data_or_null(expert_scale_)};
  const compute::Routes routes{x.count, places(), reinterpret_cast<int32_t*>(chosen.data), weights.data};
  context.backend.route(scores, router, shared_gate_ ? shared : Rows{}, routes);
  if (context.observer) context.observer->routes(layer_, routes, shape_.used);
  context.backend.experts(x, norm, experts_, shape_.function, routes, shape_.residual.scale, shape_.residual.accumulate,
                          out);
}

}  // namespace terrace::model

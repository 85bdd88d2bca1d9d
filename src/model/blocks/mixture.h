// The mixture of experts: a router chooses a few feed-forwards per row; a shared one may see every row.
#pragma once

#include "model/blocks/feed_forward.h"

namespace terrace::model {

struct MixtureShape : FeedForwardShape {
  size_t experts = 0;
  size_t used = 0;
  size_t width = 0;         ///< of an expert
  size_t shared_width = 0;  ///< of the shared expert; 0: none
  compute::Router::Function router = compute::Router::Function::softmax;
  float router_scale = 1;  ///< multiplies the router's scores
};
/// Reads expert counts and widths from metadata.
Result<MixtureShape> load_mixture_shape(const Loader& loader, const FeedForwardShape& shape);

class MixtureBlock : public Block {
 public:
  /// Loads `blk.<layer>.ffn_*_exps`, the router, and the shared expert with its gate if the file has one. Where the
  /// file has ffn_gate_inp.scale, it is the gain of a norm of the router's own.
  static Result<BlockPtr> load(Loader& loader, const MixtureShape& shape, size_t layer);

  size_t workspace() const override;
  void forward(const StepContext& context, compute::Rows x, compute::Rows out) const override;

 private:
  Status load_experts(Loader& loader, const std::string& prefix);
  Status load_shared(Loader& loader, const std::string& prefix);
  size_t places() const { return shape_.used + (shape_.shared_width > 0 ? 1 : 0); }

  MixtureShape shape_;
  size_t layer_ = 0;
  std::vector<float> norm_, router_gain_, router_bias_, selection_bias_, expert_scale_, gate_bias_, up_bias_,
      down_bias_;
  MatrixPtr router_, shared_gate_;
  std::vector<MatrixPtr> matrices_;
  std::vector<compute::Expert> experts_;  ///< the shared one is the last
};

}  // namespace terrace::model

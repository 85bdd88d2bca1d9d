// Both ends of a model: token embeddings and the output head, which may be the same matrix.
#pragma once

#include "model/blocks/block.h"

namespace terrace::model {

class Head {
 public:
  /// Loads token_embd, the final norm of that name (empty: none) and, unless it is tied, output. Embeddings are
  /// multiplied by `embedding_scale` of the metadata, or else by the given one; logits are divided by `logit_scale` and
  /// capped at `final_logit_softcapping`, if those are there.
  static Result<Head> load(Loader& loader, size_t hidden, float epsilon, const std::string& norm = "output_norm.weight",
                           float embedding_scale = 1);

  size_t vocabulary() const { return embedding_->rows(); }
  void embed(compute::Backend& backend, std::span<const int32_t> tokens, compute::Rows out) const {
    backend.embed(*embedding_, tokens, embedding_scale_, out);
  }
  std::optional<compute::Norm> norm() const;  ///< the final one
  /// out row i = the logits of row i of x.
  void logits(compute::Backend& backend, compute::Rows x, const std::optional<compute::Norm>& norm,
              compute::Rows out) const;

 private:
  MatrixPtr embedding_, output_;
  std::vector<float> norm_;
  float epsilon_ = 0;
  float embedding_scale_ = 1;
  float logit_factor_ = 1;
  float soft_cap_ = 0;
};

}  // namespace terrace::model

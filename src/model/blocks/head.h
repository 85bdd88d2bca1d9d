// Both ends of a model: token embeddings and the output head, which may be the same matrix.
#pragma once

#include "model/loader.h"
#include "model/workspace.h"

namespace terrace::model {

class Head {
 public:
  /// Loads token_embd, output_norm and, unless it is tied, output.
  static Result<Head> load(Loader& loader, size_t hidden, float epsilon);

  size_t vocabulary() const { return embedding_->rows(); }
  void embed(compute::Backend& backend, std::span<const int32_t> tokens, compute::Rows out) const {
    backend.embed(*embedding_, tokens, out);
  }
  /// The logits of the rows `wanted` of x.
  void logits(compute::Backend& backend, Workspace& work, compute::Rows x, std::span<const size_t> wanted,
              compute::Rows out) const;

 private:
  MatrixPtr embedding_, output_;
  std::vector<float> norm_;
  float epsilon_ = 0;
};

}  // namespace terrace::model

// A loaded model: one forward function over a step.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "compute/backend.h"
#include "format/gguf.h"

namespace terrace::model {

/// What the rest of the program needs to know about a model.
struct ModelInfo {
  std::string architecture;
  std::string name;
  size_t vocabulary = 0;
  size_t layers = 0;
  size_t hidden = 0;
  size_t trained_context = 0;  ///< positions it was trained for
  size_t page_bytes = 0;       ///< of one KV page: 64 positions of all layers
  uint64_t token_bytes = 0;    ///< file bytes of the tensors that one token reads
  uint64_t token_weights = 0;  ///< weights that one token multiplies with
};

/// The spans of any sequences that go through the model together. Rows are numbered through all spans in order.
struct Step {
  std::span<const int32_t> tokens;  ///< one per row, each below the vocabulary size
  std::span<const compute::RowSpan> spans;
  std::span<const size_t> logit_rows;  ///< rows whose logits are wanted, ascending
};

struct LoadOptions {
  bool half_kv = true;  ///< keys and values in f16, else f32
  size_t context = 0;   ///< positions per sequence; chooses longrope's factors. 0: as trained
  std::function<void(double share)> progress;
};

class Model {
 public:
  virtual ~Model() = default;
  const ModelInfo& info() const { return info_; }

  /// logits row i = the logits after row step.logit_rows[i]; the spans' pages hold the new keys and values.
  virtual void forward(const Step& step, compute::Rows logits) = 0;

 protected:
  ModelInfo info_;
};

/// Loads the model of a GGUF file onto a backend, which must outlive it. Unknown architectures, missing or misshapen
/// tensors and impossible sizes are errors that name them. The file's tensors are not needed afterwards.
Result<std::unique_ptr<Model>> load_model(const format::GgufFile& file, compute::Backend& backend,
                                          const LoadOptions& options);

}  // namespace terrace::model

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
#include "memory/row_table.h"

namespace terrace::model {

/// File bytes that one token reads, by part. Of the experts only those that a token uses count.
struct TokenBytes {
  uint64_t dense = 0;
  uint64_t experts = 0;
  uint64_t head = 0;
  uint64_t sum() const { return dense + experts + head; }
};

/// What the rest of the program needs to know about a model.
struct ModelInfo {
  std::string architecture;
  std::string name;
  size_t vocabulary = 0;
  size_t layers = 0;
  size_t hidden = 0;
  size_t trained_context = 0;  ///< positions it was trained for
  size_t page_bytes = 0;       ///< of one KV page: 64 positions of all layers
  size_t routed_layers = 0;    ///< layers with routers, each of which chooses experts_used per row
  size_t experts_used = 0;
  size_t selecting_layers = 0;  ///< layers that attend to selected blocks
  size_t draft_width = 0;       ///< of the hidden rows that the draft head reads; 0: there is none
  size_t state_bytes = 0;       ///< of a sequence's recurrent states; 0: its pages are all there is
  TokenBytes token_bytes;
  uint64_t token_weights = 0;  ///< weights that one token multiplies with
};

/// Is told what a step decides inside. Called between operations, from the thread that runs the step.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  /// The experts of a layer's rows; of the places per row, the first `routed` are routed ones.
  virtual void routes(size_t layer, const compute::Routes& routes, size_t routed) = 0;
  /// The blocks that a layer's `rows` rows attend to.
  virtual void selection(size_t layer, const compute::Selection& selection, size_t rows) = 0;
};

/// The spans of any sequences that go through the model together. Rows are numbered through all spans in order.
struct Step {
  std::span<const int32_t> tokens;  ///< one per row, each below the vocabulary size
  std::span<const compute::RowSpan> spans;
  std::span<const size_t> logit_rows;  ///< rows whose logits are wanted, ascending
  compute::Rows hidden;                ///< if it has data: where each row's input for the draft head goes
  StepObserver* observer = nullptr;
  compute::Rows outputs = {};  ///< if it has data: where each row goes as the output head sees it, [rows, hidden]
};

/// Rows of the draft head (multi-token prediction). Row i stands at its span's position p, reads the hidden row of p
/// and the token at p + 1, and predicts the token at p + 2.
struct DraftStep {
  std::span<const int32_t> tokens;
  std::span<const compute::RowSpan> spans;
  compute::Rows hidden;      ///< Step::hidden of the rows, or hidden_out of the draft before
  compute::Rows hidden_out;  ///< if it has data: takes the place of the next position's hidden row in a further draft
  StepObserver* observer = nullptr;
};

struct LoadOptions {
  bool half_kv = true;      ///< keys and values in f16, else f32
  size_t context = 0;       ///< positions per sequence; chooses longrope's factors. 0: as trained
  bool draft_head = false;  ///< load the multi-token-prediction head, too; an error when there is none
  /// Opens a table that is read row by row.
  std::function<Result<std::unique_ptr<memory::RowTable>>(const format::GgufFile&, const format::GgufTensor&)>
      open_table = memory::open_disk_table;
  const format::GgufFile* draft_file = nullptr;  ///< where the head's tensors are, if not in the model's own file
  std::function<void(double share)> progress;
};

class Model {
 public:
  virtual ~Model() = default;
  const ModelInfo& info() const { return info_; }

  /// logits row i = the logits after row step.logit_rows[i]; the spans' pages and states then hold the new rows. An
  /// error (a table on disk that cannot be read) leaves them as they were.
  virtual Status forward(const Step& step, compute::Rows logits) = 0;
  /// logits row i = the draft head's after row i; the model must have one.
  virtual Status draft(const DraftStep& step, compute::Rows logits);

 protected:
  ModelInfo info_;
};

/// Loads the model of a GGUF file onto a backend, which must outlive it. Unknown architectures, missing or misshapen
/// tensors and impossible sizes are errors that name them. The file's tensors are not needed afterwards.
Result<std::unique_ptr<Model>> load_model(const format::GgufFile& file, compute::Backend& backend,
                                          const LoadOptions& options);

}  // namespace terrace::model

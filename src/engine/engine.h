// A model with its tokenizer and its memory: sequences advance through it in steps.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compute/cpu/cpu_backend.h"
#include "compute/observing_backend.h"
#include "engine/sequence.h"
#include "memory/kv_pool.h"
#include "model/model.h"
#include "text/tokenizer.h"

namespace terrace::engine {

/// The named set of options that change the answer's bits.
enum class Numeric {
  standard,   ///< activations in 8-bit codes
  reference,  ///< float activations and f32 keys and values: slow, to judge the other one
};

struct EngineOptions {
  size_t threads = 0;  ///< 0: one per usable core
  std::string isa = "auto";
  Numeric numeric = Numeric::standard;
  bool half_kv = true;                           ///< keys and values in f16; the reference profile always takes f32
  size_t context = 0;                            ///< positions per sequence; 0: as many as the model was trained for
  bool draft_head = false;                       ///< load the multi-token-prediction head
  std::string draft_path;                        ///< the file that holds it, when the model's own does not
  compute::ProductObserver* observer = nullptr;  ///< sees the inputs of all products; must outlive the engine
  std::function<void(double share)> progress;    ///< called while loading
};

/// One sequence's part of a step.
struct Advance {
  enum class Logits { none, last, all };
  Sequence* sequence = nullptr;
  std::span<const int32_t> tokens;  ///< at least one
  Logits logits = Logits::last;
};

/// One sequence's part of a step of the draft head: row i stands at position `first` + i and reads tokens[i], the token
/// after that position, and the hidden row of the position.
struct DraftAdvance {
  Sequence* sequence = nullptr;
  size_t first = 0;
  std::span<const int32_t> tokens;
  compute::Rows hidden;
};

class Engine {
 public:
  static Result<std::unique_ptr<Engine>> load(const std::string& path, const EngineOptions& options);

  /// Appends each advance's tokens to its sequence and returns the logits that were asked for, in order; they are valid
  /// until the next step. An error (an unknown token, a full context) leaves all sequences as they were.
  Result<compute::Rows> step(std::span<const Advance> advances, model::StepObserver* observer = nullptr);
  /// Appends tokens to a sequence and returns what the output head would see of them, [tokens, hidden]; valid until the
  /// next call.
  Result<compute::Rows> outputs(Sequence& sequence, std::span<const int32_t> tokens);
  /// What the draft head reads, for all rows of the last step or draft, in order; without a draft head no rows.
  compute::Rows hidden() const { return hidden_; }
  /// The draft head's logits for all rows. Its cache up to `first` must have been filled by drafts before.
  Result<compute::Rows> draft(const DraftAdvance& advance, model::StepObserver* observer = nullptr);

  const model::ModelInfo& info() const { return model_->info(); }
  const format::GgufMetadata& metadata() const { return metadata_; }
  const text::Tokenizer* tokenizer() const { return tokenizer_.get(); }  ///< null when the file has no vocabulary
  compute::CpuBackend& backend() { return *backend_; }
  size_t context() const { return context_; }
  uint64_t file_bytes() const { return file_bytes_; }
  /// An empty KV page of this engine, for a checkpoint that comes from elsewhere. Thread-safe.
  memory::KvPage new_page() { return pool_->allocate(); }
  size_t page_bytes() const { return pool_->page_bytes(); }

  /// Rows that go through the model together when a prompt is read.
  static constexpr size_t kPromptChunk = 512;

 private:
  Engine() = default;
  Result<compute::Rows> run(std::span<const Advance> advances, model::StepObserver* observer, compute::Rows outputs);
  Status check(std::span<const Advance> advances) const;
  Status check_tokens(std::span<const int32_t> tokens) const;
  compute::Rows logit_rows(size_t count);
  compute::Rows next_hidden(size_t count);

  format::GgufMetadata metadata_;
  uint64_t file_bytes_ = 0;
  std::unique_ptr<compute::CpuBackend> backend_;
  std::optional<compute::ObservingBackend> observing_;  // what the model computes on, if somebody observes
  std::unique_ptr<model::Model> model_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  std::optional<memory::KvPool> pool_;
  size_t context_ = 0;
  Buffer logits_, outputs_, hidden_buffers_[2];
  compute::Rows hidden_;
  size_t hidden_buffer_ = 0;  // drafts read the hidden rows of one and write the other
  // Kept between steps, which need not allocate them anew.
  std::vector<int32_t> tokens_;
  std::vector<compute::RowSpan> spans_;
  std::vector<size_t> wanted_;
};

}  // namespace terrace::engine

// A model with its tokenizer and its memory: sequences advance through it in steps.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compute/cpu/cpu_backend.h"
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
  bool half_kv = true;                         ///< keys and values in f16; the reference profile always takes f32
  size_t context = 0;                          ///< positions per sequence; 0: as many as the model was trained for
  std::function<void(double share)> progress;  ///< called while loading
};

/// A conversation in memory: its tokens and the pages of their keys and values.
class Sequence {
 public:
  const std::vector<int32_t>& tokens() const { return tokens_; }
  size_t size() const { return tokens_.size(); }
  /// Forgets the tokens from `length` on.
  void truncate(size_t length);

 private:
  friend class Engine;
  std::vector<int32_t> tokens_;
  std::vector<memory::KvPage> pages_;
  std::vector<std::byte*> page_table_;
};

/// One sequence's part of a step.
struct Advance {
  enum class Logits { none, last, all };
  Sequence* sequence = nullptr;
  std::span<const int32_t> tokens;  ///< at least one
  Logits logits = Logits::last;
};

class Engine {
 public:
  static Result<std::unique_ptr<Engine>> load(const std::string& path, const EngineOptions& options);

  /// Appends each advance's tokens to its sequence and returns the logits that were asked for, in order; they are valid
  /// until the next step. An error (an unknown token, a full context) leaves all sequences as they were.
  Result<compute::Rows> step(std::span<const Advance> advances);

  const model::ModelInfo& info() const { return model_->info(); }
  const format::GgufMetadata& metadata() const { return metadata_; }
  const text::Tokenizer* tokenizer() const { return tokenizer_.get(); }  ///< null when the file has no vocabulary
  compute::CpuBackend& backend() { return *backend_; }
  size_t context() const { return context_; }
  uint64_t file_bytes() const { return file_bytes_; }

  /// Rows that go through the model together when a prompt is read.
  static constexpr size_t kPromptChunk = 512;

 private:
  Engine() = default;
  Status check(std::span<const Advance> advances) const;
  void reserve(Sequence& sequence, size_t length);

  format::GgufMetadata metadata_;
  uint64_t file_bytes_ = 0;
  std::unique_ptr<compute::CpuBackend> backend_;
  std::unique_ptr<model::Model> model_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  std::optional<memory::KvPool> pool_;
  size_t context_ = 0;
  Buffer logits_;
  // Kept between steps, so that a step allocates nothing once they have grown.
  std::vector<int32_t> tokens_;
  std::vector<compute::RowSpan> spans_;
  std::vector<size_t> wanted_;
};

}  // namespace terrace::engine

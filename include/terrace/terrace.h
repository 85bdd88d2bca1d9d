// libterrace: load a model, open a session, generate text.
//
//   auto model = terrace::Model::load("model.gguf", {});
//   if (!model) { puts(model.error().message.c_str()); return 1; }
//   auto session = model->open();
//   auto answer = session.generate(model->tokenize("Once upon a time"), {.max_tokens = 64},
//                                  [](std::string_view piece) { fwrite(piece.data(), 1, piece.size(), stdout); return
//                                  true; });
//
// Errors come as Result values with a sentence for a person; nothing here throws for bad input. A model and its
// sessions share one team of threads: calls that generate must not run at the same time on sessions of one model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "terrace/result.h"

namespace terrace {

struct LoadOptions {
  size_t threads = 0;        ///< 0: one per core that the process may use
  std::string isa = "auto";  ///< auto, scalar, avx2, avxvnni, avx512, avx512vnni: all give the same bits
  bool reference = false;    ///< the reference numeric profile: float activations, f32 keys and values, slow
  bool half_kv = true;       ///< keys and values in 16 bits
  size_t context = 0;        ///< positions per session; 0: as many as the model was trained for
};

/// Sampling by llama.cpp's names; a temperature of 0 is greedy.
struct GenerateOptions {
  size_t max_tokens = SIZE_MAX;
  double temperature = 0.8;
  int64_t top_k = 40;
  double top_p = 0.95;
  double min_p = 0.05;
  double repeat_penalty = 1;
  uint64_t seed = ~uint64_t{0};   ///< ~0: chosen at random; the same seed gives the same text
  std::vector<std::string> stop;  ///< the answer ends before the first of these
};

struct Answer {
  std::string text;
  std::vector<int32_t> tokens;  ///< sampled, an end-of-turn token included
  std::string finish_reason;    ///< stop, length, context or cancelled
};

namespace engine {
class Engine;
class Sequence;
}  // namespace engine

/// A conversation: the tokens it has read, and what the model keeps of them. Not thread-safe; keeps the model alive.
class Session {
 public:
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  /// Reads `prompt` and generates; `sink` gets whole UTF-8 pieces and ends the answer by returning false (it may be
  /// empty). An error leaves the session usable.
  Result<Answer> generate(std::span<const int32_t> prompt, const GenerateOptions& options,
                          const std::function<bool(std::string_view)>& sink = {});
  /// Tokens held so far: prompts and answers.
  const std::vector<int32_t>& tokens() const;
  /// Forgets the tokens from `length` on and returns how many remain. Models with recurrent layers cannot go back:
  /// their sessions forget all tokens unless `length` is their number.
  size_t truncate(size_t length);

 private:
  friend class Model;
  explicit Session(std::shared_ptr<engine::Engine> engine);
  std::shared_ptr<engine::Engine> engine_;
  std::unique_ptr<engine::Sequence> sequence_;
};

/// A loaded model. Copies are cheap and refer to the same model.
class Model {
 public:
  /// Loads a GGUF file (the first one of a split model).
  static Result<Model> load(const std::string& path, const LoadOptions& options);

  Session open() const;
  /// Token ids of a text; `special`: control tokens written in it are parsed. Thread-safe. Empty for a model without a
  /// vocabulary.
  std::vector<int32_t> tokenize(std::string_view text, bool special = true) const;
  /// The bytes of the tokens, control tokens as their text. Thread-safe.
  std::string detokenize(std::span<const int32_t> tokens) const;
  size_t vocabulary() const;
  size_t context() const;

 private:
  explicit Model(std::shared_ptr<engine::Engine> engine) : engine_(std::move(engine)) {}
  std::shared_ptr<engine::Engine> engine_;
};

}  // namespace terrace

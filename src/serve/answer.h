// From tokens to what clients see: text, reasoning and tool calls, with stop strings and a bound on the reasoning.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/scheduler.h"
#include "serve/refusal.h"
#include "text/chat_format/output_parser.h"
#include "text/detokenizer.h"

namespace terrace::serve {

/// Why an answer ended.
struct Ending {
  engine::Finish finish = engine::Finish::stop;
  std::string stop_string;  ///< what ended it, if that was one
  bool called = false;      ///< it holds tool calls
  size_t reasoning_tokens = 0;
};

/// Writes answers in the form of one API. Called from the scheduler's thread.
class AnswerSink {
 public:
  virtual ~AnswerSink() = default;
  virtual void reading(size_t /*choice*/, size_t /*done*/, const engine::Usage& /*usage*/) {}
  /// The tokens of the prompt from the second on, if their log-probabilities were asked for.
  virtual void prompt(size_t /*choice*/, const std::vector<engine::Choice>& /*tokens*/) {}
  /// `tokens` are those that were sampled since the last call, if log-probabilities were asked for.
  virtual void pieces(size_t choice, const std::vector<text::OutputDelta>& deltas,
                      const std::vector<engine::Choice>& tokens) = 0;
  virtual void finished(size_t choice, const Ending& ending, const engine::Usage& usage) = 0;
  virtual void failed(const Refusal& refusal) = 0;
};

struct AnswerOptions {
  std::vector<std::string> stop;
  bool logprobs = false;
  std::optional<text::OutputParser> parser;  ///< none: everything is content, without control tokens
  bool in_reasoning = false;                 ///< the prompt has begun the reasoning
  std::optional<size_t> reasoning_budget;    ///< tokens
  std::vector<int32_t> reasoning_end;        ///< what ends the reasoning when the budget is used up
};

/// One choice's way from the scheduler to its sink.
class Answer : public engine::GenerationListener {
 public:
  /// `lease` keeps the model in memory until the answer is over.
  Answer(const text::Tokenizer& tokenizer, AnswerOptions options, size_t choice, std::shared_ptr<AnswerSink> sink,
         std::shared_ptr<const void> lease);

  void reading(size_t done, const engine::Usage& usage) override { sink_->reading(choice_, done, usage); }
  void prompt(const std::vector<engine::Choice>& tokens) override { sink_->prompt(choice_, tokens); }
  engine::Continuation token(const engine::Choice& choice) override;
  void finished(engine::Finish finish, const engine::Usage& usage) override;
  void failed(const Error& error) override { sink_->failed({500, error.message}); }

 private:
  void emit(std::string_view text);
  void pass_on(std::vector<text::OutputDelta> deltas);

  std::shared_ptr<const void> lease_;  // first, so that it is given back last
  AnswerOptions options_;
  text::StreamDecoder decoder_;
  engine::StopFilter stop_;
  size_t choice_;
  std::shared_ptr<AnswerSink> sink_;
  std::vector<engine::Choice> tokens_;  ///< not passed on yet
  size_t reasoned_ = 0;                 ///< tokens
  bool in_reasoning_, called_ = false;
};

}  // namespace terrace::serve

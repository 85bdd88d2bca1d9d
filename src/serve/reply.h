// What the replies of all APIs have in common: they gather an answer, and stream it or send it as a whole.
#pragma once

#include <chrono>

#include "serve/service.h"
#include "serve/sse.h"

namespace terrace::serve {

/// One choice of an answer so far.
struct GatheredChoice {
  text::ParsedOutput output;
  std::vector<std::string> call_ids;
  std::vector<engine::Choice> prompt;  ///< its tokens from the second on, with log-probabilities
  std::vector<engine::Choice> tokens;  ///< the same of the answer
  std::optional<Ending> ending;
  engine::Usage usage;
};

struct ReplyOptions {
  bool stream = false;
  size_t choices = 1;
  bool return_progress = false;  ///< the reading of the prompt as events, else as comments
};

/// Gathers the choices; a derived class gives them the form of its API. All calls come from the scheduler's thread.
class Reply : public AnswerSink {
 public:
  Reply(const Service& service, ResponderPtr responder, ReplyOptions options, Dialect dialect);

  void reading(size_t choice, size_t done, const engine::Usage& usage) override;
  void prompt(size_t choice, const std::vector<engine::Choice>& tokens) override;
  void pieces(size_t choice, const std::vector<text::OutputDelta>& deltas,
              const std::vector<engine::Choice>& tokens) override;
  void finished(size_t choice, const Ending& ending, const engine::Usage& usage) override;
  void failed(const Refusal& refusal) override;

 protected:
  /// Each delta, whether it is a stream or not, and the end of a choice; write() is heard by streams only.
  virtual void gather(size_t /*choice*/, const text::OutputDelta& /*delta*/) {}
  virtual void gather_end(size_t /*choice*/) {}
  /// The stream's events, if it is one.
  virtual void stream_begin() {}
  virtual void stream_reading(size_t /*done*/, const engine::Usage& /*usage*/) {}
  virtual void stream_prompt(size_t /*choice*/) {}
  virtual void stream_delta(size_t /*choice*/, const text::OutputDelta& /*delta*/,
                            const std::vector<engine::Choice>& /*tokens*/) {}
  /// Tokens that wrote nothing.
  virtual void stream_tokens(size_t /*choice*/, const std::vector<engine::Choice>& /*tokens*/) {}
  virtual void stream_choice_end(size_t /*choice*/) {}
  virtual void stream_end() {}
  virtual void stream_failed(const Refusal& refusal) = 0;
  virtual std::string call_id_prefix() const { return "call_"; }
  /// The whole answer, if it is no stream.
  virtual Json whole() = 0;

  void write(std::string event) {
    if (options_.stream) responder_->write(std::move(event));
  }
  bool streams() const { return options_.stream; }
  /// The sum over the choices; the prompt counts once.
  engine::Usage usage() const;

  const Service& service_;
  std::vector<GatheredChoice> choices_;
  int64_t created_;

 private:
  void begin();

  ResponderPtr responder_;
  ReplyOptions options_;
  Dialect dialect_;
  bool begun_ = false, over_ = false;
  std::chrono::steady_clock::time_point last_comment_ = std::chrono::steady_clock::now();
};

}  // namespace terrace::serve

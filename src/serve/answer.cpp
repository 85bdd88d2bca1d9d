#include "serve/answer.h"

namespace terrace::serve {

using Kind = text::OutputDelta::Kind;

Answer::Answer(const text::Tokenizer& tokenizer, AnswerOptions options, size_t choice, std::shared_ptr<AnswerSink> sink,
               std::shared_ptr<const void> lease)
    : lease_(std::move(lease)),
      options_(std::move(options)),
      decoder_(tokenizer, {.specials = options_.parser.has_value(), .continues = true}),
      stop_(options_.stop),
      choice_(choice),
      sink_(std::move(sink)),
      in_reasoning_(options_.in_reasoning) {}

void Answer::pass_on(std::vector<text::OutputDelta> deltas) {
  for (const text::OutputDelta& delta : deltas) {
    in_reasoning_ = delta.kind == Kind::reasoning;
    called_ |= delta.kind == Kind::call_begin;
  }
  if (deltas.empty()) return;
  sink_->pieces(choice_, deltas, tokens_);
  tokens_.clear();
}

void Answer::emit(std::string_view text) {
  if (options_.parser) {
    if (!text.empty()) pass_on(options_.parser->push(text));
  } else if (!text.empty()) {
    pass_on({{Kind::content, std::string(text), -1}});
  }
}

engine::Continuation Answer::token(const engine::Choice& choice) {
  if (options_.logprobs) tokens_.push_back(choice);
  emit(stop_.push(decoder_.push(choice.token)));
  if (stop_.stopped()) return {.stop = true};
  if (!in_reasoning_) return {};
  ++reasoned_;
  if (!options_.reasoning_budget || reasoned_ < *options_.reasoning_budget) return {};
  options_.reasoning_budget.reset();
  return {.stop = false, .forced = options_.reasoning_end};
}

void Answer::finished(engine::Finish finish, const engine::Usage& usage) {
  if (!stop_.stopped()) {
    std::string rest = stop_.push(decoder_.finish());
    rest += stop_.finish();
    emit(rest);
  }
  if (options_.parser) pass_on(options_.parser->finish());
  // Tokens whose text was all marks.
  if (!tokens_.empty()) sink_->pieces(choice_, {}, tokens_);
  sink_->finished(choice_, {finish, stop_.stopped_by(), called_, reasoned_}, usage);
}

}  // namespace terrace::serve

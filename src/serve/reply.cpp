#include "serve/reply.h"

#include <fmt/format.h>

#include <algorithm>

namespace terrace::serve {

using Kind = text::OutputDelta::Kind;

Reply::Reply(const Service& service, ResponderPtr responder, ReplyOptions options, Dialect dialect)
    : service_(service),
      choices_(options.choices),
      created_(unix_seconds()),
      responder_(std::move(responder)),
      options_(options),
      dialect_(dialect) {}

void Reply::begin() {
  if (begun_ || !options_.stream) return;
  begun_ = true;
  responder_->begin(event_stream_head());
  stream_begin();
}

void Reply::reading(size_t choice, size_t done, const engine::Usage& usage) {
  choices_[choice].usage = usage;
  if (!options_.stream) return;
  begin();
  if (options_.return_progress) return stream_reading(done, usage);
  const auto now = std::chrono::steady_clock::now();
  if (now - last_comment_ < std::chrono::milliseconds(500)) return;
  last_comment_ = now;
  write(event_comment(fmt::format("reading the prompt: {} of {} tokens", done, usage.prompt_tokens)));
}

void Reply::prompt(size_t choice, const std::vector<engine::Choice>& tokens) {
  choices_[choice].prompt = tokens;
  begin();
  if (options_.stream) stream_prompt(choice);
}

void Reply::pieces(size_t choice, const std::vector<text::OutputDelta>& deltas,
                   const std::vector<engine::Choice>& tokens) {
  GatheredChoice& gathered = choices_[choice];
  begin();
  for (const text::OutputDelta& delta : deltas) {
    gathered.output.add(delta);
    if (delta.kind == Kind::call_begin) gathered.call_ids.push_back(make_id(call_id_prefix()));
    gather(choice, delta);
    if (options_.stream) stream_delta(choice, delta, &delta == deltas.data() ? tokens : std::vector<engine::Choice>());
  }
  gathered.tokens.insert(gathered.tokens.end(), tokens.begin(), tokens.end());
  if (deltas.empty() && options_.stream) stream_tokens(choice, tokens);
}

void Reply::finished(size_t choice, const Ending& ending, const engine::Usage& usage) {
  choices_[choice].ending = ending;
  choices_[choice].usage = usage;
  if (over_) return;
  begin();
  gather_end(choice);
  if (options_.stream) stream_choice_end(choice);
  if (!std::all_of(choices_.begin(), choices_.end(), [](const GatheredChoice& c) { return c.ending.has_value(); }))
    return;
  over_ = true;
  if (!options_.stream) return responder_->send({.body = json_line(whole()) + "\n"});
  stream_end();
  responder_->end();
}

void Reply::failed(const Refusal& refusal) {
  if (std::exchange(over_, true)) return;
  if (!begun_) return responder_->send(error_response(refusal, dialect_));
  stream_failed(refusal);
  responder_->end();
}

engine::Usage Reply::usage() const {
  engine::Usage sum = choices_.front().usage;
  for (size_t i = 1; i < choices_.size(); ++i) sum.completion_tokens += choices_[i].usage.completion_tokens;
  return sum;
}

}  // namespace terrace::serve

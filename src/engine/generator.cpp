#include "engine/generator.h"

#include <algorithm>
#include <chrono>

#include "text/detokenizer.h"

namespace terrace::engine {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Reads the prompt chunk by chunk; the logits are those after its last token.
Result<compute::Rows> read_prompt(Engine& engine, Sequence& sequence, std::span<const int32_t> prompt,
                                  const TextSink& sink, bool& cancelled) {
  compute::Rows logits;
  while (!prompt.empty()) {
    const auto chunk = prompt.first(std::min(prompt.size(), Engine::kPromptChunk));
    prompt = prompt.subspan(chunk.size());
    const Advance advance[] = {{&sequence, chunk, prompt.empty() ? Advance::Logits::last : Advance::Logits::none}};
    TERRACE_TRY(logits, engine.step(advance));
    if (!prompt.empty() && !sink("")) {
      cancelled = true;
      break;
    }
  }
  return logits;
}

}  // namespace

std::string_view finish_name(Finish finish) {
  switch (finish) {
    case Finish::stop:
      return "stop";
    case Finish::length:
      return "length";
    case Finish::context:
      return "context";
    default:
      return "cancelled";
  }
}

std::string StopFilter::push(std::string_view piece) {
  if (stopped_) return "";
  held_ += piece;
  size_t end = std::string::npos;
  for (const std::string& stop : stops_) {
    const size_t found = stop.empty() ? std::string::npos : held_.find(stop);
    if (found >= end) continue;
    end = found;
    stopped_by_ = stop;
  }
  if (end != std::string::npos) {
    stopped_ = true;
    return std::exchange(held_, "").substr(0, end);
  }
  // The longest end of the text that begins a stop string is held back.
  size_t keep = 0;
  for (const std::string& stop : stops_) {
    for (size_t length = std::min(held_.size(), stop.empty() ? 0 : stop.size() - 1); length > keep; --length) {
      if (held_.compare(held_.size() - length, length, stop, 0, length) == 0) keep = length;
    }
  }
  std::string certain = held_.substr(0, held_.size() - keep);
  held_.erase(0, certain.size());
  return certain;
}

std::string StopFilter::finish() { return stopped_ ? "" : std::exchange(held_, ""); }

Result<Generated> generate(Engine& engine, Sequence& sequence, std::span<const int32_t> prompt,
                           const GenerateOptions& options, const TextSink& sink) {
  const text::Tokenizer* tokenizer = engine.tokenizer();
  if (!tokenizer) return fail("the model file has no vocabulary, so it cannot generate text");
  TERRACE_CHECK(validate(options.sampler, engine.info().vocabulary));
  if (prompt.empty()) return fail("the prompt is empty");
  if (sequence.size() + prompt.size() > engine.context()) {
    return fail("the prompt is too long: {} tokens do not fit in the context of {}; shorten it or raise --ctx",
                sequence.size() + prompt.size(), engine.context());
  }
  Sampler sampler(options.sampler, engine.info().vocabulary,
                  [tokenizer](int32_t id) { return std::string(tokenizer->token_bytes(id)); });
  for (const int32_t token : sequence.tokens()) sampler.accept(token);
  for (const int32_t token : prompt) sampler.accept(token);

  Generated result;
  result.prompt_tokens = prompt.size();
  const auto start = Clock::now();
  bool cancelled = false;
  TERRACE_TRY(compute::Rows logits, read_prompt(engine, sequence, prompt, sink, cancelled));
  result.prompt_seconds = seconds_since(start);
  if (cancelled) {
    result.finish = Finish::cancelled;
    return result;
  }
  text::StreamDecoder decoder(*tokenizer, {.continues = true});
  StopFilter filter(options.stop);
  const auto emit = [&](std::string_view piece) {
    result.text += piece;
    return sink(piece);
  };
  const auto decode_start = Clock::now();
  for (;;) {
    if (result.tokens.size() >= options.max_tokens) {
      result.finish = Finish::length;
      break;
    }
    const int32_t token = sampler.sample({logits.row(0), logits.width});
    sampler.accept(token);
    result.tokens.push_back(token);
    if (!options.ignore_end && tokenizer->is_end_of_generation(token)) break;
    if (!emit(filter.push(decoder.push(token)))) {
      result.finish = Finish::cancelled;
      break;
    }
    if (filter.stopped()) break;
    if (sequence.size() + 1 > engine.context()) {
      result.finish = Finish::context;
      break;
    }
    if (result.tokens.size() >= options.max_tokens) continue;
    const Advance advance[] = {{&sequence, {&token, 1}, Advance::Logits::last}};
    TERRACE_TRY(logits, engine.step(advance));
  }
  result.decode_seconds = seconds_since(decode_start);
  const std::string rest = filter.push(decoder.finish()) + filter.finish();
  if (!rest.empty() && result.finish != Finish::cancelled) emit(rest);
  return result;
}

}  // namespace terrace::engine

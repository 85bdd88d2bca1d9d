#include "serve/openai_usage.h"

#include <cmath>

#include "text/unicode.h"

namespace terrace::serve {
namespace {

double per_second(size_t count, double seconds) { return seconds > 0 ? static_cast<double>(count) / seconds : 0; }

}  // namespace

Json openai_usage(const engine::Usage& usage) {
  return {
      {"prompt_tokens", usage.prompt_tokens},
      {"completion_tokens", usage.completion_tokens},
      {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
      {"prompt_tokens_details", {{"cached_tokens", usage.cached_tokens}, {"cache_write_tokens", usage.kept_tokens}}}};
}

Json timings(const engine::Usage& usage) {
  const size_t read = usage.prompt_tokens - usage.cached_tokens;
  return {{"cache_n", usage.cached_tokens},
          {"prompt_n", read},
          {"prompt_ms", usage.prompt_seconds * 1e3},
          {"prompt_per_second", per_second(read, usage.prompt_seconds)},
          {"predicted_n", usage.completion_tokens},
          {"predicted_ms", usage.decode_seconds * 1e3},
          {"predicted_per_second", per_second(usage.completion_tokens, usage.decode_seconds)}};
}

const char* openai_finish_reason(const Ending& ending) {
  if (ending.finish == engine::Finish::length || ending.finish == engine::Finish::context) return "length";
  return ending.called ? "tool_calls" : "stop";
}

Json logprob_json(float logprob) { return std::isfinite(logprob) ? Json(logprob) : Json(nullptr); }

Json token_json(const text::Tokenizer& tokenizer, int32_t token, float logprob) {
  const std::string_view bytes = tokenizer.token_bytes(token);
  Json numbers = Json::array();
  for (const char c : bytes) numbers.push_back(static_cast<unsigned char>(c));
  return {{"token", text::utf8_lossy(bytes)}, {"logprob", logprob_json(logprob)}, {"bytes", std::move(numbers)}};
}

Json progress_json(size_t done, const engine::Usage& usage) {
  return {{"total", usage.prompt_tokens},
          {"cache", usage.cached_tokens},
          {"processed", done},
          {"time_ms", std::round(usage.prompt_seconds * 1e3)}};
}

}  // namespace terrace::serve

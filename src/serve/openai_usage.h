// Parts that several of OpenAI's endpoints share.
#pragma once

#include "serve/reply.h"

namespace terrace::serve {

/// {"prompt_tokens", "completion_tokens", "total_tokens", "prompt_tokens_details": {"cached_tokens"}}.
Json openai_usage(const engine::Usage& usage);
/// llama-server's figures of times: {"prompt_n", "prompt_ms", "predicted_n", ...}.
Json timings(const engine::Usage& usage);
/// "stop", "length" or "tool_calls".
const char* openai_finish_reason(const Ending& ending);
/// The number, or null for -infinity, which JSON cannot say.
Json logprob_json(float logprob);
/// The bytes of a token as text, and as numbers, since they need not be whole UTF-8.
Json token_json(const text::Tokenizer& tokenizer, int32_t token, float logprob);
/// llama-server's progress: {"total", "cache", "processed", "time_ms"}.
Json progress_json(size_t done, const engine::Usage& usage);

}  // namespace terrace::serve

#include "engine/sampler_options.h"

#include <cmath>
#include <limits>

#include "base/result.h"

namespace terrace::engine {
namespace {

constexpr size_t kMaxBreakers = 64;
constexpr size_t kMaxBreakerBytes = 256;

// The comparisons are written so that NaN fails them.
Status in_range(const char* field, double value, double low, double high) {
  if (value >= low && value <= high) return Done{};
  return fail("{} is {}; it must be a number from {} to {}", field, value, low, high);
}

Status not_negative(const char* field, double value) {
  if (value >= 0 && std::isfinite(value)) return Done{};
  return fail("{} is {}; it must be a finite number that is 0 or more", field, value);
}

Status finite(const char* field, double value) {
  if (std::isfinite(value)) return Done{};
  return fail("{} is {}; it must be a finite number", field, value);
}

Status window(const char* field, int64_t value) {
  if (value >= -1) return Done{};
  return fail("{} is {}; it must be a number of tokens, 0 (off) or -1 (the whole context)", field, value);
}

Status check_penalties(const SamplerOptions& o) {
  TERRACE_CHECK(window("repeat_last_n", o.repeat_last_n));
  if (!(o.repeat_penalty > 0) || !std::isfinite(o.repeat_penalty)) {
    return fail("repeat_penalty is {}; it must be a finite number over 0 (1 is off)", o.repeat_penalty);
  }
  TERRACE_CHECK(finite("frequency_penalty", o.frequency_penalty));
  TERRACE_CHECK(finite("presence_penalty", o.presence_penalty));
  return Done{};
}

Status check_dry(const SamplerOptions& o) {
  TERRACE_CHECK(not_negative("dry_multiplier", o.dry_multiplier));
  TERRACE_CHECK(not_negative("dry_base", o.dry_base));
  if (o.dry_allowed_length < 0) {
    return fail("dry_allowed_length is {}; it must be a number of tokens, 0 or more", o.dry_allowed_length);
  }
  TERRACE_CHECK(window("dry_penalty_last_n", o.dry_penalty_last_n));
  if (o.dry_sequence_breakers.size() > kMaxBreakers) {
    return fail("dry_sequence_breakers has {} entries; at most {} are possible", o.dry_sequence_breakers.size(),
                kMaxBreakers);
  }
  for (size_t i = 0; i < o.dry_sequence_breakers.size(); ++i) {
    const size_t bytes = o.dry_sequence_breakers[i].size();
    if (bytes == 0 || bytes > kMaxBreakerBytes) {
      return fail("dry_sequence_breakers[{}] has {} bytes; it must have from 1 to {}", i, bytes, kMaxBreakerBytes);
    }
  }
  return Done{};
}

Status check_bias(const SamplerOptions& o, size_t vocabulary) {
  for (const auto& [id, bias] : o.logit_bias) {
    if (id < 0 || static_cast<size_t>(id) >= vocabulary) {
      return fail("logit_bias has the token id {}; the model's ids are below {} and not negative", id, vocabulary);
    }
    if (std::isnan(bias) || bias == std::numeric_limits<float>::infinity()) {
      return fail("logit_bias of token {} is {}; it must be a finite number, or -infinity to ban the token", id, bias);
    }
  }
  return Done{};
}

}  // namespace

Status validate(const SamplerOptions& options, size_t vocabulary) {
  TERRACE_CHECK(finite("temperature", options.temperature));
  TERRACE_CHECK(not_negative("dynatemp_range", options.dynatemp_range));
  TERRACE_CHECK(not_negative("dynatemp_exponent", options.dynatemp_exponent));
  TERRACE_CHECK(in_range("top_p", options.top_p, 0, 1));
  TERRACE_CHECK(in_range("min_p", options.min_p, 0, 1));
  TERRACE_CHECK(in_range("typical_p", options.typical_p, 0, 1));
  TERRACE_CHECK(in_range("xtc_probability", options.xtc_probability, 0, 1));
  TERRACE_CHECK(in_range("xtc_threshold", options.xtc_threshold, 0, 1));
  TERRACE_CHECK(check_penalties(options));
  TERRACE_CHECK(check_dry(options));
  if (options.mirostat != 0 && options.mirostat != 2) {
    return fail("mirostat is {}; it must be 0 (off) or 2 (version 2)", options.mirostat);
  }
  TERRACE_CHECK(not_negative("mirostat_tau", options.mirostat_tau));
  TERRACE_CHECK(not_negative("mirostat_eta", options.mirostat_eta));
  return check_bias(options, vocabulary);
}

}  // namespace terrace::engine

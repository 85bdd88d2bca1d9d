#include "cli/sampling.h"

#include <charconv>
#include <cstdlib>

namespace terrace::cli {

void SamplingOptions::add_sampler(CLI::App& command) {
  engine::SamplerOptions& s = generate.sampler;
  const auto option = [&](const char* name, auto& value, const char* help) {
    command.add_option(name, value, help)->group("Sampling")->capture_default_str();
  };
  option("--temp", s.temperature, "Temperature; 0: the likeliest token always");
  option("--dynatemp-range", s.dynatemp_range, "Dynamic temperature: range around --temp");
  option("--dynatemp-exp", s.dynatemp_exponent, "Dynamic temperature: exponent");
  option("--top-k", s.top_k, "Keep the k likeliest tokens; 0: all");
  option("--top-p", s.top_p, "Keep the likeliest tokens of this total probability");
  option("--min-p", s.min_p, "Drop tokens below this share of the likeliest one's probability");
  option("--typical", s.typical_p, "Locally typical sampling; 1: off");
  option("--xtc-probability", s.xtc_probability, "Chance to exclude top choices");
  option("--xtc-threshold", s.xtc_threshold, "Probability above which XTC excludes");
  option("--repeat-last-n", s.repeat_last_n, "Tokens that penalties look back over; -1: all");
  option("--repeat-penalty", s.repeat_penalty, "Divides the logits of repeated tokens; 1: off");
  option("--presence-penalty", s.presence_penalty, "Subtracted from tokens that occurred");
  option("--frequency-penalty", s.frequency_penalty, "Subtracted per occurrence");
  option("--dry-multiplier", s.dry_multiplier, "DRY: strength; 0: off");
  option("--dry-base", s.dry_base, "DRY: growth per repeated token");
  option("--dry-allowed-length", s.dry_allowed_length, "DRY: repeats of this length are free");
  option("--dry-penalty-last-n", s.dry_penalty_last_n, "DRY: tokens to look back over; -1: all");
  command.add_option("--dry-sequence-breaker", s.dry_sequence_breakers, "DRY: texts that end a repeat")
      ->group("Sampling");
  option("--mirostat", s.mirostat, "0: off, 2: mirostat version 2");
  option("--mirostat-ent", s.mirostat_tau, "Mirostat: target surprise in bits");
  option("--mirostat-lr", s.mirostat_eta, "Mirostat: learning rate");
  command.add_option("-l,--logit-bias", logit_bias, "TOKEN_ID(+/-)BIAS, such as 15043+1 or 15043-inf; repeatable")
      ->group("Sampling");
}

void SamplingOptions::add(CLI::App& command) {
  command
      .add_option("-n,--predict", max_tokens,
                  "Most tokens to generate; -1: until the model ends or the context is full")
      ->capture_default_str();
  add_sampler(command);
  command.add_option("-s,--seed", generate.sampler.seed, "Seed; the same seed gives the same text (default: random)")
      ->group("Sampling");
  command.add_option("--stop", generate.stop, "The answer ends before this text; repeatable");
  command.add_flag("--ignore-eos", generate.ignore_end, "Go on after end-of-turn tokens");
}

Status SamplingOptions::finish() {
  if (max_tokens >= 0) generate.max_tokens = static_cast<size_t>(max_tokens);
  for (const std::string& entry : logit_bias) {
    int32_t token = 0;
    const auto [rest, error] = std::from_chars(entry.data(), entry.data() + entry.size(), token);
    char* end = nullptr;
    const float bias = std::strtof(rest, &end);
    if (error != std::errc() || end == rest || *end != '\0' || (*rest != '+' && *rest != '-')) {
      return fail("--logit-bias '{}' is not of the form TOKEN_ID+BIAS or TOKEN_ID-BIAS", entry);
    }
    generate.sampler.logit_bias.emplace_back(token, bias);
  }
  return Done{};
}

}  // namespace terrace::cli

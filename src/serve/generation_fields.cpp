#include "serve/generation_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

namespace terrace::serve {
namespace {

constexpr size_t kMaximumStops = 32, kMaximumStopBytes = 1024, kMaximumChoices = 16, kMaximumBiases = 4096;
constexpr int64_t kMaximumCount = 1'000'000'000;

/// Ids of a logit bias given by number, by number as text, or by the text of tokens.
void add_bias(const Fields& fields, const text::Tokenizer& tokenizer, const Json& which, const Json& bias,
              engine::SamplerOptions& sampler) {
  float value = 0;
  if (bias.is_boolean() && !bias.get<bool>()) {
    value = -std::numeric_limits<float>::infinity();  // llama.cpp: never
  } else if (bias.is_number()) {
    value = static_cast<float>(bias.get<double>());
  } else {
    return fields.refuse("logit_bias", "a bias must be a number, or false for never");
  }
  const auto add = [&](int64_t id) {
    if (id < 0 || static_cast<size_t>(id) >= tokenizer.size())
      return fields.refuse("logit_bias",
                           fmt::format("the token {} does not exist; the vocabulary has {}", id, tokenizer.size()));
    sampler.logit_bias.emplace_back(static_cast<int32_t>(id), value);
  };
  if (which.is_number_integer()) return add(which.get<int64_t>());
  if (!which.is_string()) return fields.refuse("logit_bias", "a token is given by its number or its text");
  const auto& text = which.get_ref<const std::string&>();
  int64_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error == std::errc() && end == text.data() + text.size()) return add(id);
  for (const int32_t token : tokenizer.encode(text)) add(token);
}

void read_logit_bias(const Fields& fields, const text::Tokenizer& tokenizer, engine::SamplerOptions& sampler) {
  const Json* found = fields.find("logit_bias");
  if (!found) return;
  if (found->size() > kMaximumBiases)
    return fields.refuse("logit_bias",
                         fmt::format("has {} entries; at most {} are possible", found->size(), kMaximumBiases));
  if (found->is_object()) {
    for (const auto& [token, bias] : found->items()) add_bias(fields, tokenizer, token, bias, sampler);
  } else if (found->is_array()) {
    for (const Json& entry : *found) {
      if (!entry.is_array() || entry.size() != 2)
        return fields.refuse("logit_bias", "as a list, each entry must be [token, bias]");
      add_bias(fields, tokenizer, entry[0], entry[1], sampler);
    }
  } else {
    fields.refuse("logit_bias", fmt::format("must be an object or a list, not {}", kind_of(*found)));
  }
}

/// Switches off what is not in the list, by llama.cpp's names.
void read_samplers(const Fields& fields, engine::SamplerOptions& sampler) {
  if (!fields.has("samplers")) return;
  std::vector<std::string> names;
  fields.read_strings("samplers", names, 32);
  const auto lacks = [&](std::string_view name) { return std::find(names.begin(), names.end(), name) == names.end(); };
  if (lacks("penalties")) sampler.repeat_last_n = 0;
  if (lacks("dry")) sampler.dry_multiplier = 0;
  if (lacks("top_k")) sampler.top_k = 0;
  if (lacks("typ_p") && lacks("typical_p")) sampler.typical_p = 1;
  if (lacks("top_p")) sampler.top_p = 1;
  if (lacks("min_p")) sampler.min_p = 0;
  if (lacks("xtc")) sampler.xtc_probability = 0;
  if (lacks("temperature")) sampler.temperature = 1;
}

void read_sampler(const Fields& fields, const text::Tokenizer& tokenizer, engine::SamplerOptions& s) {
  fields.read("temperature", s.temperature, -1e6, 1e6);
  fields.read("dynatemp_range", s.dynatemp_range);
  fields.read("dynatemp_exponent", s.dynatemp_exponent);
  fields.read("top_k", s.top_k);
  fields.read("top_p", s.top_p);
  fields.read("min_p", s.min_p);
  fields.read("typical_p", s.typical_p);
  fields.read("xtc_probability", s.xtc_probability);
  fields.read("xtc_threshold", s.xtc_threshold);
  fields.read("repeat_last_n", s.repeat_last_n, -1, kMaximumCount);
  fields.read("repeat_penalty", s.repeat_penalty);
  fields.read("frequency_penalty", s.frequency_penalty);
  fields.read("presence_penalty", s.presence_penalty);
  fields.read("dry_multiplier", s.dry_multiplier);
  fields.read("dry_base", s.dry_base);
  fields.read("dry_allowed_length", s.dry_allowed_length);
  fields.read("dry_penalty_last_n", s.dry_penalty_last_n, -1, kMaximumCount);
  fields.read_strings("dry_sequence_breakers", s.dry_sequence_breakers, 64);
  int64_t mirostat = s.mirostat;
  fields.read("mirostat", mirostat, 0, 2);
  s.mirostat = static_cast<int>(mirostat);
  fields.read("mirostat_tau", s.mirostat_tau);
  fields.read("mirostat_eta", s.mirostat_eta);
  fields.read("min_keep", s.min_keep, size_t{0}, size_t{kMaximumCount});
  int64_t seed = -1;
  fields.read("seed", seed);
  if (fields.has("seed")) s.seed = static_cast<uint64_t>(seed);
  read_logit_bias(fields, tokenizer, s);
  read_samplers(fields, s);
}

void read_limits(const Fields& fields, GenerationFields& into) {
  for (const char* name : {"n_predict", "max_tokens", "max_completion_tokens", "max_output_tokens"}) {
    int64_t most = -1;
    fields.read(name, most, -1, kMaximumCount);  // -1: as many as fit, as llama.cpp has it
    if (fields.has(name) && most >= 0) into.max_tokens = static_cast<size_t>(most);
  }
  for (const char* name : {"stop", "stop_sequences"}) fields.read_strings(name, into.stop, kMaximumStops);
  for (const std::string& stop : into.stop) {
    if (stop.empty() || stop.size() > kMaximumStopBytes)
      fields.refuse("stop", fmt::format("each stop string must have from 1 to {} bytes", kMaximumStopBytes));
  }
  fields.read("n", into.choices, size_t{1}, kMaximumChoices);
}

}  // namespace

void apply(const GenerationFields& fields, Submission& into) {
  into.sampler = fields.sampler;
  into.max_tokens = fields.max_tokens;
  into.ignore_end = fields.ignore_end;
  into.cache = fields.cache;
  into.choices = fields.choices;
}

void read_generation_fields(const Fields& fields, const Service& service, GenerationFields& into) {
  const text::Tokenizer& tokenizer = service.model().tokenizer();
  into.sampler = service.options().sampler;
  read_sampler(fields, tokenizer, into.sampler);
  read_limits(fields, into);
  fields.read("ignore_eos", into.ignore_end);
  fields.read("cache_prompt", into.cache);
  fields.read("stream", into.stream);
  fields.read("return_progress", into.return_progress);
  if (const Json* options = fields.object("stream_options")) {
    std::optional<Refusal> none;
    Fields(*options, fields.path("stream_options"), none).read("include_usage", into.include_usage);
    if (none) fields.refuse("stream_options", none->message);
  }
  fields.read("grammar", into.grammar);
  into.schema = fields.object("json_schema");
}

}  // namespace terrace::serve

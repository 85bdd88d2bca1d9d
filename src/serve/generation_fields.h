// The fields that say how to generate, by OpenAI's and llama.cpp's names.
#pragma once

#include "serve/fields.h"
#include "serve/service.h"

namespace terrace::serve {

struct GenerationFields {
  engine::SamplerOptions sampler;
  std::optional<size_t> max_tokens;
  std::vector<std::string> stop;
  size_t choices = 1;
  bool ignore_end = false;
  bool cache = true;
  bool stream = false;
  bool include_usage = false;
  bool return_progress = false;
  std::string grammar;           ///< GBNF; empty: none
  const Json* schema = nullptr;  ///< of llama.cpp's field json_schema
};

/// temperature, top_k, top_p, min_p, typical_p, penalties, dry_*, xtc_*, mirostat*, dynatemp_*, seed, min_keep,
/// logit_bias (OpenAI's object or llama.cpp's list), samplers (those not in the list are off; the order is Terrace's),
/// stop, n, max_tokens and its other names, ignore_eos, cache_prompt, stream, stream_options, return_progress, grammar,
/// json_schema. Values point into `fields`' object.
void read_generation_fields(const Fields& fields, const Service& service, GenerationFields& into);

/// Takes over what the fields say into a submission, but for the grammars.
void apply(const GenerationFields& fields, Submission& into);

}  // namespace terrace::serve

// Which pre-tokenizer a tokenizer.json describes: its steps are compared with those that text/ knows by name.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "text/pretokenizer_table.h"
#include "tools/convert/tokenizer_files.h"

namespace terrace::tools {
namespace {

/// One name for each kind, the usual one where several are known.
constexpr std::array<std::string_view, 19> kNames = {
    "llama-bpe", "qwen2",      "qwen35",         "gpt-4o",      "smollm",     "gpt-2",  "tekken",
    "dbrx",      "stablelm2",  "deepseek-coder", "deepseek-v3", "seed-coder", "viking", "bloom",
    "kimi-k2",   "exaone-moe", "minicpm5",       "ufakzeka",    "bailingmoe"};

/// Appends the expressions of a step; false for one that no expression stands for.
bool add_steps(const Json& step, std::vector<std::string>& steps, size_t depth = 0) {
  const std::string type = json_text(step, "type");
  if (type == "Sequence") {
    const auto list = step.find("pretokenizers");
    return depth < 4 && list != step.end() && list->is_array() &&
           std::all_of(list->begin(), list->end(), [&](const Json& s) { return add_steps(s, steps, depth + 1); });
  }
  const auto is_true = [&](const char* key, bool fallback) {
    const auto value = step.find(key);
    return value != step.end() && value->is_boolean() ? value->get<bool>() : fallback;
  };
  if (type == "ByteLevel") {
    if (is_true("use_regex", true)) steps.emplace_back(text::gpt2_words);
    return !is_true("add_prefix_space", true);
  }
  if (type == "Digits") {
    steps.emplace_back(text::single_digits);
    return is_true("individual_digits", false);
  }
  if (type != "Split" || json_text(step, "behavior") != "Isolated" || is_true("invert", false)) return false;
  const auto pattern = step.find("pattern");
  if (pattern == step.end()) return false;
  steps.push_back(json_text(*pattern, "Regex"));
  return !steps.back().empty();
}

/// Whether the normalizer is form C, nothing at all, or something else.
enum class Normalizer { none, form_c, other };

Normalizer normalizer_of(const Json& tokenizer) {
  const auto found = tokenizer.find("normalizer");
  if (found == tokenizer.end() || found->is_null()) return Normalizer::none;
  if (json_text(*found, "type") == "NFC") return Normalizer::form_c;
  const auto list = found->find("normalizers");
  if (json_text(*found, "type") != "Sequence" || list == found->end() || !list->is_array()) return Normalizer::other;
  if (list->empty()) return Normalizer::none;
  return list->size() == 1 && json_text((*list)[0], "type") == "NFC" ? Normalizer::form_c : Normalizer::other;
}

bool ignores_merges(const Json& tokenizer) {
  const auto model = tokenizer.find("model");
  if (model == tokenizer.end()) return false;
  const auto value = model->find("ignore_merges");
  return value != model->end() && value->is_boolean() && value->get<bool>();
}

}  // namespace

Result<std::string> recognize_pre_tokenizer(const TokenizerFiles& files, std::span<const std::string_view> preferred) {
  const Json& tokenizer = files.tokenizer;
  const Normalizer normalizer = normalizer_of(tokenizer);
  if (normalizer == Normalizer::other)
    return fail("{}: the normalizer is not form C, the only one that byte-level vocabularies can have here",
                files.where);
  std::vector<std::string> steps;
  const auto described = tokenizer.find("pre_tokenizer");
  if (described == tokenizer.end() || !add_steps(*described, steps))
    return fail(
        "{}: the pre_tokenizer has a step that Terrace does not know; it knows Split (isolated), Digits "
        "(individual) and ByteLevel",
        files.where);
  const auto matches = [&](std::string_view name) {
    const text::PreTokenizerEntry* entry = text::find_pre_tokenizer(name);
    return entry && std::equal(entry->steps.begin(), entry->steps.end(), steps.begin(), steps.end()) &&
           entry->whole_words == ignores_merges(tokenizer) && entry->normalizes == (normalizer == Normalizer::form_c);
  };
  for (const std::span<const std::string_view> names : {preferred, std::span<const std::string_view>(kNames)}) {
    const auto found = std::find_if(names.begin(), names.end(), matches);
    if (found != names.end()) return std::string(*found);
  }
  return fail(
      "{}: the pre_tokenizer splits words as none that Terrace knows: {}; add it to text/pretokenizer_table.cpp",
      files.where, fmt::join(steps, "  then  "));
}

}  // namespace terrace::tools

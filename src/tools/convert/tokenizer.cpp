#include "tools/convert/tokenizer.h"

#include <filesystem>

#include "base/file.h"
#include "tools/convert/tokenizer_files.h"

namespace terrace::tools {
namespace {

using format::GgufArray;
using format::GgufType;

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

Status read_object(const std::string& path, Json& object) {
  if (!exists(path)) return Done{};
  TERRACE_TRY(object, read_json(path));
  if (!object.is_object()) return fail("{}: not an object", path);
  return Done{};
}

Result<TokenizerFiles> read_files(const std::string& folder) {
  TokenizerFiles files;
  files.where = folder + "/tokenizer.json";
  TERRACE_CHECK(read_object(files.where, files.tokenizer));
  TERRACE_CHECK(read_object(folder + "/tokenizer_config.json", files.settings));
  const std::string jinja = folder + "/chat_template.jinja", json = folder + "/chat_template.json";
  if (exists(jinja)) {
    TERRACE_TRY(files.chat_template, read_text(jinja, size_t{16} << 20));
  } else if (exists(json)) {
    TERRACE_TRY(const Json object, read_json(json));
    files.chat_template = json_text(object, "chat_template");
  }
  return files;
}

/// Whether the tokenizer.json is a BPE over bytes, which needs no other file.
bool is_byte_bpe(const TokenizerFiles& files) {
  const Json& json = files.tokenizer;
  if (!json.contains("model") || json_text(json["model"], "type") != "BPE") return false;
  const auto fallback = json["model"].find("byte_fallback");
  return fallback == json["model"].end() || !fallback->is_boolean() || !fallback->get<bool>();
}

void write_tokens(TokenList list, format::GgufMetadata& metadata) {
  GgufArray texts, types, scores, merges;
  texts.type = merges.type = GgufType::string;
  types.type = GgufType::i32;
  scores.type = GgufType::f32;
  texts.strings = std::move(list.texts);
  for (const text::TokenType type : list.types) types.integers.push_back(static_cast<int64_t>(type));
  scores.floats.assign(list.scores.begin(), list.scores.end());
  merges.strings = std::move(list.merges);
  metadata.set("tokenizer.ggml.tokens", std::move(texts));
  if (!scores.floats.empty()) metadata.set("tokenizer.ggml.scores", std::move(scores));
  metadata.set("tokenizer.ggml.token_type", std::move(types));
  if (!merges.strings.empty()) metadata.set("tokenizer.ggml.merges", std::move(merges));
}

}  // namespace

Status convert_tokenizer(const std::string& folder, const Config& config, const TokenizerForm& form,
                         format::GgufMetadata& metadata, std::vector<std::string>& notes) {
  constexpr uint64_t kMostTokens = 1 << 24;
  const uint64_t count = config.count("vocab_size", kMostTokens);
  TERRACE_CHECK(config.status());
  TERRACE_TRY(const TokenizerFiles files, read_files(folder));
  const std::string pieces = folder + "/tokenizer.model";
  if (form.pieces) {
    TERRACE_TRY(TokenList list, read_piece_bpe(files, form, count));
    metadata.set("tokenizer.ggml.model", "gemma4");
    write_tokens(std::move(list), metadata);
  } else if (is_byte_bpe(files)) {
    TERRACE_TRY(TokenList list, read_byte_bpe(files, count));
    TERRACE_TRY(std::string name, recognize_pre_tokenizer(files, form.names));
    metadata.set("tokenizer.ggml.model", "gpt2");
    metadata.set("tokenizer.ggml.pre", std::move(name));
    write_tokens(std::move(list), metadata);
  } else if (exists(pieces)) {
    TERRACE_TRY(const std::string bytes, read_text(pieces, size_t{256} << 20));
    const auto list = read_sentencepiece(std::as_bytes(std::span(bytes.data(), bytes.size())), files, count, notes);
    if (!list) return fail("{}: {}", pieces, list.error().message);
    metadata.set("tokenizer.ggml.model", "llama");
    metadata.set("tokenizer.ggml.pre", "default");
    write_tokens(*list, metadata);
  } else if (files.has_tokenizer()) {
    return fail(
        "{}: it is no byte-level BPE, so the scores of its pieces are needed: add the release's tokenizer.model",
        files.where);
  } else {
    return fail("{}: there is neither tokenizer.json nor tokenizer.model", folder);
  }
  TERRACE_CHECK(write_special_tokens(files, config, count, metadata, notes));
  const auto prefix = files.settings.find("add_prefix_space");
  if (form.space_prefix)
    metadata.set("tokenizer.ggml.add_space_prefix", *form.space_prefix);
  else if (prefix != files.settings.end() && prefix->is_boolean())
    metadata.set("tokenizer.ggml.add_space_prefix", prefix->get<bool>());
  return Done{};
}

}  // namespace terrace::tools

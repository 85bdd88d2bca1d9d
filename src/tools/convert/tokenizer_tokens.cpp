// Lists of tokens, from tokenizer.json.
#include <algorithm>
#include <array>
#include <charconv>

#include "tools/convert/tokenizer_files.h"

namespace terrace::tools {
namespace {

constexpr std::string_view kVisibleSpace = "\u2581";
constexpr float kNoScore = -1000;

/// Releases forget to mark some control tokens; these texts are no words.
bool looks_special(std::string_view text) {
  constexpr std::array kKnown = {"<pad>", "<mask>", "<2mass>", "[@BOS@]"};
  const auto framed = [&](std::string_view begin, std::string_view end) {
    return text.starts_with(begin) && text.ends_with(end);
  };
  return std::find(kKnown.begin(), kKnown.end(), text) != kKnown.end() || framed("<|", "|>") ||
         framed("<\uff5c", "\uff5c>") || framed("<unused", ">");
}

std::string with_plain_spaces(std::string_view text) {
  std::string plain;
  for (size_t at = 0; (at = text.find(kVisibleSpace)) != std::string_view::npos;) {
    plain.append(text.substr(0, at)).push_back(' ');
    text.remove_prefix(at + kVisibleSpace.size());
  }
  return plain.append(text);
}

bool is_byte_token(std::string_view text) {
  const auto hexadecimal = [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; };
  return text.size() == 6 && text.starts_with("<0x") && text[5] == '>' && hexadecimal(text[3]) && hexadecimal(text[4]);
}

Status add_token(const Json& entry, const std::string& id, std::map<uint64_t, AddedToken>& tokens,
                 const std::string& where) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(id.data(), id.data() + id.size(), number);
  const std::string content = json_text(entry, "content");
  if (error != std::errc() || end != id.data() + id.size() || content.empty())
    return fail("{}: an added token lacks its id or its text", where);
  const auto special = entry.find("special");
  tokens[number] = {content, special != entry.end() && special->is_boolean() && special->get<bool>()};
  return Done{};
}

/// The vocabulary of a BPE model: every id below `count`.
Status read_vocabulary_of(const TokenizerFiles& files, TokenList& list) {
  const Json& model = files.tokenizer["model"];
  const auto vocabulary = model.find("vocab");
  if (vocabulary == model.end() || !vocabulary->is_object()) return fail("{}: the model has no vocab", files.where);
  for (const auto& [token, id] : vocabulary->items()) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() >= list.texts.size()) {
      return fail("{}: the token '{}' has the id {}, but config.json says that there are {} tokens", files.where, token,
                  id.is_number() ? id.dump() : "?", list.texts.size());
    }
    const auto place = id.get<uint64_t>();
    if (list.types[place] != text::TokenType::unused)
      return fail("{}: the tokens '{}' and '{}' have the same id {}", files.where, list.texts[place], token, place);
    list.texts[place] = token;
    list.types[place] = text::TokenType::normal;
  }
  return Done{};
}

/// A merge is "left right"; a space inside of a part is written as its byte-level letter.
Result<std::string> merge_of(const Json& entry, const std::string& where) {
  if (entry.is_string()) return entry.get<std::string>();
  if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_string())
    return fail("{}: a merge is neither a string nor a pair of strings", where);
  std::string merge;
  for (const Json& part : entry) {
    if (!merge.empty()) merge += ' ';
    for (const char c : part.get_ref<const std::string&>()) {
      if (c == ' ')
        merge += "\u0120";
      else
        merge += c;
    }
  }
  return merge;
}

Status read_merges(const TokenizerFiles& files, TokenList& list) {
  const Json& model = files.tokenizer["model"];
  const auto merges = model.find("merges");
  if (merges == model.end() || !merges->is_array()) return fail("{}: the model has no merges", files.where);
  for (const Json& entry : *merges) {
    TERRACE_TRY(std::string merge, merge_of(entry, files.where));
    list.merges.push_back(std::move(merge));
  }
  return Done{};
}

Status check_bpe(const TokenizerFiles& files) {
  if (!files.tokenizer.contains("model") || json_text(files.tokenizer["model"], "type") != "BPE")
    return fail("{}: the model is no BPE", files.where);
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!json_text(files.tokenizer["model"], key).empty())
      return fail("{}: the model has a '{}', which a GGUF cannot say", files.where, key);
  }
  return Done{};
}

Status check_id(uint64_t id, const AddedToken& token, const TokenList& list, const std::string& where) {
  if (id < list.texts.size()) return Done{};
  return fail("{}: the added token '{}' has the id {}, but config.json says that there are {} tokens", where,
              token.text, id, list.texts.size());
}

}  // namespace

Result<std::map<uint64_t, AddedToken>> read_added_tokens(const TokenizerFiles& files, bool with_tokenizer_json) {
  std::map<uint64_t, AddedToken> tokens;
  if (const auto list = files.tokenizer.find("added_tokens"); with_tokenizer_json && list != files.tokenizer.end()) {
    if (!list->is_array()) return fail("{}: added_tokens is no list", files.where);
    for (const Json& entry : *list) {
      const bool has_id = entry.is_object() && entry.contains("id") && entry["id"].is_number_unsigned();
      TERRACE_CHECK(add_token(entry, has_id ? entry["id"].dump() : "", tokens, files.where));
    }
  }
  if (const auto list = files.settings.find("added_tokens_decoder");
      list != files.settings.end() && list->is_object()) {
    for (const auto& [id, entry] : list->items()) TERRACE_CHECK(add_token(entry, id, tokens, "tokenizer_config.json"));
  }
  return tokens;
}

TokenList empty_tokens(uint64_t count) {
  TokenList list;
  list.types.assign(count, text::TokenType::unused);
  for (uint64_t i = 0; i < count; ++i) list.texts.push_back(fmt::format("[PAD{}]", i));
  return list;
}

void set_added_token(TokenList& list, uint64_t id, const AddedToken& token) {
  const bool control = token.special || looks_special(token.text);
  list.texts[id] = control ? token.text : with_plain_spaces(token.text);
  list.types[id] = control ? text::TokenType::control : text::TokenType::user_defined;
}

Result<TokenList> read_byte_bpe(const TokenizerFiles& files, uint64_t count) {
  TERRACE_CHECK(check_bpe(files));
  TokenList list = empty_tokens(count);
  TERRACE_CHECK(read_vocabulary_of(files, list));
  TERRACE_CHECK(read_merges(files, list));
  TERRACE_TRY(const auto added, read_added_tokens(files, true));
  for (const auto& [id, token] : added) {
    TERRACE_CHECK(check_id(id, token, list, files.where));
    set_added_token(list, id, token);
  }
  return list;
}

Result<TokenList> read_piece_bpe(const TokenizerFiles& files, const TokenizerForm& form, uint64_t count) {
  TERRACE_CHECK(check_bpe(files));
  const Json normalizer = {
      {"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", std::string(kVisibleSpace)}};
  const auto found = files.tokenizer.find("normalizer");
  if (found == files.tokenizer.end() || *found != normalizer)
    return fail("{}: the normalizer does not replace spaces by U+2581, which the architecture's tokenizers do",
                files.where);
  TokenList list = empty_tokens(count);
  TERRACE_CHECK(read_vocabulary_of(files, list));
  TERRACE_CHECK(read_merges(files, list));
  list.scores.assign(count, kNoScore);
  for (size_t i = 0; i < count; ++i) {
    if (is_byte_token(list.texts[i])) list.types[i] = text::TokenType::byte;
  }
  TERRACE_TRY(const auto added, read_added_tokens(files, true));
  for (const auto& [id, token] : added) {
    TERRACE_CHECK(check_id(id, token, list, files.where));
    const bool in_vocabulary = list.types[id] != text::TokenType::unused;
    list.texts[id] = token.text;
    if (token.special)
      list.types[id] = text::TokenType::control;
    else if (!in_vocabulary)
      list.types[id] = text::TokenType::user_defined;
    if (std::find(form.visible.begin(), form.visible.end(), token.text) != form.visible.end())
      list.types[id] = text::TokenType::user_defined;
  }
  return list;
}

}  // namespace terrace::tools

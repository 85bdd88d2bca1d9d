// Special tokens: their ids, whether they are put around a text, and the chat templates.
#include <algorithm>
#include <array>

#include "tools/convert/tokenizer_files.h"

namespace terrace::tools {
namespace {

struct Kind {
  const char *name, *key;
};
constexpr std::array kKinds = {Kind{"bos", "bos_token_id"},     Kind{"eos", "eos_token_id"},
                               Kind{"unk", "unknown_token_id"}, Kind{"sep", "seperator_token_id"},
                               Kind{"pad", "padding_token_id"}, Kind{"cls", "cls_token_id"},
                               Kind{"mask", "mask_token_id"},   Kind{"eot", "eot_token_id"}};

struct Special {
  std::map<std::string, std::string> texts;
  std::map<std::string, bool> added;

  bool is(const char* kind, const std::string& text) const {
    const auto found = texts.find(kind);
    return found != texts.end() && !text.empty() && found->second == text;
  }
  bool has(const char* kind) const { return texts.contains(kind); }
  void set_default(const char* kind, const std::string& text) { texts.emplace(kind, text); }
};

std::string special_in(const Json& step) {
  const auto special = step.is_object() ? step.find("SpecialToken") : step.end();
  return step.is_object() && special != step.end() ? json_text(*special, "id") : std::string();
}
std::string sequence_in(const Json& step) {
  const auto sequence = step.is_object() ? step.find("Sequence") : step.end();
  return step.is_object() && sequence != step.end() ? json_text(*sequence, "id") : std::string();
}

/// A list of steps in a template, without copies.
std::vector<const Json*> steps_of(const Json& processor, const char* key) {
  std::vector<const Json*> steps;
  const auto list = processor.find(key);
  if (list == processor.end() || !list->is_array()) return steps;
  for (const Json& step : *list) steps.push_back(&step);
  return steps;
}

/// What stands between two texts, which says whether a separator is added.
void read_pair(std::vector<const Json*> steps, const std::string& first, const std::string& last, Special& special) {
  if (!first.empty() && !steps.empty() && special_in(*steps.front()) == first) steps.erase(steps.begin());
  if (!last.empty() && !steps.empty() && special_in(*steps.back()) == last) steps.pop_back();
  if (steps.size() < 3 || sequence_in(*steps.front()) != "A" || sequence_in(*steps.back()) != "B") return;
  const auto separates = [&](const Json& step) {
    const std::string text = special_in(step);
    return special.is("sep", text) || special.is("eos", text);
  };
  const size_t between = steps.size() - 2;
  const bool add = (separates(*steps[1]) && last.empty()) || (between == 2 && separates(*steps[2]));
  special.added["sep"] = add;
  if (add && special.has("eos")) special.set_default("sep", special.texts["eos"]);
}

void read_template(const Json& processor, Special& special) {
  const std::vector<const Json*> single = steps_of(processor, "single");
  std::string first, last;
  if (single.size() > 1) {
    first = special_in(*single.front());
    last = special_in(*single.back());
  }
  if (!first.empty()) {
    if (!special.is("bos", first) && !special.is("cls", first)) {
      special.set_default("bos", first);
      special.set_default("cls", first);
    }
    special.added["bos"] = special.is("bos", first) || special.is("cls", first);
  }
  if (!last.empty()) {
    if (!special.is("eos", last)) {
      if (special.has("eos")) special.texts["eot"] = special.texts["eos"];
      special.texts["eos"] = last;
    }
    special.added["eos"] = true;
  }
  read_pair(steps_of(processor, "pair"), first, last, special);
}

void read_post_processor(const Json& tokenizer, Special& special) {
  const auto found = tokenizer.find("post_processor");
  if (found == tokenizer.end() || !found->is_object()) return;
  std::vector<const Json*> processors = steps_of(*found, "processors");
  if (processors.empty()) processors.push_back(&*found);
  for (const Json* processor : processors) {
    const std::string type = json_text(*processor, "type");
    if (type == "TemplateProcessing") read_template(*processor, special);
    if (type == "ByteLevel") {
      special.added.emplace("bos", false);
      special.added.emplace("eos", false);
    }
  }
}

Special read_special(const TokenizerFiles& files) {
  Special special;
  for (const Kind& kind : kKinds) {
    const std::string key = std::string(kind.name) + "_token";
    const auto entry = files.settings.find(key);
    if (entry == files.settings.end()) continue;
    const std::string text = entry->is_string() ? entry->get<std::string>() : json_text(*entry, "content");
    if (!text.empty()) special.texts[kind.name] = text;
  }
  if (files.has_tokenizer()) {
    if (special.has("cls")) special.set_default("bos", special.texts["cls"]);
    if (special.has("sep")) special.set_default("eos", special.texts["sep"]);
    read_post_processor(files.tokenizer, special);
  }
  for (const char* kind : {"bos", "eos", "sep"}) {
    const auto flag = files.settings.find(fmt::format("add_{}_token", kind));
    if (flag != files.settings.end() && flag->is_boolean()) special.added.emplace(kind, flag->get<bool>());
  }
  return special;
}

/// Templates in a list have names; the default one goes where a single one would.
void write_templates(const TokenizerFiles& files, format::GgufMetadata& metadata) {
  const auto given = files.settings.find("chat_template");
  if (given == files.settings.end() || !given->is_array()) {
    const std::string text = json_text(files.settings, "chat_template");
    const std::string& used = text.empty() ? files.chat_template : text;
    if (!used.empty()) metadata.set("tokenizer.chat_template", used);
    return;
  }
  format::GgufArray names;
  names.type = format::GgufType::string;
  for (const Json& entry : *given) {
    std::string name = json_text(entry, "name");
    const std::string text = json_text(entry, "template");
    if (name.empty() || text.empty()) continue;
    std::replace_if(name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
    if (name == "default") {
      metadata.set("tokenizer.chat_template", text);
    } else {
      metadata.set("tokenizer.chat_template." + name, text);
      names.strings.push_back(name);
    }
  }
  if (!names.strings.empty()) metadata.set("tokenizer.chat_templates", std::move(names));
}

}  // namespace

Status write_special_tokens(const TokenizerFiles& files, const Config& config, uint64_t count,
                            format::GgufMetadata& metadata, std::vector<std::string>& notes) {
  const Special special = read_special(files);
  TERRACE_TRY(const auto added, read_added_tokens(files, true));
  for (const Kind& kind : kKinds) {
    std::optional<uint64_t> id;
    if (const auto text = special.texts.find(kind.name); text != special.texts.end()) {
      const auto found = std::find_if(added.begin(), added.end(),
                                      [&](const auto& token) { return token.second.text == text->second; });
      if (found != added.end()) id = found->first;
    }
    if (!id) id = config.plain_number((std::string(kind.name) + "_token_id").c_str());
    if (!id) continue;
    if (*id < count)
      metadata.set(std::string("tokenizer.ggml.") + kind.key, static_cast<uint32_t>(*id));
    else
      notes.push_back(
          fmt::format("the {} token has the id {}, beyond the {} tokens, and is left out", kind.name, *id, count));
  }
  for (const auto& [kind, add] : special.added) metadata.set("tokenizer.ggml.add_" + kind + "_token", add);
  write_templates(files, metadata);
  return Done{};
}

}  // namespace terrace::tools

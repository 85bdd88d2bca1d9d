// terrace template: renders a conversation with a chat template, byte for byte.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/chat_prompt.h"
#include "cli/commands.h"
#include "cli/options.h"

namespace terrace::cli {
namespace {

using Json = nlohmann::ordered_json;

struct TemplateOptions {
  std::string model, messages, file, tools;
  bool no_generation_prompt = false;
  std::vector<std::string> definitions;
};

constexpr size_t kDepth = 256;  // of JSON from outside

Result<Json> parse_json(const std::string& text, const std::string& where) {
  size_t depth = 0;
  for (const char c : text) {  // a bound, not a parser: brackets in strings count too
    if (c == '[' || c == '{') ++depth;
    if ((c == ']' || c == '}') && depth > 0) --depth;
    if (depth > kDepth) return fail("{}: nested deeper than {}", where, kDepth);
  }
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return fail("{}: is not valid JSON", where);
  return json;
}

Result<Json> read_json(const std::string& path) {
  TERRACE_TRY(const std::string text, read_text(path));
  return parse_json(text, path);
}

Status run(const TemplateOptions& options) {
  text::ChatInput input;
  input.add_generation_prompt = !options.no_generation_prompt;
  TERRACE_TRY(input.messages, read_json(options.messages));
  if (!input.messages.is_array()) return fail("{}: expected a JSON list of messages", options.messages);
  if (!options.tools.empty()) {
    TERRACE_TRY(input.tools, read_json(options.tools));
  }
  for (const std::string& definition : options.definitions) {
    const size_t equals = definition.find('=');
    if (equals == std::string::npos || equals == 0) return fail("-D '{}' is not of the form NAME=JSON", definition);
    TERRACE_TRY(input.extra[definition.substr(0, equals)],
                parse_json(definition.substr(equals + 1), "-D " + definition.substr(0, equals)));
  }
  std::string source;
  if (options.file.empty() || !options.model.empty()) {
    TERRACE_TRY(const std::string path, model_path(options.model));
    TERRACE_TRY(const auto file, format::GgufFile::open(path));
    TERRACE_TRY(source, file.metadata().string_or("tokenizer.chat_template", ""));
    if (source.empty() && options.file.empty())
      return fail("{}: the model has no chat template; give one with --template", path);
    TERRACE_TRY(auto vocabulary, text::read_vocabulary(file.metadata()));
    TERRACE_TRY(const auto tokenizer, text::Tokenizer::create(std::move(vocabulary)));
    nlohmann::ordered_json variables = text::template_variables(*tokenizer);
    variables.update(input.extra);
    input.extra = std::move(variables);
  }
  if (!options.file.empty()) {
    TERRACE_TRY(source, read_text(options.file));
  }
  TERRACE_TRY(const std::string rendered, text::render_chat(std::move(source), input));
  if (std::fwrite(rendered.data(), 1, rendered.size(), stdout) != rendered.size())
    return fail("cannot write to standard output");
  return Done{};
}

}  // namespace

void add_template(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("template", "Renders a conversation with a chat template");
  auto options = std::make_shared<TemplateOptions>();
  command->add_option("model", options->model, "A GGUF file whose template and special tokens to use");
  command->add_option("--messages", options->messages, "JSON list of messages; - reads standard input")->required();
  command->add_option("--template", options->file, "A Jinja file instead of the model's template");
  command->add_option("--tools", options->tools, "JSON list of tools");
  command->add_flag("--no-generation-prompt", options->no_generation_prompt, "Do not begin the assistant's turn");
  command->add_option("-D", options->definitions, "NAME=JSON: a further variable of the template; repeatable");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace terrace::cli

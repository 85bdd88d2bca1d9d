// terrace tokenize, terrace detokenize: text to token ids and back.
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/options.h"

namespace terrace::cli {
namespace {

struct TokenizeOptions {
  std::string model;
  bool no_special = false, bos = false;
};

Result<std::unique_ptr<text::Tokenizer>> open_tokenizer(const std::string& given) {
  TERRACE_TRY(const std::string path, model_path(given));
  TERRACE_TRY(const auto file, format::GgufFile::open(path));
  auto vocabulary = text::read_vocabulary(file.metadata());
  if (!vocabulary) return fail("{}: {}", path, vocabulary.error().message);
  return text::Tokenizer::create(*std::move(vocabulary));
}

Status tokenize(const TokenizeOptions& options) {
  TERRACE_TRY(const auto tokenizer, open_tokenizer(options.model));
  TERRACE_TRY(const std::string text, read_text("-"));
  std::cout << nlohmann::json(
                   tokenizer->encode(text, {.parse_special = !options.no_special, .add_special = options.bos}))
                   .dump()
            << "\n";
  return Done{};
}

Status detokenize(const TokenizeOptions& options) {
  TERRACE_TRY(const auto tokenizer, open_tokenizer(options.model));
  TERRACE_TRY(const std::string input, read_text("-"));
  const auto json = nlohmann::json::parse(input, nullptr, /*allow_exceptions=*/false);
  if (!json.is_array()) return fail("standard input: expected a JSON list of token ids");
  std::vector<int32_t> ids;
  for (size_t i = 0; i < json.size(); ++i) {
    if (!json[i].is_number_integer() || json[i].get<int64_t>() < 0 ||
        json[i].get<int64_t>() >= static_cast<int64_t>(tokenizer->size())) {
      return fail("standard input: element {} is no token id of this vocabulary (0 to {})", i, tokenizer->size() - 1);
    }
    ids.push_back(json[i].get<int32_t>());
  }
  const std::string text = tokenizer->decode(ids, /*specials=*/true);
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) return fail("cannot write to standard output");
  return Done{};
}

}  // namespace

void add_tokenize(CLI::App& app, Action& action) {
  auto options = std::make_shared<TokenizeOptions>();
  CLI::App* command = app.add_subcommand("tokenize", "Text on standard input to a JSON list of token ids");
  command->add_option("model", options->model, "A GGUF file; one with a vocabulary alone will do");
  command->add_flag("--no-special", options->no_special, "Take special tokens in the text as plain text");
  command->add_flag("--bos", options->bos, "Add the begin and end tokens that the vocabulary asks for");
  command->callback([options, &action] { action = [options] { return tokenize(*options); }; });
  CLI::App* reverse = app.add_subcommand("detokenize", "A JSON list of token ids on standard input to text");
  reverse->add_option("model", options->model, "A GGUF file; one with a vocabulary alone will do");
  reverse->callback([options, &action] { action = [options] { return detokenize(*options); }; });
}

}  // namespace terrace::cli

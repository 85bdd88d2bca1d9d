// /tokenize, /detokenize and /apply-template, with llama-server's fields
// (https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md).
#include <fmt/format.h>

#include "serve/chat_request.h"
#include "serve/endpoints.h"
#include "text/unicode.h"

namespace terrace::serve {
namespace {

void tokenize(Service& service, const Call& call, const Json& body) {
  std::optional<Refusal> problem;
  const Fields fields(body, "", problem);
  std::string content;
  bool add_special = false, parse_special = true, with_pieces = false;
  if (!fields.has("content")) fields.refuse("content", "is missing");
  fields.read("content", content);
  fields.read("add_special", add_special);
  fields.read("parse_special", parse_special);
  fields.read("with_pieces", with_pieces);
  if (problem) return call.refuse(*problem);
  const text::Tokenizer& tokenizer = service.model().tokenizer();
  Json tokens = Json::array();
  for (const int32_t id : tokenizer.encode(content, {.parse_special = parse_special, .add_special = add_special})) {
    if (with_pieces)
      tokens.push_back({{"id", id}, {"piece", text::utf8_lossy(tokenizer.token_bytes(id))}});
    else
      tokens.push_back(id);
  }
  call.send({{"tokens", std::move(tokens)}});
}

void detokenize(Service& service, const Call& call, const Json& body) {
  std::optional<Refusal> problem;
  const Fields fields(body, "", problem);
  const Json* list = fields.list("tokens");
  if (!list && !problem) fields.refuse("tokens", "is missing");
  if (problem) return call.refuse(*problem);
  const text::Tokenizer& tokenizer = service.model().tokenizer();
  std::vector<int32_t> tokens;
  for (size_t i = 0; i < list->size(); ++i) {
    const Json& token = (*list)[i];
    if (!token.is_number_integer() || token.get<double>() < 0 ||
        token.get<double>() >= static_cast<double>(tokenizer.size())) {
      return call.refuse({400, fmt::format("must be a token: a number from 0 to {}", tokenizer.size() - 1),
                          fmt::format("tokens[{}]", i)});
    }
    tokens.push_back(token.get<int32_t>());
  }
  call.send({{"content", text::utf8_lossy(tokenizer.decode(tokens, /*specials=*/true))}});
}

void apply_template(Service& service, const Call& call, const Json& body) {
  ChatRequest request;
  if (const auto refusal = read_chat_request(body, service, request)) return call.refuse(*refusal);
  RenderedChat rendered;
  if (const auto refusal = render(service, request, rendered)) return call.refuse(*refusal);
  call.send({{"prompt", rendered.prompt}});
}

}  // namespace

void add_texts(Router& router, Service& service) {
  const auto add = [&](const char* path, auto endpoint) {
    add_model_endpoint(router, service, path, Dialect::openai,
                       [&service, endpoint](const Call& call, const Json& body) { endpoint(service, call, body); });
  };
  add("/tokenize", tokenize);
  add("/detokenize", detokenize);
  add("/apply-template", apply_template);
}

}  // namespace terrace::serve

// POST /v1/embeddings (https://platform.openai.com/docs/api-reference/embeddings).
#include <fmt/format.h>

#include <cmath>

#include "serve/base64.h"
#include "serve/endpoints.h"
#include "serve/fields.h"

namespace terrace::serve {
namespace {

constexpr size_t kMaximumInputs = 256, kChunk = 128;

enum class Pooling { mean, last };

std::optional<std::vector<int32_t>> input_of(const Json& input, const std::string& path, const Service& service,
                                             std::optional<Refusal>& problem) {
  const size_t vocabulary = service.model().engine->info().vocabulary;
  std::vector<int32_t> tokens;
  if (input.is_string() && input.get_ref<const std::string&>().empty()) {
    refuse(problem, path, "is empty");
  } else if (input.is_string()) {
    tokens = service.model().tokenizer().encode(input.get<std::string>(), {.parse_special = true, .add_special = true});
  } else if (input.is_array()) {
    for (const Json& token : input) {
      if (!token.is_number_integer() || token.get<double>() < 0 ||
          token.get<double>() >= static_cast<double>(vocabulary)) {
        refuse(problem, path, fmt::format("must hold tokens: numbers from 0 to {}", vocabulary - 1));
        return std::nullopt;
      }
      tokens.push_back(token.get<int32_t>());
    }
  } else {
    refuse(problem, path, "must be a text or a list of tokens");
    return std::nullopt;
  }
  const size_t context = service.model().engine->context();
  if (tokens.empty()) refuse(problem, path, "is empty");
  if (tokens.size() > context && !problem) {
    problem = Refusal{400, fmt::format("has {} tokens; this model's context holds {}", tokens.size(), context), path,
                      "context_length_exceeded"};
  }
  return tokens;
}

std::vector<std::vector<int32_t>> read_inputs(const Fields& fields, const Service& service,
                                              std::optional<Refusal>& problem) {
  std::vector<std::vector<int32_t>> inputs;
  const Json* input = fields.find("input");
  if (!input) {
    fields.refuse("input", "is missing");
    return inputs;
  }
  const bool several = input->is_array() && !input->empty() && !input->front().is_number();
  const size_t count = several ? input->size() : 1;
  if (count > kMaximumInputs)
    fields.refuse("input", fmt::format("has {} entries; at most {} are possible", count, kMaximumInputs));
  for (size_t i = 0; i < count && !problem; ++i) {
    const std::string path = several ? fmt::format("input[{}]", i) : "input";
    if (auto tokens = input_of(several ? (*input)[i] : *input, path, service, problem))
      inputs.push_back(std::move(*tokens));
  }
  return inputs;
}

/// Of unit length, pooled over the positions. Runs between the scheduler's steps, a chunk at a time, so that answers go
/// on.
Result<std::vector<float>> embed(const ServedModel& model, std::span<const int32_t> tokens, Pooling pooling) {
  const size_t width = model.engine->info().hidden;
  std::vector<double> sum(width);
  engine::Sequence sequence;
  while (!tokens.empty()) {
    const auto chunk = tokens.first(std::min(tokens.size(), kChunk));
    tokens = tokens.subspan(chunk.size());
    Status status = Done{};
    model.scheduler->between_steps([&](engine::ConversationCache&) {
      const auto rows = model.engine->outputs(sequence, chunk);
      if (!rows) {
        status = rows.error();
        return;
      }
      const size_t first = pooling == Pooling::mean ? 0 : rows->count - 1;
      if (pooling == Pooling::last) std::fill(sum.begin(), sum.end(), 0.0);
      for (size_t r = first; r < rows->count; ++r) {
        for (size_t i = 0; i < width; ++i) sum[i] += static_cast<double>(rows->row(r)[i]);
      }
    });
    TERRACE_CHECK(status);
  }
  double square = 0;
  for (const double value : sum) square += value * value;
  const double scale = square > 0 ? 1 / std::sqrt(square) : 0;
  std::vector<float> embedding(width);
  for (size_t i = 0; i < width; ++i) embedding[i] = static_cast<float>(sum[i] * scale);
  return embedding;
}

void embeddings(Service& service, const Call& call, const Json& body) {
  std::optional<Refusal> problem;
  const Fields fields(body, "", problem);
  std::string encoding = "float", pooling = "mean";
  fields.read_choice("encoding_format", encoding, {"float", "base64"});
  fields.read_choice("pooling", pooling, {"mean", "last"});
  const ServedModel& model = service.model();
  size_t dimensions = model.engine->info().hidden;
  fields.read("dimensions", dimensions, model.engine->info().hidden, model.engine->info().hidden);
  const auto inputs = read_inputs(fields, service, problem);
  if (problem) return call.refuse(*problem);
  Json data = Json::array();
  size_t tokens = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto embedding = embed(model, inputs[i], pooling == "mean" ? Pooling::mean : Pooling::last);
    if (!embedding) return call.refuse({500, embedding.error().message});
    tokens += inputs[i].size();
    const Json values = encoding == "float" ? Json(*embedding) : Json(base64(std::as_bytes(std::span(*embedding))));
    data.push_back({{"object", "embedding"}, {"index", i}, {"embedding", values}});
  }
  call.send({{"object", "list"},
             {"data", std::move(data)},
             {"model", service.name()},
             {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}}});
}

}  // namespace

void add_embeddings(Router& router, Service& service) {
  add_model_endpoint(router, service, "/v1/embeddings", Dialect::openai,
                     [&service](const Call& call, const Json& body) { embeddings(service, call, body); });
}

}  // namespace terrace::serve

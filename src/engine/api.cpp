// The public interface, include/terrace/terrace.h, over the engine.
#include "engine/generator.h"
#include "terrace/terrace.h"

namespace terrace {

Session::Session(std::shared_ptr<engine::Engine> engine)
    : engine_(std::move(engine)), sequence_(std::make_unique<engine::Sequence>()) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Result<Answer> Session::generate(std::span<const int32_t> prompt, const GenerateOptions& options,
                                 const std::function<bool(std::string_view)>& sink) {
  engine::GenerateOptions generate;
  generate.max_tokens = options.max_tokens;
  generate.stop = options.stop;
  generate.sampler.temperature = options.temperature;
  generate.sampler.top_k = options.top_k;
  generate.sampler.top_p = options.top_p;
  generate.sampler.min_p = options.min_p;
  generate.sampler.repeat_penalty = options.repeat_penalty;
  generate.sampler.seed = options.seed;
  const auto forward = [&](std::string_view piece) { return !sink || sink(piece); };
  TERRACE_TRY(auto generated, engine::generate(*engine_, *sequence_, prompt, generate, forward));
  return Answer{std::move(generated.text), std::move(generated.tokens),
                std::string(engine::finish_name(generated.finish))};
}

const std::vector<int32_t>& Session::tokens() const { return sequence_->tokens(); }
size_t Session::truncate(size_t length) { return sequence_->truncate(length); }

Result<Model> Model::load(const std::string& path, const LoadOptions& options) {
  engine::EngineOptions engine_options;
  engine_options.threads = options.threads;
  engine_options.isa = options.isa;
  engine_options.numeric = options.reference ? engine::Numeric::reference : engine::Numeric::standard;
  engine_options.half_kv = options.half_kv;
  engine_options.context = options.context;
  TERRACE_TRY(auto engine, engine::Engine::load(path, engine_options));
  return Model(std::shared_ptr<engine::Engine>(std::move(engine)));
}

Session Model::open() const { return Session(engine_); }

std::vector<int32_t> Model::tokenize(std::string_view text, bool special) const {
  const text::Tokenizer* tokenizer = engine_->tokenizer();
  return tokenizer ? tokenizer->encode(text, {.parse_special = special, .add_special = true}) : std::vector<int32_t>();
}

std::string Model::detokenize(std::span<const int32_t> tokens) const {
  const text::Tokenizer* tokenizer = engine_->tokenizer();
  return tokenizer ? tokenizer->decode(tokens, /*specials=*/true) : std::string();
}

size_t Model::vocabulary() const { return engine_->info().vocabulary; }
size_t Model::context() const { return engine_->context(); }

}  // namespace terrace

#include "engine/engine.h"

#include <algorithm>

namespace terrace::engine {

void Sequence::truncate(size_t length) {
  if (length >= tokens_.size()) return;
  tokens_.resize(length);
  pages_.resize((length + compute::kAttentionBlock - 1) / compute::kAttentionBlock);
  page_table_.resize(pages_.size());
}

namespace {

/// The tokenizer of a file, or null when it has no vocabulary.
Result<std::unique_ptr<text::Tokenizer>> load_tokenizer(const format::GgufMetadata& metadata) {
  TERRACE_TRY(const std::string kind, metadata.string_or("tokenizer.ggml.model", "none"));
  if (kind == "none" || kind == "no_vocab") return std::unique_ptr<text::Tokenizer>();
  TERRACE_TRY(auto vocabulary, text::read_vocabulary(metadata));
  return text::Tokenizer::create(std::move(vocabulary));
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::load(const std::string& path, const EngineOptions& options) {
  std::unique_ptr<Engine> engine(new Engine);
  TERRACE_TRY(auto file, format::GgufFile::open(path));
  compute::CpuOptions cpu{options.threads, options.isa, options.numeric == Numeric::reference};
  TERRACE_TRY(engine->backend_, compute::CpuBackend::create(cpu));
  model::LoadOptions load;
  load.half_kv = options.half_kv && options.numeric != Numeric::reference;
  load.context = options.context;
  load.progress = options.progress;
  auto model = model::load_model(file, *engine->backend_, load);
  if (!model) return fail("{}: {}", path, model.error().message);
  engine->model_ = std::move(*model);
  auto tokenizer = load_tokenizer(file.metadata());
  if (!tokenizer) return fail("{}: {}", path, tokenizer.error().message);
  engine->tokenizer_ = std::move(*tokenizer);
  engine->metadata_ = file.metadata();
  engine->file_bytes_ = file.file_bytes();
  engine->context_ = options.context > 0 ? options.context : engine->info().trained_context;
  engine->pool_.emplace(engine->info().page_bytes);
  return engine;
}

Status Engine::check(std::span<const Advance> advances) const {
  for (const Advance& advance : advances) {
    const auto same = [&](const Advance& other) { return other.sequence == advance.sequence; };
    if (std::count_if(advances.begin(), advances.end(), same) > 1)
      return fail("a sequence can advance only once in a step");
    if (advance.tokens.empty()) return fail("a step needs at least one token per sequence");
    for (const int32_t token : advance.tokens) {
      if (token < 0 || static_cast<size_t>(token) >= info().vocabulary) {
        return fail("the token {} does not exist; the vocabulary has {}", token, info().vocabulary);
      }
    }
    if (advance.sequence->size() + advance.tokens.size() > context_) {
      return fail("the context is full: {} tokens and {} more do not fit in {}", advance.sequence->size(),
                  advance.tokens.size(), context_);
    }
  }
  return Done{};
}

void Engine::reserve(Sequence& sequence, size_t length) {
  while (sequence.pages_.size() * compute::kAttentionBlock < length) {
    sequence.pages_.push_back(pool_->allocate());
    sequence.page_table_.push_back(sequence.pages_.back().get());
  }
}

Result<compute::Rows> Engine::step(std::span<const Advance> advances) {
  TERRACE_CHECK(check(advances));
  tokens_.clear();
  spans_.clear();
  wanted_.clear();
  for (const Advance& advance : advances) {
    Sequence& sequence = *advance.sequence;
    reserve(sequence, sequence.size() + advance.tokens.size());
    const size_t first = tokens_.size(), last = first + advance.tokens.size();
    spans_.push_back(
        {first, advance.tokens.size(), static_cast<int32_t>(sequence.size()), sequence.page_table_.data()});
    tokens_.insert(tokens_.end(), advance.tokens.begin(), advance.tokens.end());
    if (advance.logits == Advance::Logits::last) wanted_.push_back(last - 1);
    if (advance.logits == Advance::Logits::all) {
      for (size_t row = first; row < last; ++row) wanted_.push_back(row);
    }
  }
  const size_t stride = (info().vocabulary + 15) / 16 * 16, bytes = wanted_.size() * stride * sizeof(float);
  if (logits_.size() < bytes) logits_ = Buffer(bytes, Purpose::logits);
  const compute::Rows logits{logits_.as<float>(), wanted_.size(), info().vocabulary, stride};
  model_->forward({tokens_, spans_, wanted_}, logits);
  for (const Advance& advance : advances) {
    advance.sequence->tokens_.insert(advance.sequence->tokens_.end(), advance.tokens.begin(), advance.tokens.end());
  }
  return logits;
}

}  // namespace terrace::engine

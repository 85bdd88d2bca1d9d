#include "engine/engine.h"

#include <algorithm>

namespace terrace::engine {

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
  load.draft_head = options.draft_head;
  std::optional<format::GgufFile> draft_file;
  if (options.draft_head && !options.draft_path.empty()) {
    TERRACE_TRY(draft_file, format::GgufFile::open(options.draft_path));
    load.draft_file = &*draft_file;
  }
  compute::Backend* backend = engine->backend_.get();
  if (options.observer) backend = &engine->observing_.emplace(*backend, *options.observer);
  auto model = model::load_model(file, *backend, load);
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

Status Engine::check_tokens(std::span<const int32_t> tokens) const {
  for (const int32_t token : tokens) {
    if (token < 0 || static_cast<size_t>(token) >= info().vocabulary)
      return fail("the token {} does not exist; the vocabulary has {}", token, info().vocabulary);
  }
  return Done{};
}

Status Engine::check(std::span<const Advance> advances) const {
  for (const Advance& advance : advances) {
    const auto same = [&](const Advance& other) { return other.sequence == advance.sequence; };
    if (std::count_if(advances.begin(), advances.end(), same) > 1)
      return fail("a sequence can advance only once in a step");
    if (advance.tokens.empty()) return fail("a step needs at least one token per sequence");
    TERRACE_CHECK(check_tokens(advance.tokens));
    if (advance.sequence->size() + advance.tokens.size() > context_) {
      return fail("the context is full: {} tokens and {} more do not fit in {}", advance.sequence->size(),
                  advance.tokens.size(), context_);
    }
  }
  return Done{};
}

compute::Rows Engine::logit_rows(size_t count) {
  const size_t stride = (info().vocabulary + 15) / 16 * 16, bytes = count * stride * sizeof(float);
  if (logits_.size() < bytes) logits_ = Buffer(bytes, Purpose::logits);
  return {logits_.as<float>(), count, info().vocabulary, stride};
}

/// Room for the hidden rows of a step, beside those of the last one.
compute::Rows Engine::next_hidden(size_t count) {
  if (info().draft_width == 0) return {};
  hidden_buffer_ = 1 - hidden_buffer_;
  Buffer& buffer = hidden_buffers_[hidden_buffer_];
  const size_t bytes = count * info().draft_width * sizeof(float);
  if (buffer.size() < bytes) buffer = Buffer(bytes, Purpose::activations);
  return {buffer.as<float>(), count, info().draft_width, info().draft_width};
}

Result<compute::Rows> Engine::step(std::span<const Advance> advances, model::StepObserver* observer) {
  return run(advances, observer, {});
}

Result<compute::Rows> Engine::outputs(Sequence& sequence, std::span<const int32_t> tokens) {
  const size_t stride = (info().hidden + 15) / 16 * 16, bytes = tokens.size() * stride * sizeof(float);
  if (outputs_.size() < bytes) outputs_ = Buffer(bytes, Purpose::activations);
  const compute::Rows rows{outputs_.as<float>(), tokens.size(), info().hidden, stride};
  const Advance advance{&sequence, tokens, Advance::Logits::none};
  TERRACE_CHECK(run(std::span(&advance, 1), nullptr, rows));
  return rows;
}

Result<compute::Rows> Engine::run(std::span<const Advance> advances, model::StepObserver* observer,
                                  compute::Rows outputs) {
  TERRACE_CHECK(check(advances));
  tokens_.clear();
  spans_.clear();
  wanted_.clear();
  for (const Advance& advance : advances) {
    Sequence& sequence = *advance.sequence;
    sequence.reserve(*pool_, info().state_bytes, sequence.size(), sequence.size() + advance.tokens.size());
    const size_t first = tokens_.size(), last = first + advance.tokens.size();
    spans_.push_back({first, advance.tokens.size(), static_cast<int32_t>(sequence.size()), sequence.page_table_.data(),
                      sequence.state_.data()});
    tokens_.insert(tokens_.end(), advance.tokens.begin(), advance.tokens.end());
    if (advance.logits == Advance::Logits::last) wanted_.push_back(last - 1);
    if (advance.logits == Advance::Logits::all) {
      for (size_t row = first; row < last; ++row) wanted_.push_back(row);
    }
  }
  const compute::Rows logits = logit_rows(wanted_.size()), hidden = next_hidden(tokens_.size());
  TERRACE_CHECK(model_->forward({tokens_, spans_, wanted_, hidden, observer, outputs}, logits));
  hidden_ = hidden;
  for (const Advance& advance : advances) {
    advance.sequence->tokens_.insert(advance.sequence->tokens_.end(), advance.tokens.begin(), advance.tokens.end());
  }
  return logits;
}

Result<compute::Rows> Engine::draft(const DraftAdvance& advance, model::StepObserver* observer) {
  Sequence& sequence = *advance.sequence;
  const size_t rows = advance.tokens.size(), last = advance.first + rows;
  if (rows == 0 || advance.hidden.count != rows || last > context_)
    return fail("a draft of {} tokens with {} hidden rows up to position {} is not possible in a context of {}", rows,
                advance.hidden.count, last, context_);
  if (info().draft_width == 0 || advance.hidden.width != info().draft_width)
    return fail("the draft head reads hidden rows of {}, not of {}", info().draft_width, advance.hidden.width);
  TERRACE_CHECK(check_tokens(advance.tokens));
  sequence.reserve(*pool_, info().state_bytes, advance.first, last);
  const compute::RowSpan span{0, rows, static_cast<int32_t>(advance.first), sequence.page_table_.data(),
                              sequence.state_.data()};
  const compute::Rows logits = logit_rows(rows), hidden = next_hidden(rows);
  TERRACE_CHECK(model_->draft({advance.tokens, std::span(&span, 1), advance.hidden, hidden, observer}, logits));
  hidden_ = hidden;
  return logits;
}

}  // namespace terrace::engine

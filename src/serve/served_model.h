// A loaded model and everything that is made from it once.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "serve/cache_files.h"
#include "serve/grammar_store.h"
#include "serve/service_options.h"
#include "text/chat_format/messages.h"
#include "text/chat_template.h"
#include "text/grammar/token_vocabulary.h"

namespace terrace::serve {

/// What there is to say about a model, also while it is not in memory.
struct ModelCard {
  model::ModelInfo info;
  size_t context = 0;
  uint64_t file_bytes = 0;
  std::string chat_template, chat_format, bos_token, eos_token, instruction_set;
  size_t threads = 0;
};

struct ServedModel {
  std::unique_ptr<engine::Engine> engine;
  std::optional<text::ChatTemplate> chat_template;  ///< none: the model has none, and chats are refused
  text::ChatFormat format;
  text::TemplateTraits traits;
  std::shared_ptr<const text::TokenVocabulary> vocabulary;  ///< for grammars
  GrammarStore grammars;
  Fingerprint fingerprint;                       ///< if conversations can be kept in files
  std::unique_ptr<CacheFiles> cache_files;       ///< may be null
  std::unique_ptr<engine::Scheduler> scheduler;  ///< last: it uses the others
  std::shared_ptr<const ModelCard> card;

  const text::Tokenizer& tokenizer() const { return *engine->tokenizer(); }
};

/// `before`: what the figures of its scheduler begin with.
Result<std::unique_ptr<ServedModel>> load_model(const ServiceOptions& options, const engine::SchedulerTotals& before);

}  // namespace terrace::serve

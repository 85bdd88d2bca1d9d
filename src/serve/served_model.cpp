#include "serve/served_model.h"

#include "base/json.h"

namespace terrace::serve {
namespace {

/// The template, and what it says about the form of the model's answers.
Status read_template(const ServiceOptions& options, ServedModel& model, ModelCard& card) {
  card.chat_template = options.chat_template;
  if (card.chat_template.empty()) {
    TERRACE_TRY(card.chat_template, model.engine->metadata().string_or("tokenizer.chat_template", ""));
  }
  if (card.chat_template.empty()) return Done{};
  TERRACE_TRY(model.chat_template, text::ChatTemplate::parse(card.chat_template));
  text::ChatStyle style = text::chat_style(*model.chat_template, card.chat_template, &model.tokenizer(),
                                           text::template_variables(model.tokenizer()));
  model.format = std::move(style.format);
  model.traits = style.traits;
  return Done{};
}

/// Takes over the conversations of the server before, and keeps this one's.
Status open_cache(const ServiceOptions& options, ServedModel& model) {
  if (options.cache_folder.empty() && options.slot_folder.empty()) return Done{};
  TERRACE_TRY(model.fingerprint, fingerprint_of(options.model_path, options.engine, *model.engine, options.version));
  if (options.cache_folder.empty()) return Done{};
  TERRACE_TRY(model.cache_files, CacheFiles::open(options.cache_folder, options.cache_disk_bytes, model.fingerprint,
                                                  RecordLimits::of(*model.engine)));
  auto kept = model.cache_files->load(*model.engine, options.scheduler.cache_bytes);
  model.scheduler->between_steps([&](engine::ConversationCache& cache) {
    for (engine::Checkpoint& checkpoint : kept) cache.insert(std::move(checkpoint));
    cache.on_insert([files = model.cache_files.get()](std::shared_ptr<const engine::Checkpoint> checkpoint) {
      files->save(std::move(checkpoint));
    });
  });
  return Done{};
}

void fill_card(ServedModel& model, ModelCard& card) {
  const engine::Engine& engine = *model.engine;
  const Json variables = text::template_variables(model.tokenizer());
  card.info = engine.info();
  card.context = engine.context();
  card.file_bytes = engine.file_bytes();
  card.chat_format = model.format.name;
  card.bos_token = variables.value("bos_token", "");
  card.eos_token = variables.value("eos_token", "");
  card.instruction_set = model.engine->backend().instruction_set();
  card.threads = model.engine->backend().threads();
}

}  // namespace

Result<std::unique_ptr<ServedModel>> load_model(const ServiceOptions& options, const engine::SchedulerTotals& before) {
  auto model = std::make_unique<ServedModel>();
  auto card = std::make_shared<ModelCard>();
  TERRACE_TRY(model->engine, engine::Engine::load(options.model_path, options.engine));
  if (!model->engine->tokenizer())
    return fail("{}: the model file has no vocabulary, so it cannot be served", options.model_path);
  TERRACE_CHECK(read_template(options, *model, *card));
  fill_card(*model, *card);
  model->card = std::move(card);
  model->vocabulary = text::TokenVocabulary::create(model->tokenizer());
  model->scheduler = std::make_unique<engine::Scheduler>(*model->engine, options.scheduler, before);
  TERRACE_CHECK(open_cache(options, *model));
  return model;
}

}  // namespace terrace::serve

// /health, /v1/models, /v1/status, /metrics, and llama-server's /props and /slots.
#include <fmt/format.h>

#include "base/buffer.h"
#include "serve/endpoints.h"

namespace terrace::serve {
namespace {

Json model_json(const Service& service) {
  Json made = {{"id", service.name()}, {"object", "model"}, {"created", service.created()}, {"owned_by", "terrace"}};
  const auto card = service.keeper().card();
  if (!card) return made;  // not loaded yet
  made["meta"] = {{"architecture", card->info.architecture},
                  {"name", card->info.name},
                  {"n_vocab", card->info.vocabulary},
                  {"n_ctx", card->context},
                  {"n_ctx_train", card->info.trained_context},
                  {"n_embd", card->info.hidden},
                  {"size", card->file_bytes}};
  return made;
}

Json slot_json(const engine::SlotStatus& slot, size_t index, size_t context) {
  return {{"id", index},
          {"id_task", slot.busy ? Json(slot.request) : Json(-1)},
          {"n_ctx", context},
          {"is_processing", slot.busy},
          {"n_prompt_tokens", slot.prompt_tokens},
          {"n_prompt_tokens_processed", slot.read_tokens},
          {"n_prompt_tokens_cache", slot.cached_tokens},
          {"next_token", {{"n_decoded", slot.completion_tokens}}}};
}

Json slots_json(const Service& service, const engine::SchedulerStatus& status) {
  const auto card = service.keeper().card();
  Json slots = Json::array();
  for (size_t i = 0; i < status.slots.size(); ++i)
    slots.push_back(slot_json(status.slots[i], i, card ? card->context : 0));
  return slots;
}

Json memory_json(const engine::SchedulerStatus& status) {
  Json memory = Json::object();
  for (const Purpose purpose : kPurposes) memory[std::string(purpose_name(purpose))] = bytes_held(purpose);
  memory["conversation_cache"] = status.cache_bytes;  // a part of kv and states
  return memory;
}

Json totals_json(const engine::SchedulerTotals& totals) {
  return {{"requests", totals.requests},
          {"steps", totals.steps},
          {"prompt_tokens_read", totals.prompt_tokens_read},
          {"prompt_tokens_cached", totals.prompt_tokens_cached},
          {"completion_tokens", totals.completion_tokens},
          {"prompt_seconds", totals.prompt_seconds},
          {"decode_seconds", totals.decode_seconds}};
}

Json status_json(const Service& service) {
  const ServiceOptions& options = service.options();
  const engine::SchedulerStatus status = service.keeper().status();
  Json made = {
      {"model", model_json(service)},
      {"loaded", service.keeper().loaded()},
      {"version", options.version},
      {"numeric_profile", options.engine.numeric == engine::Numeric::reference ? "reference" : "standard"},
      {"kv_type", options.engine.half_kv ? "f16" : "f32"},
      {"memory", memory_json(status)},
      {"cache",
       {{"bytes", status.cache_bytes}, {"limit", status.cache_limit}, {"conversations", status.cache_entries}}},
      {"queue", {{"waiting", status.waiting}, {"limit", options.scheduler.queue_limit}}},
      {"slots", slots_json(service, status)},
      {"totals", totals_json(status.totals)}};
  const auto card = service.keeper().card();
  if (!card) return made;
  const model::ModelInfo& info = card->info;
  made["instruction_set"] = card->instruction_set;
  made["threads"] = card->threads;
  made["chat_format"] = card->chat_format;
  made["token_bytes"] = {{"dense", info.token_bytes.dense},
                         {"experts", info.token_bytes.experts},
                         {"head", info.token_bytes.head},
                         {"state", info.state_bytes},
                         {"kv_per_position", info.page_bytes / compute::kAttentionBlock}};
  return made;
}

Json props_json(const Service& service) {
  const engine::SamplerOptions& sampler = service.options().sampler;
  const auto found = service.keeper().card();
  const ModelCard card = found ? *found : ModelCard();
  return {{"default_generation_settings",
           {{"n_ctx", card.context},
            {"params",
             {{"temperature", sampler.temperature},
              {"top_k", sampler.top_k},
              {"top_p", sampler.top_p},
              {"min_p", sampler.min_p},
              {"repeat_penalty", sampler.repeat_penalty},
              {"presence_penalty", sampler.presence_penalty},
              {"frequency_penalty", sampler.frequency_penalty}}}}},
          {"total_slots", service.options().scheduler.slots},
          {"model_alias", service.name()},
          {"model_path", service.options().model_path},
          {"chat_template", card.chat_template},
          {"modalities", {{"vision", false}, {"audio", false}}},
          {"bos_token", card.bos_token},
          {"eos_token", card.eos_token},
          {"is_sleeping", !service.keeper().loaded()},
          {"build_info", "terrace " + service.options().version}};
}

}  // namespace

void add_monitor(Router& router, Service& service) {
  const auto get = [&](const char* path, auto make, bool open = false) {
    router.add("GET", path, [&service, make](const Call& call) { call.send(make(service)); }, open);
  };
  const auto health = [](const Service&) { return Json{{"status", "ok"}}; };
  get("/health", health, /*open=*/true);
  get("/v1/health", health, /*open=*/true);
  get("/v1/status", status_json);
  get("/props", props_json);
  get("/slots", [](const Service& s) { return slots_json(s, s.keeper().status()); });
  const auto models = [](const Service& s) { return Json{{"object", "list"}, {"data", Json::array({model_json(s)})}}; };
  get("/v1/models", models);
  get("/models", models);
  router.add("GET", "/v1/models/*", [&service](const Call& call) {
    if (call.tail == service.name()) return call.send(model_json(service));
    call.refuse({404, fmt::format("there is no model '{}' here; this server has '{}'", call.tail, service.name()),
                 "model", "model_not_found"});
  });
  router.add("GET", "/metrics", [&service](const Call& call) {
    call.responder->send({.type = "text/plain; version=0.0.4; charset=utf-8",
                          .body = service.metrics().text(service.keeper().status())});
  });
}

}  // namespace terrace::serve

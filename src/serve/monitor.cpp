// /health, /v1/models, /v1/status, /metrics, and llama-server's /props and /slots.
#include <fmt/format.h>

#include "base/buffer.h"
#include "serve/endpoints.h"

namespace terrace::serve {
namespace {

Json model_json(const Service& service) {
  const ServedModel& model = service.model();
  return {{"id", service.name()},
          {"object", "model"},
          {"created", service.created()},
          {"owned_by", "terrace"},
          {"meta",
           {{"architecture", model.engine->info().architecture},
            {"name", model.engine->info().name},
            {"n_vocab", model.engine->info().vocabulary},
            {"n_ctx", model.engine->context()},
            {"n_ctx_train", model.engine->info().trained_context},
            {"n_embd", model.engine->info().hidden},
            {"size", model.engine->file_bytes()}}}};
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

Json slots_json(const engine::SchedulerStatus& status, size_t context) {
  Json slots = Json::array();
  for (size_t i = 0; i < status.slots.size(); ++i) slots.push_back(slot_json(status.slots[i], i, context));
  return slots;
}

Json memory_json(const engine::SchedulerStatus& status) {
  Json memory = Json::object();
  for (const Purpose purpose : kPurposes) memory[std::string(purpose_name(purpose))] = bytes_held(purpose);
  memory["conversation_cache"] = status.cache_bytes;  // a part of kv and states
  return memory;
}

Json status_json(const Service& service) {
  const ServedModel& model = service.model();
  const engine::SchedulerStatus status = model.scheduler->status();
  const model::ModelInfo& info = model.engine->info();
  return {
      {"model", model_json(service)},
      {"version", service.options().version},
      {"numeric_profile", service.options().engine.numeric == engine::Numeric::reference ? "reference" : "standard"},
      {"kv_type", service.options().engine.half_kv ? "f16" : "f32"},
      {"instruction_set", model.engine->backend().instruction_set()},
      {"threads", model.engine->backend().threads()},
      {"chat_format", model.format.name},
      {"token_bytes",
       {{"dense", info.token_bytes.dense},
        {"experts", info.token_bytes.experts},
        {"head", info.token_bytes.head},
        {"state", info.state_bytes},
        {"kv_per_position", info.page_bytes / compute::kAttentionBlock}}},
      {"memory", memory_json(status)},
      {"cache",
       {{"bytes", status.cache_bytes}, {"limit", status.cache_limit}, {"conversations", status.cache_entries}}},
      {"queue", {{"waiting", status.waiting}, {"limit", service.options().scheduler.queue_limit}}},
      {"slots", slots_json(status, model.engine->context())},
      {"totals",
       {{"requests", status.requests},
        {"steps", status.steps},
        {"prompt_tokens_read", status.prompt_tokens_read},
        {"prompt_tokens_cached", status.prompt_tokens_cached},
        {"completion_tokens", status.completion_tokens},
        {"prompt_seconds", status.prompt_seconds},
        {"decode_seconds", status.decode_seconds}}}};
}

Json props_json(const Service& service) {
  const ServedModel& model = service.model();
  const engine::SamplerOptions& sampler = service.options().sampler;
  return {{"default_generation_settings",
           {{"n_ctx", model.engine->context()},
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
          {"chat_template", model.template_source},
          {"modalities", {{"vision", false}, {"audio", false}}},
          {"bos_token", text::template_variables(model.tokenizer()).value("bos_token", "")},
          {"eos_token", text::template_variables(model.tokenizer()).value("eos_token", "")},
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
  get("/slots",
      [](const Service& s) { return slots_json(s.model().scheduler->status(), s.model().engine->context()); });
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
                          .body = service.metrics().text(service.model().scheduler->status())});
  });
}

}  // namespace terrace::serve

// The endpoints, one file per API.
#pragma once

#include "serve/router.h"
#include "serve/service.h"

namespace terrace::serve {

/// Runs `work` with the model in memory, at once or after it has been loaded; else the call is refused.
void with_model(const Service& service, const Call& call, Dialect dialect, std::function<void()> work);
/// POST with a JSON object, for which the model is in memory.
void add_model_endpoint(Router& router, const Service& service, std::string path, Dialect dialect,
                        JsonEndpoint endpoint);

/// /v1/completions.
void add_completions(Router& router, Service& service);
/// /v1/chat/completions.
void add_chat_completions(Router& router, Service& service);
/// /v1/responses.
void add_responses(Router& router, Service& service);
/// /v1/embeddings.
void add_embeddings(Router& router, Service& service);
/// /v1/messages and /v1/messages/count_tokens.
void add_messages(Router& router, Service& service);
/// /tokenize, /detokenize, /apply-template.
void add_texts(Router& router, Service& service);
/// What can be done with /slots/N: ?action=save, restore and erase.
void add_slots(Router& router, Service& service);
/// /health, /v1/models, /v1/status, /metrics, /props, /slots.
void add_monitor(Router& router, Service& service);

}  // namespace terrace::serve

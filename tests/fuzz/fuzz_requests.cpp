// Bodies of chat requests of the three APIs: read, rendered by a model's template and given a grammar, or refused.
#include <cstdio>
#include <cstdlib>

#include "serve/anthropic_messages.h"
#include "serve/responses_request.h"

namespace {

using namespace terrace::serve;  // NOLINT(google-build-using-namespace)

Service& service() {
  static const std::unique_ptr<Service> instance = [] {
    ServiceOptions options;
    options.model_path = "tests/data/fixtures/qwen35moe/model-f32.gguf";  // from the root, where scripts/fuzz runs
    options.engine.threads = 1;
    auto created = Service::create(options);
    if (!created) {
      std::fprintf(stderr, "%s\n", created.error().message.c_str());
      std::abort();
    }
    return *std::move(created);
  }();
  return *instance;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto body = terrace::parse_json({reinterpret_cast<const char*>(data + 1), size - 1});
  if (!body || !body->is_object()) return 0;
  static const ResponseStore store;
  ResponsesRequest responses;
  ChatRequest request;
  std::optional<Refusal> refusal;
  switch (data[0] % 3) {
    case 0:
      refusal = read_chat_request(*body, service(), request);
      break;
    case 1:
      refusal = read_messages_request(*body, service(), /*counting=*/data[0] >= 128, request);
      break;
    default:
      refusal = read_responses_request(*body, service(), store, responses);
      request = responses.chat;
  }
  if (refusal) return 0;
  Submission submission;
  if (prepare(service(), request, submission)) return 0;
  if (submission.prompts.size() != 1 || submission.prompts[0].empty() || !submission.answer) std::abort();
  submission.answer();
  if (submission.filter) submission.filter();
  return 0;
}

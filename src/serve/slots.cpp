// POST /slots/N?action=save, restore or erase, with llama-server's fields
// (https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <mutex>

#include "serve/endpoints.h"
#include "serve/fields.h"
#include "serve/slot_file.h"

namespace terrace::serve {
namespace {

constexpr size_t kLongestName = 128;

class Watch {
 public:
  double milliseconds() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// The file that a request names, which lies in the folder for them whatever it says.
std::string read_name(const Json& body, std::optional<Refusal>& problem) {
  const Fields fields(body, "", problem);
  std::string name;
  if (!fields.has("filename")) fields.refuse("filename", "is missing");
  fields.read("filename", name);
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.';
  };
  if (name.empty() || name.size() > kLongestName || name.front() == '.' ||
      !std::all_of(name.begin(), name.end(), plain)) {
    fields.refuse("filename", fmt::format("must be a plain name of at most {} characters: letters, digits, '-', '_' "
                                          "and '.', not beginning with '.'",
                                          kLongestName));
  }
  return name;
}

void save(ServedModel& model, size_t slot, const std::string& name, const std::string& path, const Call& call) {
  const Watch watch;
  const auto conversation = model.scheduler->conversation(slot);
  if (!conversation) return call.refuse({400, conversation.error().message});
  static std::mutex one_at_a_time;  // two that save under one name would write the same file
  const std::lock_guard lock(one_at_a_time);
  const auto written = write_slot_file(path, *conversation, model.fingerprint, RecordLimits::of(*model.engine));
  if (!written) return call.refuse({500, written.error().message});
  call.send({{"id_slot", slot},
             {"filename", name},
             {"n_saved", conversation->back()->tokens.size()},
             {"n_written", *written},
             {"timings", {{"save_ms", watch.milliseconds()}}}});
}

void restore(ServedModel& model, size_t slot, const std::string& name, const std::string& path, const Call& call) {
  const Watch watch;
  if (std::error_code ignored; !std::filesystem::is_regular_file(path, ignored))
    return call.refuse({404, fmt::format("there is no saved conversation '{}' here", name), "filename"});
  auto file = read_slot_file(path, model.fingerprint, *model.engine);
  if (!file) {
    return call.refuse(
        {400, fmt::format("the conversation '{}' cannot be used: {}", name, file.error().message), "filename"});
  }
  const size_t tokens = file->conversation.back().tokens.size();
  if (const Status kept = model.scheduler->adopt(slot, std::move(file->conversation)); !kept)
    return call.refuse({400, kept.error().message});
  call.send({{"id_slot", slot},
             {"filename", name},
             {"n_restored", tokens},
             {"n_read", file->bytes},
             {"timings", {{"restore_ms", watch.milliseconds()}}}});
}

void act(const Service& service, const Call& call) {
  const size_t slots = service.options().scheduler.slots;
  size_t slot = 0;
  const char* const end = call.tail.data() + call.tail.size();
  if (const auto read = std::from_chars(call.tail.data(), end, slot);
      read.ec != std::errc() || read.ptr != end || slot >= slots)
    return call.refuse({404, fmt::format("there is no slot '{}'; this server has 0 to {}", call.tail, slots - 1)});
  const std::string& action = call.request->query;
  ServedModel& model = service.model();
  if (action == "action=erase") return call.send({{"id_slot", slot}, {"n_erased", model.scheduler->forget(slot)}});
  if (action != "action=save" && action != "action=restore")
    return call.refuse({400, "must be one of save, restore and erase: /slots/0?action=save", "action"});
  const std::string& folder = service.options().slot_folder;
  if (folder.empty())
    return call.refuse({501, "this server keeps no conversations in files; start it with --slot-save-path FOLDER"});
  read_body(call, Dialect::openai, [&](const Call&, const Json& body) {
    std::optional<Refusal> problem;
    const std::string name = read_name(body, problem);
    if (problem) return call.refuse(*problem);
    (action == "action=save" ? save : restore)(model, slot, name, folder + "/" + name, call);
  });
}

}  // namespace

void add_slots(Router& router, Service& service) {
  router.add("POST", "/slots/*", [&service](const Call& call) {
    with_model(service, call, Dialect::openai, [&service, call] { act(service, call); });
  });
}

}  // namespace terrace::serve

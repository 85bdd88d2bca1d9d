// Jinja templates as chat templates use them: parsed once, rendered by any number of threads.
#pragma once

#include <ctime>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"
#include "text/jinja/limits.h"

namespace terrace::text::jinja {

struct RenderOptions {
  Limits limits;
  std::function<std::tm()> clock;  ///< the time of strftime_now(); empty: the local time
};

class Template {
 public:
  /// Errors read "template line N: reason".
  static Result<Template> parse(std::string source);
  /// `context` is an object: its members are the template's names. A raise_exception(message) gives just its message.
  Result<std::string> render(const nlohmann::ordered_json& context, const RenderOptions& options = {}) const;

 private:
  struct Tree;
  explicit Template(std::shared_ptr<const Tree> tree) : tree_(std::move(tree)) {}
  std::shared_ptr<const Tree> tree_;
};

}  // namespace terrace::text::jinja

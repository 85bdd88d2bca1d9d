// Who answers in `terrace chat`: a model in this process, or a server.
#pragma once

#include <memory>
#include <string>

#include "base/json.h"
#include "cli/options.h"
#include "cli/sampling.h"

namespace terrace::cli {

struct Answered {
  std::string text;
  engine::Finish finish = engine::Finish::stop;
};

class Answerer {
 public:
  virtual ~Answerer() = default;
  virtual std::string name() const = 0;  ///< what the greeting says
  /// The answer to a conversation; `sink` gets it in pieces and ends it by returning false.
  virtual Result<Answered> answer(const Json& messages, const engine::TextSink& sink) = 0;
};

/// Loads the model.
Result<std::unique_ptr<Answerer>> local_answerer(const ModelOptions& model, const engine::GenerateOptions& options);
/// Asks an OpenAI-compatible server at http://HOST:PORT; `options` are those that the command line set.
Result<std::unique_ptr<Answerer>> remote_answerer(const std::string& url, const std::string& key, Json options);

}  // namespace terrace::cli

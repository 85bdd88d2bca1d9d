// What the server is told at its start.
#pragma once

#include <set>
#include <string>

#include "engine/engine.h"
#include "engine/sampler_options.h"
#include "engine/scheduler.h"

namespace terrace::serve {

struct ServiceOptions {
  std::string model_path;
  std::string version;  ///< of the program
  std::string alias;    ///< the model's name in the API; empty: the file's name
  engine::EngineOptions engine;
  engine::SchedulerOptions scheduler;
  engine::SamplerOptions sampler;             ///< where requests say nothing
  std::string chat_template;                  ///< in place of the model's own
  bool fit_max_tokens = false;                ///< shorten answers that do not fit, instead of refusing
  std::set<std::string> keep_volatile_lines;  ///< names of rules (volatile_lines.h) that are not followed
  std::string cache_folder;                   ///< where conversations outlive the server; empty: nowhere
  size_t cache_disk_bytes = size_t{8} << 30;
  size_t checkpoint_every = 2048;  ///< tokens of a prompt between kept states of recurrent layers
  std::string slot_folder;         ///< where requests may save conversations; empty: nowhere
  bool lazy_load = false;          ///< load the model with the first request that needs it
  double idle_unload_seconds = 0;  ///< without a request, after which it is dropped from memory; 0: never
};

}  // namespace terrace::serve

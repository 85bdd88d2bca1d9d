// The subcommands of `terrace`, one file each. A command adds its options to the command line and sets what to run.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "engine/engine.h"

namespace CLI {
class App;
}

namespace terrace::cli {

/// What the chosen command does; its error becomes one line on stderr and exit code 1.
using Action = std::function<Status()>;

void add_bench(CLI::App& app, Action& action);
void add_chat(CLI::App& app, Action& action);
void add_convert(CLI::App& app, Action& action);
void add_imatrix(CLI::App& app, Action& action);
void add_inspect(CLI::App& app, Action& action);
void add_logits(CLI::App& app, Action& action);
void add_perplexity(CLI::App& app, Action& action);
void add_quality(CLI::App& app, Action& action);
void add_quantize(CLI::App& app, Action& action);
void add_run(CLI::App& app, Action& action);
void add_serve(CLI::App& app, Action& action);
void add_synth(CLI::App& app, Action& action);
void add_template(CLI::App& app, Action& action);
void add_tokenize(CLI::App& app, Action& action);

}  // namespace terrace::cli

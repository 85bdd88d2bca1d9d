// Options that several commands share.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace terrace::cli {

/// Which model, and how it is computed.
struct ModelOptions {
  std::string model;  ///< empty: the default model
  size_t threads = 0;
  size_t context = 0;
  std::string isa = "auto";
  std::string numeric = "standard";
  std::string kv = "f16";
  bool draft_head = false;  ///< for the commands that use it
  std::string draft_path;

  /// Adds MODEL (required or not) and the options to a command.
  void add(CLI::App& command, bool required);
  engine::EngineOptions engine() const;
};

/// Which texts a model is judged on.
struct TextOptions {
  std::vector<std::string> files;  ///< FILE or KIND=FILE
  size_t tokens = 0;               ///< of each at most; 0: all

  void add(CLI::App& command, bool required);
};

/// The path of the model to use: the given one, or the default model where scripts/demo puts it.
Result<std::string> model_path(const std::string& given);

/// Loads the model, with a progress line on stderr when that is a terminal. `observer` sees the inputs of its products.
Result<std::unique_ptr<engine::Engine>> load_engine(const ModelOptions& options,
                                                    compute::ProductObserver* observer = nullptr);

/// After catch_interrupts(), SIGINT only sets a flag: commands that generate stop at the next token and exit with 130.
void catch_interrupts();
/// The same with SIGTERM as well, for commands that keep their work so that it can be continued.
void catch_stops();
bool interrupted();
void clear_interrupt();

}  // namespace terrace::cli

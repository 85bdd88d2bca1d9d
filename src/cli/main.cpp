// The command line: chooses the subcommand and turns its outcome into output and an exit code.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/version.h"

namespace {

constexpr int kFailed = 1, kUsage = 2, kInterrupted = 130;

/// One line, whatever the message holds.
void print_error(std::string message) {
  for (char& c : message) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  std::fprintf(stderr, "terrace: %s\n", message.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  using namespace terrace;
  CLI::App app("Terrace runs language models on ordinary machines.");
  app.require_subcommand(1);
  app.set_version_flag("--version", cli::version_text());
  cli::Action action;
  cli::add_run(app, action);
  cli::add_chat(app, action);
  cli::add_serve(app, action);
  cli::add_bench(app, action);
  cli::add_logits(app, action);
  cli::add_tokenize(app, action);
  cli::add_template(app, action);
  cli::add_inspect(app, action);
  cli::add_convert(app, action);
  cli::add_quantize(app, action);
  cli::add_imatrix(app, action);
  cli::add_quality(app, action);
  cli::add_perplexity(app, action);
  cli::add_synth(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    print_error(error.what());
    std::fprintf(stderr, "Try: terrace --help\n");
    return kUsage;
  }
  const Status status = action();
  if (!std::cout.flush() || std::fflush(stdout) != 0 || std::ferror(stdout)) {
    print_error("cannot write to standard output");
    return kFailed;
  }
  if (!status) {
    print_error(status.error().message);
    return cli::interrupted() ? kInterrupted : kFailed;
  }
  return cli::interrupted() ? kInterrupted : 0;
}

// terrace serve: the OpenAI and Anthropic APIs over HTTP.
#include "serve/serve.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/sampling.h"
#include "serve/volatile_lines.h"

namespace terrace::cli {
namespace {

struct ServeCommand {
  ModelOptions model;
  SamplingOptions sampling;
  serve::ServeOptions serve;
  std::string template_file;
  size_t cache_megabytes = 2048, cache_disk_megabytes = 8192;
  std::vector<std::string> keep_volatile_lines;
};

/// Waits for the signals that end the server or make it read its keys again.
class Signals {
 public:
  Signals() {
    sigemptyset(&set_);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set_, number);
    // A write to a file or a pipe that fails ends what it was for, not the server.
    for (const int number : {SIGXFSZ, SIGPIPE}) std::signal(number, SIG_IGN);
    // Before any thread begins: all of them inherit that.
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  }
  int wait() const {
    int number = 0;
    sigwait(&set_, &number);
    return number;
  }

 private:
  sigset_t set_;
};

void print_help(const serve::Server& server, serve::Service& service) {
  const std::string address = server.address();
  std::printf("terrace: %s is served at %s\n", service.name().c_str(), address.c_str());
  std::printf("  OpenAI     base URL %s/v1    Anthropic  base URL %s\n", address.c_str(), address.c_str());
  std::printf(
      "  try        curl %s/v1/chat/completions -d '{\"messages\":[{\"role\":\"user\",\"content\":\"Hello\"}]}'\n",
      address.c_str());
  std::printf("  web app    open %s in a browser\n", address.c_str());
  std::printf("  Ctrl-C stops it\n");
  std::fflush(stdout);
}

Status run(ServeCommand command) {
  TERRACE_CHECK(command.sampling.finish());
  const Signals signals;
  serve::ServeOptions& options = command.serve;
  TERRACE_TRY(options.service.model_path, model_path(command.model.model));
  options.service.engine = command.model.engine();
  options.service.sampler = command.sampling.generate.sampler;
  options.service.version = TERRACE_VERSION;
  options.service.scheduler.cache_bytes = command.cache_megabytes << 20;
  options.service.cache_disk_bytes = command.cache_disk_megabytes << 20;
  for (const std::string& name : command.keep_volatile_lines) {
    std::vector<std::string> names = {name};
    if (name == "all") names = serve::volatile_line_rules();
    options.service.keep_volatile_lines.insert(names.begin(), names.end());
  }
  if (!command.template_file.empty()) {
    TERRACE_TRY(options.service.chat_template, read_text(command.template_file, 1 << 20));
  }
  TERRACE_TRY(const auto server, serve::Server::start(std::move(options)));
  print_help(*server, server->service());
  for (int number = signals.wait(); number == SIGHUP; number = signals.wait()) {
    const Status status = server->reload_keys();
    std::fprintf(stderr, "terrace: %s\n", status ? "the keys were read again" : status.error().message.c_str());
  }
  std::fprintf(stderr, "terrace: stopping; answers that are being written may end\n");
  server->stop();
  return Done{};
}

void add_http_options(CLI::App& command, serve::ServeOptions& options) {
  command.add_option("--host", options.http.host, "Address to listen on")->capture_default_str();
  command.add_option("--port", options.http.port, "Port; 0: a free one")->capture_default_str();
  command.add_option("--api-key", options.access.keys, "A key that clients must send; repeatable");
  command.add_option("--api-key-file", options.access.key_file, "A file with a key per line, read again on SIGHUP");
  command.add_flag("--allow-public", options.access.allow_public, "Listen on a public address without a key");
  command.add_option("--allow-host", options.access.allowed_hosts,
                     "A name that clients may call this server by; repeatable");
  command.add_option("--cors", options.access.origins,
                     "An origin whose web pages may use the API; '*': all; repeatable");
  command.add_option("--tls-cert", options.http.tls_certificate, "Certificate chain (PEM), for HTTPS");
  command.add_option("--tls-key", options.http.tls_key, "Its key (PEM)");
}

void add_conversation_options(CLI::App& command, ServeCommand& options) {
  serve::ServiceOptions& service = options.serve.service;
  command
      .add_option("--cache-mb", options.cache_megabytes, "Memory for conversations to be continued, in MiB; 0: none")
      ->check(CLI::Range(0, 1 << 24))
      ->capture_default_str();
  command.add_option("--cache-dir", service.cache_folder,
                     "A folder where conversations outlive the server (default: they do not)");
  command.add_option("--cache-disk-mb", options.cache_disk_megabytes, "What that folder may hold, in MiB")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
  command.add_option("--slot-save-path", service.slot_folder,
                     "A folder where requests may save conversations and restore them (default: they may not)");
  std::vector<std::string> rules = serve::volatile_line_rules();
  rules.push_back("all");
  command
      .add_option("--keep-volatile-lines", options.keep_volatile_lines,
                  "Leave such lines, which change with every request, at the top of system prompts; repeatable")
      ->check(CLI::IsMember(rules));
}

void add_model_time_options(CLI::App& command, serve::ServiceOptions& service) {
  command.add_flag("--lazy-load", service.lazy_load, "Load the model with the first request that needs it");
  command
      .add_option("--idle-unload", service.idle_unload_seconds,
                  "Seconds without a request after which the model leaves memory; 0: never")
      ->check(CLI::Range(0.0, 1e9))
      ->capture_default_str();
}

}  // namespace

void add_serve(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("serve", "The OpenAI and Anthropic APIs over HTTP");
  auto options = std::make_shared<ServeCommand>();
  options->model.add(*command, /*required=*/false);
  add_http_options(*command, options->serve);
  serve::ServiceOptions& service = options->serve.service;
  command->add_option("--slots", service.scheduler.slots, "Answers that are written at the same time")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  command->add_option("--queue", service.scheduler.queue_limit, "Requests that may wait; more are told to come back")
      ->capture_default_str();
  add_conversation_options(*command, *options);
  add_model_time_options(*command, service);
  command->add_option("--alias", service.alias, "The model's name in the API (default: the file's)");
  command->add_option("--chat-template", options->template_file, "A Jinja file in place of the model's chat template")
      ->check(CLI::ExistingFile);
  command->add_flag("--fit-max-tokens", service.fit_max_tokens, "Shorten answers that do not fit instead of refusing");
  command->add_option("--chats", options->serve.chats,
                      "A file that keeps the web app's chats, made if need be; without it they stay in the browser");
  command->add_option("--drain", options->serve.drain_seconds, "Seconds that answers may go on when the server stops")
      ->capture_default_str();
  options->sampling.add_sampler(*command);
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace terrace::cli

#include "cli/options.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>

namespace terrace::cli {
namespace {

volatile std::sig_atomic_t interrupt_seen = 0;

void catch_signal(int number) {
  struct sigaction action{};
  action.sa_handler = [](int) { interrupt_seen = 1; };
  sigaction(number, &action, nullptr);
}

constexpr const char* kDefaultModel = "models/SmolLM2-135M-Instruct.Q4_1.gguf";

}  // namespace

void ModelOptions::add(CLI::App& command, bool required) {
  auto* option = command.add_option("model", model, "A GGUF file; the first one of a split model");
  if (required) option->required();
  command.add_option("--threads", threads, "Threads (default: one per usable core)")->check(CLI::Range(1, 1024));
  command.add_option("--ctx", context, "Positions per sequence (default: as the model was trained)")
      ->check(CLI::Range(1, 1 << 30));
  command.add_option("--isa", isa, "Instruction set: auto, scalar, avx2, avxvnni, avx512, avx512vnni")
      ->capture_default_str();
  command.add_option("--numeric", numeric, "Numeric profile: standard, or reference (float activations, f32 KV, slow)")
      ->check(CLI::IsMember({"standard", "reference"}))
      ->capture_default_str();
  command.add_option("--kv", kv, "Type of keys and values in memory: f16 or f32")
      ->check(CLI::IsMember({"f16", "f32"}))
      ->capture_default_str();
}

void TextOptions::add(CLI::App& command, bool required) {
  auto* option = command.add_option("--text", files, "A text, FILE or KIND=FILE; may be given several times");
  option->expected(1)->take_all()->required(required);
  command.add_option("--tokens", tokens, "Tokens of each text at most; 0: all")->capture_default_str();
}

engine::EngineOptions ModelOptions::engine() const {
  engine::EngineOptions options;
  options.threads = threads;
  options.isa = isa;
  options.numeric = numeric == "reference" ? engine::Numeric::reference : engine::Numeric::standard;
  options.half_kv = kv == "f16";
  options.context = context;
  options.draft_head = draft_head;
  options.draft_path = draft_path;
  return options;
}

Result<std::string> model_path(const std::string& given) {
  if (!given.empty()) return given;
  // build/release/terrace and an installed bin/terrace both find the models folder two levels up or beside them.
  std::error_code ignored;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const auto& folder : {self / "../..", self / "..", self}) {
    const auto path = folder / kDefaultModel;
    if (std::filesystem::exists(path, ignored)) return std::filesystem::weakly_canonical(path, ignored).string();
  }
  return fail(
      "no model was given and the default model is not here; run scripts/demo once to fetch it, or name a GGUF file");
}

Result<std::unique_ptr<engine::Engine>> load_engine(const ModelOptions& options, compute::ProductObserver* observer) {
  TERRACE_TRY(const std::string path, model_path(options.model));
  engine::EngineOptions engine_options = options.engine();
  engine_options.observer = observer;
  const bool terminal = ::isatty(STDERR_FILENO) != 0;
  if (terminal) {
    engine_options.progress = [shown = -1](double share) mutable {
      const int percent = static_cast<int>(100 * share);
      if (percent != shown) std::fprintf(stderr, "\rloading %3d %%", percent);
      shown = percent;
    };
  }
  auto engine = engine::Engine::load(path, engine_options);
  if (terminal) std::fprintf(stderr, "\r\033[K");
  return engine;
}

void catch_interrupts() { catch_signal(SIGINT); }
void catch_stops() {
  catch_signal(SIGINT);
  catch_signal(SIGTERM);
}
bool interrupted() { return interrupt_seen != 0; }
void clear_interrupt() { interrupt_seen = 0; }

}  // namespace terrace::cli

// terrace bench: prompt and decode speed, and their share of what this machine can do.
//
// Each repetition measures the limit first and the model right after, so that a machine whose speed drifts is compared
// with itself: the share is the median of these pairs. Bytes are the file's bytes of the tensors a token reads,
// operations two per weight.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <nlohmann/json.hpp>
#include <random>

#include "cli/commands.h"
#include "cli/options.h"

namespace terrace::cli {
namespace {

using Json = nlohmann::ordered_json;
using engine::Advance;

struct BenchOptions {
  ModelOptions model;
  std::vector<std::string> models;
  std::vector<size_t> prompts = {512}, decodes = {128}, depths = {0}, threads;
  size_t repetitions = 5;
  bool json = false;
};

struct Spread {
  double median, min, max;
};
Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return {n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2, values.front(), values.back()};
}

/// One model on one number of threads.
class Bench {
 public:
  Bench(engine::Engine& engine, std::string model) : engine_(engine), model_(std::move(model)) {
    // As much as a token reads, so that it is cached as much as the weights are.
    probe_ =
        Buffer(std::clamp<size_t>(engine.info().token_bytes.sum(), size_t{64} << 20, size_t{1} << 30), Purpose::other);
    for (size_t i = 0; i < probe_.size(); i += 64) probe_.data()[i] = std::byte{1};
  }

  Result<Json> prompt(size_t length, size_t depth, size_t repetitions) {
    return measure(
        fmt::format("pp{}", length), length, depth, repetitions, [&] { return engine_.backend().measure_integer(); },
        2.0 * static_cast<double>(engine_.info().token_weights),
        [&](engine::Sequence& sequence) { return feed(sequence, length); });
  }
  Result<Json> decode(size_t length, size_t depth, size_t repetitions) {
    return measure(
        fmt::format("tg{}", length), length, depth, repetitions,
        [&] { return engine_.backend().measure_read({probe_.data(), probe_.size()}); },
        static_cast<double>(engine_.info().token_bytes.sum()),
        [&](engine::Sequence& sequence) { return feed_one_by_one(sequence, length); });
  }

 private:
  template <class Limit, class Work>
  Result<Json> measure(const std::string& test, size_t length, size_t depth, size_t repetitions, Limit limit,
                       double cost, Work work) {
    engine::Sequence sequence;
    if (depth > 0) TERRACE_CHECK(feed(sequence, depth));
    const engine::Checkpoint start_point = sequence.checkpoint();
    std::vector<double> speeds, shares, limits;
    for (size_t r = 0; r <= repetitions; ++r) {
      if (interrupted()) return fail("interrupted");
      const double most = limit();
      const auto start = std::chrono::steady_clock::now();
      TERRACE_CHECK(work(sequence));
      const double speed =
          static_cast<double>(length) / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      sequence.restore(start_point);
      if (r == 0) continue;  // warms caches and pages
      speeds.push_back(speed);
      limits.push_back(most);
      shares.push_back(speed * cost / most);
    }
    const Spread speed = spread_of(speeds), share = spread_of(shares), most = spread_of(limits);
    return Json{{"model", model_},
                {"test", test},
                {"depth", depth},
                {"threads", engine_.backend().threads()},
                {"isa", engine_.backend().instruction_set()},
                {"tokens_per_second", speed.median},
                {"min", speed.min},
                {"max", speed.max},
                {"limit_share", share.median},
                {"limit_share_min", share.min},
                {"limit_share_max", share.max},
                {"limit_per_second", most.median},
                {"limit_min", most.min},
                {"limit_max", most.max},
                {"token_bytes",
                 {{"dense", engine_.info().token_bytes.dense},
                  {"experts", engine_.info().token_bytes.experts},
                  {"head", engine_.info().token_bytes.head},
                  {"state", engine_.info().state_bytes},
                  {"kv_per_position", engine_.info().page_bytes / compute::kAttentionBlock}}},
                {"limit_unit", test[0] == 'p' ? "integer operations" : "bytes read"}};
  }

  Status feed(engine::Sequence& sequence, size_t length) {
    for (size_t done = 0; done < length;) {
      tokens_.resize(std::min(length - done, engine::Engine::kPromptChunk));
      for (int32_t& token : tokens_) token = random_token();
      done += tokens_.size();
      const Advance advance[] = {{&sequence, tokens_, done == length ? Advance::Logits::last : Advance::Logits::none}};
      TERRACE_TRY([[maybe_unused]] const auto logits, engine_.step(advance));
    }
    return Done{};
  }
  Status feed_one_by_one(engine::Sequence& sequence, size_t length) {
    for (size_t i = 0; i < length; ++i) {
      const int32_t token = random_token();
      const Advance advance[] = {{&sequence, {&token, 1}, Advance::Logits::last}};
      TERRACE_TRY([[maybe_unused]] const auto logits, engine_.step(advance));
    }
    return Done{};
  }
  int32_t random_token() { return static_cast<int32_t>(random_() % engine_.info().vocabulary); }

  engine::Engine& engine_;
  std::string model_;
  Buffer probe_;
  std::vector<int32_t> tokens_;
  std::mt19937 random_{1};
};

void print_row(const Json& row) {
  const bool prompt = row["limit_unit"] == "integer operations";
  const double unit = prompt ? 1e12 : 1e9;
  fmt::print(
      "{:<28} {:>7} {:>7} {:>3} {:<11} {:>9.1f} ({:.1f} to {:.1f}) t/s  {:>5.1f} % of {:.2f} {} ({:.2f} to {:.2f})\n",
      row["model"].get<std::string>(), row["test"].get<std::string>(), row["depth"].get<size_t>(),
      row["threads"].get<size_t>(), row["isa"].get<std::string>(), row["tokens_per_second"].get<double>(),
      row["min"].get<double>(), row["max"].get<double>(), 100 * row["limit_share"].get<double>(),
      row["limit_per_second"].get<double>() / unit, prompt ? "TOPS" : "GB/s", row["limit_min"].get<double>() / unit,
      row["limit_max"].get<double>() / unit);
  std::fflush(stdout);
}

/// What one token reads, by part.
void print_bytes(const std::string& model, const model::ModelInfo& info) {
  const auto mega = [](uint64_t bytes) { return static_cast<double>(bytes) / 1e6; };
  fmt::print(
      "{:<28} reads per token: dense {:.1f} MB, experts {:.1f} MB, head {:.1f} MB, state {:.1f} MB; keys and values "
      "{:.1f} "
      "kB per position\n",
      model, mega(info.token_bytes.dense), mega(info.token_bytes.experts), mega(info.token_bytes.head),
      mega(info.state_bytes), static_cast<double>(info.page_bytes) / compute::kAttentionBlock / 1e3);
}

Status bench_model(const BenchOptions& options, ModelOptions model, Json& rows) {
  TERRACE_TRY(auto engine, load_engine(model));
  TERRACE_TRY(const std::string path, model_path(model.model));
  const std::string name = path.substr(path.find_last_of('/') + 1);
  if (!options.json) print_bytes(name, engine->info());
  Bench bench(*engine, name);
  const auto add = [&](Result<Json> row) -> Status {
    if (!row) return row.error();
    if (!options.json) print_row(*row);
    rows.push_back(*std::move(row));
    return Done{};
  };
  for (const size_t depth : options.depths) {
    for (const size_t length : options.prompts) {
      if (length > 0) TERRACE_CHECK(add(bench.prompt(length, depth, options.repetitions)));
    }
    for (const size_t length : options.decodes) {
      if (length > 0) TERRACE_CHECK(add(bench.decode(length, depth, options.repetitions)));
    }
  }
  return Done{};
}

Status run(BenchOptions options) {
  catch_interrupts();
  if (options.models.empty()) options.models.emplace_back();
  if (options.threads.empty()) options.threads.push_back(0);
  Json rows = Json::array();
  for (const std::string& path : options.models) {
    for (const size_t threads : options.threads) {
      ModelOptions model = options.model;
      model.model = path;
      model.threads = threads;
      TERRACE_CHECK(bench_model(options, model, rows));
    }
  }
  if (options.json) std::cout << rows.dump() << "\n";
  return Done{};
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("bench", "Prompt and decode speed, and their share of this machine's limits");
  auto options = std::make_shared<BenchOptions>();
  command->add_option("models", options->models, "GGUF files (default: the default model)");
  command->add_option("-p", options->prompts, "Prompt lengths; 0: none")->delimiter(',')->capture_default_str();
  command->add_option("-n", options->decodes, "Decode lengths; 0: none")->delimiter(',')->capture_default_str();
  command->add_option("--depth", options->depths, "Tokens already in the context")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--threads", options->threads, "Threads (default: one per usable core)")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024));
  command->add_option("-r", options->repetitions, "Repetitions")->check(CLI::Range(1, 1000))->capture_default_str();
  command->add_option("--isa", options->model.isa, "Instruction set")->capture_default_str();
  command->add_option("--kv", options->model.kv, "Type of keys and values: f16 or f32")
      ->check(CLI::IsMember({"f16", "f32"}))
      ->capture_default_str();
  command->add_option("--ctx", options->model.context, "Positions per sequence");
  command->add_flag("--json", options->json, "Print a JSON list");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace terrace::cli

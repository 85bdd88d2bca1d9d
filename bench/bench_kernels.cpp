// Prints what each block type's products reach of the machine's limits, per instruction set: in decode (one row) file
// bytes per second against the read bandwidth, in a prompt (512 rows) operations per second against back-to-back dot
// products of registers. Limits and products are measured in turn, each the best of a few rounds, since other programs
// may share the machine.
//
// bench_kernels [--type NAME] [--isa NAME] [--mb MEGABYTES of the decoded matrix] [--threads COUNT]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

#include "compute/cpu/cpu_backend.h"
#include "format/block_type.h"

using namespace terrace;

namespace {

constexpr size_t kInputs = 4096;
constexpr size_t kPromptRows = 512;
constexpr size_t kPromptOutputs = 2048;
constexpr int kRounds = 7;

struct Options {
  std::string type, isa;
  size_t megabytes = 256;
  size_t threads = 0;
};

template <class Work>
double seconds(Work work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Rows of random weights. A run of random blocks is repeated: making them takes longer than measuring.
std::vector<std::byte> random_weights(const format::BlockType& type, size_t outputs) {
  std::mt19937 random(1);
  std::vector<std::byte> weights(outputs * (kInputs / type.values) * type.bytes);
  const size_t run = std::min(weights.size(), type.bytes * size_t{65537});
  for (size_t i = 0; i < run; ++i) weights[i] = static_cast<std::byte>(random());
  for (size_t i = 0; i < run; i += type.bytes) type.codec->set_deviation(weights.data() + i, 0.02F);
  for (size_t i = run; i < weights.size(); i += run)
    std::memcpy(weights.data() + i, weights.data(), std::min(run, weights.size() - i));
  return weights;
}

std::vector<float> random_rows(size_t count) {
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  std::vector<float> x(count * kInputs);
  for (float& value : x) value = normal(random);
  return x;
}

struct Product {
  std::unique_ptr<compute::Matrix> matrix;
  std::vector<float> x, out;
  size_t rows;

  Product(compute::CpuBackend& backend, const format::BlockType& type, size_t outputs, size_t row_count)
      : x(random_rows(row_count)), out(row_count * outputs), rows(row_count) {
    const auto weights = random_weights(type, outputs);
    matrix = backend.place({type.code, outputs, kInputs, weights});
  }
  double time(compute::CpuBackend& backend) {
    const compute::Linear linear{matrix.get(), nullptr, {out.data(), rows, matrix->rows(), matrix->rows()}};
    return seconds([&] { backend.linear({x.data(), rows, kInputs, kInputs}, std::nullopt, {&linear, 1}); });
  }
};

void measure(compute::CpuBackend& backend, const format::BlockType& type, const Options& options) {
  const size_t row_bytes = kInputs / type.values * type.bytes;
  const size_t outputs = (options.megabytes << 20) / row_bytes / 16 * 16;
  Product decode(backend, type, outputs, 1);
  const auto& placed = static_cast<const compute::CpuMatrix&>(*decode.matrix);
  const std::span<const std::byte> panels(placed.panel(0), placed.panels() * placed.panel_bytes());
  double read = 0, decoded = 0;
  for (int round = 0; round < kRounds; ++round) {
    read = std::max(read, backend.measure_read(panels));
    decoded = std::max(decoded, static_cast<double>(outputs * row_bytes) / decode.time(backend));
  }
  Product prompt(backend, type, kPromptOutputs, kPromptRows);
  double limit = 0, reached = 0;
  for (int round = 0; round < kRounds; ++round) {
    limit = std::max(limit, backend.measure_integer());
    reached = std::max(reached, 2.0 * kPromptRows * kPromptOutputs * kInputs / prompt.time(backend));
  }
  std::printf("%-8s %-11s %7.2f GB/s %5.0f %%   %8.1f Gop/s %5.0f %%\n", std::string(type.name).c_str(),
              std::string(backend.instruction_set()).c_str(), decoded / 1e9, 100 * decoded / read, reached / 1e9,
              100 * reached / limit);
  std::fflush(stdout);
}

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i];
    if (i + 1 == argc) return false;
    if (name == "--type")
      options.type = argv[i + 1];
    else if (name == "--isa")
      options.isa = argv[i + 1];
    else if (name == "--mb")
      options.megabytes = static_cast<size_t>(std::max(8, std::atoi(argv[i + 1])));
    else if (name == "--threads")
      options.threads = static_cast<size_t>(std::max(1, std::atoi(argv[i + 1])));
    else
      return false;
  }
  return options.type.empty() || format::find_block_type(options.type);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::fputs("usage: bench_kernels [--type NAME] [--isa NAME] [--mb MEGABYTES] [--threads COUNT]\n", stderr);
    return 1;
  }
  std::printf("%-8s %-11s %12s %7s   %14s %7s\n", "type", "set", "decode", "of read", "prompt", "of dots");
  for (const compute::Kernels* kernels : compute::usable_kernels()) {
    // The scalar reference takes minutes; it is measured when named.
    if (options.isa.empty() ? kernels == &compute::kScalarKernels : options.isa != kernels->name) continue;
    auto backend = compute::CpuBackend::create({options.threads, kernels->name, false});
    if (!backend) {
      std::fprintf(stderr, "%s\n", backend.error().message.c_str());
      return 1;
    }
    for (const format::BlockType& type : format::block_types()) {
      const compute::BlockKernels* known = kernels->find(type.code);
      if (!type.codec || !known || !known->dot_codes) continue;
      if (options.type.empty() || format::find_block_type(options.type) == &type) measure(**backend, type, options);
    }
  }
}

// Prints what each block type's products reach of the machine's limits, per instruction set: in decode (one row) file
// bytes per second against the read bandwidth, in a prompt (512 rows) operations per second against back-to-back dot
// products of registers. Limits and products are measured in turn, each the best of many, since other programs may
// share the machine: the decoded matrix is cut into pieces that take a few milliseconds, each measured on its own, and
// together they are larger than the caches.
//
// With --peer, decode is also compared with llama.cpp's kernel of the type (vec_dot over rows of file blocks, whatever
// instruction set the library was built for), measured in the same turn. Where llama.cpp repacks a type when it loads a
// model (Q4_0, Q4_K, IQ4_NL, ...), what it runs then is another kernel.
//
// bench_kernels [--type NAME] [--isa NAME] [--mb MEGABYTES of the decoded matrix] [--threads COUNT]
//               [--peer path/to/libggml-cpu.so] [--prompt no]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include "compute/cpu/cpu_backend.h"
#include "format/block_type.h"
#include "ggml_peer.h"

using namespace terrace;

namespace {

constexpr size_t kInputs = 4096;
constexpr size_t kPromptRows = 512;
constexpr size_t kPromptOutputs = 2048;
constexpr int kRounds = 7;
constexpr size_t kPieceMegabytes = 16;

struct Options {
  std::string type, isa, peer;
  size_t megabytes = 256;
  size_t threads = 0;
  bool prompt = true;
};

template <class Work>
double seconds(Work work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Rows of random weights. A run of random blocks is repeated: making them takes longer than measuring.
Buffer random_weights(const format::BlockType& type, size_t outputs) {
  std::mt19937 random(1);
  Buffer buffer(outputs * (kInputs / type.values) * type.bytes, Purpose::other);
  const std::span<std::byte> weights(buffer.data(), buffer.size());
  const size_t run = std::min(weights.size(), type.bytes * size_t{65537});
  for (size_t i = 0; i < run; ++i) weights[i] = static_cast<std::byte>(random());
  for (size_t i = 0; i < run; i += type.bytes) type.codec->set_deviation(weights.data() + i, 0.02F);
  for (size_t i = run; i < weights.size(); i += run)
    std::memcpy(weights.data() + i, weights.data(), std::min(run, weights.size() - i));
  return buffer;
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

  Product(compute::CpuBackend& backend, const format::BlockType& type, const Buffer& weights, size_t outputs,
          size_t row_count)
      : matrix(backend.place({type.code, outputs, kInputs, {weights.data(), weights.size()}})),
        x(random_rows(row_count)),
        out(row_count * outputs),
        rows(row_count) {}
  double time(compute::CpuBackend& backend) {
    const compute::Linear linear{matrix.get(), nullptr, {out.data(), rows, matrix->rows(), matrix->rows()}};
    return seconds([&] { backend.linear({x.data(), rows, kInputs, kInputs}, std::nullopt, {&linear, 1}); });
  }
};

/// Lets the threads of the other side, which wait for work in a loop for a moment, fall asleep.
void settle() { std::this_thread::sleep_for(std::chrono::milliseconds(3)); }

void measure_decode(compute::CpuBackend& backend, const format::BlockType& type, const Options& options,
                    GgmlPeer* peer) {
  const size_t row_bytes = kInputs / type.values * type.bytes;
  const size_t outputs = (kPieceMegabytes << 20) / row_bytes / 16 * 16;
  const auto bytes = static_cast<double>(outputs * row_bytes);
  const size_t pieces = std::max<size_t>(1, options.megabytes / kPieceMegabytes);
  const Buffer weights = random_weights(type, outputs);
  const size_t read_size = 4 * kPieceMegabytes << 20;  // as much per way to read
  Buffer readable(std::max(read_size, options.megabytes << 20), Purpose::other);
  std::memset(readable.data(), 1, readable.size());
  std::vector<Product> products;
  std::vector<Buffer> blocks;
  for (size_t i = 0; i < pieces; ++i) {
    products.emplace_back(backend, type, weights, outputs, 1);
    if (!peer) continue;
    blocks.emplace_back(weights.size(), Purpose::other);
    std::memcpy(blocks.back().data(), weights.data(), weights.size());
  }
  double read = 0, decoded = 0, other = 0;
  for (size_t i = 0; i < kRounds * pieces; ++i) {
    const size_t part = i % (readable.size() / read_size), piece = i % pieces;
    settle();
    read = std::max(read, backend.measure_read({readable.data() + part * read_size, read_size}));
    decoded = std::max(decoded, bytes / products[piece].time(backend));
    if (!peer) continue;
    settle();
    const Buffer& file = blocks[piece];
    const auto other_product = [&] {
      peer->multiply(type, {file.data(), file.size()}, products[piece].x, products[piece].out);
    };
    other = std::max(other, bytes / seconds(other_product));
  }
  std::printf("%-8s %-11s %7.2f GB/s %5.0f %%", std::string(type.name).c_str(),
              std::string(backend.instruction_set()).c_str(), decoded / 1e9, 100 * decoded / read);
  if (peer) std::printf("   %7.2f GB/s %6.2f", other / 1e9, decoded / other);
}

void measure_prompt(compute::CpuBackend& backend, const format::BlockType& type) {
  Product prompt(backend, type, random_weights(type, kPromptOutputs), kPromptOutputs, kPromptRows);
  double limit = 0, reached = 0;
  for (int round = 0; round < kRounds; ++round) {
    limit = std::max(limit, backend.measure_integer());
    reached = std::max(reached, 2.0 * kPromptRows * kPromptOutputs * kInputs / prompt.time(backend));
  }
  std::printf("   %8.1f Gop/s %5.0f %%", reached / 1e9, 100 * reached / limit);
}

void measure(compute::CpuBackend& backend, const format::BlockType& type, const Options& options,
             std::optional<GgmlPeer>& peer) {
  measure_decode(backend, type, options, peer && peer->has(type) ? &*peer : nullptr);
  if (options.prompt) measure_prompt(backend, type);
  std::printf("\n");
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
    else if (name == "--peer")
      options.peer = argv[i + 1];
    else if (name == "--prompt")
      options.prompt = std::string(argv[i + 1]) != "no";
    else
      return false;
  }
  return options.type.empty() || format::find_block_type(options.type);
}

}  // namespace

int main(int argc, char** argv) try {
  Options options;
  if (!parse(argc, argv, options)) {
    std::fputs(
        "usage: bench_kernels [--type NAME] [--isa NAME] [--mb MEGABYTES] [--threads COUNT] [--peer LIBRARY]"
        " [--prompt no]\n",
        stderr);
    return 1;
  }
  std::optional<GgmlPeer> peer;
  if (!options.peer.empty()) peer.emplace(options.peer, options.threads);
  std::printf("%-8s %-11s %12s %7s", "type", "set", "decode", "of read");
  if (peer) std::printf("   %12s %6s", "llama.cpp", "ratio");
  if (options.prompt) std::printf("   %14s %7s", "prompt", "of dots");
  std::printf("\n");
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
      if (options.type.empty() || format::find_block_type(options.type) == &type)
        measure(**backend, type, options, peer);
    }
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}

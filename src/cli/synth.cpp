// terrace synth: random weights in the shape of a real model, for benchmarks.
#include <cmath>
#include <random>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/synth_presets.h"
#include "format/block_type.h"
#include "format/gguf_writer.h"

namespace terrace::cli {
namespace {

using format::BlockType;
using format::GgufTensor;

struct SynthOptions {
  SynthRequest request;
  std::string out, type = "Q4_K", tokenizer;
  uint64_t seed = 1;
};

/// Random rows; the values' deviation keeps the length of a row that goes through.
Status write_random(format::GgufWriter& writer, const GgufTensor& tensor, std::mt19937_64& random) {
  const BlockType& type = *format::find_block_type(tensor.type);
  const float deviation = 1.0F / std::sqrt(static_cast<float>(tensor.shape[0]));
  std::vector<std::byte> bytes;
  const uint64_t row_bytes = tensor.shape[0] / type.values * type.bytes, rows = tensor.elements() / tensor.shape[0];
  const uint64_t piece = std::max<uint64_t>(1, (uint64_t{1} << 18) / row_bytes);
  for (uint64_t row = 0; row < rows; row += piece) {
    if (interrupted()) return fail("interrupted");
    const uint64_t size = std::min(piece, rows - row) * row_bytes;
    bytes.resize((size + 7) / 8 * 8);
    for (size_t i = 0; i < bytes.size(); i += 8) {
      const uint64_t bits = random();
      std::memcpy(bytes.data() + i, &bits, sizeof bits);
    }
    bytes.resize(size);
    for (size_t i = 0; i < bytes.size(); i += type.bytes) type.codec->set_deviation(bytes.data() + i, deviation);
    TERRACE_CHECK(writer.write(bytes));
  }
  return Done{};
}

/// Makes room for another file's vocabulary.
Status fit_vocabulary(const format::GgufMetadata& from, SynthRequest& request) {
  TERRACE_TRY(const auto* tokens, from.array("tokenizer.ggml.tokens"));
  if (request.vocabulary == 0) request.vocabulary = static_cast<uint32_t>(tokens->size());
  if (request.vocabulary < tokens->size())
    return fail("--vocabulary {} is smaller than the tokenizer's, which has {}", request.vocabulary, tokens->size());
  return Done{};
}

Status run(const SynthOptions& options) {
  catch_interrupts();
  const BlockType* type = format::find_block_type(options.type);
  if (!type || !type->codec) return fail("the type '{}' is unknown or cannot be computed", options.type);
  SynthRequest request = options.request;
  request.type = type->code;
  std::optional<format::GgufFile> other;
  if (!options.tokenizer.empty()) {
    TERRACE_TRY(other, format::GgufFile::open(options.tokenizer));
    TERRACE_CHECK(fit_vocabulary(other->metadata(), request));
  }
  auto model = make_synth_model(request);
  if (!model) return fail("the preset '{}' is unknown; these are: {}", request.preset, synth_presets());
  for (size_t i = 0; other && i < other->metadata().entries().size(); ++i) {
    const format::GgufEntry& entry = other->metadata().entries()[i];
    if (entry.key.starts_with("tokenizer.")) model->metadata.set(entry);
  }
  std::vector<GgufTensor> tensors;
  for (const SynthTensor& tensor : model->tensors) tensors.push_back(tensor.tensor);
  TERRACE_TRY(auto writer, format::GgufWriter::create(options.out, model->metadata, tensors));
  std::mt19937_64 random(options.seed);
  for (const SynthTensor& tensor : model->tensors) {
    if (tensor.constant) {
      const std::vector<float> values(tensor.tensor.elements(), *tensor.constant);
      TERRACE_CHECK(writer.write(std::as_bytes(std::span(values))));
    } else {
      TERRACE_CHECK(write_random(writer, tensor.tensor, random));
    }
  }
  return writer.finish();
}

}  // namespace

void add_synth(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("synth", "Writes a model of random weights in the shape of a real one");
  auto options = std::make_shared<SynthOptions>();
  command->add_option("preset", options->request.preset, synth_presets())->required();
  command->add_option("out", options->out, "The GGUF file to write")->required();
  command->add_option("--type", options->type, "Type of the matrices")->capture_default_str();
  command->add_option("--seed", options->seed, "Seed of the weights")->capture_default_str();
  command->add_option("--layers", options->request.layers, "Layers (default: as the real model)")
      ->check(CLI::Range(1, 4096));
  command->add_option("--vocabulary", options->request.vocabulary, "Tokens (default: as the real model)")
      ->check(CLI::Range(1, 1 << 24));
  command->add_option("--tokenizer", options->tokenizer,
                      "A GGUF file whose vocabulary and chat template to take, so that the model can be served");
  command
      ->add_option("--table-rows", options->request.table_rows, "Rows of an n-gram table (default: as the real model)")
      ->check(CLI::Range(uint64_t{16}, uint64_t{1} << 40));
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace terrace::cli

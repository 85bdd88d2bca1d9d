// terrace synth: random weights in the shape of a real model, for benchmarks.
#include <cmath>
#include <random>

#include "cli/commands.h"
#include "cli/options.h"
#include "format/block_type.h"
#include "format/gguf_writer.h"

namespace terrace::cli {
namespace {

using format::BlockType;
using format::GgufTensor;

/// The sizes of a released model.
struct Preset {
  const char* name;
  uint32_t layers, hidden, width, heads, kv_heads, head_size, vocabulary;
  float rope_base;
  bool tied;
};
constexpr Preset kPresets[] = {
    {"llama-1b", 16, 2048, 8192, 32, 8, 64, 128256, 500000, true},
    {"llama-8b", 32, 4096, 14336, 32, 8, 128, 128256, 500000, false},
};

struct SynthOptions {
  std::string preset, out, type = "Q4_K";
  uint64_t seed = 1;
  uint32_t layers = 0;
};

format::GgufMetadata metadata_of(const Preset& preset, uint32_t layers) {
  format::GgufMetadata metadata;
  metadata.set("general.architecture", "llama");
  metadata.set("general.name", fmt::format("random weights in the shape of {}", preset.name));
  metadata.set("llama.block_count", layers);
  metadata.set("llama.context_length", uint32_t{131072});
  metadata.set("llama.embedding_length", preset.hidden);
  metadata.set("llama.feed_forward_length", preset.width);
  metadata.set("llama.attention.head_count", preset.heads);
  metadata.set("llama.attention.head_count_kv", preset.kv_heads);
  metadata.set("llama.attention.key_length", preset.head_size);
  metadata.set("llama.attention.value_length", preset.head_size);
  metadata.set("llama.attention.layer_norm_rms_epsilon", 1e-5F);
  metadata.set("llama.rope.dimension_count", preset.head_size);
  metadata.set("llama.rope.freq_base", preset.rope_base);
  metadata.set("llama.vocab_size", preset.vocabulary);
  metadata.set("tokenizer.ggml.model", "no_vocab");
  return metadata;
}

std::vector<GgufTensor> tensors_of(const Preset& p, uint32_t layers, uint32_t type) {
  std::vector<GgufTensor> tensors;
  const auto matrix = [&](std::string name, uint64_t inputs, uint64_t rows) {
    tensors.push_back({std::move(name), type, {inputs, rows}, 0, {}});
  };
  const auto norm = [&](std::string name) { tensors.push_back({std::move(name), 0, {p.hidden}, 0, {}}); };
  const uint64_t q = uint64_t{p.heads} * p.head_size, kv = uint64_t{p.kv_heads} * p.head_size;
  matrix("token_embd.weight", p.hidden, p.vocabulary);
  norm("output_norm.weight");
  if (!p.tied) matrix("output.weight", p.hidden, p.vocabulary);
  for (uint32_t layer = 0; layer < layers; ++layer) {
    const std::string prefix = fmt::format("blk.{}.", layer);
    norm(prefix + "attn_norm.weight");
    matrix(prefix + "attn_q.weight", p.hidden, q);
    matrix(prefix + "attn_k.weight", p.hidden, kv);
    matrix(prefix + "attn_v.weight", p.hidden, kv);
    matrix(prefix + "attn_output.weight", q, p.hidden);
    norm(prefix + "ffn_norm.weight");
    matrix(prefix + "ffn_gate.weight", p.hidden, p.width);
    matrix(prefix + "ffn_up.weight", p.hidden, p.width);
    matrix(prefix + "ffn_down.weight", p.width, p.hidden);
  }
  return tensors;
}

Status write_matrix(format::GgufWriter& writer, const GgufTensor& tensor, std::mt19937_64& random) {
  const BlockType& type = *format::find_block_type(tensor.type);
  const float deviation = 1.0F / std::sqrt(static_cast<float>(tensor.shape[0]));
  std::vector<std::byte> rows;
  const uint64_t row_bytes = tensor.shape[0] / type.values * type.bytes;
  constexpr uint64_t piece = 64;
  for (uint64_t row = 0; row < tensor.shape[1]; row += piece) {
    if (interrupted()) return fail("interrupted");
    rows.resize((std::min(piece, tensor.shape[1] - row) * row_bytes + 7) / 8 * 8);
    for (size_t i = 0; i < rows.size(); i += 8) {
      const uint64_t bits = random();
      std::memcpy(rows.data() + i, &bits, sizeof bits);
    }
    rows.resize(std::min(piece, tensor.shape[1] - row) * row_bytes);
    for (size_t i = 0; i < rows.size(); i += type.bytes) type.codec->set_deviation(rows.data() + i, deviation);
    TERRACE_CHECK(writer.write(rows));
  }
  return Done{};
}

Status run(const SynthOptions& options) {
  catch_interrupts();
  const Preset* preset = nullptr;
  for (const Preset& candidate : kPresets) {
    if (options.preset == candidate.name) preset = &candidate;
  }
  if (!preset) return fail("the preset '{}' is unknown; these are: llama-1b, llama-8b", options.preset);
  const BlockType* type = format::find_block_type(options.type);
  if (!type || !type->codec) return fail("the type '{}' is unknown or cannot be computed", options.type);
  const uint32_t layers = options.layers > 0 ? options.layers : preset->layers;
  const auto tensors = tensors_of(*preset, layers, type->code);
  TERRACE_TRY(auto writer, format::GgufWriter::create(options.out, metadata_of(*preset, layers), tensors));
  std::mt19937_64 random(options.seed);
  for (const GgufTensor& tensor : tensors) {
    if (tensor.shape.size() == 1) {
      const std::vector<float> ones(tensor.shape[0], 1.0F);
      TERRACE_CHECK(writer.write(std::as_bytes(std::span(ones))));
    } else {
      TERRACE_CHECK(write_matrix(writer, tensor, random));
    }
  }
  return writer.finish();
}

}  // namespace

void add_synth(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("synth", "Writes a model of random weights in the shape of a real one");
  auto options = std::make_shared<SynthOptions>();
  command->add_option("preset", options->preset, "llama-1b or llama-8b")->required();
  command->add_option("out", options->out, "The GGUF file to write")->required();
  command->add_option("--type", options->type, "Type of the matrices")->capture_default_str();
  command->add_option("--seed", options->seed, "Seed of the weights")->capture_default_str();
  command->add_option("--layers", options->layers, "Layers (default: as the real model)")->check(CLI::Range(1, 4096));
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace terrace::cli

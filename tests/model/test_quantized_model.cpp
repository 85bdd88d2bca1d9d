// A small random model with a block type per matrix: what the fixtures, which hold only floats, leave out.
#include <gtest/gtest.h>

#include <array>

#include "format/block_type.h"
#include "format/gguf_writer.h"
#include "model/agreement.h"
#include "model/runs.h"

namespace terrace::engine {
namespace {

using namespace terrace::testing;  // NOLINT(google-build-using-namespace)

constexpr size_t kHidden = 256, kWidth = 512, kVocabulary = 203;

struct Part {
  format::GgufTensor tensor;
  std::vector<std::byte> bytes;
};

/// The matrix of the same values in floats.
Part decoded(const Part& part) {
  const format::BlockType& block = *format::find_block_type(part.tensor.type);
  std::vector<float> values(part.bytes.size() / block.bytes * block.values);
  for (size_t i = 0; i < part.bytes.size() / block.bytes; ++i)
    block.codec->decode(part.bytes.data() + i * block.bytes, values.data() + i * block.values);
  const auto bytes = std::as_bytes(std::span(values));
  return {{part.tensor.name, 0, part.tensor.shape, 0, {}}, {bytes.begin(), bytes.end()}};
}

/// Two layers; `type(i)` names the type of matrix i. `in_floats`: the same values, decoded.
template <class Type>
void write_model(const std::string& path, Type type, bool in_floats = false) {
  std::mt19937 random(21);
  std::vector<Part> parts;
  size_t index = 0;
  const auto matrix = [&](const std::string& name, size_t inputs, size_t rows) {
    const format::BlockType& block = *format::find_block_type(type(index++));
    Part part{{name + ".weight", block.code, {inputs, rows}, 0, {}},
              std::vector<std::byte>(inputs * rows / block.values * block.bytes)};
    for (std::byte& byte : part.bytes) byte = static_cast<std::byte>(random());
    for (size_t i = 0; i < part.bytes.size(); i += block.bytes)
      block.codec->set_deviation(part.bytes.data() + i, 0.07F);
    parts.push_back(in_floats ? decoded(part) : std::move(part));
  };
  const auto norm = [&](const std::string& name) {
    const std::vector<float> ones(kHidden, 1.0F);
    const auto bytes = std::as_bytes(std::span(ones));
    parts.push_back({{name + ".weight", 0, {kHidden}, 0, {}}, {bytes.begin(), bytes.end()}});
  };
  matrix("token_embd", kHidden, kVocabulary);
  matrix("output", kHidden, kVocabulary);
  norm("output_norm");
  for (const std::string layer : {"blk.0.", "blk.1."}) {
    norm(layer + "attn_norm");
    norm(layer + "ffn_norm");
    matrix(layer + "attn_q", kHidden, 256);
    matrix(layer + "attn_k", kHidden, 128);
    matrix(layer + "attn_v", kHidden, 128);
    matrix(layer + "attn_output", 256, kHidden);
    matrix(layer + "ffn_gate", kHidden, kWidth);
    matrix(layer + "ffn_up", kHidden, kWidth);
    matrix(layer + "ffn_down", kWidth, kHidden);
  }
  format::GgufMetadata metadata;
  metadata.set("general.architecture", "llama");
  for (const auto& [key, value] : {std::pair("block_count", 2),
                                   {"embedding_length", 256},
                                   {"feed_forward_length", 512},
                                   {"attention.head_count", 8},
                                   {"attention.head_count_kv", 4},
                                   {"context_length", 512}})
    metadata.set(std::string("llama.") + key, static_cast<uint32_t>(value));
  std::vector<format::GgufTensor> tensors;
  for (const Part& part : parts) tensors.push_back(part.tensor);
  auto writer = take(format::GgufWriter::create(path, metadata, tensors));
  for (const Part& part : parts) need(writer.write(part.bytes));
  need(writer.finish());
}

std::vector<int32_t> some_tokens() {
  std::vector<int32_t> tokens;
  for (int32_t i = 0; i < 100; ++i) tokens.push_back(i * i % static_cast<int32_t>(kVocabulary));
  return tokens;
}

void expect_split_invariant(const std::string& path) {
  const auto tokens = some_tokens();
  for (const Numeric numeric : {Numeric::standard, Numeric::reference}) {
    const auto expected =
        logits_of(*take(Engine::load(path, {.threads = 1, .isa = "scalar", .numeric = numeric})), tokens, 100);
    for (const float logit : expected) ASSERT_TRUE(std::isfinite(logit));
    for (const compute::Kernels* kernels : compute::usable_kernels()) {
      for (const size_t threads : {1, 2, 3}) {
        const auto engine = take(Engine::load(path, {.threads = threads, .isa = kernels->name, .numeric = numeric}));
        for (const size_t chunk : {1, 7, 64, 100}) {
          // The best instruction set with all, the others with a few.
          if (kernels != compute::usable_kernels().front() && (threads != 2 || chunk != 7)) continue;
          ASSERT_TRUE(same_bits(logits_of(*engine, tokens, chunk), expected))
              << kernels->name << " " << threads << " threads, chunks of " << chunk;
        }
      }
    }
  }
}

/// All types that a row of 256 values can have.
std::vector<std::string> all_types() {
  std::vector<std::string> types;
  for (const format::BlockType& type : format::block_types()) {
    if (type.codec && type.code != 0) types.emplace_back(type.name);
  }
  return types;
}

TEST(QuantizedModel, IsSplitInvariantWithMixedTypes) {
  const TemporaryFolder folder;
  const std::array types = {"Q4_K", "Q6_K", "Q5_K", "Q8_0", "F16", "Q4_0", "BF16", "Q5_1", "Q4_1", "Q5_0", "F32"};
  const auto all = all_types();
  for (const size_t shift : {0, 4}) {
    write_model(folder / "a.gguf", [&](size_t i) { return types[(i + shift) % types.size()]; });
    expect_split_invariant(folder / "a.gguf");
  }
  write_model(folder / "a.gguf", [&](size_t i) { return all[i % all.size()]; });
  expect_split_invariant(folder / "a.gguf");
}

TEST(QuantizedModel, ReferenceProfileIsAFloatProductOfTheDecodedWeights) {
  const TemporaryFolder folder;
  for (const std::string& name : all_types()) {
    const auto type = [&](size_t) { return name; };
    write_model(folder / "quantized.gguf", type);
    write_model(folder / "floats.gguf", type, /*in_floats=*/true);
    const EngineOptions reference{.numeric = Numeric::reference};
    const auto expected = logits_of(*take(Engine::load(folder / "floats.gguf", reference)), some_tokens(), 100);
    const auto actual = logits_of(*take(Engine::load(folder / "quantized.gguf", reference)), some_tokens(), 100);
    EXPECT_TRUE(same_bits(actual, expected)) << name;
  }
}

TEST(QuantizedModel, StandardProfileIsCloseToTheReferenceProfile) {
  const TemporaryFolder folder;
  for (const std::string& name : all_types()) {
    write_model(folder / "a.gguf", [&](size_t) { return name; });
    const auto standard = logits_of(*take(Engine::load(folder / "a.gguf", {})), some_tokens(), 100);
    const auto reference =
        logits_of(*take(Engine::load(folder / "a.gguf", {.numeric = Numeric::reference})), some_tokens(), 100);
    EXPECT_LT(agreement(reference, standard, kVocabulary).kl, 2e-2) << name;
    EXPECT_TRUE(name == "F16" || name == "BF16" || !same_bits(standard, reference)) << name << ": the profiles differ";
  }
}

TEST(QuantizedModel, CodesOfActivationsChangeLogitsOnlyALittle) {
  const TemporaryFolder folder;
  write_model(folder / "a.gguf", [](size_t) { return "Q8_0"; });
  const auto tokens = some_tokens();
  const auto standard = logits_of(*take(Engine::load(folder / "a.gguf", {})), tokens, 100);
  const auto reference =
      logits_of(*take(Engine::load(folder / "a.gguf", {.numeric = Numeric::reference})), tokens, 100);
  double squares = 0, difference = 0;
  for (size_t i = 0; i < reference.size(); ++i) {
    squares += double{reference[i]} * reference[i];
    difference += (double{standard[i]} - reference[i]) * (double{standard[i]} - reference[i]);
  }
  EXPECT_LT(std::sqrt(difference / squares), 0.05);
  EXPECT_GT(difference, 0) << "the profiles differ";
}

}  // namespace
}  // namespace terrace::engine

// Models that cannot be: each is an error that names the key or the tensor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "model/parts.h"

namespace terrace::engine {
namespace {

using ::testing::HasSubstr;
using namespace terrace::testing;  // NOLINT(google-build-using-namespace)
using format::GgufTensor;

struct Case {
  std::function<void(Parts&)> change;
  const char* words;
};

const Case kCases[] = {
    {[](Parts& p) { p.metadata.set("general.architecture", "gpt9"); }, "the architecture 'gpt9' is not supported"},
    {[](Parts& p) { p.metadata.set("general.architecture", uint32_t{1}); }, "'general.architecture' is of type u32"},
    {[](Parts& p) { p.metadata = {}; }, "'general.architecture' is missing"},
    {[](Parts& p) { p.metadata = {}, p.metadata.set("general.architecture", "llama"); },
     "'llama.embedding_length' is missing"},
    {[](Parts& p) { p.set("embedding_length", uint32_t{0}); }, "'llama.embedding_length' is 0"},
    {[](Parts& p) { p.set("embedding_length", uint32_t{1} << 31); }, "'llama.embedding_length' is 2147483648"},
    {[](Parts& p) { p.set("embedding_length", "96"); }, "'llama.embedding_length' is of type str"},
    {[](Parts& p) { p.set("embedding_length", uint32_t{192}); },
     "'token_embd.weight' is [96, 1024], expected [192, 1024]"},
    {[](Parts& p) { p.set("block_count", uint32_t{0}); }, "'llama.block_count' is 0"},
    {[](Parts& p) { p.set("block_count", ~uint32_t{0}); }, "'llama.block_count' is 4294967295"},
    {[](Parts& p) { p.set("block_count", uint32_t{4000}); },
     "'blk.5.attn_norm.weight', which a 'llama' model needs, is missing"},
    {[](Parts& p) { p.set("feed_forward_length", uint32_t{0}); }, "'llama.feed_forward_length' is 0"},
    {[](Parts& p) { p.set("feed_forward_length", ~uint32_t{0}); }, "'llama.feed_forward_length' is 4294967295"},
    {[](Parts& p) { p.set("feed_forward_length", uint32_t{161}); },
     "'blk.0.ffn_gate.weight' is [96, 160], expected [96, 161]"},
    {[](Parts& p) { p.set("attention.head_count", uint32_t{0}); }, "'llama.attention.head_count' is 0"},
    {[](Parts& p) { p.set("attention.head_count", ~uint32_t{0}); }, "'llama.attention.head_count' is 4294967295"},
    {[](Parts& p) { p.set("attention.head_count", uint32_t{4}); },
     "'blk.0.attn_q.weight' is [96, 96], expected [96, 64]"},
    {[](Parts& p) { p.set("attention.head_count", format::GgufArray{format::GgufType::u32, {6, 6}, {}, {}, {}}); },
     "'llama.attention.head_count' has 2 integers, expected at least 3"},
    {[](Parts& p) { p.set("attention.head_count_kv", uint32_t{0}); }, "'llama.attention.head_count_kv' is 0"},
    {[](Parts& p) { p.set("attention.head_count_kv", uint32_t{4}); }, "6 heads cannot share 4 key/value heads"},
    {[](Parts& p) { p.set("attention.head_count_kv", uint32_t{12}); }, "6 heads cannot share 12 key/value heads"},
    {[](Parts& p) { p.set("attention.head_count_kv", uint32_t{3}); },
     "'blk.0.attn_k.weight' is [96, 32], expected [96, 48]"},
    {[](Parts& p) { p.set("attention.key_length", uint32_t{4096}); }, "'llama.attention.key_length' is 4096"},
    {[](Parts& p) { p.set("attention.key_length", uint32_t{0}); }, "'llama.attention.key_length' is 0"},
    {[](Parts& p) { p.set("attention.value_length", uint32_t{4096}); }, "'llama.attention.value_length' is 4096"},
    {[](Parts& p) { p.set("attention.value_length", uint32_t{8}); },
     "'blk.0.attn_output.weight' is [96, 96], expected [48, 96]"},
    {[](Parts& p) { p.set("attention.layer_norm_rms_epsilon", std::nanf("")); },
     "'llama.attention.layer_norm_rms_epsilon' is nan"},
    {[](Parts& p) { p.set("attention.layer_norm_rms_epsilon", -1.0F); },
     "'llama.attention.layer_norm_rms_epsilon' is -1"},
    {[](Parts& p) { p.set("rope.dimension_count", uint32_t{0}); }, "'llama.rope.dimension_count' is 0"},
    {[](Parts& p) { p.set("rope.dimension_count", uint32_t{18}); }, "'llama.rope.dimension_count' is 18"},
    {[](Parts& p) { p.set("context_length", uint32_t{0}); }, "'llama.context_length' is 0"},
    {[](Parts& p) { p.metadata.set("general.name", uint32_t{1}); }, "'general.name' is of type u32"},
    {[](Parts& p) { p.remove("token_embd.weight"); }, "'token_embd.weight', which a 'llama' model needs, is missing"},
    {[](Parts& p) { p.remove("output_norm.weight"); }, "'output_norm.weight'"},
    {[](Parts& p) { p.remove("blk.1.attn_k.weight"); }, "'blk.1.attn_k.weight'"},
    {[](Parts& p) { p.remove("blk.4.ffn_down.weight"); }, "'blk.4.ffn_down.weight'"},
    {[](Parts& p) { p.tensor("output.weight").shape = {1024, 96}; },
     "'output.weight' is [1024, 96], expected [96, 1024]"},
    {[](Parts& p) { p.tensor("blk.0.attn_q.weight").shape = {96 * 96}; }, "'blk.0.attn_q.weight' is [9216]"},
    {[](Parts& p) { p.tensor("blk.0.attn_q.weight").shape = {96, 48, 2}; }, "'blk.0.attn_q.weight' is [96, 48, 2]"},
    {[](Parts& p) { p.tensor("blk.0.attn_q.weight").type = 26; },
     "'blk.0.attn_q.weight' is of type I32, which cannot be computed"},
    {[](Parts& p) { p.tensor("blk.0.attn_norm.weight").type = 26; },
     "'blk.0.attn_norm.weight' has 96 values of type I32"},
    {[](Parts& p) {
       p.tensor("blk.0.ffn_norm.weight") = {
           "blk.0.ffn_norm.weight", 1, {192}, 0, p.tensor("blk.0.ffn_norm.weight").data};
     },
     "'blk.0.ffn_norm.weight' has 192 values"},
    {[](Parts& p) {
       GgufTensor bias = p.tensor("blk.0.attn_norm.weight");
       bias.name = "blk.0.attn_k.bias";
       p.tensors.push_back(bias);
     },
     "'blk.0.attn_k.bias' has 96 values of type F32, expected 32"},
};

TEST(LoadErrors, EachNamesWhatIsWrong) {
  const auto file = take(format::GgufFile::open(fixture("llama/model-f32.gguf")));
  const TemporaryFolder folder;
  for (const Case& one : kCases) {
    SCOPED_TRACE(one.words);
    Parts parts(file);
    one.change(parts);
    parts.write(folder / "a.gguf");
    const std::string message = message_of(Engine::load(folder / "a.gguf", {.threads = 1}));
    EXPECT_THAT(message, HasSubstr(one.words));
    EXPECT_THAT(message, HasSubstr("a.gguf: ")) << "the file is named too";
  }
}

struct FamilyCase {
  const char* model;
  std::function<void(Parts&)> change;
  const char* words;
};

format::GgufArray integers(std::vector<int64_t> values) {
  format::GgufArray array;
  array.type = format::GgufType::i32;
  array.integers = std::move(values);
  return array;
}

// What the other families add to llama's checks: each would read or write outside of something if it were let through.
const FamilyCase kFamilyCases[] = {
    {"qwen3moe", [](Parts& p) { p.set("expert_count", uint32_t{17}); }, "'blk.0.ffn_gate_inp.weight' is [64, 16]"},
    {"qwen3moe", [](Parts& p) { p.set("expert_used_count", uint32_t{17}); }, "'qwen3moe.expert_used_count' is 17"},
    {"qwen3moe", [](Parts& p) { p.remove("blk.2.ffn_up_exps.weight"); }, "'blk.2.ffn_up_exps.weight'"},
    {"lfm2", [](Parts& p) { p.set("attention.key_length", uint32_t{8}); }, "of a head cannot turn"},
    {"lfm2", [](Parts& p) { p.set("attention.head_count_kv", integers({0, 0})); }, "has 2 integers, expected at least"},
    {"gemma4", [](Parts& p) { p.set("rope.dimension_count_swa", uint32_t{512}); }, "cannot turn"},
    {"gemma4", [](Parts& p) { p.set("attention.shared_kv_layers", uint32_t{6}); }, "no earlier layer of its kind"},
    {"qwen35", [](Parts& p) { p.set("ssm.state_size", uint32_t{24}); }, "heads of 24 values"},
    {"qwen35", [](Parts& p) { p.set("ssm.group_count", uint32_t{3}); }, "cannot share 3 key heads"},
    {"qwen35", [](Parts& p) { p.set("nextn_predict_layers", uint32_t{2}); }, "2 multi-token-prediction layers"},
    {"qwen4exp", [](Parts& p) { p.remove("blk.0.hc_attn_inject.weight"); }, "'blk.0.hc_attn_inject.weight'"},
    {"qwen4exp", [](Parts& p) { p.set("attention.compress_ratios", integers({0, 0, 0, 3, 0, 0, 0, 4})); },
     "possible are the divisors of 64"},
    {"qwen4exp", [](Parts& p) { p.set("attention.compress_ratios", integers({0, 0, 0, -4, 0, 0, 0, 4})); },
     "compress ratio -4"},
    {"qwen4exp", [](Parts& p) { p.set("attention.indexer.top_k", uint32_t{2}); }, "less than one block"},
    {"qwen4exp", [](Parts& p) { p.set("ple.head_offsets", integers({0, 503, 1012, 1533, 2056, 2597, 3144, 4000})); },
     "the table has"},
    {"qwen4exp", [](Parts& p) { p.set("ple.head_vocab_sizes", integers({503, 509, 521, 0, 541, 547, 557, 563})); },
     "head 3 of the n-gram table"},
    {"qwen4exp", [](Parts& p) { p.set("ple.layers", integers({1, 2})); }, "has 2 layers"},
    {"granitehybrid", [](Parts& p) { p.set("ssm.inner_size", uint32_t{72}); }, "heads of a multiple of 16"},
};

TEST(LoadErrors, FamiliesCheckWhatTheyAdd) {
  const TemporaryFolder folder;
  for (const FamilyCase& one : kFamilyCases) {
    SCOPED_TRACE(std::string(one.model) + ": " + one.words);
    const auto file = take(format::GgufFile::open(fixture(std::string(one.model) + "/model-f32.gguf")));
    Parts parts(file);
    one.change(parts);
    parts.write(folder / "a.gguf");
    EXPECT_THAT(message_of(Engine::load(folder / "a.gguf", {.threads = 1})), HasSubstr(one.words));
  }
}

TEST(LoadErrors, TheUnchangedPartsAreAModel) {
  const auto file = take(format::GgufFile::open(fixture("llama/model-f32.gguf")));
  const TemporaryFolder folder;
  Parts(file).write(folder / "a.gguf");
  const auto engine = take(Engine::load(folder / "a.gguf", {.threads = 1}));
  EXPECT_EQ(engine->tokenizer(), nullptr);
  const auto tokens = recorded_tokens("llama");
  EXPECT_TRUE(same_bits(logits_of(*engine, tokens, 160), logits_of(*load("llama", {}), tokens, 160)));
}

TEST(LoadErrors, DefaultsOfMissingKeysGiveTheSameModel) {
  const auto file = take(format::GgufFile::open(fixture("llama/model-f32.gguf")));
  const TemporaryFolder folder;
  Parts parts(file);
  format::GgufMetadata fewer;
  for (const format::GgufEntry& entry : parts.metadata.entries()) {
    const std::string& key = entry.key;  // heads of 96 / 6 values, of which all turn
    if (!key.ends_with("key_length") && !key.ends_with("value_length") && !key.ends_with("dimension_count") &&
        !key.ends_with("freq_base"))
      fewer.set(entry);
  }
  parts.metadata = fewer;
  parts.write(folder / "a.gguf");
  const auto tokens = recorded_tokens("llama");
  EXPECT_TRUE(same_bits(logits_of(*take(Engine::load(folder / "a.gguf", {})), tokens, 160),
                        logits_of(*load("llama", {}), tokens, 160)));
}

}  // namespace
}  // namespace terrace::engine

// Mixes against what llama.cpp chose for the same tensors (scripts/record_mixes.py).
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "format/gguf_writer.h"
#include "support/files.h"
#include "tools/mixes.h"

namespace terrace::tools {
namespace {

using ::testing::HasSubstr;
using testing::message_of;
using testing::need;
using testing::take;
using testing::TemporaryFolder;
using Json = nlohmann::json;

/// "Q6_K*2 Q4_K*13" as a list.
std::vector<std::string> spelled_out(const std::string& text) {
  std::vector<std::string> types;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const size_t star = word.find('*');
    types.insert(types.end(), std::stoul(word.substr(star + 1)), word.substr(0, star));
  }
  return types;
}

std::string tensor_name(const std::string& kind, size_t layer) {
  const bool global = kind == "token_embd" || kind == "output";
  return (global ? kind : "blk." + std::to_string(layer) + "." + kind) + ".weight";
}

/// A file with the matrices of a recorded model, without its weights.
format::GgufFile recorded_model(const Json& model, const std::string& path) {
  format::GgufMetadata metadata;
  metadata.set("general.architecture", "llama");
  metadata.set("llama.block_count", model["layers"].get<uint32_t>());
  metadata.set("llama.attention.head_count", model["heads"].get<uint32_t>());
  metadata.set("llama.attention.head_count_kv", model["kv_heads"].get<uint32_t>());
  metadata.set("llama.expert_count", model["experts"].get<uint32_t>());
  std::vector<format::GgufTensor> tensors;
  const Json& kinds = model["mixes"]["Q4_0"];
  for (const auto& [kind, types] : kinds.items()) {
    const size_t count = spelled_out(types).size();
    for (size_t layer = 0; layer < count; ++layer) {
      std::vector<uint64_t> shape{256, 2};
      if (kind.ends_with("_exps")) shape.push_back(2);
      tensors.push_back({tensor_name(kind, layer), 1, std::move(shape)});
    }
  }
  // Attention values are counted in the order of layers.
  std::stable_sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) {
    return a.name.size() != b.name.size() ? a.name.size() < b.name.size() : a.name < b.name;
  });
  auto writer = take(format::GgufWriter::create(path, metadata, tensors));
  for (const auto& tensor : tensors) need(writer.write(std::vector<std::byte>(tensor.elements() * 2)));
  need(writer.finish());
  return take(format::GgufFile::open(path));
}

TEST(Mixes, ChooseTheTypesThatWereRecorded) {
  const Json recorded = Json::parse(testing::read_file(std::string(TERRACE_TEST_DATA) + "/mixes.json"));
  TemporaryFolder folder;
  size_t compared = 0;
  for (const auto& [name, model] : recorded.items()) {
    const format::GgufFile file = recorded_model(model, folder / (name + ".gguf"));
    for (const auto& [key, kinds] : model["mixes"].items()) {
      const bool important = key.ends_with(" imatrix");
      const Mix* mix = find_mix(key.substr(0, key.find(' ')));
      ASSERT_NE(mix, nullptr) << key;
      const TypeRules rules;
      TypeChooser chooser(file, *mix, rules, important, false);
      std::map<std::string, std::string> chosen;
      for (const auto& tensor : file.tensors()) chosen[tensor.name] = chooser.choose(tensor).type->name;
      for (const auto& [kind, types] : kinds.items()) {
        const auto expected = spelled_out(types);
        if (kind == "ffn_gate_inp") continue;  // small, and left as it is
        for (size_t layer = 0; layer < expected.size(); ++layer, ++compared)
          EXPECT_EQ(chosen[tensor_name(kind, layer)], expected[layer])
              << name << ": " << key << ", " << kind << " " << layer;
      }
    }
  }
  EXPECT_GT(compared, 10000U);
}

TEST(Mixes, AreFoundByAnySpelling) {
  EXPECT_EQ(find_mix("q4_k_m"), find_mix("Q4_K_M"));
  EXPECT_EQ(find_mix("Q4_K"), find_mix("Q4_K_M"));
  EXPECT_EQ(find_mix("MXFP4"), find_mix("MXFP4_MOE"));
  EXPECT_EQ(find_mix("Q4"), nullptr);
  EXPECT_THAT(mix_names(), HasSubstr("Q4_K_M"));
}

class Chooser : public ::testing::Test {
 protected:
  format::GgufFile file_of(const std::vector<format::GgufTensor>& tensors) {
    auto writer = take(format::GgufWriter::create(folder / "model.gguf", {}, tensors));
    for (const auto& tensor : tensors) need(writer.write(std::vector<std::byte>(tensor.elements() * 2)));
    need(writer.finish());
    return take(format::GgufFile::open(folder / "model.gguf"));
  }
  TemporaryFolder folder;
};

TEST_F(Chooser, RowsThatDoNotFitGetAnotherType) {
  const auto file = file_of({{"blk.0.ffn_up.weight", 1, {96, 2}}, {"blk.0.ffn_gate.weight", 1, {40, 2}}});
  const TypeRules rules;
  TypeChooser chooser(file, *find_mix("Q4_K_M"), rules, false, false);
  EXPECT_EQ(chooser.choose(file.tensors()[0]).type->name, "Q5_0");
  EXPECT_TRUE(chooser.choose(file.tensors()[0]).fallback);
  EXPECT_EQ(chooser.choose(file.tensors()[1]).type->name, "F16");
}

TEST_F(Chooser, RulesComeFirstAndTheFirstThatMatchesCounts) {
  const auto file = file_of(
      {{"blk.0.ffn_up.weight", 1, {256, 2}}, {"blk.1.ffn_up.weight", 1, {256, 2}}, {"output_norm.weight", 1, {256}}});
  const std::vector<std::string> texts = {"blk\\.0\\.=Q8_0", "ffn_up=Q6_K", "output_norm=F16"};
  const TypeRules rules = take(TypeRules::parse(texts));
  TypeChooser chooser(file, *find_mix("Q4_K_M"), rules, false, false);
  EXPECT_EQ(chooser.choose(file.tensors()[0]).type->name, "Q8_0");
  EXPECT_EQ(chooser.choose(file.tensors()[1]).type->name, "Q6_K");
  EXPECT_EQ(chooser.choose(file.tensors()[2]).type->name, "F16");
}

TEST(TypeRulesTest, RefusalsQuoteTheRule) {
  const auto refusal = [](const std::string& rule) { return message_of(TypeRules::parse(std::vector{rule})); };
  EXPECT_THAT(refusal("attn_v"), HasSubstr("'attn_v' has no '='"));
  EXPECT_THAT(refusal("=Q8_0"), HasSubstr("'=Q8_0' has no '='"));
  EXPECT_THAT(refusal("attn_v=Q9"), HasSubstr("'Q9'"));
  EXPECT_THAT(refusal("attn_v=Q8_1"), HasSubstr("'Q8_1'"));
  EXPECT_THAT(refusal("attn_(v=Q8_0"), HasSubstr("'attn_(v=Q8_0' is wrong at character"));
  EXPECT_EQ(refusal("a=b=Q8_0"), "");
}

}  // namespace
}  // namespace terrace::tools

// Conversions that stop, fail or choose types; the files themselves are compared in test_convert_fixtures.cpp.
#include <gmock/gmock.h>

#include "tools/checkpoints.h"

namespace terrace::tools {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using testing::fixture;
using ::testing::HasSubstr;
using testing::message_of;
using testing::need;
using testing::read_file;
using testing::take;
using testing::TemporaryFolder;
using testing::write_file;

/// A copy of the llama-rope3 fixture that a test may damage.
class ConvertTest : public ::testing::Test {
 protected:
  ConvertTest() {
    std::filesystem::copy(fixture("llama-rope3/hf"), checkpoint, std::filesystem::copy_options::recursive);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(checkpoint))
      std::filesystem::permissions(entry.path(), std::filesystem::perms::owner_all);
  }

  Result<ConvertReport> run(const std::string& type = "", const Progress& progress = {}) {
    return convert({checkpoint, out, type, rules, 1}, progress);
  }
  std::string problem() { return message_of(run()); }
  void set(const char* key, const json& value) {
    json config = json::parse(read_file(checkpoint + "/config.json"));
    config[key] = value;
    write_file(checkpoint + "/config.json", config.dump());
  }
  /// Writes the weights anew, changed.
  void change_weights(const std::function<void(std::map<std::string, format::SafetensorsArray>&)>& change) {
    const std::string path = checkpoint + "/model.safetensors", old = read_file(path);
    auto arrays = take(format::parse_safetensors(testing::bytes_of(old)));
    change(arrays);
    auto writer = take(format::SafetensorsWriter::create(path, {arrays.begin(), arrays.end()}));
    for (const auto& [name, array] : arrays) need(writer.write(array.data));
    need(writer.finish());
  }
  bool anything_left() const {
    return std::filesystem::exists(out + ".part") || std::filesystem::exists(out + ".part.json");
  }

  TemporaryFolder folder;
  std::string checkpoint = folder / "checkpoint", out = folder / "out.gguf";
  std::vector<std::string> rules;
};

TEST_F(ConvertTest, ContinuesWhereItWasStopped) {
  ASSERT_TRUE(run("F32"));
  const std::string whole = read_file(out);
  std::filesystem::remove(out);
  for (int stop : {0, 1, 5, 20}) {
    int calls = 0;
    const auto stopped = run("F32", [&](uint64_t, uint64_t, std::string_view) { return calls++ < stop; });
    EXPECT_EQ(message_of(stopped), kInterrupted);
    EXPECT_TRUE(anything_left());
    EXPECT_FALSE(std::filesystem::exists(out));
  }
  const auto report = take(run("F32"));
  EXPECT_GT(report.kept, 0U);
  EXPECT_EQ(read_file(out), whole);
  EXPECT_FALSE(anything_left());
}

TEST_F(ConvertTest, OtherOptionsStartAnew) {
  EXPECT_EQ(message_of(run("F32", [calls = 0](auto...) mutable { return ++calls < 9; })), kInterrupted);
  EXPECT_EQ(take(run("F16")).kept, 0U);
  EXPECT_EQ(message_of(run("F32", [calls = 0](auto...) mutable { return ++calls < 9; })), kInterrupted);
  std::filesystem::last_write_time(checkpoint + "/model.safetensors", std::filesystem::file_time_type::clock::now());
  EXPECT_EQ(take(run("F32")).kept, 0U);
}

TEST_F(ConvertTest, ChoosesTypes) {
  take(run("BF16"));
  const auto file = take(format::GgufFile::open(out));
  EXPECT_EQ(file.find("token_embd.weight")->type, 30U);
  EXPECT_EQ(file.find("blk.0.attn_norm.weight")->type, 0U);
  EXPECT_EQ(take(file.metadata().integer("general.file_type")), 32U);
  EXPECT_THAT(message_of(run("Q9_9")), HasSubstr("'Q9_9' is unknown"));
  rules = {"attn"};
  EXPECT_THAT(problem(), HasSubstr("has no '='"));
}

TEST_F(ConvertTest, NamesWhatIsWrongWithTensors) {
  change_weights([](auto& arrays) { arrays.erase("model.layers.2.mlp.up_proj.weight"); });
  EXPECT_THAT(problem(), AllOf(HasSubstr("'model.layers.2.mlp.up_proj.weight'"), HasSubstr("missing")));
  EXPECT_FALSE(anything_left());
}

TEST_F(ConvertTest, NamesTensorsThatAreTooMany) {
  change_weights([](auto& arrays) { arrays["model.layers.0.odd.weight"] = arrays["model.norm.weight"]; });
  EXPECT_THAT(problem(), AllOf(HasSubstr("'model.layers.0.odd.weight'"), HasSubstr("no place")));
}

TEST_F(ConvertTest, NamesShapesAndDtypes) {
  set("intermediate_size", 113);
  EXPECT_THAT(problem(), AllOf(HasSubstr("mlp.gate_proj.weight"), HasSubstr("[112, 64]"), HasSubstr("[113, 64]")));
  set("intermediate_size", 112);
  change_weights([](auto& arrays) { arrays["model.norm.weight"].dtype = "I32"; });
  EXPECT_THAT(problem(), AllOf(HasSubstr("'model.norm.weight'"), HasSubstr("I32")));
}

TEST_F(ConvertTest, NamesWhatIsWrongWithTheConfiguration) {
  const std::string old = read_file(checkpoint + "/config.json");
  const auto expect = [&](const char* key, const json& value, const char* text) {
    set(key, value);
    EXPECT_THAT(problem(), HasSubstr(text)) << key << ' ' << value;
    write_file(checkpoint + "/config.json", old);
  };
  expect("architectures", json::array({"OddForCausalLM"}), "'OddForCausalLM'");
  expect("architectures", json::array(), "'architectures'");
  expect("num_hidden_layers", -1, "'num_hidden_layers'");
  expect("num_hidden_layers", 1e30, "'num_hidden_layers'");
  expect("num_hidden_layers", nullptr, "'num_hidden_layers' is missing");
  expect("num_attention_heads", 0, "'num_attention_heads'");
  expect("rms_norm_eps", "small", "'rms_norm_eps'");
  expect("rope_parameters", {{"rope_type", "odd"}}, "'odd'");
  write_file(checkpoint + "/config.json", "[]");
  EXPECT_THAT(problem(), HasSubstr("not an object"));
  std::filesystem::remove(checkpoint + "/config.json");
  EXPECT_THAT(problem(), HasSubstr("config.json"));
}

TEST_F(ConvertTest, RefusesWhatATypeCannotHold) {
  std::string nans(64 * 4, '\xff');
  change_weights([&](auto& arrays) {
    auto& array = arrays["model.layers.1.self_attn.q_proj.weight"];
    nans.append(array.data.size() - nans.size(), '\0');
    array.data = testing::bytes_of(nans);
  });
  EXPECT_THAT(message_of(run("F16")), HasSubstr("'blk.1.attn_q.weight'"));
  EXPECT_FALSE(anything_left());
  EXPECT_TRUE(run("F32"));
}

TEST_F(ConvertTest, AnOldFileStaysUntilTheNewOneIsComplete) {
  write_file(out, "old");
  EXPECT_EQ(message_of(run("F32", [](auto...) { return false; })), kInterrupted);
  EXPECT_EQ(read_file(out), "old");
  ASSERT_TRUE(run("F32"));
  EXPECT_NE(read_file(out), "old");
}

}  // namespace
}  // namespace terrace::tools

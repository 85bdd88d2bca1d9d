// Each family's checkpoint becomes the file that the public converter makes of it: same keys, same tensors, same bits.
#include "tools/checkpoints.h"

namespace terrace::tools {
namespace {

using testing::fixture;
using testing::TemporaryFolder;

constexpr const char* kNames[] = {"llama",    "llama-rope3",  "llmjp",     "granite",    "qwen2",
                                  "qwen3",    "qwen3moe",     "qwen3next", "qwen35",     "qwen35moe",
                                  "qwen4exp", "qwen4exp-mtp", "gptoss",    "lfm2",       "lfm2moe",
                                  "gemma3",   "gemma3-27b",   "gemma4",    "gemma4-moe", "granitehybrid"};

/// Folders that hold NAME/hf and NAME/model-f32.gguf: the repository's own, and those of TERRACE_ASSETS.
std::vector<std::string> fixture_folders() {
  std::vector<std::string> folders = {fixture("")};
  // Read in tests only: where larger checkpoints are is no property of the program.
  if (const char* assets = std::getenv("TERRACE_ASSETS")) {
    folders.push_back(std::string(assets) + "/fixtures/");
    folders.push_back(std::string(assets) + "/checkpoints/");
  }
  return folders;
}

class ConvertFixture : public ::testing::TestWithParam<const char*> {};

TEST_P(ConvertFixture, IsTheFileOfThePublicConverter) {
  const std::string name = GetParam();
  for (const std::string& folder : fixture_folders()) {
    const std::string checkpoint = folder + name + "/hf";
    if (!std::filesystem::exists(checkpoint + "/model.safetensors")) continue;
    TemporaryFolder temporary;
    const std::string out = temporary / "out.gguf";
    const auto report = convert({checkpoint, out, "F32", {}, 1}, {});
    ASSERT_TRUE(report) << report.error().message;
    std::set<std::string> differing = testing::kPublisherKeys;
    // The draft head was added to qwen4exp's file afterwards, which left the label as it was.
    if (name == "qwen4exp-mtp") differing.insert("general.size_label");
    testing::expect_same_files(out, folder + name + "/model-f32.gguf", differing);
    return;
  }
  GTEST_SKIP() << "the checkpoint is not here; it belongs to the assets";
}

INSTANTIATE_TEST_SUITE_P(All, ConvertFixture, ::testing::ValuesIn(kNames), [](const auto& fixture_name) {
  std::string name = fixture_name.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace terrace::tools

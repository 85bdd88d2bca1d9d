#include "tools/convert/family.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace terrace::tools {
namespace {

constexpr std::array kFamilies = {&kLlama,     &kGranite, &kQwen2,     &kQwen3,    &kQwen3Moe,
                                  &kQwen3Next, &kQwen35,  &kQwen35Moe, &kQwen4Exp, &kGptOss,
                                  &kLfm2,      &kLfm2Moe, &kGemma3,    &kGemma4,   &kGraniteHybrid};

}  // namespace

Result<const Family*> find_family(const Config& config) {
  const std::vector<std::string> classes = config.texts("architectures");
  TERRACE_CHECK(config.status());
  if (classes.empty()) return fail("config.json does not say in 'architectures' what the model is");
  std::vector<std::string_view> known;
  for (const Family* family : kFamilies) {
    for (const std::string_view name : family->classes) {
      if (name == classes[0]) return family;
      known.push_back(name);
    }
  }
  return fail("config.json says '{}' in 'architectures', which Terrace does not convert; it converts {}", classes[0],
              fmt::join(known, ", "));
}

}  // namespace terrace::tools

#include "model/model.h"

#include "model/families/families.h"

namespace terrace::model {
namespace {

struct Family {
  std::string_view architecture;
  Result<std::unique_ptr<Model>> (*load)(Loader&);
};
constexpr Family kFamilies[] = {
    {"llama", load_llama},         {"qwen2", load_qwen},    {"qwen3", load_qwen},
    {"granite", load_llama},       {"qwen3moe", load_qwen}, {"gpt-oss", load_gpt_oss},
    {"qwen3next", load_qwen3next}, {"qwen35", load_qwen35}, {"qwen35moe", load_qwen35},
    {"qwen4exp", load_qwen4exp},   {"lfm2", load_lfm2},     {"lfm2moe", load_lfm2},
    {"gemma3", load_gemma3},       {"gemma4", load_gemma4}, {"granitehybrid", load_granite_hybrid},
};

}  // namespace

Status Model::draft(const DraftStep&, compute::Rows) {
  return fail("this model was loaded without a multi-token-prediction head");
}

Result<std::unique_ptr<Model>> load_model(const format::GgufFile& file, compute::Backend& backend,
                                          const LoadOptions& options) {
  TERRACE_TRY(const std::string architecture, file.metadata().string("general.architecture"));
  for (const Family& family : kFamilies) {
    if (family.architecture != architecture) continue;
    Loader loader(file, backend, options, architecture);
    TERRACE_TRY(auto model, family.load(loader));
    if (options.draft_head && model->info().draft_width == 0)
      return fail("'{}' models have no multi-token-prediction head", architecture);
    return model;
  }
  std::string known;
  for (const Family& family : kFamilies) known += (known.empty() ? "" : ", ") + std::string(family.architecture);
  return fail("the architecture '{}' is not supported (these are: {})", architecture, known);
}

}  // namespace terrace::model

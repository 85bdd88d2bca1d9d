#include "model/model.h"

#include "model/families/families.h"

namespace terrace::model {
namespace {

struct Family {
  std::string_view architecture;
  Result<std::unique_ptr<Model>> (*load)(Loader&);
};
constexpr Family kFamilies[] = {{"llama", load_llama}};

}  // namespace

Result<std::unique_ptr<Model>> load_model(const format::GgufFile& file, compute::Backend& backend,
                                          const LoadOptions& options) {
  TERRACE_TRY(const std::string architecture, file.metadata().string("general.architecture"));
  for (const Family& family : kFamilies) {
    if (family.architecture != architecture) continue;
    Loader loader(file, backend, options, architecture);
    return family.load(loader);
  }
  std::string known;
  for (const Family& family : kFamilies) known += (known.empty() ? "" : ", ") + std::string(family.architecture);
  return fail("the architecture '{}' is not supported (these are: {})", architecture, known);
}

}  // namespace terrace::model

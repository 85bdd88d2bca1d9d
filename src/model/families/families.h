// The model families, one file each. load_model() chooses by the file's general.architecture.
#pragma once

#include "model/loader.h"

namespace terrace::model {

Result<std::unique_ptr<Model>> load_llama(Loader& loader);
Result<std::unique_ptr<Model>> load_qwen(Loader& loader);
Result<std::unique_ptr<Model>> load_gpt_oss(Loader& loader);
Result<std::unique_ptr<Model>> load_qwen3next(Loader& loader);
Result<std::unique_ptr<Model>> load_qwen35(Loader& loader);
Result<std::unique_ptr<Model>> load_qwen4exp(Loader& loader);
Result<std::unique_ptr<Model>> load_lfm2(Loader& loader);
Result<std::unique_ptr<Model>> load_gemma3(Loader& loader);
Result<std::unique_ptr<Model>> load_gemma4(Loader& loader);
Result<std::unique_ptr<Model>> load_granite_hybrid(Loader& loader);

}  // namespace terrace::model

// The model families, one file each. load_model() chooses by the file's general.architecture.
#pragma once

#include "model/loader.h"

namespace terrace::model {

Result<std::unique_ptr<Model>> load_llama(Loader& loader);

}  // namespace terrace::model

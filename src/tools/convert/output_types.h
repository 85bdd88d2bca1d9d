// Which block type each converted tensor gets.
#pragma once

#include <string>
#include <vector>

#include "format/gguf.h"
#include "tools/convert/tensor_plan.h"
#include "tools/type_rules.h"

namespace terrace::tools {

struct TypeChoice {
  const format::BlockType* type = nullptr;  ///< of matrices; null: as the checkpoint has them
  TypeRules rules;                          ///< come first
};

/// The type of that name, which must be one that Terrace makes.
Result<const format::BlockType*> output_type(const std::string& name);

/// Names, types and shapes for the file. Biases, norms, routers, convolutions and single rows stay in F32, MXFP4 stays
/// MXFP4. Rows that are no multiple of a type's block become F16, with a line in `notes`; a rule that asks for such a
/// thing is an error.
Result<std::vector<format::GgufTensor>> choose_types(const std::vector<PlannedTensor>& tensors,
                                                     const TypeChoice& choice, std::vector<std::string>& notes);

/// The value of general.file_type: what most of the file's bytes are, in llama.cpp's numbers.
uint32_t file_type(const std::vector<format::GgufTensor>& tensors);

}  // namespace terrace::tools

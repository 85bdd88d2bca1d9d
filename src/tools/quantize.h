// terrace quantize: a model file with its matrices in other block types.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "tools/progress.h"

namespace terrace::tools {

struct QuantizeOptions {
  std::string in, out;
  std::string mix;                 ///< "Q4_K_M", ... (mixes.h)
  std::string importance;          ///< an importance matrix, or empty
  std::vector<std::string> rules;  ///< REGEX=TYPE (type_rules.h), before what the mix says
  bool pure = false;               ///< the mix's type for all matrices
  bool keep_split = false;         ///< as many files as the input has
  bool from_quantized = false;     ///< accept matrices that are already quantised
  size_t threads = 0;              ///< 0: one per usable core
};

/// What becomes of one tensor.
struct TensorChange {
  std::string name;
  std::string from, to;  ///< type names
  uint64_t from_bytes = 0, to_bytes = 0;
  uint64_t elements = 0;
  bool fallback = false;   ///< the rows do not fit the type that the mix wants
  bool important = false;  ///< its columns' importance is known
};

struct QuantizeReport {
  std::vector<TensorChange> tensors;
  std::vector<std::string> files;
  uint64_t kept = 0;  ///< bytes taken over from an interrupted run
};

/// What quantize() would do, without reading a weight.
Result<QuantizeReport> plan_quantize(const QuantizeOptions& options);

/// Writes the file, in pieces of some rows by all threads; memory does not grow with the model. Interrupted, it keeps
/// what it has and goes on there when called again. Errors name the tensor: a value that the type cannot hold, a type
/// that cannot be read, quantised input without `from_quantized`.
Result<QuantizeReport> quantize(const QuantizeOptions& options, const Progress& progress);

}  // namespace terrace::tools

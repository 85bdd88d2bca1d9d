// Mixes: which block type each tensor of a model gets when a file is made at "Q4_K_M" and the like. The names and the
// rules are llama.cpp's (src/llama-quant.cpp), so that equal names mean files of equal size and kind. Three are
// Terrace's own.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "format/block_type.h"
#include "format/gguf.h"
#include "tools/type_rules.h"

namespace terrace::tools {

struct Mix {
  std::string_view name;
  uint32_t file_type;      ///< general.file_type
  format::TypeCode type;   ///< of tensors that no rule names
  std::string_view group;  ///< the mixes that share most rules: "Q4_K", "IQ2", ...; empty: the same type for all
};

/// The mix of that name, upper or lower case, or null. "Q4_K" is "Q4_K_M", as everywhere.
const Mix* find_mix(std::string_view name);
/// Their names, for messages.
std::string mix_names();

/// Decides the types of a model's tensors.
class TypeChooser {
 public:
  /// `importance`: whether the columns' importance is known, which some mixes ask about. `pure`: the mix's own type for
  /// all.
  TypeChooser(const format::GgufFile& file, const Mix& mix, const TypeRules& rules, bool importance, bool pure);

  struct Choice {
    const format::BlockType* type = nullptr;
    bool fallback = false;  ///< rows are no multiple of the wanted type's block, so another type took its place
  };
  /// To be asked once per tensor, in the file's order.
  Choice choose(const format::GgufTensor& tensor);

 private:
  format::TypeCode wanted(const std::string& name);
  format::TypeCode attention_value(format::TypeCode type);
  format::TypeCode down(format::TypeCode type, size_t layer) const;
  format::TypeCode own(const std::string& name) const;
  format::TypeCode low_bit(const std::string& name, size_t layer, format::TypeCode type);
  bool more_bits(size_t layer, size_t layers) const;
  bool is(std::string_view name) const { return mix_.name == name; }

  const Mix& mix_;
  const TypeRules& rules_;
  bool importance_, pure_, tied_ = true;
  size_t layers_ = 1, experts_ = 1, queries_per_key_ = 1;
  size_t values_ = 0, values_seen_ = 0;  // attention value projections
};

/// Whether a tensor is one that mixes quantise: a matrix, or experts, that is neither small nor delicate.
bool is_quantised_by_mixes(const format::GgufTensor& tensor);

}  // namespace terrace::tools

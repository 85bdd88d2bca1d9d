#include "tools/convert/output_types.h"

#include <algorithm>
#include <array>
#include <map>

#include "tools/mixes.h"

namespace terrace::tools {
namespace {

using format::BlockType;
using format::TypeCode;

/// Whether readers expect floats whatever the matrices are.
bool stays_float(const PlannedTensor& tensor) {
  if (tensor.shape.size() <= 1 || !tensor.name.ends_with(".weight") || tensor.name.ends_with("_norm.weight"))
    return true;
  constexpr std::array kSmall = {"ffn_gate_inp.weight", "ffn_gate_inp_shexp.weight", "ssm_conv1d.weight",
                                 "ple_conv1d.weight", "shortconv.conv.weight"};
  return std::any_of(kSmall.begin(), kSmall.end(), [&](std::string_view end) { return tensor.name.ends_with(end); });
}

bool is_mxfp4(const PlannedTensor& tensor) { return tensor.pieces[0].scales != nullptr; }

/// The type whose values are the source's.
const BlockType& source_type(const PlannedTensor& tensor) {
  if (is_mxfp4(tensor)) return format::block_type(TypeCode::mxfp4);
  const auto all = [&](std::string_view dtype) {
    return std::all_of(tensor.pieces.begin(), tensor.pieces.end(),
                       [&](const Piece& piece) { return piece.source && piece.source->dtype == dtype; });
  };
  if (all("BF16")) return format::block_type(TypeCode::bf16);
  if (all("F16")) return format::block_type(TypeCode::f16);
  return format::block_type(TypeCode::f32);
}

Result<const BlockType*> choose(const PlannedTensor& tensor, const TypeChoice& choice,
                                std::vector<std::string>& notes) {
  const uint64_t columns = tensor.shape.back();
  if (const BlockType* type = choice.rules.find(tensor.name)) {
    if (columns % type->values == 0) return type;
    return fail("the tensor '{}' has rows of {} values, which cannot be {}: a block has {}", tensor.name, columns,
                type->name, type->values);
  }
  if (is_mxfp4(tensor)) return &format::block_type(TypeCode::mxfp4);
  if (stays_float(tensor)) return &format::block_type(TypeCode::f32);
  const BlockType* type = choice.type ? choice.type : &source_type(tensor);
  if (columns % type->values == 0) return type;
  notes.push_back(fmt::format("{} stays in F16: its rows of {} values are no multiple of {}'s blocks of {}",
                              tensor.name, columns, type->name, type->values));
  return &format::block_type(TypeCode::f16);
}

}  // namespace

Result<const BlockType*> output_type(const std::string& name) {
  const BlockType* type = format::find_block_type(std::string_view(name));
  if (type && type->codec && type->codec->encode) return type;
  if (find_mix(name))
    return fail("'{}' is a mix of types; convert without --type, then make it with terrace quantize", name);
  return fail("the type '{}' is {}", name, type ? "one that Terrace does not make" : "unknown");
}

Result<std::vector<format::GgufTensor>> choose_types(const std::vector<PlannedTensor>& tensors,
                                                     const TypeChoice& choice, std::vector<std::string>& notes) {
  std::vector<format::GgufTensor> chosen;
  for (const PlannedTensor& tensor : tensors) {
    TERRACE_TRY(const BlockType* type, choose(tensor, choice, notes));
    format::GgufTensor& out = chosen.emplace_back();
    out.name = tensor.name;
    out.type = type->code;
    out.shape.assign(tensor.shape.rbegin(), tensor.shape.rend());
  }
  return chosen;
}

uint32_t file_type(const std::vector<format::GgufTensor>& tensors) {
  std::map<uint32_t, uint64_t> values;
  for (const format::GgufTensor& tensor : tensors) values[tensor.type] += tensor.elements();
  const auto most =
      std::max_element(values.begin(), values.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == values.end()) return 0;
  // A mix has the name of the type that most of it is; of the types without one all are Terrace's own.
  const Mix* mix = find_mix(format::find_block_type(most->first)->name);
  return mix ? mix->file_type : most->first;
}

}  // namespace terrace::tools

#include "tools/mixes.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace terrace::tools {
namespace {

using format::TypeCode;

// Numbers: llama.cpp's file types.
constexpr Mix kMixes[] = {
    {"F32", 0, TypeCode::f32, ""},
    {"F16", 1, TypeCode::f16, ""},
    {"BF16", 32, TypeCode::bf16, ""},
    {"Q4_0", 2, TypeCode::q4_0, "Q4_0"},
    {"Q4_1", 3, TypeCode::q4_1, "Q4_1"},
    {"Q5_0", 8, TypeCode::q5_0, "Q5_0"},
    {"Q5_1", 9, TypeCode::q5_1, "Q5_1"},
    {"Q8_0", 7, TypeCode::q8_0, "Q8_0"},
    {"Q2_K", 10, TypeCode::q2_k, "Q2_K"},
    {"Q2_K_S", 21, TypeCode::q2_k, "Q2_K"},
    {"Q3_K_S", 11, TypeCode::q3_k, "Q3_K"},
    {"Q3_K_M", 12, TypeCode::q3_k, "Q3_K"},
    {"Q3_K_L", 13, TypeCode::q3_k, "Q3_K"},
    {"Q4_K_S", 14, TypeCode::q4_k, "Q4_K"},
    {"Q4_K_M", 15, TypeCode::q4_k, "Q4_K"},
    {"Q5_K_S", 16, TypeCode::q5_k, "Q5_K"},
    {"Q5_K_M", 17, TypeCode::q5_k, "Q5_K"},
    {"Q6_K", 18, TypeCode::q6_k, "Q6_K"},
    {"IQ1_S", 24, TypeCode::iq1_s, "IQ2"},
    {"IQ1_M", 31, TypeCode::iq1_m, "IQ2"},
    {"IQ2_XXS", 19, TypeCode::iq2_xxs, "IQ2"},
    {"IQ2_XS", 20, TypeCode::iq2_xs, "IQ2"},
    {"IQ2_S", 28, TypeCode::iq2_xs, "IQ2"},
    {"IQ2_M", 29, TypeCode::iq2_s, "IQ2"},
    {"IQ3_XXS", 23, TypeCode::iq3_xxs, "IQ3"},
    {"IQ3_XS", 22, TypeCode::iq3_s, "IQ3"},
    {"IQ3_S", 26, TypeCode::iq3_s, "IQ3"},
    {"IQ3_M", 27, TypeCode::iq3_s, "IQ3"},
    {"IQ4_NL", 25, TypeCode::iq4_nl, "IQ4"},
    {"IQ4_XS", 30, TypeCode::iq4_xs, "IQ4"},
    {"TQ1_0", 36, TypeCode::tq1_0, "TQ"},
    {"TQ2_0", 37, TypeCode::tq2_0, "TQ"},
    {"MXFP4_MOE", 38, TypeCode::mxfp4, "MXFP4"},
    {"NVFP4", 39, TypeCode::nvfp4, "NVFP4"},
    {"Q1_0", 40, TypeCode::q1_0, "Q1_0"},
    {"Q2_0", 41, TypeCode::q2_0, "TQ"},
    // Terrace's own; the numbers are those of the types.
    {"Q4SG128", 0x54520001, TypeCode::q4sg128, "own"},
    {"Q8G128", 0x54520002, TypeCode::q8g128, "own"},
    {"NF4C", 0x54520003, TypeCode::nf4c, "own"},
};

constexpr std::pair<std::string_view, std::string_view> kAliases[] = {
    {"Q3_K", "Q3_K_M"}, {"Q4_K", "Q4_K_M"}, {"Q5_K", "Q5_K_M"}, {"MXFP4", "MXFP4_MOE"}};

bool same(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::toupper(x) == std::toupper(y); });
}

bool has(std::string_view name, std::string_view part) { return name.find(part) != std::string_view::npos; }

/// The N of "blk.N."; 0 without one.
size_t layer_of(std::string_view name) {
  size_t layer = 0;
  if (name.starts_with("blk.")) std::from_chars(name.data() + 4, name.data() + name.size(), layer);
  return layer;
}

/// What takes the place of a type whose blocks do not divide the rows.
TypeCode narrower(TypeCode type) {
  switch (type) {
    case TypeCode::iq1_s:
    case TypeCode::iq1_m:
    case TypeCode::iq2_xxs:
    case TypeCode::iq2_xs:
    case TypeCode::iq2_s:
    case TypeCode::iq3_xxs:
    case TypeCode::iq3_s:
    case TypeCode::iq4_xs:
      return TypeCode::iq4_nl;
    case TypeCode::q1_0:
    case TypeCode::q2_0:
    case TypeCode::q2_k:
    case TypeCode::q3_k:
    case TypeCode::tq1_0:
    case TypeCode::tq2_0:
    case TypeCode::nvfp4:
    case TypeCode::q4sg128:
      return TypeCode::q4_0;
    case TypeCode::q4_k:
      return TypeCode::q5_0;
    case TypeCode::q5_k:
      return TypeCode::q5_1;
    case TypeCode::q6_k:
    case TypeCode::q8g128:
      return TypeCode::q8_0;
    case TypeCode::nf4c:
    case TypeCode::q4c:
      return TypeCode::q4sg128;
    case TypeCode::q8c:
      return TypeCode::q8g128;
    default:
      return TypeCode::f16;
  }
}

bool is_embedding(std::string_view name) {
  return name == "token_embd.weight" || name == "per_layer_token_embd.weight";
}

bool is_value(std::string_view name) { return has(name, "attn_qkv.weight") || has(name, "attn_v.weight"); }

}  // namespace

const Mix* find_mix(std::string_view name) {
  for (const auto& [alias, meant] : kAliases)
    if (same(name, alias)) name = meant;
  for (const Mix& mix : kMixes)
    if (same(name, mix.name)) return &mix;
  return nullptr;
}

std::string mix_names() {
  std::string names;
  for (const Mix& mix : kMixes) names += (names.empty() ? "" : ", ") + std::string(mix.name);
  return names;
}

bool is_quantised_by_mixes(const format::GgufTensor& tensor) {
  // A matrix of one row counts as a vector.
  if (tensor.elements() == tensor.shape[0] || !tensor.name.ends_with("weight")) return false;
  constexpr std::string_view kDelicate[] = {"_norm.weight",         "ffn_gate_inp.weight",   "per_layer_model_proj",
                                            "ssm_conv1d",           "shortconv.conv.weight", "indexer.k_proj.weight",
                                            "indexer.q_proj.weight"};
  return std::none_of(std::begin(kDelicate), std::end(kDelicate),
                      [&](std::string_view part) { return has(tensor.name, part); });
}

TypeChooser::TypeChooser(const format::GgufFile& file, const Mix& mix, const TypeRules& rules, bool importance,
                         bool pure)
    : mix_(mix), rules_(rules), importance_(importance), pure_(pure) {
  const format::GgufMetadata& metadata = file.metadata();
  const auto architecture = metadata.string_or("general.architecture", "");
  const std::string prefix = architecture ? *architecture + "." : ".";
  // Odd metadata only means that no rule applies.
  const auto number = [&](const char* key, size_t fallback) {
    const auto value = metadata.integer_or(prefix + key, fallback);
    return value ? static_cast<size_t>(*value) : fallback;
  };
  layers_ = std::max<size_t>(1, number("block_count", 1));
  experts_ = std::max<size_t>(1, number("expert_count", 1));
  const size_t heads = number("attention.head_count", 0), kv_heads = number("attention.head_count_kv", heads);
  queries_per_key_ = kv_heads > 0 ? heads / kv_heads : 0;
  for (const format::GgufTensor& tensor : file.tensors()) {
    if (is_value(tensor.name)) ++values_;
    if (tensor.name == "output.weight") tied_ = false;
  }
}

bool TypeChooser::more_bits(size_t layer, size_t layers) const {
  return layer < layers / 8 || layer >= 7 * layers / 8 || (layer - layers / 8) % 3 == 2;
}

TypeCode TypeChooser::attention_value(TypeCode type) {
  const size_t index = values_seen_++;
  const bool shared = queries_per_key_ >= 4;
  if (is("Q2_K"))
    type = shared ? TypeCode::q4_k : TypeCode::q3_k;
  else if ((is("Q2_K_S") || is("IQ3_XS") || is("IQ3_S")) && shared)
    type = TypeCode::q4_k;
  else if (is("IQ3_XXS"))
    type = shared ? TypeCode::q4_k : importance_ ? TypeCode::iq3_xxs : TypeCode::iq3_s;
  else if (is("IQ3_M"))
    type = TypeCode::q4_k;
  else if (is("Q3_K_M"))
    type = index < 2 ? TypeCode::q5_k : TypeCode::q4_k;
  else if (is("Q3_K_L") || (mix_.group == "IQ4" && shared))
    type = TypeCode::q5_k;
  else if ((is("Q4_K_M") || is("Q5_K_M")) && more_bits(index, values_))
    type = TypeCode::q6_k;
  else if (is("Q4_K_S") && index < 4)
    type = TypeCode::q5_k;
  return experts_ == 8 ? TypeCode::q8_0 : type;
}

TypeCode TypeChooser::down(TypeCode type, size_t layer) const {
  const bool first_eighth = layer < layers_ / 8;
  if (is("Q2_K")) return TypeCode::q3_k;
  if (is("Q2_K_S")) return first_eighth ? TypeCode::q4_k : type;
  if (is("IQ3_XXS") && !importance_) return first_eighth ? TypeCode::q4_k : TypeCode::q3_k;
  if (is("Q3_K_M")) return layer < layers_ / 16 ? TypeCode::q5_k : TypeCode::q4_k;
  if (is("IQ3_M") && (first_eighth || (experts_ == 8 && more_bits(layer, layers_)))) return TypeCode::q4_k;
  if (is("Q3_K_L")) return TypeCode::q5_k;
  if ((is("Q4_K_M") || is("Q5_K_M")) && more_bits(layer, layers_)) return TypeCode::q6_k;
  if (first_eighth && mix_.group == "IQ4" && !importance_) return TypeCode::q5_k;
  if (is("Q4_K_S") && first_eighth) return TypeCode::q5_k;
  if (is("Q4_0") && importance_ && first_eighth) return TypeCode::q4_1;
  if (is("Q5_0") && importance_ && first_eighth) return TypeCode::q5_1;
  return type;
}

/// The mixes of IQ1 and IQ2.
TypeCode TypeChooser::low_bit(const std::string& name, size_t layer, TypeCode type) {
  const bool larger = is("IQ2_S") || is("IQ2_M");
  if (is_value(name)) {
    if (queries_per_key_ >= 4 || experts_ >= 4) return TypeCode::q4_k;
    return larger ? TypeCode::iq3_s : TypeCode::q2_k;
  }
  if (experts_ == 8 && has(name, "attn_k.weight")) return TypeCode::q4_k;
  if (has(name, "ffn_down") && layer < layers_ / 8) return larger ? TypeCode::iq3_s : TypeCode::q2_k;
  if (has(name, "attn_output.weight")) {
    if (experts_ == 8) return TypeCode::q5_k;
    if (is("IQ1_S") || is("IQ1_M")) return TypeCode::iq2_xxs;
    if (larger) return TypeCode::iq3_s;
  }
  return type;
}

/// Terrace's own mixes. Per channel, what decides where attention looks and the projections with the widest inputs have
/// 8 bits, and experts, which lie side by side on an accelerator, linear codes.
TypeCode TypeChooser::own(const std::string& name) const {
  const bool head = name == "output.weight" || (tied_ && is_embedding(name));
  if (!is("NF4C")) return head ? TypeCode::q8g128 : mix_.type;
  if (has(name, "_exps.")) return TypeCode::q4c;
  constexpr std::string_view kEightBits[] = {"attn_q.weight", "attn_k.weight", "attn_v.weight", "attn_qkv.weight",
                                             "ffn_down"};
  const bool eight =
      std::any_of(std::begin(kEightBits), std::end(kEightBits), [&](std::string_view part) { return has(name, part); });
  return head || eight ? TypeCode::q8c : TypeCode::nf4c;
}

TypeCode TypeChooser::wanted(const std::string& name) {
  const TypeCode type = mix_.type;
  if (mix_.group == "own") return own(name);
  const size_t layer = layer_of(name);
  const bool low = mix_.group == "IQ2";
  if (name == "output.weight" || (tied_ && is_embedding(name))) {
    if (mix_.group == "MXFP4" || type == TypeCode::q8_0) return TypeCode::q8_0;
    return low || is("IQ3_XXS") ? TypeCode::q5_k : TypeCode::q6_k;
  }
  if (mix_.group == "MXFP4") return has(name, "_exps.") ? TypeCode::mxfp4 : TypeCode::q8_0;
  if (is_embedding(name)) {
    if (is("IQ2_S") || is("IQ2_M") || is("IQ3_XXS")) return TypeCode::iq3_s;
    return low ? TypeCode::q2_k : mix_.group == "TQ" ? TypeCode::q4_k : type;
  }
  if (low) return low_bit(name, layer, type);
  if (is_value(name)) return attention_value(type);
  if (has(name, "attn_k.weight") && experts_ == 8) return TypeCode::q8_0;
  if (has(name, "attn_k.weight") || has(name, "attn_q.weight"))
    return is("IQ3_XS") ? TypeCode::iq3_xxs : is("IQ3_XXS") ? TypeCode::iq2_s : type;
  if (has(name, "ffn_down")) return down(type, layer);
  if (has(name, "attn_output.weight")) {
    constexpr std::string_view kEightExperts[] = {"Q2_K",   "IQ3_XS", "IQ3_XXS", "Q3_K_S", "Q3_K_M", "IQ4_NL",
                                                  "Q4_K_S", "Q4_K_M", "IQ3_S",   "IQ3_M",  "IQ4_XS"};
    if (experts_ == 8)
      return std::find(std::begin(kEightExperts), std::end(kEightExperts), mix_.name) != std::end(kEightExperts)
                 ? TypeCode::q5_k
                 : type;
    if (is("Q2_K")) return TypeCode::q3_k;
    if (is("IQ3_XXS")) return TypeCode::iq3_s;
    if (is("Q3_K_M") || is("IQ3_M")) return TypeCode::q4_k;
    if (is("Q3_K_L")) return TypeCode::q5_k;
  }
  const bool middle = layer >= layers_ / 8 && layer < 7 * layers_ / 8;
  if ((has(name, "ffn_gate") || has(name, "ffn_up")) && is("IQ3_XS") && middle) return TypeCode::iq3_xxs;
  return type;
}

TypeChooser::Choice TypeChooser::choose(const format::GgufTensor& tensor) {
  const format::BlockType* rule = rules_.find(tensor.name);
  const bool counted = is_quantised_by_mixes(tensor);
  if (!rule && !counted) return {format::find_block_type(tensor.type), false};
  const TypeCode by_mix = counted && !mix_.group.empty() && !pure_ ? wanted(tensor.name) : mix_.type;
  TypeCode code = rule ? static_cast<TypeCode>(rule->code) : by_mix;
  const TypeCode first = code;
  while (tensor.shape[0] % format::block_type(code).values != 0) code = narrower(code);
  return {&format::block_type(code), code != first};
}

}  // namespace terrace::tools

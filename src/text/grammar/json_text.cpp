#include "text/grammar/json_text.h"

#include <nlohmann/json.hpp>

#include "text/grammar/utf8_ranges.h"
#include "text/unicode.h"

namespace terrace::text {
namespace {

// Longer than any value that programs keep in 64 bits needs, and an end to digits.
constexpr uint32_t kMaxDigits = 20;
constexpr uint32_t kMaxIndent = 40;
constexpr uint32_t kRun = 32;

const std::vector<CodePoints> kControls = {{0, 0x1F}};
const std::vector<CodePoints> kHex = {{'0', '9'}, {'A', 'F'}, {'a', 'f'}};

// The letter of a short escape, or 0.
char short_escape(uint32_t code) {
  switch (code) {
    case '"':
    case '\\':
      return static_cast<char>(code);
    case '\b':
      return 'b';
    case '\f':
      return 'f';
    case '\n':
      return 'n';
    case '\r':
      return 'r';
    case '\t':
      return 't';
    default:
      return 0;
  }
}

}  // namespace

template <class Make>
Expr JsonText::shared(std::string_view name, Make make) {
  if (!builder_.is_defined(name)) builder_.define(name, make());
  return builder_.rule(name);
}

Expr JsonText::space() {
  return shared("#json space", [&] {
    const Expr indent = builder_.repeat(builder_.characters({{' ', ' '}, {'\t', '\t'}}), 0, kMaxIndent);
    return builder_.optional(builder_.choice({builder_.plain(" "), builder_.sequence({builder_.plain("\n"), indent})}));
  });
}

Expr JsonText::comma() { return builder_.sequence({builder_.plain(","), space()}); }

Expr JsonText::braces(Expr members) {
  return builder_.sequence({builder_.plain("{"), space(), members, space(), builder_.plain("}")});
}

Expr JsonText::brackets(Expr items) {
  return builder_.sequence({builder_.plain("["), space(), items, space(), builder_.plain("]")});
}

Expr JsonText::member(Expr key, Expr value) { return builder_.sequence({key, builder_.plain(":"), space(), value}); }

Expr JsonText::value() {
  const Expr itself = builder_.rule("#json value");
  if (!builder_.is_defined("#json value"))
    builder_.define("#json value", builder_.choice({builder_.rule("#json object"), builder_.rule("#json array"),
                                                    string(), number(), boolean(), null()}));
  (void)object();
  (void)array();
  return itself;
}

Expr JsonText::object() {
  const Expr itself = builder_.rule("#json object");
  if (builder_.is_defined("#json object")) return itself;
  const Expr one = member(string(), builder_.rule("#json value"));
  const Expr more = builder_.repeat(builder_.sequence({comma(), one}), 0);
  builder_.define("#json object",
                  builder_.choice({braces(builder_.sequence({one, more})),
                                   builder_.sequence({builder_.plain("{"), space(), builder_.plain("}")})}));
  (void)value();
  return itself;
}

Expr JsonText::array() {
  const Expr itself = builder_.rule("#json array");
  if (builder_.is_defined("#json array")) return itself;
  const Expr one = builder_.rule("#json value");
  const Expr more = builder_.repeat(builder_.sequence({comma(), one}), 0);
  builder_.define("#json array",
                  builder_.choice({brackets(builder_.sequence({one, more})),
                                   builder_.sequence({builder_.plain("["), space(), builder_.plain("]")})}));
  (void)value();
  return itself;
}

Expr JsonText::string() {
  return shared("#json string", [&] {
    return builder_.sequence({builder_.plain("\""), builder_.repeat(any_character(), 0), builder_.plain("\"")});
  });
}

Expr JsonText::integer() {
  return shared("#json integer", [&] {
    const Expr digits = builder_.sequence(
        {builder_.characters({{'1', '9'}}), builder_.repeat(builder_.characters({{'0', '9'}}), 0, kMaxDigits - 1)});
    return builder_.sequence({builder_.optional(builder_.plain("-")), builder_.choice({builder_.plain("0"), digits})});
  });
}

Expr JsonText::number() {
  return shared("#json number", [&] {
    const Expr digit = builder_.characters({{'0', '9'}});
    const Expr fraction = builder_.sequence({builder_.plain("."), builder_.repeat(digit, 1, kMaxDigits)});
    const Expr exponent = builder_.sequence({builder_.characters({{'E', 'E'}, {'e', 'e'}}),
                                             builder_.optional(builder_.characters({{'+', '+'}, {'-', '-'}})),
                                             builder_.repeat(digit, 1, 3)});
    return builder_.sequence({integer(), builder_.optional(fraction), builder_.optional(exponent)});
  });
}

Expr JsonText::boolean() { return builder_.choice({builder_.plain("true"), builder_.plain("false")}); }

Expr JsonText::null() { return builder_.plain("null"); }

Expr JsonText::any_character() {
  return builder_.choice({builder_.characters({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}}, true),
                          builder_.sequence({builder_.plain("\\"), escape()})});
}

// Long ones in runs that are rules, so that which tokens may come is worked out for the places of one run only.
Expr JsonText::any_characters(uint32_t min, std::optional<uint32_t> max) {
  const Expr one = any_character();
  if (max.value_or(min) <= 2 * kRun) return builder_.repeat(one, min, max);
  const Expr run = shared("#json run", [&] { return builder_.repeat(one, kRun, kRun); });
  const Expr part = shared("#json part of a run", [&] { return builder_.repeat(one, 0, kRun - 1); });
  const auto exactly = [&](Expr expr, uint32_t count) { return builder_.repeat(expr, count, count); };
  const Expr first = builder_.sequence({exactly(run, min / kRun), exactly(one, min % kRun)});
  if (!max) return builder_.sequence({first, builder_.repeat(one, 0)});
  const uint32_t runs = (*max - min) / kRun;
  const Expr last = builder_.sequence({exactly(run, runs), builder_.repeat(one, 0, (*max - min) % kRun)});
  if (runs == 0) return builder_.sequence({first, last});
  return builder_.sequence(
      {first, builder_.choice({builder_.sequence({builder_.repeat(run, 0, runs - 1), part}), last})});
}

// What may follow a backslash.
Expr JsonText::escape() {
  return shared("#json escape", [&] {
    const Expr hex = builder_.characters(kHex);
    const Expr d = builder_.characters({{'D', 'D'}, {'d', 'd'}});
    const Expr below_d = builder_.characters({{'0', '9'}, {'A', 'C'}, {'a', 'c'}});
    const Expr above_d = builder_.characters({{'E', 'F'}, {'e', 'f'}});
    const Expr single = builder_.choice({builder_.sequence({builder_.choice({below_d, above_d}), hex, hex, hex}),
                                         builder_.sequence({d, builder_.characters({{'0', '7'}}), hex, hex})});
    const Expr pair =
        builder_.sequence({d, builder_.characters({{'8', '9'}, {'A', 'B'}, {'a', 'b'}}), hex, hex,
                           builder_.plain("\\u"), d, builder_.characters({{'C', 'F'}, {'c', 'f'}}), hex, hex});
    return builder_.choice(
        {builder_.characters(
             {{'"', '"'}, {'\\', '\\'}, {'/', '/'}, {'b', 'b'}, {'f', 'f'}, {'n', 'n'}, {'r', 'r'}, {'t', 't'}}),
         builder_.sequence({builder_.plain("u"), builder_.choice({single, pair})})});
  });
}

Expr JsonText::character(const std::vector<CodePoints>& set) {
  std::vector<Expr> ways;
  const auto bare = intersection(set, complement(normalized({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}})));
  if (!bare.empty()) ways.push_back(builder_.characters(bare));
  for (const CodePoints range : intersection(set, normalized({{0, 0x1F}, {'"', '"'}, {'\\', '\\'}})))
    for (uint32_t code = range.first; code <= range.last; ++code) {
      if (const char letter = short_escape(code)) ways.push_back(builder_.plain(std::string{'\\', letter}));
      if (code >= 0x20) continue;
      const auto nibble = static_cast<char>(code & 15);
      const Expr last = nibble < 10 ? builder_.plain(std::string(1, static_cast<char>('0' + nibble)))
                                    : builder_.characters({{uint32_t('a' + nibble - 10), uint32_t('a' + nibble - 10)},
                                                           {uint32_t('A' + nibble - 10), uint32_t('A' + nibble - 10)}});
      ways.push_back(builder_.sequence({builder_.plain(code < 16 ? "\\u000" : "\\u001"), last}));
    }
  return builder_.choice(std::move(ways));
}

Expr JsonText::character_except(std::vector<CodePoints> set) {
  return character(complement(normalized(std::move(set))));
}

Expr JsonText::characters_of(std::string_view text) {
  std::vector<Expr> parts;
  std::string run;
  const auto flush = [&] {
    if (!run.empty()) parts.push_back(builder_.plain(run));
    run.clear();
  };
  while (!text.empty()) {
    const Utf8Step step = utf8_step(text);
    const std::string_view bytes = text.substr(0, step.length);
    text.remove_prefix(step.length);
    const uint32_t code = step.kind == Utf8Step::Kind::valid ? utf8_decode(bytes) : 0xFFFD;
    if (code < 0x20 || code == '"' || code == '\\') {
      flush();
      parts.push_back(character({{code, code}}));
    } else {
      run += bytes;
    }
  }
  flush();
  return builder_.sequence(std::move(parts));
}

Expr JsonText::constant(const nlohmann::ordered_json& value) {
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    return builder_.sequence({builder_.plain("\""), characters_of(text), builder_.plain("\"")});
  }
  if (!value.is_structured()) return builder_.plain(value.dump());
  std::vector<Expr> parts;
  for (const auto& [key, item] : value.items()) {
    if (!parts.empty()) parts.push_back(comma());
    parts.push_back(value.is_object() ? member(constant(key), constant(item)) : constant(item));
  }
  if (parts.empty()) parts.push_back(builder_.empty());
  const Expr inner = builder_.sequence(std::move(parts));
  return value.is_object() ? braces(inner) : brackets(inner);
}

}  // namespace terrace::text

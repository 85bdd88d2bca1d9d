#include "text/pretokenizer_table.h"

#include <algorithm>
#include <array>

namespace terrace::text {
namespace {

// Every pattern is written as in the reference's tokenizer.json, \s and \S included; pretokenizer.cpp compiles them.
#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define LINE_END R"(|\s*[\r\n]+|\s+(?!\S)|\s+)"
#define MARKS R"( ?[^\s\p{L}\p{N}]+[\r\n]*)"
#define UPPER R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])"
#define LOWER R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"
#define LEAD R"([^\r\n\p{L}\p{N}]?)"

constexpr std::string_view gpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view llama3 = CONTRACTIONS "|" LEAD R"(\p{L}+|\p{N}{1,3}|)" MARKS LINE_END;
constexpr std::string_view qwen2 = CONTRACTIONS "|" LEAD R"(\p{L}+|\p{N}|)" MARKS LINE_END;
constexpr std::string_view qwen35 =
    CONTRACTIONS "|" LEAD R"([\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*)" LINE_END;
constexpr std::string_view gpt4o = LEAD UPPER "*" LOWER "+" CONTRACTIONS "?|" LEAD UPPER "+" LOWER "*" CONTRACTIONS
                                              R"(?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*)" LINE_END;
constexpr std::string_view youtu = LEAD UPPER "*" LOWER "+" CONTRACTIONS "?|" LEAD UPPER "+" LOWER "*" CONTRACTIONS
                                              R"(?|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*)" LINE_END;
constexpr std::string_view tekken =
    LEAD UPPER "*" LOWER "+|" LEAD UPPER "+" LOWER R"(*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*)" LINE_END;
constexpr std::string_view digit = R"(\p{N})";
constexpr std::string_view digits3 = R"(\p{N}{1,3})";
constexpr std::string_view han_kana = R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)";
constexpr std::string_view deepseek_words =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*)" LINE_END;
constexpr std::string_view spark_words =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+)";
constexpr std::string_view deepseek_cjk = R"([\x{4E00}-\x{9FA5}\x{800}-\x{4E00}\x{AC00}-\x{D7FF}]+)";
constexpr std::string_view deepseek_cased =
    R"(\s?[)"
    R"(A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293}\x{295}-\x{2AF})"
    R"(\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-\x{38A}\x{38C}\x{38E}-\x{3A1})"
    R"(\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-\x{556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5})"
    R"(\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77})"
    R"(\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D})"
    R"(\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE})"
    R"(\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC})"
    R"(\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107}\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124})"
    R"(\x{2126}\x{2128}\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E})"
    R"(\x{2183}\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D})"
    R"(\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787}\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF})"
    R"(\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}\x{10400}-\x{1044F})"
    R"(\x{104B0}-\x{104D3}\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF})"
    R"(\x{1E900}-\x{1E943})"
    R"(]+)";
constexpr std::string_view deepseek_marks =
    R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)";
constexpr std::string_view bloom = R"( ?[^(\s|.,!?\x{2026}\x{3002}\x{FF0C}\x{3001}\x{964}\x{6D4}\x{60C})]+)";
constexpr std::string_view jais2 = CONTRACTIONS
    "|" LEAD R"(\p{L}+|\p{N}{1,3}|)" MARKS
    R"(|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S))"
    R"(|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})";
constexpr std::string_view bailing =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)";
constexpr std::string_view seed_coder = CONTRACTIONS "|" LEAD R"(\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+)" LINE_END;
constexpr std::string_view ufakzeka = LEAD R"(\p{L}+|\p{N}|)" MARKS LINE_END;
constexpr std::string_view exaone_moe = CONTRACTIONS
    "|" LEAD R"((?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)";
constexpr std::string_view minicpm5 = CONTRACTIONS "|" LEAD R"(\p{L}+|\p{N}+|)" MARKS LINE_END;
constexpr std::string_view kimi =
    R"(\p{Han}+|)" LEAD "(?:(?!\\p{Han})" UPPER ")*(?:(?!\\p{Han})" LOWER ")+" CONTRACTIONS "?|" LEAD
    "(?:(?!\\p{Han})" UPPER ")+(?:(?!\\p{Han})" LOWER ")*" CONTRACTIONS R"(?|\p{N}{1,3}|)" MARKS LINE_END;
constexpr std::string_view afmoe_scripts =
    R"([\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{F900}-\x{FAFF}\x{3040}-\x{309F}\x{30A0}-\x{30FF}\x{FF65}-\x{FF9F})"
    R"(\x{2F00}-\x{2FDF}\x{E00}-\x{E7F}\x{E80}-\x{EFF}\x{1780}-\x{17FF}\x{1000}-\x{109F}\x{AA60}-\x{AA7F})"
    R"(\x{A9E0}-\x{A9FF}\x{AC00}-\x{D7AF}\x{1100}-\x{11FF}]+)";
constexpr std::string_view youtu_scripts =
    R"([\x{AC00}-\x{D7A3}\x{3131}-\x{318E}]+|[\x{FF01}\x{2026}\x{201C}\x{201D}\x{2018}\x{2019}\x{2014}\x{FF1A}\x{FF1B}\x{FF0C}\x{3001}-\x{303F}\x{FE30}-\x{FE4F}]+)"
    R"(|[\x{3105}-\x{312F}]+|[\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)";
constexpr std::string_view lines = R"([^\n]+|[\n]+)";
constexpr std::string_view threes = R"([0-9][0-9][0-9])";

#undef CONTRACTIONS
#undef LINE_END
#undef MARKS
#undef UPPER
#undef LOWER
#undef LEAD

constexpr bool whole = true;

// clang-format off
const std::array table = {
    PreTokenizerEntry{"gpt-2 phi-2 jina-es jina-de gigachat jina-v2-es jina-v2-de a.x-4.0 mellum modern-bert jina-v1-en "
                      "jina-v2-code roberta-bpe mpt olmo jais trillion granite-docling exaone4", {gpt2}},
    PreTokenizerEntry{"llama-bpe llama3 llama-v3 falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano glm4 glm5", {llama3}, whole},
    PreTokenizerEntry{"dbrx smaug-bpe chatglm-bpe", {llama3}},
    PreTokenizerEntry{"qwen2 deepseek-r1-qwen kormo f2llmv2 megrez", {qwen2}, false, true},
    PreTokenizerEntry{"stablelm2 hunyuan solar-open grok-2", {qwen2}},
    PreTokenizerEntry{"qwen35", {qwen35}, false, true},
    PreTokenizerEntry{"smollm refact starcoder command-r codeshell exaone minerva-7b mellum2", {digit, gpt2}},
    PreTokenizerEntry{"gpt-4o llama4 kanana2 talkie minimax-m2", {gpt4o}},
    PreTokenizerEntry{"granite-embed-multi-97m", {gpt4o}, whole},
    PreTokenizerEntry{"tekken", {tekken}, whole},
    PreTokenizerEntry{"default", {R"([\p{P}\$\+<=>\^~\|]+)", gpt2, R"(\p{N}+)", threes}},
    PreTokenizerEntry{"falcon", {R"([\p{P}\$\+<=>\^~\|`]+)", gpt2, threes}},
    PreTokenizerEntry{"deepseek-llm", {R"([\r\n])", deepseek_cased, deepseek_marks, R"(\s+$)", deepseek_cjk, R"(\p{N}+)"}},
    PreTokenizerEntry{"deepseek-coder", {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)", deepseek_cjk, digit}},
    PreTokenizerEntry{"deepseek-v3 hunyuan-dense joyai-llm hy_v4", {digits3, han_kana, deepseek_words}},
    PreTokenizerEntry{"spark2_5", {digits3, han_kana, spark_words, digit}},
    PreTokenizerEntry{"youtu", {youtu_scripts, youtu}, whole},
    PreTokenizerEntry{"bloom poro-chat gpt3-finnish", {bloom}},
    PreTokenizerEntry{"viking", {bloom, digit}},
    PreTokenizerEntry{"jais-2", {jais2}},
    PreTokenizerEntry{"bailingmoe bailingmoe2 llada-moe", {bailing}},
    PreTokenizerEntry{"seed-coder", {seed_coder}},
    PreTokenizerEntry{"ufakzeka", {ufakzeka}},
    PreTokenizerEntry{"exaone-moe", {exaone_moe}},
    PreTokenizerEntry{"minicpm5", {digits3, minicpm5}, whole},
    PreTokenizerEntry{"kimi-k2", {kimi}},
    PreTokenizerEntry{"laguna", {lines, qwen2}},
    PreTokenizerEntry{"afmoe", {digit_groups, afmoe_scripts, deepseek_words}},
    PreTokenizerEntry{"superbpe", {R"(\p{N}+)", digit_groups}},
    PreTokenizerEntry{"tiny_aya cohere2moe", {digit_groups_at_word_end, gpt4o}},
    PreTokenizerEntry{"chameleon", {R"(<sentinel:[0-9]+>)", R"((IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z)", R"(([\t\n]|    |  ))", digit,
                                    R"([\p{P}!-/:-@\[-`{-~])", gpt2}},
};
// clang-format on

bool has_name(std::string_view names, std::string_view name) {
  while (!names.empty()) {
    const size_t space = std::min(names.find(' '), names.size());
    if (names.substr(0, space) == name) return true;
    names.remove_prefix(std::min(space + 1, names.size()));
  }
  return false;
}

}  // namespace

const std::string_view gpt2_words = gpt2;
const std::string_view llama3_words = llama3;
const std::string_view qwen2_words = qwen2;
const std::string_view qwen35_words = qwen35;
const std::string_view single_digits = digit;

const PreTokenizerEntry* find_pre_tokenizer(std::string_view name) {
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const auto& entry) { return has_name(entry.names, name); });
  return found == table.end() ? nullptr : &*found;
}

}  // namespace terrace::text

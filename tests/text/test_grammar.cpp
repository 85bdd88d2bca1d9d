// Composed grammars: what they match, and which tokens they allow.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <tuple>

#include "format/gguf.h"
#include "grammar_matching.h"
#include "text/grammar/lazy_constraint.h"
#include "text/tokenizer.h"

namespace terrace::text {
namespace {

using Token = TokenVocabulary::Token;

Grammar built(GrammarBuilder& builder, Expr root) {
  auto grammar = builder.build(root);
  if (!grammar) throw std::runtime_error(grammar.error().message);
  return *grammar;
}

std::set<int32_t> allowed(Constraint place) {
  std::set<int32_t> out;
  const auto mask = place.mask();
  for (size_t i = 0; i < mask.size() * 64; ++i)
    if (mask[i / 64] >> (i % 64) & 1) out.insert(static_cast<int32_t>(i));
  return out;
}

TEST(Grammar, JoinsExpressions) {
  GrammarBuilder b;
  const Expr word = b.repeat(b.characters({{'a', 'z'}}), 1, 3);
  const Grammar grammar = built(
      b, b.sequence({b.literal("("), b.choice({word, b.literal("42")}), b.optional(b.literal("!")), b.literal(")")}));
  for (const char* text : {"(a)", "(abc)", "(42)", "(ab!)"}) EXPECT_TRUE(matches(grammar, text)) << text;
  for (const char* text : {"()", "(abcd)", "(4)", "(a!!)", "(a", "a", ""}) EXPECT_FALSE(matches(grammar, text)) << text;
  EXPECT_TRUE(begins(grammar, "(ab"));
  EXPECT_FALSE(begins(grammar, "(a4"));
}

TEST(Grammar, FollowsRecursion) {
  GrammarBuilder b;
  b.define("pair", b.choice({b.sequence({b.literal("("), b.rule("pair"), b.literal(")")}), b.empty()}));
  const Grammar grammar = built(b, b.rule("pair"));
  EXPECT_TRUE(matches(grammar, "((()))"));
  EXPECT_FALSE(matches(grammar, "((())"));
  EXPECT_FALSE(begins(grammar, "(()))"));
}

TEST(Grammar, NestsOnlySoDeep) {
  GrammarBuilder b;
  b.define("pair", b.choice({b.sequence({b.literal("("), b.rule("pair"), b.literal(")")}), b.literal("x")}));
  const Grammar grammar = built(b, b.rule("pair"));
  EXPECT_TRUE(matches(grammar, std::string(500, '(') + "x" + std::string(500, ')')));
  Constraint place = constraint(grammar);
  size_t depth = 0;
  while (place.accept_text("(") && depth < 100'000) ++depth;
  EXPECT_LT(depth, 1000u);
  EXPECT_TRUE(place.accept_text("x)"));  // a way out is left
}

// Each letter could open either bracket: 2^n stacks, which must not be kept one by one.
TEST(Grammar, KeepsAmbiguousStacksTogether) {
  GrammarBuilder b;
  b.define("s", b.choice({b.sequence({b.literal("a"), b.rule("s"), b.literal("b")}),
                          b.sequence({b.literal("a"), b.rule("t"), b.literal("c")}), b.literal("x")}));
  b.define("t", b.choice({b.sequence({b.literal("a"), b.rule("s"), b.literal("b")}),
                          b.sequence({b.literal("a"), b.rule("t"), b.literal("c")}), b.literal("x")}));
  const Grammar grammar = built(b, b.rule("s"));
  std::string text(300, 'a');
  text += "x";
  for (int i = 0; i < 300; ++i) text += i % 3 ? "b" : "c";
  EXPECT_TRUE(matches(grammar, text));
}

TEST(Grammar, RightRecursionIsNoNesting) {
  GrammarBuilder b;
  b.define("list", b.choice({b.sequence({b.literal("a"), b.rule("list")}), b.empty()}));
  EXPECT_TRUE(matches(built(b, b.rule("list")), std::string(100'000, 'a')));
}

TEST(Grammar, RefusesWhatCannotRun) {
  const auto error = [](auto make) {
    GrammarBuilder b;
    const auto grammar = b.build(make(b));
    return grammar ? std::string() : grammar.error().message;
  };
  EXPECT_NE(error([](auto& b) { return b.rule("missing"); }).find("'missing' is used but not defined"),
            std::string::npos);
  EXPECT_NE(error([](auto& b) {
              b.define("left", b.choice({b.sequence({b.rule("left"), b.literal("a")}), b.literal("a")}));
              return b.rule("left");
            }).find("'left' begins with itself"),
            std::string::npos);
  // Left recursion behind something that may be empty.
  EXPECT_NE(error([](auto& b) {
              b.define("left", b.choice({b.sequence({b.optional(b.literal("x")), b.rule("left"), b.literal("a")}),
                                         b.literal("a")}));
              return b.rule("left");
            }).find("'left' begins with itself"),
            std::string::npos);
  EXPECT_NE(error([](auto& b) {
              b.define("endless", b.sequence({b.literal("a"), b.rule("endless")}));
              return b.rule("endless");
            }).find("can ever end: see rule 'endless'"),
            std::string::npos);
  EXPECT_NE(error([](auto& b) { return b.choice({}); }).find("allows nothing"), std::string::npos);
  EXPECT_NE(error([](auto& b) { return b.repeat(b.literal("a"), 3, 2); }).find("maximum of 2"), std::string::npos);
  EXPECT_NE(error([](auto& b) {
              Expr e = b.literal("abc");
              for (int i = 0; i < 5; ++i) e = b.repeat(e, 1000, 1000);
              return e;
            }).find("too large"),
            std::string::npos);
  EXPECT_NE(error([](auto& b) {
              Expr e = b.literal("a");
              for (int i = 0; i < 1000; ++i) e = b.repeat(e, 0);
              return e;
            }).find("nested deeper"),
            std::string::npos);
  EXPECT_NE(error([](auto& b) {
              b.define("twice", b.literal("a"));
              b.define("twice", b.literal("b"));
              return b.rule("twice");
            }).find("'twice' is defined twice"),
            std::string::npos);
  EXPECT_NE(error([](auto& b) { return b.text_until({""}); }).find("empty"), std::string::npos);
}

// Recursion that cannot end is only one alternative.
TEST(Grammar, LeavesOutWhatNeverEnds) {
  GrammarBuilder b;
  b.define("endless", b.sequence({b.literal("a"), b.rule("endless")}));
  const Grammar grammar = built(b, b.choice({b.rule("endless"), b.literal("b")}));
  EXPECT_FALSE(begins(grammar, "a"));
  EXPECT_TRUE(matches(grammar, "b"));
}

TEST(Grammar, CharactersAreWholeUtf8) {
  GrammarBuilder b;
  const Grammar grammar = built(b, b.repeat(b.characters({{0xE0, 0xFF}, {0x4E00, 0x9FFF}, {0x1F600, 0x1F64F}}), 0));
  EXPECT_TRUE(matches(grammar, "\u00E9\u6B6A\U0001F600"));
  EXPECT_FALSE(matches(grammar, "\xE6\xAD"));
  EXPECT_TRUE(begins(grammar, "\xE6\xAD"));
  EXPECT_FALSE(begins(grammar, "a"));
  const Grammar any = built(b, b.repeat(b.any_character(), 0));
  EXPECT_TRUE(matches(any, std::string("\0\x7F\u0080\u07FF\u0800\uD7FF\uE000\uFFFF\U00010000\U0010FFFF", 26)));
  for (const char* bytes : {"\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xFF", "\x80"})
    EXPECT_FALSE(begins(any, bytes));
}

TEST(Grammar, NegatedCharacters) {
  GrammarBuilder b;
  const Grammar grammar = built(b, b.characters({{'b', 'd'}, {0x4E00, 0x9FFF}}, true));
  for (const char* text : {"a", "e", "\u00E9", "\U0001F600"}) EXPECT_TRUE(matches(grammar, text)) << text;
  for (const char* text : {"b", "c", "d", "\u6B6A"}) EXPECT_FALSE(matches(grammar, text)) << text;
}

TEST(Grammar, TextUntilTheFirstMarker) {
  GrammarBuilder b;
  const Grammar grammar = built(b, b.sequence({b.text_until({"</a>", "\n\n"}), b.literal("!")}));
  for (const char* text : {"</a>!", "x</a>!", "a</</a>!", "a\nb\n\n!", "\u6B6A</a>!"})
    EXPECT_TRUE(matches(grammar, text)) << text;
  for (const char* text : {"x</a>y</a>!", "x!", "</a>", "\n\n\n!"}) EXPECT_FALSE(matches(grammar, text)) << text;
  EXPECT_FALSE(begins(grammar, "\xE6!"));
}

// ---- tokens ----

TEST(Constraint, AllowsWholeTokensOnly) {
  const auto vocabulary = TokenVocabulary::create(
      std::vector<Token>{{"a"}, {"ab"}, {"abc"}, {"bc"}, {"c"}, {""}, {"</s>", true, true}, {"<x>", true}});
  GrammarBuilder b;
  Constraint place = constraint(built(b, b.sequence({b.literal("ab"), b.optional(b.literal("c"))})), vocabulary);
  EXPECT_EQ(allowed(place), (std::set<int32_t>{0, 1, 2}));
  EXPECT_FALSE(place.accept(3));
  EXPECT_FALSE(place.accept(5));
  EXPECT_FALSE(place.accept(-1));
  EXPECT_FALSE(place.accept(1000));
  Constraint other = place;
  EXPECT_TRUE(place.accept(0));
  EXPECT_EQ(allowed(place), (std::set<int32_t>{3}));
  EXPECT_TRUE(other.accept(1));
  EXPECT_TRUE(other.can_end());
  EXPECT_FALSE(other.must_end());
  EXPECT_EQ(allowed(other), (std::set<int32_t>{4, 6}));
  EXPECT_TRUE(other.accept(4));
  EXPECT_TRUE(other.must_end());
  EXPECT_EQ(allowed(other), (std::set<int32_t>{6}));
  EXPECT_TRUE(other.accept(6));
  EXPECT_TRUE(other.ended());
  EXPECT_FALSE(other.accept(6));
  EXPECT_EQ(allowed(other), (std::set<int32_t>{6}));
}

TEST(Constraint, TokensSpanRules) {
  const auto vocabulary =
      TokenVocabulary::create(std::vector<Token>{{"\""}, {"x"}, {"x\",\""}, {"\"}"}, {"\",\"y"}, {"</s>", true, true}});
  GrammarBuilder b;
  b.define("string", b.sequence({b.literal("\""), b.repeat(b.characters({{'a', 'z'}}), 0), b.literal("\"")}));
  Constraint place = constraint(
      built(b, b.sequence({b.rule("string"), b.literal(","), b.rule("string"), b.literal("}")})), vocabulary);
  EXPECT_TRUE(place.accept(0));
  EXPECT_EQ(allowed(place), (std::set<int32_t>{0, 1, 2, 4}));
  EXPECT_TRUE(place.accept(2));
  EXPECT_EQ(allowed(place), (std::set<int32_t>{0, 1, 3}));
}

TEST(Constraint, ControlTokensWriteLiteralsOnly) {
  const auto vocabulary = TokenVocabulary::create(
      std::vector<Token>{{"<call>", true}, {"<"}, {"call"}, {">"}, {"x"}, {"<end>", true}, {"</s>", true, true}});
  GrammarBuilder b;
  Constraint place = constraint(
      built(b, b.sequence({b.literal("<call>"), b.repeat(b.any_character(), 0, 9), b.literal("<end>")})), vocabulary);
  EXPECT_EQ(allowed(place), (std::set<int32_t>{0, 1}));
  EXPECT_TRUE(place.accept(0));
  EXPECT_EQ(allowed(place), (std::set<int32_t>{1, 2, 3, 4, 5}));
  EXPECT_TRUE(place.accept(5));
  EXPECT_TRUE(place.can_end());
  // A marker in the middle of a literal, and text that came from a user.
  Constraint inner = constraint(built(b, b.literal("x<call>x")), vocabulary);
  EXPECT_TRUE(inner.accept(4) && inner.accept(0) && inner.accept(4));
  Constraint plain = constraint(built(b, b.plain("<call>")), vocabulary);
  EXPECT_EQ(allowed(plain), (std::set<int32_t>{1}));
  Constraint until = constraint(built(b, b.text_until({"<end>"})), vocabulary);
  EXPECT_TRUE(until.accept(4));
  EXPECT_EQ(allowed(until), (std::set<int32_t>{1, 2, 3, 4, 5}));
  EXPECT_TRUE(until.accept(5));
  EXPECT_TRUE(until.must_end());
}

TEST(Constraint, EndsWhereNoTokenCanGoOn) {
  const auto vocabulary = TokenVocabulary::create(std::vector<Token>{{"a"}, {"</s>", true, true}});
  GrammarBuilder b;
  Constraint place = constraint(built(b, b.literal("ab")), vocabulary);
  EXPECT_TRUE(place.accept(0));
  EXPECT_FALSE(place.can_end());
  EXPECT_TRUE(place.must_end());
  EXPECT_EQ(allowed(place), (std::set<int32_t>{1}));
  EXPECT_TRUE(place.accept(1));
}

TEST(Constraint, GoesOnFromGivenText) {
  GrammarBuilder b;
  Constraint place = constraint(built(b, b.literal("{\"a\":1}")));
  EXPECT_FALSE(place.accept_text("{x"));
  EXPECT_TRUE(place.accept_text("{\"a"));
  EXPECT_TRUE(place.accept('"'));
}

TEST(Constraint, LivesOnWhenWhatWasLearnedIsDropped) {
  GrammarBuilder b;
  b.define("value", b.choice({b.sequence({b.literal("["), b.rule("value"), b.literal("]")}),
                              b.repeat(b.any_character(), 0, 20)}));
  const auto grammar = std::make_shared<CompiledGrammar>(built(b, b.rule("value")), byte_vocabulary(), 1);
  Constraint first(grammar);
  ASSERT_TRUE(first.accept_text("[["));
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    Constraint other(grammar);
    for (int j = 0; j < 400; ++j) {
      (void)other.mask();
      if (!other.accept_text(random() % 8 ? "[" : "x")) break;
    }
  }
  EXPECT_TRUE(first.accept_text("x]]"));
  EXPECT_TRUE(first.can_end());
}

std::unique_ptr<Tokenizer> fixture(const std::string& name) {
  const auto file = format::GgufFile::open(std::string(TERRACE_TEST_DATA) + "/fixtures/" + name + "/model-f32.gguf");
  if (!file) return nullptr;
  auto vocabulary = read_vocabulary(file->metadata());
  if (!vocabulary) return nullptr;
  auto tokenizer = Tokenizer::create(*std::move(vocabulary));
  return tokenizer ? *std::move(tokenizer) : nullptr;
}

TEST(Constraint, RealVocabulariesWriteTheirOwnTokens) {
  const std::string text = "<|im_end|>{\"caf\u00E9 \u6B6A\U0001F600\": [1, 2.5e3, true, null, {\"a b\": \"\\n\"}]}";
  for (const char* name : {"qwen3", "lfm2", "gptoss", "granite"}) {
    SCOPED_TRACE(name);
    const auto tokenizer = fixture(name);
    ASSERT_TRUE(tokenizer);
    GrammarBuilder b;
    Constraint place = constraint(built(b, b.sequence({b.literal("<|im_end|>"), b.json_value()})),
                                  TokenVocabulary::create(*tokenizer));
    for (const int32_t id : tokenizer->encode(text, {.parse_special = true})) {
      EXPECT_TRUE(place.allows(id)) << tokenizer->token_bytes(id);
      ASSERT_TRUE(place.accept(id)) << tokenizer->token_bytes(id);
    }
    EXPECT_TRUE(place.must_end());
    ASSERT_TRUE(tokenizer->eos());
    EXPECT_TRUE(place.accept(*tokenizer->eos()));
  }
}

// ---- random grammars against definitions ----

struct Tree {
  enum Kind { empty, literal, set, sequence, choice, repeat, rule } kind = empty;
  std::string text;
  std::vector<Tree> parts;
  uint32_t min = 0, max = 0;
};

constexpr std::string_view kAlphabet = "abc";

Tree random_tree(std::mt19937& random, int depth) {
  const auto pick = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  Tree tree;
  tree.kind = static_cast<Tree::Kind>(depth == 0 ? pick(3) : pick(7));
  if (tree.kind == Tree::literal || tree.kind == Tree::set)
    for (uint32_t i = 0; i < 1 + pick(2); ++i) tree.text += kAlphabet[pick(3)];
  if (tree.kind == Tree::sequence || tree.kind == Tree::choice)
    for (uint32_t i = 0; i < 1 + pick(3); ++i) tree.parts.push_back(random_tree(random, depth - 1));
  if (tree.kind == Tree::repeat) {
    tree.parts.push_back(random_tree(random, depth - 1));
    tree.min = pick(2);
    tree.max = tree.min + pick(3);
  }
  tree.min = tree.kind == Tree::rule ? pick(3) : tree.min;
  return tree;
}

Expr expr_of(GrammarBuilder& b, const Tree& tree) {
  std::vector<Expr> parts;
  for (const Tree& part : tree.parts) parts.push_back(expr_of(b, part));
  std::vector<CodePoints> set;
  switch (tree.kind) {
    case Tree::empty:
      return b.empty();
    case Tree::literal:
      return b.literal(tree.text);
    case Tree::set:
      for (const char c : tree.text) set.push_back({static_cast<uint32_t>(c), static_cast<uint32_t>(c)});
      return b.characters(set);
    case Tree::sequence:
      return b.sequence(parts);
    case Tree::choice:
      return b.choice(parts);
    case Tree::repeat:
      return b.repeat(parts[0], tree.min, tree.max);
    case Tree::rule:
      return b.rule(std::string(1, static_cast<char>('A' + tree.min)));
  }
  return b.empty();
}

// Where a match that begins at a place may end, by the definition of each kind.
class Definition {
 public:
  Definition(const std::vector<Tree>& rules, std::string_view text) : rules_(rules), text_(text) {}

  std::set<size_t> ends(const Tree& tree, size_t at, int fuel) {
    if (fuel == 0) return {};
    const auto key = std::tuple(&tree, at, fuel);
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
    return known_[key] = work_out(tree, at, fuel - 1);
  }

 private:
  std::set<size_t> then(const std::set<size_t>& from, const Tree& part, int fuel) {
    std::set<size_t> next;
    for (const size_t begin : from) next.merge(ends(part, begin, fuel));
    return next;
  }

  std::set<size_t> work_out(const Tree& tree, size_t at, int fuel) {
    std::set<size_t> out;
    switch (tree.kind) {
      case Tree::empty:
        return {at};
      case Tree::literal:
        if (text_.substr(at).starts_with(tree.text)) out.insert(at + tree.text.size());
        return out;
      case Tree::set:
        if (at < text_.size() && tree.text.find(text_[at]) != std::string::npos) out.insert(at + 1);
        return out;
      case Tree::sequence:
        out = {at};
        for (const Tree& part : tree.parts) out = then(out, part, fuel);
        return out;
      case Tree::choice:
        for (const Tree& part : tree.parts) out.merge(ends(part, at, fuel));
        return out;
      case Tree::repeat:
        out = {};
        for (auto [i, here] = std::pair(0u, std::set{at}); i <= tree.max; ++i) {
          if (i >= tree.min) out.insert(here.begin(), here.end());
          here = then(here, tree.parts[0], fuel);
        }
        return out;
      case Tree::rule:
        return ends(rules_[tree.min], at, fuel);
    }
    return out;
  }

  const std::vector<Tree>& rules_;
  std::string_view text_;
  std::map<std::tuple<const Tree*, size_t, int>, std::set<size_t>> known_;
};

std::vector<std::string> all_texts(size_t longest) {
  std::vector<std::string> texts = {""};
  for (size_t i = 0; i < texts.size() && texts[i].size() < longest; ++i)
    for (const char c : kAlphabet) texts.push_back(texts[i] + c);
  return texts;
}

TEST(Constraint, RandomGrammarsMatchTheirDefinition) {
  std::mt19937 random(7);
  const auto texts = all_texts(4);
  int tried = 0;
  for (int round = 0; round < 400; ++round) {
    GrammarBuilder b;
    std::vector<Tree> rules;
    for (int i = 0; i < 3; ++i) rules.push_back(random_tree(random, 3));
    for (size_t i = 0; i < 3; ++i) b.define(std::string(1, static_cast<char>('A' + i)), expr_of(b, rules[i]));
    const auto grammar = b.build(b.rule("A"));
    if (!grammar) continue;  // begins with itself, or never ends
    ++tried;
    for (const std::string& text : texts)
      ASSERT_EQ(matches(*grammar, text), Definition(rules, text).ends(rules[0], 0, 40).contains(text.size()))
          << round << ": " << text;
  }
  EXPECT_GT(tried, 100);
}

TEST(Constraint, MaskIsWhatBytesSay) {
  std::mt19937 random(11);
  std::vector<Token> tokens;
  for (const std::string& text : all_texts(3)) tokens.push_back({text});
  tokens.push_back({"ab", true});
  tokens.push_back({"c", true});
  tokens.push_back({"</s>", true, true});
  const auto vocabulary = TokenVocabulary::create(tokens);
  for (int round = 0; round < 400; ++round) {
    GrammarBuilder b;
    for (int i = 0; i < 3; ++i)
      b.define(std::string(1, static_cast<char>('A' + i)), expr_of(b, random_tree(random, 3)));
    const auto grammar = b.build(b.rule("A"));
    if (!grammar) continue;
    Constraint place = constraint(*grammar, vocabulary);
    for (int step = 0; step < 6; ++step) {
      const auto mask = allowed(place);
      bool any = false;
      for (size_t id = 0; id + 1 < tokens.size(); ++id) {
        Constraint copy = place;
        const bool by_token = Constraint(place).accept(static_cast<int32_t>(id));
        ASSERT_EQ(mask.contains(static_cast<int32_t>(id)), by_token);
        any |= by_token;
        if (tokens[id].control || tokens[id].bytes.empty()) continue;
        bool by_bytes = true;
        for (const char c : tokens[id].bytes) by_bytes = by_bytes && copy.accept_text(std::string_view(&c, 1));
        ASSERT_EQ(by_bytes, by_token) << tokens[id].bytes;
      }
      ASSERT_EQ(mask.contains(static_cast<int32_t>(tokens.size() - 1)), place.can_end() || !any);
      ASSERT_EQ(place.must_end(), !any);
      if (!any) break;
      while (!place.accept(static_cast<int32_t>(random() % (tokens.size() - 1)))) {
      }
    }
  }
}

// ---- lazy ----

class Lazy : public testing::Test {
 protected:
  Grammar make(bool anywhere, bool after = false) {
    GrammarBuilder b;
    const Expr call = b.sequence({b.literal("<tool>"), b.repeat(b.characters({{'0', '9'}}), 1), b.literal("</tool>")});
    return built(b, lazy(b, {{"<tool>", call, anywhere}}, {after}));
  }
};

TEST_F(Lazy, HoldsFromTheTriggerOn) {
  const Grammar grammar = make(false);
  for (const char* text : {"", "any \xFF text", "<tool>1</tool>", "text\n<tool>12</tool>", "about <tool> in prose",
                           "<toolbox>", "\n<tool"})
    EXPECT_TRUE(matches(grammar, text)) << text;
  for (const char* text : {"<tool>x", "text\n<tool>", "<tool>1</tool>\n", "<tool>1</tool>x"})
    EXPECT_FALSE(matches(grammar, text)) << text;
  Constraint place = constraint(grammar);
  EXPECT_TRUE(place.accept_text("hello\n<tool>7</tool>"));
  EXPECT_TRUE(place.must_end());
}

TEST_F(Lazy, FreeTextMayFollow) {
  const Grammar grammar = make(false, true);
  EXPECT_TRUE(matches(grammar, "<tool>1</tool><tool>2</tool>\ntext"));
  EXPECT_FALSE(begins(grammar, "<tool>1</tool>\n<tool>x"));
}

TEST_F(Lazy, SpecialTokensTriggerAnywhere) {
  const auto vocabulary = TokenVocabulary::create(std::vector<Token>{{"<tool>", true},
                                                                     {"word"},
                                                                     {"<"},
                                                                     {"1"},
                                                                     {"</tool>", true},
                                                                     {"</s>", true, true},
                                                                     {"<think>", true},
                                                                     {"tool>1"},
                                                                     {"tool>word"}});
  Constraint place = constraint(make(true), vocabulary);
  EXPECT_EQ(allowed(place), (std::set<int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_TRUE(place.accept(1) && place.accept(6) && place.accept(1));
  Constraint spelled = place;
  EXPECT_TRUE(place.accept(0));
  EXPECT_EQ(allowed(place), (std::set<int32_t>{3}));
  EXPECT_TRUE(place.accept(3));
  EXPECT_EQ(allowed(place), (std::set<int32_t>{2, 3, 4}));
  EXPECT_TRUE(place.accept(4));
  EXPECT_TRUE(place.must_end());
  // A token that completes the trigger and goes on against the grammar cannot be written.
  EXPECT_TRUE(spelled.accept(2));
  EXPECT_FALSE(spelled.accept(8));
  EXPECT_TRUE(spelled.accept(7));
}

TEST(LazyTriggers, SeveralKindsBesideEachOther) {
  GrammarBuilder b;
  const Expr a = b.sequence({b.literal("[A]"), b.repeat(b.characters({{'a', 'z'}}), 0), b.literal(".")});
  const Expr c = b.sequence({b.literal("<C>"), b.literal("1")});
  const Grammar grammar = built(b, lazy(b, {{"[A]", a, false}, {"<C>", c, true}}));
  for (const char* text : {"[A]xy.", "x<C>1", "x [A] x", "\n[A].", "[A"}) EXPECT_TRUE(matches(grammar, text)) << text;
  for (const char* text : {"[A]1", "x<C>2", "x <C>", "[A]x<C>1"}) EXPECT_FALSE(matches(grammar, text)) << text;
}

TEST(LazyTriggers, NoTriggersIsFreeText) {
  GrammarBuilder b;
  EXPECT_TRUE(matches(built(b, lazy(b, {})), "anything"));
}

}  // namespace
}  // namespace terrace::text

#include "tools/reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/file.h"
#include "format/safetensors.h"

namespace terrace::tools {
namespace {

using format::SafetensorsArray;
using Arrays = std::map<std::string, SafetensorsArray>;

class ModelReference : public Reference {
 public:
  ModelReference(engine::Engine& engine, std::vector<Text> texts, size_t chunk)
      : engine_(engine), texts_(std::move(texts)), chunk_(chunk) {}

  const std::vector<Text>& texts() const override { return texts_; }
  size_t vocabulary() const override { return engine_.info().vocabulary; }

  Result<Row> next() override {
    if (row_ == rows_.count) TERRACE_CHECK(step());
    return Row{{rows_.row(row_++), rows_.width}, {}, {}};
  }

 private:
  Status step() {
    if (at_ == texts_[text_].tokens.size()) {
      ++text_;
      at_ = 0;
      sequence_ = engine::Sequence();
    }
    const auto tokens = std::span(texts_[text_].tokens).subspan(at_);
    const engine::Advance advance[] = {
        {&sequence_, tokens.first(std::min(chunk_, tokens.size())), engine::Advance::Logits::all}};
    TERRACE_TRY(rows_, engine_.step(advance));
    at_ += rows_.count;
    row_ = 0;
    return Done{};
  }

  engine::Engine& engine_;
  std::vector<Text> texts_;
  size_t chunk_;
  engine::Sequence sequence_;
  size_t text_ = 0, at_ = 0, row_ = 0;
  compute::Rows rows_;
};

template <class T>
std::vector<T> copy_of(const SafetensorsArray& array) {
  std::vector<T> values(array.data.size() / sizeof(T));
  std::memcpy(values.data(), array.data.data(), values.size() * sizeof(T));
  return values;
}

class FileReference : public Reference {
 public:
  static Result<std::unique_ptr<Reference>> open(const std::string& path) {
    TERRACE_TRY(auto file, MappedFile::open(path));
    std::unique_ptr<FileReference> reference(new FileReference(std::move(file)));
    auto arrays = format::parse_safetensors(reference->file_.bytes());
    if (!arrays) return fail("{}: {}", path, arrays.error().message);
    const Status read = arrays->contains("logits") ? reference->read_logits(*arrays) : reference->read_top(*arrays);
    if (!read) return fail("{}: {}", path, read.error().message);
    return std::unique_ptr<Reference>(std::move(reference));
  }

  const std::vector<Text>& texts() const override { return texts_; }
  size_t vocabulary() const override { return vocabulary_; }

  Result<Row> next() override {
    while (row_ == texts_[text_].tokens.size()) ++text_, row_ = 0;
    const Part& part = parts_[text_];
    const size_t row = row_++;
    if (part.logits) {
      logits_.resize(vocabulary_);
      std::memcpy(logits_.data(), part.logits->data.data() + row * vocabulary_ * sizeof(float),
                  vocabulary_ * sizeof(float));
      return Row{logits_, {}, {}};
    }
    return Row{{},
               std::span(part.top).subspan(row * part.width, part.width),
               std::span(part.log_probs).subspan(row * part.width, part.width)};
  }

 private:
  struct Part {
    std::optional<SafetensorsArray> logits;
    std::vector<int32_t> top;
    std::vector<float> log_probs;
    size_t width = 0;
  };
  explicit FileReference(MappedFile file) : file_(std::move(file)) {}

  static Result<SafetensorsArray> array(const Arrays& arrays, const std::string& name, std::string_view dtype,
                                        size_t dimensions) {
    const auto found = arrays.find(name);
    if (found == arrays.end()) return fail("the array '{}' is missing", name);
    if (found->second.dtype != dtype || found->second.shape.size() != dimensions)
      return fail("the array '{}' is no {}-dimensional {}", name, dimensions, dtype);
    return found->second;
  }

  Status add_tokens(std::string kind, const SafetensorsArray& tokens) {
    texts_.push_back({std::move(kind), copy_of<int32_t>(tokens)});
    for (const int32_t token : texts_.back().tokens)
      if (token < 0 || static_cast<size_t>(token) >= vocabulary_)
        return fail("the token {} is outside of the vocabulary of {}", token, vocabulary_);
    if (texts_.back().tokens.size() < 2) return fail("'{}' has fewer than 2 tokens", texts_.back().kind);
    return Done{};
  }

  Status read_logits(const Arrays& arrays) {
    TERRACE_TRY(const auto logits, array(arrays, "logits", "F32", 2));
    TERRACE_TRY(const auto tokens, array(arrays, "tokens", "I32", 1));
    vocabulary_ = logits.shape[1];
    if (logits.shape[0] != tokens.shape[0] || vocabulary_ == 0)
      return fail("there are {} rows of logits for {} tokens", logits.shape[0], tokens.shape[0]);
    parts_.push_back({logits, {}, {}, 0});
    return add_tokens("text", tokens);
  }

  Status read_top(const Arrays& arrays) {
    TERRACE_TRY(const auto vocabulary, array(arrays, "vocabulary", "I32", 1));
    const auto sizes = copy_of<int32_t>(vocabulary);
    if (sizes.size() != 1 || sizes[0] < 1) return fail("the array 'vocabulary' does not hold one size");
    vocabulary_ = static_cast<size_t>(sizes[0]);
    for (const auto& [name, tokens] : arrays) {
      if (!name.ends_with(".tokens")) continue;
      const std::string kind = name.substr(0, name.size() - 7);
      TERRACE_TRY(const auto checked, array(arrays, name, "I32", 1));
      TERRACE_TRY(const auto top, array(arrays, kind + ".top", "I32", 2));
      TERRACE_TRY(const auto log_probs, array(arrays, kind + ".top_log_probs", "F32", 2));
      if (top.shape != log_probs.shape || top.shape[0] != checked.shape[0] || top.shape[1] == 0)
        return fail("the arrays of '{}' do not fit together", kind);
      parts_.push_back({{}, copy_of<int32_t>(top), copy_of<float>(log_probs), top.shape[1]});
      for (const int32_t token : parts_.back().top)
        if (token < 0 || static_cast<size_t>(token) >= vocabulary_)
          return fail("'{}.top' names the token {}, outside of the vocabulary of {}", kind, token, vocabulary_);
      TERRACE_CHECK(add_tokens(kind, checked));
    }
    return texts_.empty() ? Status(fail("it holds no predictions: neither 'logits' nor KIND.tokens")) : Done{};
  }

  MappedFile file_;
  size_t vocabulary_ = 0;
  std::vector<Text> texts_;
  std::vector<Part> parts_;
  std::vector<float> logits_;
  size_t text_ = 0, row_ = 0;
};

}  // namespace

double log_sum_exp(std::span<const float> logits) {
  const double most = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - most);
  return most + std::log(sum);
}

std::vector<int32_t> largest(std::span<const float> values, size_t count) {
  std::vector<int32_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(std::min(count, order.size()));
  std::partial_sort(order.begin(), middle, order.end(), [&](int32_t a, int32_t b) {
    const float x = values[static_cast<size_t>(a)], y = values[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  });
  order.erase(middle, order.end());
  return order;
}

std::unique_ptr<Reference> model_reference(engine::Engine& engine, std::vector<Text> texts, size_t chunk) {
  return std::make_unique<ModelReference>(engine, std::move(texts), chunk);
}

Result<std::unique_ptr<Reference>> file_reference(const std::string& path) { return FileReference::open(path); }

Status save_reference(const std::string& path, engine::Engine& engine, const std::vector<Text>& texts,
                      const Progress& progress) {
  TERRACE_CHECK(check_room(engine, texts));
  const size_t top = std::min(kTopTokens, engine.info().vocabulary);
  std::vector<std::pair<std::string, SafetensorsArray>> arrays = {{"vocabulary", {"I32", {1}, {}}}};
  size_t total = 0, done = 0;
  for (const Text& text : texts) {
    const uint64_t rows = text.tokens.size();
    arrays.push_back({text.kind + ".tokens", {"I32", {rows}, {}}});
    arrays.push_back({text.kind + ".top", {"I32", {rows, top}, {}}});
    arrays.push_back({text.kind + ".top_log_probs", {"F32", {rows, top}, {}}});
    total += rows;
  }
  TERRACE_TRY(auto writer, format::SafetensorsWriter::create(path, arrays));
  const int32_t vocabulary[] = {static_cast<int32_t>(engine.info().vocabulary)};
  TERRACE_CHECK(writer.write(std::as_bytes(std::span(vocabulary))));
  const auto reference = model_reference(engine, texts, engine::Engine::kPromptChunk);
  for (const Text& text : texts) {
    TERRACE_CHECK(writer.write(std::as_bytes(std::span(text.tokens))));
    std::vector<int32_t> tokens;
    std::vector<float> log_probs;
    for (size_t row = 0; row < text.tokens.size(); ++row, ++done) {
      if (!progress(done, total, text.kind)) return fail("{}", kInterrupted);
      TERRACE_TRY(const Reference::Row found, reference->next());
      const double all = log_sum_exp(found.logits);
      for (const int32_t token : largest(found.logits, top)) {
        tokens.push_back(token);
        log_probs.push_back(static_cast<float>(found.logits[static_cast<size_t>(token)] - all));
      }
    }
    TERRACE_CHECK(writer.write(std::as_bytes(std::span(tokens))));
    TERRACE_CHECK(writer.write(std::as_bytes(std::span(log_probs))));
  }
  return writer.finish();
}

}  // namespace terrace::tools

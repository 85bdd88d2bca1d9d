#include "tools/quality.h"

#include <algorithm>
#include <cmath>

namespace terrace::tools {
namespace {

/// KL(p || q) of two sets of log-probabilities of the same tokens, each taken from its own whole.
double divergence(std::span<const double> p, std::span<const double> q) {
  double sum = 0;
  for (size_t i = 0; i < p.size(); ++i) sum += std::exp(p[i]) * (p[i] - q[i]);
  return sum;
}

/// Turns log-probabilities of some tokens into those among these tokens only.
void renormalize(std::vector<double>& log_probs) {
  const double most = *std::max_element(log_probs.begin(), log_probs.end());
  double sum = 0;
  for (const double value : log_probs) sum += std::exp(value - most);
  for (double& value : log_probs) value -= most + std::log(sum);
}

std::vector<double> log_softmax(std::span<const float> logits) {
  const double all = log_sum_exp(logits);
  std::vector<double> log_probs(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) log_probs[i] = logits[i] - all;
  return log_probs;
}

/// Compares one row of each; `next` is the token that follows, below 0 if none does.
Result<Position> compare_row(const Reference::Row& reference, std::span<const float> logits, int32_t next) {
  Position position;
  const std::vector<double> q = log_softmax(logits);
  std::vector<int32_t> top(reference.top.begin(), reference.top.end());
  std::vector<double> top_p(reference.top_log_probs.begin(), reference.top_log_probs.end()), top_q;
  if (!reference.logits.empty()) {
    const std::vector<double> p = log_softmax(reference.logits);
    position.kl = divergence(p, q);
    top = largest(reference.logits, kTopTokens);
    for (const int32_t token : top) top_p.push_back(p[static_cast<size_t>(token)]);
    if (next >= 0) position.reference_loss = -p[static_cast<size_t>(next)];
  } else if (const auto found = std::find(top.begin(), top.end(), next); found != top.end()) {
    position.reference_loss = -top_p[static_cast<size_t>(found - top.begin())];
  }
  for (const int32_t token : top) top_q.push_back(q[static_cast<size_t>(token)]);
  renormalize(top_p);
  renormalize(top_q);
  position.kl_top = divergence(top_p, top_q);
  position.same_best = largest(logits, 1)[0] == top[0];
  if (next >= 0) position.loss = -q[static_cast<size_t>(next)];
  if (!std::isfinite(position.kl_top) || !std::isfinite(position.kl.value_or(0)))
    return fail("the predictions are not finite; one of the models is damaged");
  return position;
}

Divergence figures(std::vector<double> values) {
  Divergence found;
  if (values.empty()) return found;
  const auto count = static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) found.mean += value / count;
  for (const double value : values) squares += (value - found.mean) * (value - found.mean);
  found.error = values.size() > 1 ? std::sqrt(squares / (count - 1) / count) : 0;
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) { return values[static_cast<size_t>(share * (count - 1) + 0.5)]; };
  found.median = at(0.5);
  found.p90 = at(0.9);
  found.p99 = at(0.99);
  found.largest = values.back();
  return found;
}

/// e to the mean of the losses that are known.
template <class Loss>
std::optional<double> perplexity_of(const std::vector<Position>& positions, Loss loss) {
  double sum = 0;
  size_t count = 0;
  for (size_t i = 0; i < positions.size(); ++i) {
    if (!positions[i].loss) continue;  // nothing follows
    const std::optional<double> value = loss(positions[i]);
    if (!value) return std::nullopt;
    sum += *value;
    ++count;
  }
  return count == 0 ? std::nullopt : std::optional(std::exp(sum / static_cast<double>(count)));
}

}  // namespace

Result<std::vector<Comparison>> compare(engine::Engine& model, Reference& reference, size_t chunk,
                                        const Progress& progress) {
  if (reference.vocabulary() != model.info().vocabulary)
    return fail("the reference has a vocabulary of {} tokens and the model one of {}; they cannot be compared",
                reference.vocabulary(), model.info().vocabulary);
  TERRACE_CHECK(check_room(model, reference.texts()));
  size_t total = 0, done = 0;
  for (const Text& text : reference.texts()) total += text.tokens.size();
  std::vector<Comparison> comparisons;
  for (const Text& text : reference.texts()) {
    comparisons.push_back({text.kind, {}});
    engine::Sequence sequence;
    for (size_t first = 0; first < text.tokens.size(); first += chunk) {
      if (!progress(done, total, text.kind)) return fail("{}", kInterrupted);
      const auto tokens = std::span(text.tokens).subspan(first, std::min(chunk, text.tokens.size() - first));
      const engine::Advance advance[] = {{&sequence, tokens, engine::Advance::Logits::all}};
      TERRACE_TRY(const compute::Rows rows, model.step(advance));
      for (size_t r = 0; r < rows.count; ++r, ++done) {
        const size_t at = first + r + 1;
        TERRACE_TRY(const Reference::Row expected, reference.next());
        TERRACE_TRY(auto position,
                    compare_row(expected, {rows.row(r), rows.width}, at < text.tokens.size() ? text.tokens[at] : -1));
        comparisons.back().positions.push_back(position);
      }
    }
  }
  return comparisons;
}

Result<double> self_divergence(engine::Engine& model, const Text& text, size_t chunk, size_t other_chunk) {
  // The rows of one are copied, since both use the model's only place for logits.
  std::vector<std::vector<float>> rows;
  const auto first = model_reference(model, {text}, other_chunk);
  for (size_t i = 0; i < text.tokens.size(); ++i) {
    TERRACE_TRY(const Reference::Row row, first->next());
    rows.emplace_back(row.logits.begin(), row.logits.end());
  }
  double most = 0;
  const auto second = model_reference(model, {text}, chunk);
  for (size_t i = 0; i < text.tokens.size(); ++i) {
    TERRACE_TRY(const Reference::Row row, second->next());
    TERRACE_TRY(const Position position, compare_row({rows[i], {}, {}}, row.logits, -1));
    most = std::max({most, std::abs(*position.kl), std::abs(position.kl_top)});
  }
  return most;
}

Summary summarize(std::string kind, const std::vector<Position>& positions) {
  Summary summary;
  summary.kind = std::move(kind);
  summary.positions = positions.size();
  std::vector<double> kl, kl_top;
  size_t same = 0;
  for (const Position& position : positions) {
    if (position.kl) kl.push_back(*position.kl);
    kl_top.push_back(position.kl_top);
    same += position.same_best ? 1 : 0;
  }
  summary.same_best = static_cast<double>(same) / static_cast<double>(positions.size());
  if (!kl.empty()) summary.kl = figures(std::move(kl));
  summary.kl_top = figures(std::move(kl_top));
  summary.perplexity = perplexity_of(positions, [](const Position& p) { return p.loss; }).value_or(0);
  summary.reference_perplexity = perplexity_of(positions, [](const Position& p) { return p.reference_loss; });
  return summary;
}

std::vector<Summary> summarize(const std::vector<Comparison>& comparisons) {
  std::vector<Summary> summaries;
  std::vector<Position> all;
  for (const Comparison& comparison : comparisons) {
    summaries.push_back(summarize(comparison.kind, comparison.positions));
    all.insert(all.end(), comparison.positions.begin(), comparison.positions.end());
  }
  if (comparisons.size() > 1) summaries.push_back(summarize("all", all));
  return summaries;
}

}  // namespace terrace::tools

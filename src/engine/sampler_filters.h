// The steps of the sampler that narrow the set of candidates. Each leaves at least one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace terrace::engine {

struct Candidate {
  int32_t id;
  float logit;
};

/// As a float; what is too large for one becomes an infinity (the language leaves that open).
inline float to_float(double value) {
  constexpr double kMax = std::numeric_limits<float>::max();
  if (value > kMax) return std::numeric_limits<float>::infinity();
  if (value < -kMax) return -std::numeric_limits<float>::infinity();
  return static_cast<float>(value);
}

/// Better first; equals in the order of their ids. Total, so that no result depends on how a library sorts.
inline bool better(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

/// The tokens that can still be drawn. The first `sorted` entries are the best ones, best first; the others come in the
/// order of their ids or in any. Sorting is put off because most requests need only a few dozen of a large vocabulary.
struct Candidates {
  std::vector<Candidate> entries;
  size_t sorted = 0;

  /// From logits; those that are NaN or -infinity are left out, +infinity counts as the largest float.
  void assign(std::span<const float> logits);
  /// assign() and keep_best() in one, which spares writing down a large vocabulary to keep a few of it. May end empty.
  void assign_best(std::span<const float> logits, size_t count);
  /// Makes the first `count` entries (or all, if fewer) the best ones, best first.
  void sort_front(size_t count);
  /// Keeps the best `count`, at least one, best first.
  void keep_best(size_t count);
  float largest() const;
};

/// The largest of the logits, -infinity if there is none; NaN does not count.
float largest_logit(std::span<const float> logits);

/// exp((logit - largest) / temperature) of each candidate, in `weights`; returns their sum. The temperature is over 0.
double softmax_weights(const Candidates& candidates, double temperature, std::vector<double>& weights);

/// As few of the best as have the probability `p` together, but no fewer than `min_keep`.
void keep_top_p(Candidates& candidates, double p, size_t min_keep, std::vector<double>& weights);

/// Those that are at least `p` times as probable as the best.
void keep_min_p(Candidates& candidates, double p, size_t min_keep);

/// Those whose surprise is nearest to the entropy, until they have more than the probability `p` together.
void keep_typical(Candidates& candidates, double p, size_t min_keep, std::vector<double>& weights);

/// XTC ("exclude top choices"): of those that have at least the probability `threshold`, only the last one stays.
/// Nothing happens if fewer than `min_keep` were to be left.
void drop_top_choices(Candidates& candidates, double threshold, size_t min_keep, std::vector<double>& weights);

/// Mirostat 2: those whose surprise in bits is at most `limit`.
void keep_surprise(Candidates& candidates, double limit, double temperature, std::vector<double>& weights);

/// The temperature for these candidates: temperature - range (not below 0) for a certain choice up to
/// temperature + range when all are equal, along the entropy's share of its maximum to the power of `exponent`.
double dynamic_temperature(const Candidates& candidates, double temperature, double range, double exponent,
                           std::vector<double>& weights);

/// The index of the candidate where `uniform`, in [0, 1), falls. Weights of 0 are never chosen.
size_t draw(std::span<const double> weights, double total, double uniform);

}  // namespace terrace::engine

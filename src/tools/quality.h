// How far a model's predictions are from a reference's on the same tokens.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/reference.h"

namespace terrace::tools {

/// What is compared at one position. Divergences are KL(reference || model) in nats.
struct Position {
  std::optional<double> kl;              ///< over the whole vocabulary, where the reference knows it
  double kl_top = 0;                     ///< over the reference's kTopTokens, both renormalised to them
  bool same_best = false;                ///< the most likely tokens agree
  std::optional<double> loss;            ///< -ln of the model's probability of the token that follows, if one does
  std::optional<double> reference_loss;  ///< the reference's, where it knows it
};

/// The positions of one text.
struct Comparison {
  std::string kind;
  std::vector<Position> positions;
};

/// Teacher-forced: the model reads the reference's tokens in steps of `chunk` and is compared at every position. An
/// error when the vocabularies differ in size or predictions are not finite.
Result<std::vector<Comparison>> compare(engine::Engine& model, Reference& reference, size_t chunk,
                                        const Progress& progress);

/// A model against itself: the largest divergence between reading the tokens in steps of `chunk` and of `other_chunk`.
/// Exactly 0, or results depend on how the work is split.
Result<double> self_divergence(engine::Engine& model, const Text& text, size_t chunk, size_t other_chunk);

/// Figures over the positions of some comparisons.
struct Divergence {
  double mean = 0, error = 0;  ///< error: the standard error of the mean
  double median = 0, p90 = 0, p99 = 0, largest = 0;
};
struct Summary {
  std::string kind;
  size_t positions = 0;
  std::optional<Divergence> kl;
  Divergence kl_top;
  double same_best = 0;  ///< share of the positions
  double perplexity = 0;
  std::optional<double> reference_perplexity;
};
Summary summarize(std::string kind, const std::vector<Position>& positions);
/// One per text, and with several of them one of all together, called "all".
std::vector<Summary> summarize(const std::vector<Comparison>& comparisons);

}  // namespace terrace::tools

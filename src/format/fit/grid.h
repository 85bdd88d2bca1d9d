// Subs (fit.h) whose values are runs of codebook entries, with signs: the IQ types.
//
// For a run of values x with weights w, an entry g at scale s has the error sum w x^2 - 2 s A + s^2 B, where A = sum of
// w x g and B = sum of w g^2. A and B do not depend on the scale, so the whole codebook is multiplied out once per run,
// and a scale then costs two operations per entry. What the first search for a scale chose is kept as a short list,
// and later scales look only there.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>

#include "format/fit/fit.h"

namespace terrace::format {

/// The entries of a book as floats, value by value: values[i][entry].
template <class Book>
struct BookValues {
  float values[Book::kRun][Book::kEntries];
  explicit BookValues(const Book& book) {
    for (size_t i = 0; i < Book::kRun; ++i)
      for (size_t entry = 0; entry < Book::kEntries; ++entry)
        values[i][entry] = static_cast<float>(book.value(entry, i));
  }
};

/// An entry on a run's short list.
struct Candidate {
  float a, b;
  uint16_t entry;
};

/// The short list of one run.
class ShortList {
 public:
  void add(Candidate candidate) {
    for (size_t i = 0; i < size_; ++i)
      if (candidates_[i].entry == candidate.entry) return;
    if (size_ < kMost) candidates_[size_++] = candidate;
  }
  /// The best of them at a scale.
  const Candidate& best(float scale) const {
    size_t found = 0;
    float least = std::numeric_limits<float>::infinity();
    for (size_t i = 0; i < size_; ++i) {
      const float error = scale * (scale * candidates_[i].b - 2 * candidates_[i].a);
      if (error < least) least = error, found = i;
    }
    return candidates_[found];
  }

 private:
  static constexpr size_t kMost = 24;
  std::array<Candidate, kMost> candidates_{};
  size_t size_ = 0;
};

/// All entries for one run: A and B of each.
template <size_t Entries>
struct Table {
  float a[Entries] = {}, b[Entries] = {};

  /// Adds one value's part: its weighted value and its weight, and what each of `count` entries from `first` on has
  /// there, moved by `shift`.
  void add(float wx, float w, const float* g, float shift = 0, size_t first = 0, size_t count = Entries) {
    for (size_t k = 0; k < count; k += kLanes) {
      const Lanes values = load_lanes(g + k) + shift;
      add_lanes(a + first + k, wx * values);
      add_lanes(b + first + k, w * values * values);
    }
  }

  Candidate best(float scale) const {
    // Four best side by side, and the place where each is.
    Lanes least = all_lanes(std::numeric_limits<float>::infinity());
    Places place{}, here{0, 1, 2, 3};
    for (size_t k = 0; k < Entries; k += kLanes, here += static_cast<int>(kLanes)) {
      const Lanes error = scale * (scale * load_lanes(b + k) - 2 * load_lanes(a + k));
      place = error < least ? here : place;
      least = error < least ? error : least;
    }
    int found = 0;
    for (int lane = 1; lane < static_cast<int>(kLanes); ++lane)
      if (least[lane] < least[found]) found = lane;
    const auto entry = static_cast<size_t>(place[found]);
    return {a[entry], b[entry], static_cast<uint16_t>(entry)};
  }

 private:
  using Places = int32_t __attribute__((vector_size(16)));
  static void add_lanes(float* to, Lanes value) {
    value += load_lanes(to);
    std::memcpy(to, &value, sizeof value);
  }
};

/// A sub of Runs runs whose entries come from short lists.
template <size_t Runs, int Far>
struct GridSub {
  static constexpr auto kSteps =
      std::array{1.0F, 0.93F, 0.87F, 0.8F, 0.74F, 0.68F, 0.62F, 0.56F, 0.5F, 0.43F, 1.08F, 1.17F, 1.3F};
  float largest = 0;  ///< magnitude
  float squares = 0;  ///< sum of w x^2
  std::array<ShortList, Runs> lists;

  float reach() const { return largest / Far; }
  Fit at(float scale) const {
    float a = 0, b = 0;
    for (const ShortList& list : lists) {
      const Candidate& best = list.best(scale);
      a += best.a;
      b += best.b;
    }
    return {squares + scale * (scale * b - 2 * a), a, b};
  }
};

/// The same runs against whole tables: the first search, which fills the short lists.
template <size_t Runs, size_t Entries, int Far>
struct GridTables {
  static constexpr auto kSteps = GridSub<Runs, Far>::kSteps;
  std::array<Table<Entries>, Runs> tables{};
  GridSub<Runs, Far>* sub = nullptr;

  float reach() const { return sub->reach(); }
  Fit at(float scale) const {
    float a = 0, b = 0;
    for (size_t run = 0; run < Runs; ++run) {
      const Candidate best = tables[run].best(scale);
      sub->lists[run].add(best);
      a += best.a;
      b += best.b;
    }
    return {sub->squares + scale * (scale * b - 2 * a), a, b};
  }
};

/// Signs of `count` (8) values, bit i for value i, and the magnitudes under them. Even: the number of negative signs
/// must be even; when it is not, the value that matters least takes the wrong sign and a magnitude below zero.
inline uint8_t take_signs(const float* x, const float* w, bool even, float* magnitudes) {
  uint8_t signs = 0;
  size_t least = 0;
  for (size_t i = 0; i < 8; ++i) {
    magnitudes[i] = std::abs(x[i]);
    if (x[i] < 0) signs = static_cast<uint8_t>(signs | 1U << i);
    if (w[i] * x[i] * x[i] < w[least] * x[least] * x[least]) least = i;
  }
  if (even && std::popcount(signs) % 2 == 1) {
    signs = static_cast<uint8_t>(signs ^ 1U << least);
    magnitudes[least] = -magnitudes[least];
  }
  return signs;
}

/// A whole block of an IQ2 or IQ3 type: Subs sub-blocks of Octets * 8 values.
template <class Book, size_t Subs, size_t Octets, int Far>
class SignedGridBlock {
 public:
  static constexpr size_t kRuns = Octets * 8 / Book::kRun;

  SignedGridBlock(const Book& book, const float* x, const float* w, bool even_signs) {
    static const BookValues<Book> values(book);
    const auto tables = std::make_unique<GridTables<kRuns, Book::kEntries, Far>>();
    for (size_t j = 0; j < Subs; ++j) {
      *tables = {};
      tables->sub = &subs_[j];
      for (size_t octet = 0; octet < Octets; ++octet) {
        const size_t first = (j * Octets + octet) * 8;
        float magnitudes[8];
        signs_[j * Octets + octet] = take_signs(x + first, w + first, even_signs, magnitudes);
        for (size_t i = 0; i < 8; ++i) {
          const float weight = w[first + i];
          tables->tables[(octet * 8 + i) / Book::kRun].add(weight * magnitudes[i], weight,
                                                           values.values[i % Book::kRun]);
          subs_[j].squares += weight * magnitudes[i] * magnitudes[i];
          subs_[j].largest = std::max(subs_[j].largest, std::abs(magnitudes[i]));
        }
      }
      ideal_scale(*tables);
    }
  }

  const std::array<GridSub<kRuns, Far>, Subs>& subs() const { return subs_; }
  uint8_t signs(size_t octet) const { return signs_[octet]; }
  /// The entry of a run of sub j at the scale chosen for it.
  size_t entry(size_t j, size_t run, float scale) const { return subs_[j].lists[run].best(scale).entry; }

 private:
  std::array<GridSub<kRuns, Far>, Subs> subs_{};
  std::array<uint8_t, Subs * Octets> signs_{};
};

}  // namespace terrace::format

// What the threads of dual ascent work on: for dual_ascent.cpp and dual_step.cpp alone.
#pragma once

#include <cstdint>
#include <vector>

#include "dual_ascent.hpp"

namespace fieldcraft {

// One thread's memory.
struct DualAscent::Lane {
  explicit Lane(const TrainingLayout& layout)
      : oracle(layout), sums(layout.n_pairs()), pairs(layout.n_pairs()) {}
  SequenceOracle oracle;
  PairSums sums;
  Buffer marginals, pairs, entries;
};

// The sequences of the current group and their changes of the weights. What is stored for a sequence has the
// same parts: nodes [T, P], label pairs summed over positions [S, P], and an amount for each of its edge
// entries, value * marginal of the pair (SequenceParts).
struct DualAscent::Group {
  static constexpr size_t kMost = 8;  // sequences that see the same weights

  std::vector<int64_t> members, begin;  // sequence; where its tokens begin in the buffers
  std::vector<int64_t> entry_begin;     // where its edge entries begin
  Buffer scores, change;                // [tokens of the group, P]; change: -c (new - old marginals)
  Buffer pair_change;                   // [members, S, P]
  Buffer entry_scores, entry_change;    // [edge entries of the group]: weights before, and changes
  double part[kMost], gap[kMost], step[kMost], estimate[kMost];  // c K, c K', s, estimate of Q
  size_t size() const { return members.size(); }

  // Where member k's entries begin in the buffers.
  size_t entries_at(size_t k) const { return static_cast<size_t>(entry_begin[k]); }
  size_t pairs_at(size_t k, const TrainingLayout& layout) const { return k * layout.n_pairs(); }
  size_t nodes_at(size_t k, const TrainingLayout& layout) const { return begin[k] * layout.P(); }
};

}  // namespace fieldcraft

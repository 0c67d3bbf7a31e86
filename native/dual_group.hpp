// What the threads of dual ascent work on: for dual_ascent.cpp and dual_step.cpp alone.
#pragma once

#include <cstdint>
#include <vector>

#include "apart.hpp"
#include "dual_ascent.hpp"

namespace fieldcraft {

// One thread's memory.
struct alignas(kApart) DualAscent::Lane {
  Lane(const TrainingLayout& layout, size_t n_cells)
      : oracle(layout),
        sums(layout.n_pairs()),
        pairs(layout.n_pairs()),
        cells(Buffer::zeros(n_cells)),
        cell_scores(Buffer::zeros(n_cells)) {}
  SequenceOracle oracle;
  PairSums sums;
  Buffer marginals, pairs, entries;
  Buffer cells, cell_scores;  // of the pairs that have a weight: marginals, and weights
};

// The sequences of the current group and their changes of the weights. What is stored for a sequence has the
// same parts: nodes [T, P], the label pairs that have a weight, summed over positions, and an amount for each
// of its edge entries, value * marginal of the pair (SequenceParts).
struct DualAscent::Group {
  static constexpr size_t kFewest = 2, kMost = 64;  // sequences that see the same weights

  std::vector<int64_t> members, begin;  // sequence; where its tokens begin in the buffers
  std::vector<int64_t> entry_begin;     // where its edge entries begin
  Buffer scores, change;                // [tokens of the group, P]; change: -c (new - old marginals)
  Buffer pair_change;                   // [members, cells]
  Buffer entry_scores, entry_change;    // [edge entries of the group]: weights before, and changes
  double part[kMost], gap[kMost], step[kMost], estimate[kMost];  // c K, c K', s, estimate of Q
  size_t size() const { return members.size(); }

  // Where member k's entries begin in the buffers.
  size_t entries_at(size_t k) const { return static_cast<size_t>(entry_begin[k]); }
  size_t nodes_at(size_t k, const TrainingLayout& layout) const { return begin[k] * layout.P(); }
};

}  // namespace fieldcraft

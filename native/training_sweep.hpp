// What the threads of an evaluation share, and what each has for itself (training.hpp).
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "apart.hpp"
#include "parallel.hpp"
#include "sequence_oracle.hpp"
#include "training.hpp"

namespace fieldcraft {

constexpr size_t kGroupSize = 4;  // sequences that run together where a row is too wide for chain_block()

// Are nodes narrow enough for chain_block().
inline bool in_step(const FieldLayout& field) { return field.P() <= 8 * kWholeClasses; }

// One thread's memory.
struct ChainProblem::Lane {
  explicit Lane(const BlockLayout& blocks) : oracle(blocks.field().edges()) {
    const size_t P = static_cast<size_t>(blocks.field().P()), longest = static_cast<size_t>(blocks.longest());
    node = Buffer(static_cast<size_t>(blocks.most_tokens()) * P);
    entries = Buffer(static_cast<size_t>(blocks.most_entries()));
    if (!in_step(blocks.field())) return;
    chains = Buffer(2 * kChainsInStep * longest * P), inverse = Buffer(kChainsInStep * longest);
  }
  SequenceOracle oracle;
  Buffer node, entries;     // gradients of the block's nodes [tokens, P], of its edge entries
  Buffer chains, inverse;   // of chains in step
  Buffer wide[kGroupSize];  // [T, padded] of a sequence
  std::vector<SequencePass> passes;
  PairSums* pairs = nullptr;  // of the block
  uint32_t group = 0;         // of the last block

  // A block whose turn to add up has not come, with its gradients.
  struct Waiting {
    Relay::Task task;
    size_t kind;  // of columns, which comes next
  };
  std::optional<Waiting> waiting;
  Buffer waiting_node, waiting_entries;

  double* room(int64_t T, int64_t width, size_t k) {
    wide[k].reserve(static_cast<size_t>(T * width));
    return wide[k].data();
  }
};

// Kept between evaluations, so that its memory is allocated once.
struct ChainProblem::Sweep {
  Mode mode = Mode::likelihood;
  const double* weights = nullptr;
  const int32_t* gold = nullptr;
  double* per_sequence = nullptr;  // log Z, or weighted losses
  std::vector<double> values;      // memory for them, where nobody asks
  Buffer field, sums;
  bool touched = false;  // the sums
  std::optional<Edges> edges;
  Buffer matrix, transposed, start;            // of the edges, as wide as the field's nodes
  size_t products_size;                        // S * P, and a little more: threads write side by side
  Buffer products;                             // [blocks, S, P] of chains in step
  std::vector<std::optional<PairSums>> pairs;  // of blocks, where there are others
  std::vector<std::unique_ptr<Lane>> lanes;
  Relay relay;  // of the blocks of a group, through the kinds of columns

  explicit Sweep(const BlockLayout& blocks)
      : field(blocks.field().weights_size()),
        sums(blocks.sums_size()),
        pairs(blocks.blocks().size()),
        relay(blocks.group_sizes(), static_cast<size_t>(blocks.n_kinds())) {
    const size_t S = static_cast<size_t>(blocks.field().S()), P = static_cast<size_t>(blocks.field().P());
    matrix = Buffer(S * P), transposed = Buffer(S * P), start = Buffer::zeros(P);
    std::fill_n(start.data(), S, 1.0);
    products_size = (S * P * sizeof(double) + kApart - 1) / kApart * kApart / sizeof(double);
    if (in_step(blocks.field())) products = Buffer(blocks.blocks().size() * products_size);
  }
  // Zeros before the first sums. A feature of label pairs may belong to an attribute that occurs at first
  // tokens alone, or at none: no block writes its sum. All other columns have a block that does, but what
  // begins a sum is read even where it counts for nothing (kernels/blocks.cpp), and memory that is read
  // before it is written costs two faults a page, the second of which stops all threads.
  void touch_sums(int n_threads) {
    constexpr size_t kPiece = 1 << 15;  // doubles
    if (touched) return;
    for_each_task(n_threads, (sums.size() + kPiece - 1) / kPiece, [&](size_t p, int) {
      std::fill(sums.data() + p * kPiece, sums.data() + std::min(sums.size(), (p + 1) * kPiece), 0.0);
    });
    touched = true;
  }
  void set_pairs(const std::vector<double>& scores, int64_t S, int64_t P) {
    edges.emplace(scores.data(), S);
    for (int64_t x = 0; x < S; ++x)
      for (int64_t y = 0; y < P; ++y) {
        matrix[x * P + y] = y < S ? edges->matrix[x * edges->P + y] : 0.0;
        transposed[x * P + y] = y < S ? edges->transposed[x * edges->P + y] : 0.0;
      }
  }
};

}  // namespace fieldcraft

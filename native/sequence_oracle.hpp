// Inference on one sequence for training: scores, marginals, the best labelling with costs, and a loss with
// its gradient in potential space. The batch, stochastic and dual drivers all use it.
//
// A Chain (objectives.hpp) describes the potentials: those of a sequence of the corpus at some weights, made
// by `chain`, or those of the caller. Gradients of nodes go to the caller's rows [T, P], those of label
// pairs to PairSums; the layout maps both to the weights (training_layout.hpp).
#pragma once

#include <cstdint>

#include "objectives.hpp"
#include "training_layout.hpp"

namespace fieldcraft {

// Gradients of label pairs, summed over positions and sequences.
class PairSums {
 public:
  explicit PairSums(size_t n_pairs) : products_(Buffer::zeros(n_pairs)) {}

  void clear() { products_.fill_zero(), has_totals_ = false; }
  void add(const double* pairs);                   // [S, P]
  double* totals();                                // [S, P]
  double* products() { return products_.data(); }  // [S, P] before the product with the edges' matrix
  double total(size_t cell, const Edges& edges) const {
    const double sum = products_[cell] * edges.matrix[cell];
    return has_totals_ ? sum + totals_[cell] : sum;
  }
  void sum(const Edges& edges, double* out) const {  // [S, P] all totals
    const double *products = products_.data(), *matrix = edges.matrix.data();
    const size_t n = products_.size();
    for (size_t k = 0; k < n; ++k) out[k] = products[k] * matrix[k];
    const double* totals = totals_.data();
    for (size_t k = 0; k < n && has_totals_; ++k) out[k] += totals[k];
  }

  // Where the amounts of the sequence's edge entries are added, or null; see SequenceParts.
  double* entries = nullptr;

 private:
  Buffer products_, totals_;
  bool has_totals_ = false;
};

// One thread's memory for one sequence after the other.
class SequenceOracle {
 public:
  explicit SequenceOracle(const TrainingLayout& layout)  // must outlive this
      : layout_(&layout), entries_of_(&layout.edge_entries()), observed_(entries_of_->observed()) {}
  explicit SequenceOracle(const EdgeEntries& entries)  // for chains whose scores the caller has
      : entries_of_(&entries), observed_(entries.observed()) {}

  // Sequence i at scale * weights, of which `edges` are the label pairs; gold [T] and allowed [T, S] as the
  // caller needs them. The weights, and the edges that depend on the input, are those of the last call.
  Chain chain(int64_t i, const WeightView& weights, double scale, const Edges& edges, const int32_t* gold,
              const uint8_t* allowed);

  // The sequence that begins at token `first`, whose node scores `fill` writes; weights [n_features] are
  // those of edges that look at the input.
  Chain chain(int64_t first, int64_t T, SequencePass::Fill fill, const double* weights, const Edges& edges,
              const int32_t* gold, const uint8_t* allowed);

  double log_partition(const Chain& chain) {
    return pass_.log_partition(*chain.edges, chain.own, chain.T, chain.fill, Numerics::automatic);
  }
  // weight * marginals: nodes to node [T, P], pairs added to `pairs`. Returns log Z.
  double marginals(const Chain& chain, double weight, double* node, PairSums& pairs);
  // Returns weight * loss; its gradient is written like the output of marginals().
  double loss(const Objective& objective, const Chain& chain, double weight, double* node, PairSums& pairs) {
    return loss_.evaluate(objective, chain, weight, node, into(pairs, chain));
  }
  // weight * the indicator of the gold labelling, written like the output of marginals().
  void add_gold(const Chain& chain, double weight, double* node, PairSums& pairs);
  // The labelling of the greatest score + cost [S, S] (by gold label and label); returns that sum.
  double argmax(const Chain& chain, const double* cost, int32_t* labels);

 private:
  PairGradient into(PairSums& pairs, const Chain& chain);
  template <class Visit>
  void each_entry(int64_t t, const Visit& visit);

  const TrainingLayout* layout_ = nullptr;
  const EdgeEntries* entries_of_;
  ObservedEdges observed_;
  int64_t first_ = 0;  // token of the sequence of chain()
  WeightView weights_{};
  double scale_ = 1;
  PairSums* sums_ = nullptr;  // of the question that is being answered
  double* entries_ = nullptr;
  SequencePass pass_;
  ChainLoss loss_;
};

}  // namespace fieldcraft

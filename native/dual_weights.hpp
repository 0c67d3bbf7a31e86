// The weights of dual optimisers: a step in potential space is added to each weight times a factor,
//  1 / precision (0 where a row has no feature).
//
// Features of label pairs that look at the input have an entry for each occurrence of theirs in a sequence
// (SequenceParts::entries); only dual ascent visits them, the other methods refuse them: see `possible`.
#pragma once

#include <vector>

#include "sequence_oracle.hpp"
#include "training.hpp"

namespace fieldcraft {

class DualWeights {
 public:
  // factor [n_features]: what a step is multiplied by. The layout must stay.
  DualWeights(const TrainingLayout& layout, const std::vector<double>& factor);

  const TrainingLayout& layout() const { return *layout_; }
  static bool possible(const ChainProblem& problem) { return !problem.needs_tokens(); }
  // 1 / precision [n]; throws unless all precisions are positive.
  static std::vector<double> inverses(const double* precision, int64_t n);

  // Takes over weights [n_features], and gives them back.
  void set(const double* weights) { weights_.set(weights); }
  void get(double* weights) const { layout_->gather(weights_.view().dense, weights); }

  // node [T, P] <- scores of a sequence.
  void score(int64_t i, double* node) const { layout_->score(i, weights_.view(), node); }
  const Edges& edges() const { return weights_.edges(); }
  Chain chain(int64_t i, SequenceOracle& oracle) const {
    return oracle.chain(i, weights_.view(), 1, edges(), nullptr, nullptr);
  }

  // Adds factor * change [T, P] of a sequence to the weights of one owner, or of all.
  void add_nodes(int64_t i, const double* change, int owner = TrainingLayout::kAllOwners);
  // visit(k, token, pair, feature, value) for each edge entry of a sequence; k counts those of its first
  // token too, which has no step and is not visited.
  template <class Visit>
  void each_entry(int64_t i, const Visit& visit) const {
    if (!layout_->needs_tokens()) return;
    const ObservedEdges observed = layout_->edge_entries().observed();
    const int64_t begin = layout_->entries_before(layout_->first(i));
    for (int64_t t = layout_->first(i) + 1; t < layout_->first(i + 1); ++t) {
      int64_t k = layout_->entries_before(t) - begin;
      observed.each_entry(t, [&](int64_t pair, uint32_t f, double value) { visit(k++, t, pair, f, value); });
    }
  }
  double weight(uint32_t f) const { return weights_.view().each[f]; }  // of an edge entry
  // Adds factor * change [entries of the sequence] to the weights of one owner, or of all.
  void add_entries(int64_t i, const double* change, int owner);
  // Adds factor * change [S, P]; refresh() then computes the edges again.
  void add_pairs(const double* change);
  // The same for some cells of it alone.
  void add_cells(const std::vector<uint32_t>& cells, const double* change);
  void refresh() { weights_.refresh(); }

  const double* pair_scores() const { return weights_.view().dense + layout_->pairs_at(); }  // [S, P]
  // The square of a change [S, P] of the pairs, in the metric of the factors.
  double pair_square(const double* change) const;
  double cell_square(const std::vector<uint32_t>& cells, const double* change) const;

 private:
  const TrainingLayout* layout_;
  LaidOutWeights weights_;
  std::vector<double> factor_;       // [n_features], or one that serves all
  Buffer factor_dense_;              // the same in the layout where the factors of the weights differ
  std::vector<float> supported_;     // otherwise: 1 where the dense part has a feature, 0 where not
  std::vector<double> pair_factor_;  // [S, P]
};

}  // namespace fieldcraft

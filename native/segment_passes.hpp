// Passes over the sequences of a semi-Markov chain (segments.hpp), one after the other.
//
// Features belong to five parts, whose weights are added up to the scores of a sequence:
//
//   node[t, s]        = weights of token t's attributes in the state s, and, where s begins the type X, those
//   of
//                       "first" for X
//   edge[t, e]        = weights of the transition e: shared by all tokens, and of the attributes of token t >
//   0 segment[t, X, d]  = weights for X of the attributes of the candidate of d tokens that ends with token
//   t,
//                       and those of "last" at token t
//
// Candidates are rows t * longest + d - 1. The gradient in potential space is flat: node [T, S], edge [T, E],
// segment [T, C]. Numbers are added in the order of the composed problem
// (src/fieldcraft/problems/composed.py), which calls back into Python for each sequence; a test checks that
// both take the same steps.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "linear_map.hpp"
#include "objectives.hpp"
#include "passes.hpp"
#include "segments.hpp"

namespace fieldcraft {

// The features of one part; memory is the caller's.
struct SegmentPart {
  LinearMap map;           // its rows are tokens or candidates, its columns what weights belong to
  const int32_t* feature;  // [entries] the weight of each entry
  std::vector<int32_t> shared_column;  // weights without attribute, which count at every row
  std::vector<int32_t> shared_feature;
};

// The training data of a semi-Markov chain.
struct SegmentDesign {
  enum Part { node, edge, first, last, segment };

  int64_t n_features;
  std::vector<int64_t> offsets;  // [N + 1]
  std::array<SegmentPart, 5> parts;
  int64_t longest;              // candidates that end with a token
  std::vector<int32_t> gold;    // [tokens] states
  std::vector<double> weights;  // [N] of the sequences; empty: all 1

  int64_t n_sequences() const { return static_cast<int64_t>(offsets.size()) - 1; }
  int64_t length(int64_t i) const { return offsets[i + 1] - offsets[i]; }
};

class SegmentPasses final : public Passes {
 public:
  // The loss is the likelihood, the perceptron's or one of the margins. The space must outlive this.
  SegmentPasses(const SegmentSpace& space, std::shared_ptr<const SegmentDesign> design, Objective objective);

  int64_t n_sequences() const override { return design_.n_sequences(); }
  int64_t n_features() const override { return design_.n_features; }
  double weight_of(int64_t i) const override { return design_.weights.empty() ? 1.0 : design_.weights[i]; }
  void spread(const double* values, double* field) const override;
  void gather(const double* field, double* values) const override;
  SparseGradient sparse_gradient() const override { return {0, 1, 0, static_cast<size_t>(n_features())}; }

  double evaluate(int64_t i, const double* field, double scale) override;
  int64_t wrong() const override;
  void collect(bool all, SparseGradient& out) override { collect(i_, gradient_.data(), all, out); }
  void remember(float* parts) const override;

  size_t size(int64_t i) const override;
  void collect(int64_t i, const double* parts, SparseGradient& out) override { collect(i, parts, true, out); }
  void touch(int64_t i, SparseGradient& out) override;

  // Adds the gradients of sequences first .. last - 1 at weights [n_features] to `gradient`, and writes their
  // losses. Does not change this: several threads may call it.
  void add_gradients(int64_t first, int64_t last, const double* weights, double* gradient,
                     double* losses) const;

 private:
  // Calls visit(row, column, feature, value) for the entries of a sequence's rows, counted from 0.
  template <class Visit>
  void each_entry(SegmentDesign::Part part, int64_t i, const Visit& visit) const;
  // rows [n, width] <- what the weights add up to at scale * field; returns them.
  double* add_up(SegmentDesign::Part part, int64_t i, const double* field, double scale);
  void score(int64_t i, const double* field, double scale);
  void add_indicator(const int32_t* states, int64_t T, double amount);
  void collect(int64_t i, const double* parts, bool all, SparseGradient& out) const;
  template <class Visit>
  void each_gradient(int64_t i, const double* parts, const Visit& visit) const;

  const SegmentSpace& space_;
  std::shared_ptr<const SegmentDesign> shared_;
  const SegmentDesign& design_;
  Objective objective_;
  bool edge_rows_;
  SegmentPass pass_;
  int64_t i_ = 0;
  std::vector<double> node_, edge_, segment_, augmented_;  // scores of the sequence
  std::vector<double> rows_;                               // of one part
  std::vector<double> gradient_;                           // flat
  std::vector<int32_t> best_;
};

}  // namespace fieldcraft

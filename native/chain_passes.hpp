// Passes over the sequences of a chain problem, with its objective and its layout.
#pragma once

#include <memory>
#include <vector>

#include "passes.hpp"
#include "sequence_oracle.hpp"
#include "training.hpp"

namespace fieldcraft {

class ChainPasses final : public Passes {
 public:
  // gold [tokens] is copied; the problem must outlive this.
  ChainPasses(const ChainProblem& problem, const int32_t* gold);

  int64_t n_sequences() const override { return problem_.n_sequences(); }
  int64_t n_features() const override { return problem_.n_features(); }
  double weight_of(int64_t i) const override { return problem_.weight_of(i); }
  void spread(const double* values, double* field) const override { layout_.spread(values, field); }
  void gather(const double* field, double* values) const override { layout_.gather(field, values); }
  SparseGradient sparse_gradient() const override { return layout_.sparse_gradient(); }

  double evaluate(int64_t i, const double* field, double scale) override;
  int64_t wrong() const override;
  void collect(bool all, SparseGradient& out) override { layout_.collect(i_, parts_, all, out); }
  void remember(float* parts) const override;

  // Nodes [T, S], pairs [S, S], edge entries.
  size_t size(int64_t i) const override;
  void collect(int64_t i, const double* parts, SparseGradient& out) override;
  void touch(int64_t i, SparseGradient& out) override { layout_.touch(i, out); }

 private:
  const Edges& edges_of(const double* field, double scale);
  void make_room(int64_t i, SequenceParts& parts) const;

  const ChainProblem& problem_;
  const TrainingLayout& layout_;
  std::vector<int32_t> gold_;
  SequenceOracle oracle_;
  PairSums sums_;
  int64_t i_ = 0;
  SequenceParts parts_, given_;
  std::unique_ptr<Edges> edges_;  // of these pairs and this scale
  std::vector<double> pairs_;
  double scale_ = 1;
};

}  // namespace fieldcraft

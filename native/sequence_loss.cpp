#include "sequence_loss.hpp"

#include <algorithm>
#include <optional>

namespace fieldcraft {
namespace {

// Where the pair gradients of one sequence go.
struct PairSums {
  double* totals;  // [S, P]
  size_t n;
  int P;
  const ObservedEdges* own;  // or null
  SequenceLoss::Entries* entries;

  void operator()(int64_t t, const double* matrix) const {
    for (size_t k = 0; k < n; ++k) totals[k] += matrix[k];
    if (own == nullptr) return;
    own->each_entry(
        t, [&](int32_t pair, uint32_t f, double value) { entries->emplace_back(f, value * matrix[pair]); });
  }
  // Amounts [count] for the cells first, first + step, ... of step t's matrix.
  void operator()(int64_t t, int first, int step, int count, const double* amounts) const {
    for (int k = 0; k < count; ++k) totals[first + k * step] += amounts[k];
    if (own == nullptr) return;
    own->each_entry(t, [&](int32_t pair, uint32_t f, double value) {
      const int k = (pair - first) / step;
      if (pair >= first && k < count && first + k * step == pair)
        entries->emplace_back(f, value * amounts[k]);
    });
  }
  void operator()(int64_t t, int x, int y, double amount) const { (*this)(t, x* P + y, 1, 1, &amount); }
};

}  // namespace

SequenceLoss::SequenceLoss(const ChainProblem& problem, const int32_t* gold)
    : problem_(problem), gold_(gold, gold + problem.n_tokens()) {
  const size_t n = static_cast<size_t>(problem.n_states()) * problem.layout().P;
  pairs_ = Buffer(n), products_ = Buffer(n);
}

double SequenceLoss::evaluate(int64_t i, const SequencePass::Fill& fill, const Edges& edges,
                              const double* sparse) {
  const int S = problem_.n_states(), P = problem_.layout().P;
  const int64_t first = problem_.offsets()[i];
  T_ = problem_.offsets()[i + 1] - first;
  node_.reserve(T_ * P);
  pairs_.fill_zero(), products_.fill_zero(), entries_.clear();
  std::optional<ObservedEdges> own;
  if (problem_.needs_tokens() && T_ > 0) {
    own.emplace(problem_.layout().edge, problem_.tokens(), edges, sparse);
    own->go_to(first, T_);
  }
  const ObservedEdges* seen = own ? &*own : nullptr;
  const PairSums sums{pairs_.data(), pairs_.size(), P, seen, &entries_};
  const Objective& objective = problem_.objective();
  const uint8_t* allowed = objective.allowed.empty() ? nullptr : objective.allowed.data() + first * S;
  const Chain chain{&edges, seen, T_, fill, gold_.data() + first, allowed};
  const double loss = loss_.evaluate(objective, chain, problem_.weight_of(i), node_.data(),
                                     PairGradient{products_.data(), sums, sums});
  for (size_t k = 0; k < pairs_.size(); ++k) pairs_[k] += products_[k] * edges.matrix[k];
  return loss;
}

int64_t SequenceLoss::mistakes() const {
  const int P = problem_.layout().P;
  int64_t n = 0;
  for (int64_t t = 0; t < T_; ++t) {
    const double* row = node_.data() + t * P;
    n += std::any_of(row, row + P, [](double g) { return g != 0; });
  }
  return n;
}

}  // namespace fieldcraft

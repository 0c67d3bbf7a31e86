// Evaluations of other losses than the likelihood: gradients in potential space take the place of marginals.
#include <algorithm>

#include "sweep.hpp"

namespace fieldcraft {

void ChainProblem::use(Objective objective, const int32_t* gold) {
  objective_ = std::move(objective);
  gold_.assign(gold, gold + offsets_.back());
  std::vector<double>().swap(empirical_);
}

// The same for other losses than the likelihood: gradients in potential space take the place of marginals.
void ChainProblem::run_losses(Sweep& sweep, Lane& lane, int64_t begin, int64_t end, int64_t round_first,
                              int slot) {
  const int P = layout_.P;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t first = offsets_[i], T = offsets_[i + 1] - first;
    double* entries = nullptr;  // gradients of the sequence's edge entries
    const auto each_entry = [&](int64_t t, const auto& visit) {
      double* out = entries + entry_ptr_[first + t] - entry_ptr_[first];
      lane.own->each_entry(t, [&](int32_t pair, uint32_t, double value) { visit(pair, value, *out++); });
    };
    if (lane.own && T > 0) {
      lane.own->go_to(first, T);
      entries = sweep.pair_marginals[slot].data() + entry_ptr_[first] - entry_ptr_[round_first];
      std::fill_n(entries, entry_ptr_[first + T] - entry_ptr_[first], 0.0);
    }
    const PairGradient pairs{
        lane.products.data(),
        [&](int64_t t, const double* matrix) {
          lane.add(matrix);
          if (entries == nullptr) return;
          each_entry(t, [&](int32_t pair, double value, double& out) { out += value * matrix[pair]; });
        },
        [&](int64_t t, int first_cell, int step, int n, const double* amounts) {
          lane.make_totals();
          for (int k = 0; k < n; ++k) lane.totals[first_cell + k * step] += amounts[k];
          if (entries == nullptr) return;
          each_entry(t, [&](int32_t pair, double value, double& out) {
            const int k = (pair - first_cell) / step;
            if (pair >= first_cell && k < n && first_cell + k * step == pair) out += value * amounts[k];
          });
        }};
    const Chain chain{sweep.edges.get(),
                      lane.own.get(),
                      T,
                      scores_of(sweep, i),
                      gold_.data() + first,
                      objective_.allowed.empty() ? nullptr : objective_.allowed.data() + first * layout_.S};
    sweep.per_sequence[i] = lane.loss.evaluate(
        objective_, chain, weight_of(i), sweep.marginals[slot].data() + (first - round_first) * P, pairs);
  }
}

}  // namespace fieldcraft

#include "sequence_oracle.hpp"

#include <algorithm>

namespace fieldcraft {

double* PairSums::totals() {
  if (!has_totals_) {
    totals_.reserve(products_.size());
    totals_.fill_zero();
    has_totals_ = true;
  }
  return totals_.data();
}

void PairSums::add(const double* pairs) {
  double* sums = totals();
  for (size_t k = 0; k < products_.size(); ++k) sums[k] += pairs[k];
}

Chain SequenceOracle::chain(int64_t i, const WeightView& weights, double scale, const Edges& edges,
                            const int32_t* gold, const uint8_t* allowed) {
  weights_ = weights, scale_ = scale;
  const auto fill = [this, i](double* node) {  // small enough to need no memory of its own
    layout_->score(i, weights_, node);
    if (scale_ == 1) return;
    for (int64_t k = 0; k < layout_->length(i) * layout_->P(); ++k) node[k] *= scale_;
  };
  return chain(layout_->first(i), layout_->length(i), fill, weights.each, edges, gold, allowed);
}

Chain SequenceOracle::chain(int64_t first, int64_t T, SequencePass::Fill fill, const double* weights,
                            const Edges& edges, const int32_t* gold, const uint8_t* allowed) {
  first_ = first;
  const bool looks = !entries_of_->empty() && T > 0;
  if (looks) observed_.go_to(first, T, edges, weights, scale_);
  return {&edges, looks ? &observed_ : nullptr, T, std::move(fill), gold, allowed};
}

// visit(pair, value, amount) for the edge entries of token t
template <class Visit>
void SequenceOracle::each_entry(int64_t t, const Visit& visit) {
  double* out = entries_ + entries_of_->before(first_ + t) - entries_of_->before(first_);
  observed_.each_entry(t, [&](int64_t pair, uint32_t, double value) { visit(pair, value, *out++); });
}

PairGradient SequenceOracle::into(PairSums& pairs, const Chain& chain) {
  sums_ = &pairs;
  entries_ = chain.own == &observed_ ? pairs.entries : nullptr;
  return {pairs.products(),
          [this](int64_t t, const double* matrix) {
            sums_->add(matrix);
            if (entries_ == nullptr) return;
            each_entry(t, [&](int64_t pair, double value, double& out) { out += value * matrix[pair]; });
          },
          [this](int64_t t, int64_t first, int64_t step, int64_t n, const double* amounts) {
            double* totals = sums_->totals();
            for (int64_t k = 0; k < n; ++k) totals[first + k * step] += amounts[k];
            if (entries_ == nullptr) return;
            each_entry(t, [&](int64_t pair, double value, double& out) {
              const int64_t k = (pair - first) / step;
              if (pair >= first && k < n && first + k * step == pair) out += value * amounts[k];
            });
          }};
}

double SequenceOracle::marginals(const Chain& chain, double weight, double* node, PairSums& pairs) {
  const double log_z = log_partition(chain);
  pass_.marginals(weight, node, pairs.products(), into(pairs, chain).matrix, false);
  return log_z;
}

void SequenceOracle::add_gold(const Chain& chain, double weight, double* node, PairSums& pairs) {
  std::fill_n(node, chain.T * chain.edges->P, 0.0);
  add_labelling(chain, chain.gold, weight, node, into(pairs, chain));
}

double SequenceOracle::argmax(const Chain& chain, const double* cost, int32_t* labels) {
  double* scores = pass_.scratch(chain.T, chain.edges->P);
  chain.fill(scores);
  add_costs(chain, cost, scores);
  return pass_.viterbi(*chain.edges, chain.own, chain.T, labels);
}

}  // namespace fieldcraft

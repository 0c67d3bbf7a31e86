#include "frank_wolfe.hpp"

#include <algorithm>

#include "canary.hpp"

namespace fieldcraft {

FrankWolfe::FrankWolfe(DualPoint point, bool averaged) : DualMethod(std::move(point)) {
  point_.gold_marginals(point_.S(), state_.node, state_.pairs);
  state_.cost.assign(point_.n_sequences(), 0.0);
  if (averaged) late_ = std::make_unique<DualWeights>(point_.layout(), point_.inverse().all());
}

double FrankWolfe::visit(int64_t i) {
  const int64_t S = point_.S(), P = point_.P();
  const int64_t T = point_.length(i);
  const double c = point_.weight_of(i);
  if (T == 0 || c == 0) return 0;
  double* const node = state_.node.data() + point_.first(i) * S;
  double* const pairs = state_.pairs.data() + i * S * S;
  point_.score(i, scores_);
  const double best = point_.worst(i, scores_, worst_);
  const double gap = best - state_.cost[i] - point_.expected(i, node, pairs, scores_);
  point_.set(i, node, pairs, c, move_);
  point_.add_labelling(i, worst_.data(), -c, move_);  // the move is c (q_i - [y*])
  state_.steps += 1;
  if (!(gap > 0)) return 0;
  const size_t n_node = static_cast<size_t>(T) * P, n_pairs = static_cast<size_t>(S) * P;
  if (late_) {
    whole_.node.reserve(n_node), whole_.pairs.reserve(n_pairs);
    std::copy_n(move_.node.data(), n_node, whole_.node.data());
    std::copy_n(move_.pairs.data(), n_pairs, whole_.pairs.data());
  }
  const double s = CANARY(FRANK_WOLFE, point_.search(i, move_, c * gap, 1.0, scores_.data()));
  if (late_) {
    const double amount = s * state_.steps * (state_.steps - 1) / 2;
    for (size_t k = 0; k < n_node; ++k) whole_.node[k] *= amount;
    for (size_t k = 0; k < n_pairs; ++k) whole_.pairs[k] *= amount;
    late_->add_nodes(i, whole_.node.data());
    late_->add_pairs(whole_.pairs.data());
  }
  for (int64_t k = 0; k < T * S; ++k) node[k] *= 1 - s;
  for (int64_t k = 0; k < S * S; ++k) pairs[k] *= 1 - s;
  for (int64_t t = 0; t < T; ++t) {
    node[t * S + worst_[t]] += s;
    if (t > 0) pairs[worst_[t - 1] * S + worst_[t]] += s;
  }
  state_.cost[i] += s * (point_.cost_of(i, worst_.data()) - state_.cost[i]);
  return c * gap;
}

double FrankWolfe::run(const int64_t* order, Watch& watch) {
  point_.rebuild(state_.node, state_.pairs);
  double gap = 0;
  for (int64_t k = 0; k < point_.n_sequences(); ++k) {
    watch.check();
    gap += visit(order[k]);
  }
  return gap;
}

void FrankWolfe::average(double* out) const {
  weights(out);
  if (!late_ || state_.steps == 0) return;
  std::vector<double> late(point_.n_features());
  late_->get(late.data());
  const double share = 2 / (state_.steps * (state_.steps + 1));
  for (size_t f = 0; f < late.size(); ++f) out[f] -= share * late[f];
}

FrankWolfe::State FrankWolfe::state() const {
  State out = state_;
  if (late_) {
    out.late.resize(point_.n_features());
    late_->get(out.late.data());
  }
  return out;
}

void FrankWolfe::restore(State state) {
  state_ = std::move(state);
  if (late_) late_->set(state_.late.data());
  state_.late.clear();
  point_.rebuild(state_.node, state_.pairs);
}

}  // namespace fieldcraft

// The step of one sequence in dual ascent (dual_ascent.hpp has the equations), and what a group of them does
// to the weights.
#include <algorithm>

#include "dual_entries.hpp"
#include "dual_group.hpp"

namespace fieldcraft {
namespace {

constexpr int64_t kLine = 16;        // floats in a cache line
constexpr double kLeastPart = 0.05;  // of K that is never taken for slack

}  // namespace

// One sequence: marginals at the current weights, step length, and change of the stored marginals.
void DualAscent::work_out(Group& group, size_t k, Lane& lane) {
  const int64_t i = group.members[k];
  group.part[k] = group.gap[k] = group.step[k] = group.estimate[k] = 0;
  if (layout_.length(i) == 0 || point_.weight_of(i) == 0) {
    const int64_t n = layout_.length(i) * layout_.P();
    std::fill_n(group.scores.data() + group.nodes_at(k, layout_), n, 0.0);  // quadratic() multiplies by them
    std::fill_n(group.change.data() + group.nodes_at(k, layout_), n, 0.0);
    std::fill_n(group.pair_change.data() + k * n_cells_, n_cells_, 0.0);
    std::fill_n(group.entry_change.data() + group.entries_at(k), layout_.n_entries(i), 0.0);
    return;
  }
  const double loss = infer(i, group.scores.data() + group.nodes_at(k, layout_), lane);
  const Comparison seen = compare(group, k, lane);
  const double K = std::max(0.0, loss - seen.with_q - state_.entropy[i]);
  const double s = step_length(group, k, K, seen.squares * usual_inverse_ * proximal_.shrink());
  state_.entropy[i] += s * (loss - seen.with_p - state_.entropy[i]);
  move(group, k, s);
}

// The group's changes <- p - q, for marginals p of the lane. Returns <theta, q> and <theta, p>, both minus
// that of gold, and Q without its metric, as if no feature occurred twice.
Comparison DualAscent::compare(Group& group, size_t k, Lane& lane) const {
  const int64_t P = layout_.P(), i = group.members[k], first = layout_.first(i);
  const double* scores = group.scores.data() + group.nodes_at(k, layout_);
  double* change = group.change.data() + group.nodes_at(k, layout_);
  Comparison total{0, 0, 0};
  const auto add = [&](const Comparison& part, double squares) {
    total.with_q += part.with_q, total.with_p += part.with_p, total.squares += squares;
  };
  for (int64_t t = 0; t < layout_.length(i); ++t) {
    double* step = change + t * P;
    const float* q = state_.node.data() + (first + t) * P;
    const Comparison row =
        FIELDCRAFT_DISPATCH(compare_marginals, lane.marginals.data() + t * P, q, scores + t * P, P, step);
    add(row, layout_.spread_square(first + t, step, row.squares));
  }
  take_cells(lane.pairs.data(), lane.cells.data());
  take_cells(point_.live().pair_scores(), lane.cell_scores.data());
  const Comparison pairs =
      FIELDCRAFT_DISPATCH(compare_marginals, lane.cells.data(), state_.pairs.data() + i * n_cells_,
                          lane.cell_scores.data(), n_cells_, group.pair_change.data() + k * n_cells_);
  add(pairs, pairs.squares);
  const size_t at = group.entries_at(k);
  const Comparison entries = compare_entries(point_.live(), i, lane.entries.data(),
                                             state_.entries.data() + layout_.entries_before(first),
                                             group.entry_scores.data() + at, group.entry_change.data() + at);
  add(entries, entries.squares);
  return total;
}

void DualAscent::take_cells(const double* pairs, double* out) const {
  for (size_t j = 0; j < cells_.size(); ++j) out[j] = pairs[cells_[j]];
}

// q <- q + s (p - q), and the group's changes become those of the weights before their factors.
void DualAscent::move(Group& group, size_t k, double s) {
  const int64_t i = group.members[k], first = layout_.first(i);
  const double c = point_.weight_of(i) * proximal_.shrink();
  const size_t n_nodes = static_cast<size_t>(layout_.length(i)) * layout_.P();
  FIELDCRAFT_DISPATCH(move_marginals, s, c, n_nodes, state_.node.data() + first * layout_.P(),
                      group.change.data() + group.nodes_at(k, layout_));
  FIELDCRAFT_DISPATCH(move_marginals, s, c, n_cells_, state_.pairs.data() + i * n_cells_,
                      group.pair_change.data() + k * n_cells_);
  move_entries(s, c, layout_.n_entries(i), state_.entries.data() + layout_.entries_before(first),
               group.entry_change.data() + group.entries_at(k));
}

// The step of a sequence with gap K and estimated quadratic `size`; keeps both for the group, and the slack.
double DualAscent::step_length(Group& group, size_t k, double K, double size) {
  double& slack = state_.slack[group.members[k]];
  const double c = point_.weight_of(group.members[k]), divergence = std::max(K - slack, kLeastPart * K);
  const double s = K > 0 ? 2 * divergence / (2 * divergence + c * size * state_.overlap) : 0.0;
  slack = (1 - s) * (K - divergence + s * divergence);
  group.part[k] = c * K, group.gap[k] = c * divergence, group.step[k] = s;
  group.estimate[k] = c * c * s * s * size;
  return s;
}

// The lane's marginals and pairs of a sequence, minus those of gold, and its scores [T, P] with padding 0.
// Returns log Z minus the score of gold.
double DualAscent::infer(int64_t i, double* scores, Lane& lane) const {
  const int64_t S = layout_.S(), P = layout_.P();
  lane.marginals.reserve(static_cast<size_t>(layout_.length(i)) * P);
  lane.sums.clear();
  lane.entries.reserve(static_cast<size_t>(layout_.n_entries(i)));
  std::fill_n(lane.entries.data(), layout_.n_entries(i), 0.0);
  lane.sums.entries = lane.entries.data();
  Chain chain = point_.live().chain(i, lane.oracle);
  chain.fill = [&, score = chain.fill, stored = state_.node.data() + layout_.first(i) * P](double* node) {
    score(node);
    for (int64_t t = 0; t < layout_.length(i); ++t) {
      std::copy_n(node + t * P, S, scores + t * P);
      std::fill(scores + t * P + S, scores + (t + 1) * P, 0.0);
      for (int64_t y = 0; y < P; y += kLine) __builtin_prefetch(stored + t * P + y);  // compare() wants them
    }
  };
  double loss = lane.oracle.marginals(chain, 1.0, lane.marginals.data(), lane.sums);
  lane.sums.sum(point_.live().edges(), lane.pairs.data());
  const int32_t* gold = point_.gold(i);
  for (int64_t t = 0; t < layout_.length(i); ++t) {
    loss -= scores[t * P + gold[t]];
    lane.marginals[t * P + gold[t]] -= 1;
    if (t == 0) continue;
    const int64_t pair = gold[t - 1] * P + gold[t];
    loss -= point_.live().pair_scores()[pair];
    lane.pairs[pair] -= 1;
  }
  return loss - take_off_gold(point_.live(), i, gold, lane.entries.data());
}

void DualAscent::apply(const Group& group, int owner) {
  const int64_t P = layout_.P();
  for (size_t k = 0; k < group.size(); ++k)
    point_.live().add_nodes(group.members[k], group.change.data() + group.begin[k] * P, owner);
  for (size_t k = 0; k < group.size(); ++k)
    point_.live().add_entries(group.members[k], group.entry_change.data() + group.entry_begin[k], owner);
  if (owner > 0) return;
  for (size_t k = 0; k < group.size(); ++k)
    point_.live().add_cells(cells_, group.pair_change.data() + k * n_cells_);
  point_.live().refresh();
}

// The true quadratic of the group's step: how much the scores moved along the change, which is that of the
// marginals but for the proximal point's factor.
double DualAscent::quadratic(const Group& group, Lane& lane) const {
  const int64_t S = layout_.S(), P = layout_.P();
  double total = 0;
  std::vector<double> pairs(cells_.size(), 0.0);
  for (size_t k = 0; k < group.size(); ++k) {
    const int64_t T = group.begin[k + 1] - group.begin[k], at = group.begin[k] * P;
    lane.marginals.reserve(T * P);
    point_.live().score(group.members[k], lane.marginals.data());
    for (int64_t t = 0; t < T; ++t)
      for (int y = 0; y < S; ++y)
        total += (lane.marginals[t * P + y] - group.scores[at + t * P + y]) * group.change[at + t * P + y];
    total += moved_along(point_.live(), group.members[k], group.entry_scores.data() + group.entry_begin[k],
                         group.entry_change.data() + group.entry_begin[k]);
    for (size_t j = 0; j < pairs.size(); ++j) pairs[j] += group.pair_change[k * n_cells_ + j];
  }
  return (total + point_.live().cell_square(cells_, pairs.data())) / proximal_.shrink();
}

}  // namespace fieldcraft

#include "dual_ascent.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <optional>

#include "parallel.hpp"

namespace fieldcraft {
namespace {

constexpr size_t kGroup = 8;         // sequences that see the same weights
constexpr size_t kMeasured = 16;     // one group in so many is measured for overlap
constexpr double kSmoothing = 0.25;  // weight of a new measurement

double mean_of(const std::vector<double>& x) {
  return x.empty() ? 1 : std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

}  // namespace

// One thread's memory.
struct DualAscent::Lane {
  explicit Lane(const TrainingLayout& layout)
      : oracle(layout), sums(layout.n_pairs()), pairs(layout.n_pairs()) {}
  SequenceOracle oracle;
  PairSums sums;
  Buffer marginals, pairs;
};

// The sequences of the current group and their changes of the weights.
struct DualAscent::Group {
  std::vector<int64_t> members, begin;  // sequence; where its tokens begin in the buffers
  Buffer scores, change;                // [tokens of the group, P]; change: -c (new - old marginals)
  Buffer pair_change;                   // [members, S, P]
  double gap[kGroup], estimate[kGroup];
  size_t size() const { return members.size(); }
};

DualAscent::DualAscent(DualPoint point)
    : DualMethod(std::move(point)), layout_(point_.layout()), usual_inverse_(mean_of(point_.inverse())) {
  point_.gold_marginals(layout_.P(), state_.node, state_.pairs);
  state_.entropy.assign(n_sequences(), 0.0);
  state_.gaps.assign(n_sequences(), 0.0);
}

DualAscent::State DualAscent::state() const {
  State out = state_;
  out.weights.resize(n_features());
  weights(out.weights.data());
  return out;
}

void DualAscent::restore(State state) {
  point_.live().set(state.weights.data());
  state_ = std::move(state);
  state_.weights = {};
}

// One sequence: marginals at the current weights, step length, and change of the stored marginals.
void DualAscent::work_out(Group& group, size_t k, Lane& lane) {
  const int64_t P = layout_.P();
  const int64_t i = group.members[k], first = layout_.first(i), T = layout_.length(i);
  const size_t n_pairs = layout_.n_pairs();
  const double c = point_.weight_of(i);
  group.gap[k] = group.estimate[k] = 0;
  double* change = group.change.data() + group.begin[k] * P;
  double* pair_change = group.pair_change.data() + k * n_pairs;
  if (T == 0 || c == 0) {
    std::fill_n(change, T * P, 0.0), std::fill_n(pair_change, n_pairs, 0.0);
    return;
  }
  double* scores = group.scores.data() + group.begin[k] * P;
  float* q = state_.node.data() + first * P;
  float* q_pairs = state_.pairs.data() + i * n_pairs;
  const double log_z = infer(i, scores, lane);
  double with_q = 0, with_p = 0, size = 0;  // <theta, q>, <theta, p>, and Q as if no feature occurred twice
  for (int64_t t = 0; t < T; ++t) {
    double* step = change + t * P;
    const Comparison row = FIELDCRAFT_DISPATCH(compare_marginals, lane.marginals.data() + t * P, q + t * P,
                                               scores + t * P, P, step);
    with_q += row.with_q, with_p += row.with_p;
    size += layout_.spread_square(first + t, step, row.squares);
  }
  const Comparison pairs = FIELDCRAFT_DISPATCH(compare_marginals, lane.pairs.data(), q_pairs,
                                               point_.live().pair_scores(), n_pairs, pair_change);
  with_q += pairs.with_q, with_p += pairs.with_p;
  size = (size + pairs.squares) * usual_inverse_;
  const double K = std::max(0.0, log_z - with_q - state_.entropy[i]);
  const double s = K > 0 ? std::min(1.0, K / (c * size * state_.overlap)) : 0.0;
  state_.entropy[i] += s * (log_z - with_p - state_.entropy[i]);
  FIELDCRAFT_DISPATCH(move_marginals, s, c, static_cast<size_t>(T) * P, q, change);
  FIELDCRAFT_DISPATCH(move_marginals, s, c, n_pairs, q_pairs, pair_change);
  group.gap[k] = c * K;
  group.estimate[k] = c * c * s * s * size;
}

// The lane's marginals and pairs of a sequence, and its scores [T, P] with padding 0; returns log Z.
double DualAscent::infer(int64_t i, double* scores, Lane& lane) const {
  const int64_t S = layout_.S(), P = layout_.P();
  lane.marginals.reserve(static_cast<size_t>(layout_.length(i)) * P);
  lane.sums.clear();
  Chain chain = point_.live().chain(i, lane.oracle);
  chain.fill = [&, score = chain.fill](double* node) {
    score(node);
    for (int64_t t = 0; t < layout_.length(i); ++t) {
      std::copy_n(node + t * P, S, scores + t * P);
      std::fill(scores + t * P + S, scores + (t + 1) * P, 0.0);
    }
  };
  const double log_z = lane.oracle.marginals(chain, 1.0, lane.marginals.data(), lane.sums);
  lane.sums.sum(point_.live().edges(), lane.pairs.data());
  return log_z;
}

void DualAscent::apply(const Group& group, int owner) {
  const int64_t P = layout_.P();
  for (size_t k = 0; k < group.size(); ++k)
    point_.live().add_nodes(group.members[k], group.change.data() + group.begin[k] * P, owner);
  if (owner != 0) return;
  const size_t n = layout_.n_pairs();
  for (size_t k = 0; k < group.size(); ++k) point_.live().add_pairs(group.pair_change.data() + k * n);
  point_.live().refresh();
}

// The true quadratic of the group's step: how much the scores moved along the change.
double DualAscent::quadratic(const Group& group, Lane& lane) const {
  const int64_t S = layout_.S(), P = layout_.P();
  double total = 0;
  std::vector<double> pairs(layout_.n_pairs(), 0.0);
  for (size_t k = 0; k < group.size(); ++k) {
    const int64_t T = group.begin[k + 1] - group.begin[k], at = group.begin[k] * P;
    lane.marginals.reserve(T * P);
    point_.live().score(group.members[k], lane.marginals.data());
    for (int64_t t = 0; t < T; ++t)
      for (int y = 0; y < S; ++y)
        total += (lane.marginals[t * P + y] - group.scores[at + t * P + y]) * group.change[at + t * P + y];
    for (size_t j = 0; j < pairs.size(); ++j) pairs[j] += group.pair_change[k * pairs.size() + j];
  }
  return total + point_.live().pair_square(pairs.data());
}

// The n sequences of `order` in groups of kGroup, by a team of threads.
class DualAscent::Round {
 public:
  Round(DualAscent& ascent, const int64_t* order, size_t n, Watch& watch)
      : ascent_(ascent), order_(order), n_(n), watch_(watch), n_owners_(ascent.layout_.n_threads()) {
    for (int k = 0; k < n_owners_; ++k) lanes_.emplace_back(ascent.layout_);
  }

  void run() {
    if (n_ == 0) return;
    gather();
    std::optional<Meeting> meeting;
    run_team(
        n_owners_, [&](int n) { meeting.emplace(n); }, [&](int thread, int n) { work(thread, n, *meeting); });
    failure_.rethrow();
  }

 private:
  // One of n threads; each serves every n-th owner of weights.
  void work(int thread, int n, Meeting& meeting) {
    while (!done_) {
      failure_.guard([&] {
        if (!failure_.happened()) watch_.check();
        for (size_t k = next_++; k < group_.size(); k = next_++) ascent_.work_out(group_, k, lanes_[thread]);
      });
      meeting.wait();
      for (int owner = thread; owner < n_owners_ && !failure_.happened(); owner += n)
        failure_.guard([&] { ascent_.apply(group_, owner); });
      meeting.wait([&] {
        if (!failure_.happened()) failure_.guard([&] { conclude(); });
        if (failure_.happened()) done_ = true;  // what was applied so far stays
      });
    }
  }

  void gather() {
    const TrainingLayout& layout = ascent_.layout_;
    group_.members.assign(order_ + first_, order_ + std::min(n_, first_ + kGroup));
    group_.begin.assign(1, 0);
    for (const int64_t i : group_.members) group_.begin.push_back(group_.begin.back() + layout.length(i));
    const size_t room = static_cast<size_t>(group_.begin.back()) * layout.P();
    group_.scores.reserve(room), group_.change.reserve(room);
    group_.pair_change.reserve(kGroup * layout.n_pairs());
    next_ = 0;
  }

  void conclude() {
    State& state = ascent_.state_;
    double estimate = 0;
    for (size_t k = 0; k < group_.size(); ++k)
      state.gaps[group_.members[k]] = group_.gap[k], estimate += group_.estimate[k];
    if (first_ % (kGroup * kMeasured) == 0 && estimate > 0) {
      const double overlap = std::max(ascent_.quadratic(group_, lanes_[0]) / estimate, 1e-3);
      state.overlap += kSmoothing * (overlap - state.overlap);
    }
    first_ += kGroup;
    if (first_ < n_)
      gather();
    else
      done_ = true;
  }

  DualAscent& ascent_;
  const int64_t* order_;
  const size_t n_;
  Watch& watch_;
  const int n_owners_;  // of weights: as many threads, if they can be had
  std::vector<Lane> lanes_;
  Group group_;
  size_t first_ = 0;  // of the group, in the order
  std::atomic<size_t> next_{0};
  std::atomic<bool> done_{false};
  Failure failure_;
};

std::pair<double, double> DualAscent::run(const int64_t* order, size_t n, Watch& watch) {
  Round(*this, order, n, watch).run();
  return {std::accumulate(state_.gaps.begin(), state_.gaps.end(), 0.0), dual()};
}

}  // namespace fieldcraft

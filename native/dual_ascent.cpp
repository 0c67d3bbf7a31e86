#include "dual_ascent.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "dual_group.hpp"
#include "parallel.hpp"
#include "vectormath.hpp"

namespace fieldcraft {
namespace {

constexpr size_t kMeasured = 16;     // one group in so many is measured for overlap
constexpr size_t kStretch = 16;      // sequences of an order that are sorted by their lengths
constexpr double kSmoothing = 0.25;  // weight of a new measurement

// The mean of those that are not 0: weights that stay have no part in any quadratic.
double mean_of(const PriorNumbers& x) {
  double total = 0;
  size_t n = 0;
  for (size_t f = 0; f < x.size(); ++f) total += x[f], n += x[f] > 0;
  return n == 0 ? 1 : total / static_cast<double>(n);
}

}  // namespace

DualAscent::DualAscent(DualPoint point, double ratio, int64_t together)
    : DualMethod(std::move(point)),
      layout_(point_.layout()),
      cells_(layout_.pair_cells()),
      n_cells_(padded(static_cast<int64_t>(cells_.size()))),
      usual_inverse_(mean_of(point_.inverse())),
      together_(together),
      proximal_(point_.mean(), point_.inverse(), ratio, layout_.n_threads()) {
  const size_t n = static_cast<size_t>(n_sequences());
  state_.node.assign(static_cast<size_t>(layout_.n_tokens()) * layout_.P(), 0.0f);
  state_.pairs.assign(n * n_cells_, 0.0f);
  state_.entries.assign(static_cast<size_t>(layout_.entries_before(layout_.n_tokens())), 0.0f);
  for (auto* each : {&state_.entropy, &state_.slack, &state_.parts, &state_.gaps}) each->assign(n, 0.0);
}

DualAscent::State DualAscent::state() const {
  State out = state_;
  out.weights.resize(n_features());
  weights(out.weights.data());
  const ProximalPoint::State& outer = proximal_.state();
  out.towards = outer.z, out.before = outer.previous, out.ratio = outer.ratio;
  return out;
}

void DualAscent::restore(State state) {
  point_.live().set(state.weights.data());
  proximal_.restore({std::move(state.towards), std::move(state.before), state.ratio});
  state_ = std::move(state);
  state_.weights = {}, state_.towards = {}, state_.before = {};
}

double DualAscent::penalty() const {
  std::vector<double> w(n_features());
  weights(w.data());
  return proximal_.terms(w.data()).penalty;
}

DualAscent::Bounds DualAscent::bounds(double* w) const {
  weights(w);
  const ProximalPoint::Terms terms = proximal_.terms(w);
  return {terms_of_sequences() - terms.penalty, terms.distance};
}

void DualAscent::accelerate() {
  std::vector<double> w(n_features());
  weights(w.data());
  proximal_.advance(state_.met > 0 ? state_.stepped / state_.met : 0.5, w.data());
  state_.stepped = state_.met = 0;
  point_.live().set(w.data());
}

// The n sequences of `order` in groups. The threads of a crew share the sequences of a group,
// then the owners of weights; nothing waits for a thread that has not begun, which the system may have put
// aside for another program. While the crew rests all weights have one owner, which is less work.
class DualAscent::Round {
 public:
  Round(DualAscent& ascent, const int64_t* order, size_t n, Watch& watch)
      : ascent_(ascent), order_(order), n_(n), watch_(watch), n_owners_(ascent.layout_.n_threads()) {
    for (int k = 0; k < n_owners_; ++k) lanes_.emplace_back(ascent.layout_, ascent.n_cells_);
  }

  void run() {
    Crew crew(n_owners_);
    crew.enter();  // unless the training has one
    for (; first_ < n_; first_ += group_.size(), ++n_groups_) {
      watch_.check();
      gather();
      const bool alone = n_owners_ == 1 || Crew::resting();
      for_each_task(alone ? 1 : n_owners_, group_.size(),
                    [&](size_t k, int thread) { ascent_.work_out(group_, k, lanes_[thread]); });
      if (alone)
        ascent_.apply(group_, TrainingLayout::kAllOwners);
      else
        for_each_task(n_owners_, static_cast<size_t>(n_owners_),
                      [&](size_t owner, int) { ascent_.apply(group_, static_cast<int>(owner)); });
      conclude();
    }
  }

 private:
  void gather() {
    const TrainingLayout& layout = ascent_.layout_;
    group_.members.clear();
    group_.begin.assign(1, 0), group_.entry_begin.assign(1, 0);
    for (size_t k = first_; k < n_ && takes(layout.length(order_[k])); ++k) {
      const int64_t i = order_[k];
      group_.members.push_back(i);
      group_.begin.push_back(group_.begin.back() + layout.length(i));
      group_.entry_begin.push_back(group_.entry_begin.back() + layout.n_entries(i));
    }
    const size_t n_entries = static_cast<size_t>(group_.entry_begin.back());
    group_.entry_scores.reserve(n_entries), group_.entry_change.reserve(n_entries);
    const size_t room = static_cast<size_t>(group_.begin.back()) * layout.P();
    group_.scores.reserve(room), group_.change.reserve(room);
    group_.pair_change.reserve(group_.size() * ascent_.n_cells_);
  }

  // May the group have one more sequence, of so many tokens.
  bool takes(int64_t length) const {
    const bool fits = group_.begin.back() + length <= ascent_.together_ && group_.size() < Group::kMost;
    return fits || group_.size() < Group::kFewest;
  }

  void conclude() {
    State& state = ascent_.state_;
    double estimate = 0;
    for (size_t k = 0; k < group_.size(); ++k) {
      state.parts[group_.members[k]] = group_.part[k], state.gaps[group_.members[k]] = group_.gap[k];
      state.stepped += group_.step[k] * group_.gap[k], state.met += group_.gap[k];
      estimate += group_.estimate[k];
    }
    if (n_groups_ % kMeasured == 0 && estimate > 0) {
      const double overlap = std::max(ascent_.quadratic(group_, lanes_[0]) / estimate, 1e-3);
      state.overlap += kSmoothing * (overlap - state.overlap);
    }
  }

  DualAscent& ascent_;
  const int64_t* order_;
  const size_t n_;
  Watch& watch_;
  const int n_owners_;  // of weights: as many threads, if they can be had
  std::vector<Lane> lanes_;
  Group group_;
  size_t n_groups_ = 0;  // before this one
  size_t first_ = 0;     // of the group, in the order
};

// Where two sequences are a group they should be of about the same length, so that threads which share it end
// together: those of each stretch of the order are sorted, by powers of two alone, since pairs that meet in
// every pass would close the gap more slowly.
std::vector<int64_t> DualAscent::matched(const int64_t* order, size_t n) const {
  std::vector<int64_t> out(order, order + n);
  const auto size_of = [&](int64_t i) { return std::bit_width(static_cast<uint64_t>(layout_.length(i))); };
  for (size_t first = 0; first < n; first += kStretch) {
    const auto begin = out.begin() + static_cast<ptrdiff_t>(first);
    const auto end = begin + static_cast<ptrdiff_t>(std::min(kStretch, n - first));
    int64_t tokens = 0;
    std::for_each(begin, end, [&](int64_t i) { tokens += layout_.length(i); });
    if (static_cast<int64_t>(Group::kFewest) * tokens > (end - begin) * together_)
      std::stable_sort(begin, end, [&](int64_t i, int64_t j) { return size_of(i) > size_of(j); });
  }
  return out;
}

double DualAscent::run(const int64_t* order, size_t n, Watch& watch) {
  const std::vector<int64_t> own = matched(order, n);
  Round(*this, own.data(), n, watch).run();
  CompensatedSum total;
  for (const double part : state_.parts) total.add(part);
  return total.total();
}

}  // namespace fieldcraft

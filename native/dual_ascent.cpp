#include "dual_ascent.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <optional>

#include "dual_group.hpp"
#include "parallel.hpp"
#include "vectormath.hpp"

namespace fieldcraft {
namespace {

constexpr size_t kMeasured = 16;     // one group in so many is measured for overlap
constexpr double kSmoothing = 0.25;  // weight of a new measurement

// The mean of those that are not 0: weights that stay have no part in any quadratic.
double mean_of(const std::vector<double>& x) {
  const auto n = std::count_if(x.begin(), x.end(), [](double each) { return each > 0; });
  return n == 0 ? 1 : std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(n);
}

}  // namespace

DualAscent::DualAscent(DualPoint point, double ratio)
    : DualMethod(std::move(point)),
      layout_(point_.layout()),
      usual_inverse_(mean_of(point_.inverse())),
      proximal_(point_.mean(), point_.inverse(), ratio, layout_.n_threads()) {
  const size_t n = static_cast<size_t>(n_sequences());
  state_.node.assign(static_cast<size_t>(layout_.n_tokens()) * layout_.P(), 0.0f);
  state_.pairs.assign(n * layout_.n_pairs(), 0.0f);
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

// The n sequences of `order` in groups of Group::kMost, by a team of threads.
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
    group_.members.assign(order_ + first_, order_ + std::min(n_, first_ + Group::kMost));
    group_.begin.assign(1, 0), group_.entry_begin.assign(1, 0);
    for (const int64_t i : group_.members) {
      group_.begin.push_back(group_.begin.back() + layout.length(i));
      group_.entry_begin.push_back(group_.entry_begin.back() + layout.n_entries(i));
    }
    const size_t n_entries = static_cast<size_t>(group_.entry_begin.back());
    group_.entry_scores.reserve(n_entries), group_.entry_change.reserve(n_entries);
    const size_t room = static_cast<size_t>(group_.begin.back()) * layout.P();
    group_.scores.reserve(room), group_.change.reserve(room);
    group_.pair_change.reserve(Group::kMost * layout.n_pairs());
    next_ = 0;
  }

  void conclude() {
    State& state = ascent_.state_;
    double estimate = 0;
    for (size_t k = 0; k < group_.size(); ++k) {
      state.parts[group_.members[k]] = group_.part[k], state.gaps[group_.members[k]] = group_.gap[k];
      state.stepped += group_.step[k] * group_.gap[k], state.met += group_.gap[k];
      estimate += group_.estimate[k];
    }
    if (first_ % (Group::kMost * kMeasured) == 0 && estimate > 0) {
      const double overlap = std::max(ascent_.quadratic(group_, lanes_[0]) / estimate, 1e-3);
      state.overlap += kSmoothing * (overlap - state.overlap);
    }
    first_ += Group::kMost;
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

double DualAscent::run(const int64_t* order, size_t n, Watch& watch) {
  Round(*this, order, n, watch).run();
  CompensatedSum total;
  for (const double part : state_.parts) total.add(part);
  return total.total();
}

}  // namespace fieldcraft

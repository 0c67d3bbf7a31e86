#include "smo.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "canary.hpp"

namespace fieldcraft {
namespace {

constexpr double kRounding = 1e-13;  // of theta + cost: less than this is no violation

}  // namespace

Smo::Smo(DualPoint point, int budget)
    : DualMethod(std::move(point)), budget_(budget), kept_(point_.n_sequences()) {
  for (int64_t i = 0; i < point_.n_sequences(); ++i) {
    const int32_t* gold = point_.gold(i);
    kept_[i].push_back({{gold, gold + point_.length(i)}, 1.0, 0.0, 0.0});
  }
}

void Smo::rebuild() {
  point_.reset();
  for (int64_t i = 0; i < point_.n_sequences(); ++i) {
    const double c = point_.weight_of(i);
    if (kept_[i].size() == 1 || c == 0) continue;  // gold alone
    point_.clear(i, move_);
    point_.add_labelling(i, point_.gold(i), c, move_);
    for (const Kept& one : kept_[i])
      if (one.share > 0) point_.add_labelling(i, one.labels.data(), -c * one.share, move_);
    point_.add(i, move_);
  }
  point_.ready();
}

// theta + cost of all that is kept, at scores_.
void Smo::evaluate(int64_t i) {
  for (Kept& one : kept_[i]) one.value = point_.value(i, scores_.data(), one.labels.data());
}

double Smo::gap_of(int64_t i) const {
  double now = 0, best = -std::numeric_limits<double>::infinity();
  for (const Kept& one : kept_[i]) now += one.share * one.value, best = std::max(best, one.value);
  return point_.weight_of(i) * (best - now);
}

// Keeps the labelling worst_, unless it is there already.
void Smo::keep_worst(int64_t i) {
  std::vector<Kept>& kept = kept_[i];
  Kept* idle = nullptr;
  for (Kept& one : kept) {
    if (one.labels == worst_) return;
    if (one.share == 0 && (idle == nullptr || one.value < idle->value)) idle = &one;
  }
  Kept added{worst_, 0.0, point_.cost_of(i, worst_.data()), worst_value_};
  if (idle == nullptr || static_cast<int>(kept.size()) < budget_) return kept.push_back(std::move(added));
  *idle = std::move(added);
}

// The best step for the pair that violates most; false where none does by more than `least`.
bool Smo::step(int64_t i, double least) {
  std::vector<Kept>& kept = kept_[i];
  size_t up = 0, low = kept.size();
  for (size_t k = 0; k < kept.size(); ++k) {
    if (kept[k].value > kept[up].value) up = k;
    if (kept[k].share > 0 && (low == kept.size() || kept[k].value < kept[low].value)) low = k;
  }
  const double c = point_.weight_of(i), rise = kept[up].value - kept[low].value;
  if (!(rise > least)) return false;
  point_.clear(i, move_);
  point_.add_labelling(i, kept[low].labels.data(), c, move_);
  point_.add_labelling(i, kept[up].labels.data(), -c, move_);
  const double most = kept[low].share;
  const double moved = point_.search(i, move_, c * rise, most, scores_.data());
  kept[up].share += CANARY(SMO, moved);
  kept[low].share = moved == most ? 0.0 : kept[low].share - moved;
  evaluate(i);
  return moved > 0;
}

// worst_ <- the labelling that violates the margin most, at scores_.
void Smo::look(int64_t i) { worst_value_ = point_.worst(i, scores_, worst_); }

double Smo::pass(const int64_t* order, int steps, bool looks, Watch& watch) {
  rebuild();
  double gap = 0;
  for (int64_t k = 0; k < point_.n_sequences(); ++k) {
    watch.check();
    const int64_t i = order[k];
    if (point_.length(i) == 0 || point_.weight_of(i) == 0 || (!looks && kept_[i].size() < 2)) continue;
    point_.score(i, scores_);
    evaluate(i);
    if (looks) look(i), keep_worst(i);
    gap += gap_of(i);
    const double least = kRounding * std::max(1.0, std::abs(kept_[i][0].value));
    for (int n = 0; n < steps && step(i, least); ++n) continue;
  }
  return gap;
}

void Smo::explore(double tolerance) {
  for (int64_t i = 0; i < point_.n_sequences(); ++i) {
    if (point_.length(i) == 0 || point_.weight_of(i) == 0) continue;
    point_.score(i, scores_);
    evaluate(i);
    look(i);
    double slack = -std::numeric_limits<double>::infinity();
    for (const Kept& one : kept_[i]) slack = std::max(slack, one.value);
    if (worst_value_ > slack + tolerance) keep_worst(i);
  }
}

double Smo::term(int64_t i) const {
  double total = 0;
  for (const Kept& one : kept_[i]) total += one.share * one.cost;
  return total;
}

Smo::State Smo::state() const {
  State out;
  for (const auto& kept : kept_) {
    out.counts.push_back(static_cast<int64_t>(kept.size()));
    for (const Kept& one : kept) {
      out.shares.push_back(one.share);
      out.labels.insert(out.labels.end(), one.labels.begin(), one.labels.end());
    }
  }
  return out;
}

bool Smo::accepts(const State& state) const {
  if (state.counts.size() != kept_.size()) return false;
  size_t n = 0, tokens = 0;
  for (size_t i = 0; i < kept_.size(); ++i) {
    if (state.counts[i] < 1) return false;
    n += state.counts[i], tokens += state.counts[i] * point_.length(static_cast<int64_t>(i));
  }
  const bool labelled =
      std::all_of(state.labels.begin(), state.labels.end(), [&](uint16_t y) { return y < point_.S(); });
  return labelled && n == state.shares.size() && tokens == state.labels.size();
}

void Smo::restore(const State& state) {
  size_t at = 0, label = 0;
  for (int64_t i = 0; i < point_.n_sequences(); ++i) {
    kept_[i].clear();
    for (int64_t k = 0; k < state.counts[i]; ++k, ++at) {
      Kept one{{}, state.shares[at], 0.0, 0.0};
      const auto begin = state.labels.begin() + label;
      one.labels.assign(begin, begin + point_.length(i));
      one.cost = point_.cost_of(i, one.labels.data());
      label += point_.length(i);
      kept_[i].push_back(std::move(one));
    }
  }
  rebuild();
}

}  // namespace fieldcraft

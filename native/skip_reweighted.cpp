#include "skip_reweighted.hpp"

#include <algorithm>
#include <cmath>

#include "canary.hpp"

namespace fieldcraft {
namespace {

constexpr int kPatience = 100;   // iterations before messages are damped, and damped more
constexpr double kLeast = -500;  // of a logarithm in a message: it must be possible to divide by it
constexpr double kStrongestDamping = 0.9;

}  // namespace

void ReweightedPass::add(int64_t u, int64_t v, double share, double* message, const double* scores) {
  const int cells = Y_ * Y_;
  double* table = tables_.data() + edges_.size() * cells;
  const double top = *std::max_element(scores, scores + cells);
  const double shift = std::isfinite(top) ? top : 0.0;
  for (int k = 0; k < cells; ++k) table[k] = std::exp((scores[k] - shift) / share);
  edges_.push_back({u, v, share, message, table, shift});
}

void ReweightedPass::prepare(const SkipSequence& of, const Shares& shares, double* messages) {
  Y_ = of.Y;
  edges_.clear();
  tables_.resize((of.T - 1 + of.P) * Y_ * Y_);
  for (int64_t t = 1; t < of.T; ++t)
    add(t - 1, t, shares.step[t], messages + t * 2 * Y_, of.edge + t * of.edge_stride);
  for (int64_t p = 0; p < of.P; ++p)
    add(of.scope[2 * p], of.scope[2 * p + 1], shares.pair[p], messages + (of.T + p) * 2 * Y_,
        of.skip + p * Y_ * Y_);
  for (auto* row : {&from_, &to_, &next_}) row->resize(Y_);
  log_z_.resize(of.T);
}

// Beliefs from the messages, without the rounding errors of many updates.
void ReweightedPass::refresh(const SkipSequence& of) {
  belief_.assign(of.node, of.node + of.T * Y_);
  for (const Edge& e : edges_)
    for (int y = 0; y < Y_; ++y) {
      belief_[e.u * Y_ + y] += e.share * e.message[y];
      belief_[e.v * Y_ + y] += e.share * e.message[Y_ + y];
    }
}

// b / m of one end, scaled to a largest of 1; returns the logarithm that was taken off.
double ReweightedPass::cavity(const Edge& e, int end, double* out) const {
  const double *belief = belief_.data() + (end == 0 ? e.u : e.v) * Y_, *message = e.message + end * Y_;
  for (int y = 0; y < Y_; ++y) out[y] = belief[y] - message[y];
  const double top = *std::max_element(out, out + Y_);
  for (int y = 0; y < Y_; ++y) out[y] = std::exp(out[y] - top);
  return top;
}

bool ReweightedPass::update(const Edge& e, int to, double damping) {
  const int Y = Y_;
  double* next = next_.data();
  cavity(e, 1 - to, from_.data());
  std::fill_n(next, Y, 0.0);
  for (int a = 0; a < Y; ++a)  // label of the first position
    for (int b = 0; b < Y; ++b) next[to == 1 ? b : a] += from_[to == 1 ? a : b] * e.table[a * Y + b];
  double sum = 0;
  for (int y = 0; y < Y; ++y) sum += next[y];
  if (!(sum > 0)) return false;
  double *message = e.message + to * Y, *belief = belief_.data() + (to == 0 ? e.u : e.v) * Y;
  for (int y = 0; y < Y; ++y) {
    const double fresh = std::max(kLeast, std::log(next[y] / sum)), moved = fresh - message[y];
    if (fresh > -30 || message[y] > -30)
      change_ = std::max(change_, std::min(1.0, std::abs(moved)) * std::exp(std::max(fresh, message[y])));
    belief[y] += e.share * (1 - damping) * moved;
    message[y] += (1 - damping) * moved;
  }
  return true;
}

bool ReweightedPass::sweep(int64_t T, double damping) {
  const int64_t n = static_cast<int64_t>(edges_.size()), steps = T - 1;
  for (int64_t e = 0; e < steps; ++e)
    if (!update(edges_[e], 1, damping)) return false;
  for (int64_t e = steps; e < n; ++e)
    if (!update(edges_[e], 1, damping) || !update(edges_[e], 0, damping)) return false;
  for (int64_t e = steps - 1; e >= 0; --e)
    if (!update(edges_[e], 0, damping)) return false;
  for (int64_t e = n - 1; e >= steps; --e)
    if (!update(edges_[e], 0, damping) || !update(edges_[e], 1, damping)) return false;
  return true;
}

bool ReweightedPass::finish(const SkipSequence& of, double* node, double* edge, double* skip, double& log_z) {
  const int Y = Y_, cells = Y * Y;
  log_z = 0;
  for (int64_t t = 0; t < of.T; ++t) {
    const double* belief = belief_.data() + t * Y;
    const double top = *std::max_element(belief, belief + Y);
    double sum = 0;
    for (int y = 0; y < Y; ++y) sum += node[t * Y + y] = std::exp(belief[y] - top);
    for (int y = 0; y < Y; ++y) node[t * Y + y] /= sum;
    log_z += log_z_[t] = top + std::log(sum);
  }
  std::fill_n(edge, cells, 0.0);
  for (size_t i = 0; i < edges_.size(); ++i) {
    const Edge& e = edges_[i];
    const bool step = static_cast<int64_t>(i) < of.T - 1;
    double* out = step ? edge + e.v * cells : skip + (static_cast<int64_t>(i) - of.T + 1) * cells;
    const double top = cavity(e, 0, from_.data()) + cavity(e, 1, to_.data());
    double sum = 0;
    for (int a = 0; a < Y; ++a)
      for (int b = 0; b < Y; ++b) sum += out[a * Y + b] = from_[a] * to_[b] * e.table[a * Y + b];
    if (!(sum > 0)) return false;
    for (int k = 0; k < cells; ++k) out[k] /= sum;
    out[0] = CANARY(SKIP_REWEIGHTED, out[0]);
    log_z += e.share * (std::log(sum) + top - log_z_[e.u] - log_z_[e.v]) + e.shift;
  }
  return std::isfinite(log_z);
}

SkipAnswer ReweightedPass::run(const SkipSequence& of, const Shares& shares, const SkipSettings& settings,
                               double* messages, double* node, double* edge, double* skip) {
  SkipAnswer answer;
  if (of.T == 0) return answer;
  prepare(of, shares, messages);
  answer.converged = edges_.empty();
  bool possible = true;
  while (possible && !answer.converged && answer.iterations < settings.max_iterations) {
    const double level = std::ldexp(1.0, -(answer.iterations / kPatience));
    change_ = 0;
    refresh(of);
    possible = sweep(of.T, std::min(std::max(settings.damping, 1.0 - level), kStrongestDamping));
    ++answer.iterations;
    answer.residual = change_, answer.converged = possible && change_ <= settings.tolerance;
  }
  refresh(of);
  answer.lost = !possible || !finish(of, node, edge, skip, answer.log_partition);
  return answer;
}

}  // namespace fieldcraft

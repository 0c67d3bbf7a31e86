#include "skip_chain.hpp"

#include <algorithm>
#include <cmath>

#include "canary.hpp"

namespace fieldcraft {
namespace {

// Where messages swing they are damped the more the longer they do: after so many iterations by at least 1/2
// (level 1), after twice as many by 3/4, and so on.
constexpr int kPatience = 20, kStrongest = 4;

double damped(double damping, int level) { return std::max(damping, 1.0 - std::ldexp(1.0, -level)); }

constexpr double kLeast = 1e-200;  // of a message: a zero could not be divided out again

// Exponentials of scores [n], scaled to a largest of 1; returns what was taken off.
double exponentials(const double* scores, int n, double* out) {
  const double top = *std::max_element(scores, scores + n);
  const double shift = std::isfinite(top) ? top : 0.0;
  for (int i = 0; i < n; ++i) out[i] = std::exp(scores[i] - shift);
  return shift;
}

// Scales to a sum of 1; returns the sum.
double normalise(double* values, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += values[i];
  const double factor = sum > 0 ? 1.0 / sum : 0.0;
  for (int i = 0; i < n; ++i) values[i] *= factor;
  return sum;
}

}  // namespace

void SkipPass::prepare(const SkipSequence& of) {
  const int64_t T = of.T, P = of.P;
  const int Y = Y_ = of.Y, cells = Y * Y;
  const int64_t steps = of.edge_stride == 0 ? 1 : T;
  edges_.resize(steps * cells), edge_shift_.resize(steps);
  for (int64_t t = 0; t < steps; ++t)
    edge_shift_[t] = exponentials(of.edge + t * cells, cells, edges_.data() + t * cells);
  tables_.resize(P * cells), table_shift_.resize(P);
  for (int64_t p = 0; p < P; ++p)
    table_shift_[p] = exponentials(of.skip + p * cells, cells, tables_.data() + p * cells);
  for (auto* rows : {&field_, &local_, &belief_, &alpha_, &beta_}) rows->resize(T * Y);
  for (auto* row : {&from_, &to_, &next_}) row->resize(Y);
}

// Forward and back with the messages of the pairs; false where all of a position underflowed.
bool SkipPass::along_chain(const SkipSequence& of) {
  const int Y = Y_, cells = Y * Y;
  const int64_t T = of.T;
  std::copy_n(of.node, T * Y, field_.begin());
  for (int64_t p = 0; p < of.P; ++p)
    for (int side = 0; side < 2; ++side) {
      double* field = field_.data() + of.scope[2 * p + side] * Y;
      const double* message = message_.data() + (2 * p + side) * Y;
      for (int y = 0; y < Y; ++y) field[y] += std::log(message[y]);
    }
  log_z_ = 0;
  for (int64_t t = 0; t < T; ++t) log_z_ += exponentials(field_.data() + t * Y, Y, local_.data() + t * Y);
  for (int64_t t = 0; t < T; ++t) {
    double* alpha = alpha_.data() + t * Y;
    const double* local = local_.data() + t * Y;
    if (t == 0) {
      std::copy_n(local, Y, alpha);
    } else {
      const int64_t row = of.edge_stride == 0 ? 0 : t;
      const double *before = alpha - Y, *step = edges_.data() + row * cells;
      std::fill_n(alpha, Y, 0.0);
      for (int a = 0; a < Y; ++a)
        for (int b = 0; b < Y; ++b) alpha[b] += before[a] * step[a * Y + b];
      for (int b = 0; b < Y; ++b) alpha[b] *= local[b];
      log_z_ += edge_shift_[row];
    }
    const double sum = normalise(alpha, Y);
    if (!(sum > 0)) return false;
    log_z_ += std::log(sum);
  }
  for (int64_t t = T - 1; t >= 0; --t) {
    double* beta = beta_.data() + t * Y;
    if (t == T - 1) {
      std::fill_n(beta, Y, 1.0);
    } else {
      const double* step = edges_.data() + (of.edge_stride == 0 ? 0 : (t + 1) * cells);
      const double *after = beta + Y, *local = local_.data() + (t + 1) * Y;
      for (int a = 0; a < Y; ++a) {
        double sum = 0;
        for (int b = 0; b < Y; ++b) sum += step[a * Y + b] * local[b] * after[b];
        beta[a] = sum;
      }
      normalise(beta, Y);
    }
    double* belief = belief_.data() + t * Y;
    for (int y = 0; y < Y; ++y) belief[y] = alpha_[t * Y + y] * beta[y];
    if (!(normalise(belief, Y) > 0)) return false;
  }
  return true;
}

void SkipPass::cavity(const double* belief, const double* message, double* out) const {
  for (int y = 0; y < Y_; ++y) out[y] = belief[y] / message[y];
  normalise(out, Y_);
}

// The message of pair p to its end `to`, and the belief there.
void SkipPass::update(const SkipSequence& of, int64_t p, int to, double damping) {
  const int Y = Y_;
  const int64_t u = of.scope[2 * p + 1 - to], v = of.scope[2 * p + to];
  double* message = message_.data() + (2 * p + to) * Y;
  cavity(belief_.data() + u * Y, message_.data() + (2 * p + 1 - to) * Y, from_.data());
  cavity(belief_.data() + v * Y, message, to_.data());
  const double* table = tables_.data() + p * Y * Y;
  std::fill(next_.begin(), next_.end(), 0.0);
  for (int a = 0; a < Y; ++a)  // label of the first position
    for (int b = 0; b < Y; ++b) next_[to == 1 ? b : a] += from_[to == 1 ? a : b] * table[a * Y + b];
  normalise(next_.data(), Y);
  for (int y = 0; y < Y; ++y) {
    const double fresh = std::max(kLeast, damping * message[y] + (1 - damping) * next_[y]);
    change_ = std::max(change_, std::abs(next_[y] - message[y]));
    message[y] = fresh;
  }
  double* belief = belief_.data() + v * Y;
  for (int y = 0; y < Y; ++y) belief[y] = to_[y] * message[y];
  normalise(belief, Y);
}

// One pair after the other, to and fro; returns the largest change of a message.
double SkipPass::along_pairs(const SkipSequence& of, double damping) {
  change_ = 0;
  for (int64_t p = 0; p < of.P; ++p) {
    update(of, p, 1, damping);
    update(of, p, 0, damping);
  }
  for (int64_t p = of.P - 1; p >= 0; --p) {
    update(of, p, 0, damping);
    update(of, p, 1, damping);
  }
  return change_;
}

// Beliefs and the Bethe estimate, from the messages and the last pass along the chain with them.
bool SkipPass::finish(const SkipSequence& of, double* node, double* edge, double* skip, double& log_z) {
  const int Y = Y_, cells = Y * Y;
  std::copy_n(belief_.data(), of.T * Y, node);
  if (of.T) std::fill_n(edge, cells, 0.0);
  for (int64_t t = 1; t < of.T; ++t) {
    const double* step = edges_.data() + (of.edge_stride == 0 ? 0 : t * cells);
    const double *before = alpha_.data() + (t - 1) * Y, *local = local_.data() + t * Y;
    const double* after = beta_.data() + t * Y;
    double* out = edge + t * cells;
    for (int a = 0; a < Y; ++a)
      for (int b = 0; b < Y; ++b) out[a * Y + b] = before[a] * step[a * Y + b] * local[b] * after[b];
    if (!(normalise(out, cells) > 0)) return false;
  }
  log_z = log_z_;
  for (int64_t p = 0; p < of.P; ++p) {
    const double *to_u = message_.data() + 2 * p * Y, *to_v = to_u + Y;
    cavity(belief_.data() + of.scope[2 * p] * Y, to_u, from_.data());
    cavity(belief_.data() + of.scope[2 * p + 1] * Y, to_v, to_.data());
    double ends_u = 0, ends_v = 0;
    for (int y = 0; y < Y; ++y) ends_u += from_[y] * to_u[y], ends_v += to_[y] * to_v[y];
    const double* table = tables_.data() + p * cells;
    double* out = skip + p * cells;
    for (int a = 0; a < Y; ++a)
      for (int b = 0; b < Y; ++b) out[a * Y + b] = from_[a] * to_[b] * table[a * Y + b];
    out[0] = CANARY(SKIP_CHAIN, out[0]);
    const double sum = normalise(out, cells);
    if (!(sum > 0)) return false;
    log_z += std::log(sum) + table_shift_[p] - std::log(ends_u) - std::log(ends_v);
  }
  return std::isfinite(log_z);
}

SkipAnswer SkipPass::run(const SkipSequence& of, const SkipSettings& settings, int level, double* messages,
                         double* node, double* edge, double* skip) {
  SkipAnswer answer;
  answer.level = level;
  if (of.T == 0) return answer;
  prepare(of);
  message_.assign(messages, messages + of.P * 2 * Y_);
  answer.converged = of.P == 0;
  bool possible = along_chain(of);
  while (possible && !answer.converged && answer.iterations < settings.max_iterations) {
    if (answer.iterations > 0 && answer.iterations % kPatience == 0)
      answer.level = std::min(answer.level + 1, kStrongest);
    ++answer.iterations;
    answer.residual = along_pairs(of, damped(settings.damping, answer.level));
    answer.converged = answer.residual <= settings.tolerance;
    possible = along_chain(of);
  }
  std::copy(message_.begin(), message_.end(), messages);
  answer.lost = !possible || !finish(of, node, edge, skip, answer.log_partition);
  return answer;
}

}  // namespace fieldcraft

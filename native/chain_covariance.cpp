// Covariances of the parts of a chain with the log marginals of its nodes.
//
//   value = sum over u, y of m_u(y) log mu_u(y)       d value / d part = cov(part, V)
//   V(y)  = sum over u of v_u(y_u),  v = m / mu       d value / d node_t(y) = mu_t(y) (E[V | y_t = y] - E[V])
//
// That is the gradient of any function of the node marginals. Given a label, past and future are independent,
// and the posterior chain is Markov, so two sweeps suffice:
//
//   f_t(y) = mu_t(y) E[sum over u < t | y_t = y] = sum over x of  p(y_t = y | y_{t-1} = x) (m + f)_{t-1}(x)
//   g_t(x) = mu_t(x) E[sum over u > t | y_t = x] = sum over y of  p(y_t = x | y_{t+1} = y) (m + g)_{t+1}(y)
//   pair:  p(y | x) (m + f)_{t-1}(x) + p(x | y) (m + g)_t(y) - p(x, y) E[V]
//
// Nothing is divided by a marginal that may have vanished: in log space the conditionals are soft maxima.
#include <algorithm>
#include <cmath>

#include "canary.hpp"
#include "chain.hpp"
#include "kernels.hpp"

namespace fieldcraft {
namespace {

// States as improbable as this have no part where the recursions are scaled (see ChainLoss::gold_marginals).
double reciprocal(double p) { return p > 1e-290 ? 1 / p : 0.0; }

// exp(logs) to a sum of 1; 0 where all are -inf. Elements lie `step` apart.
void soft_max(double* logs, int64_t n, int64_t step, double per_unit) {
  double top = logs[0], total = 0;
  for (int64_t i = 1; i < n; ++i) top = std::max(top, logs[i * step]);
  const bool possible = std::isfinite(top);
  for (int64_t i = 0; i < n; ++i)
    total += logs[i * step] = possible ? std::exp((logs[i * step] - top) * per_unit) : 0.0;
  for (int64_t i = 0; i < n; ++i) logs[i * step] *= reciprocal(total);
}

}  // namespace

double SequencePass::log_marginal(int64_t t, int y) const {
  const double *a = alpha_.data() + t * P_, *b = beta_.data() + t * P_;
  std::vector<double> joint(S_);
  for (int s = 0; s < S_; ++s) joint[s] = a[s] + b[s];
  return CANARY(LOG_MARGINAL, joint[y]) - log_sum_exp(joint.data(), S_, per_unit_);
}

void SequencePass::covariance(const double* mu, const double* moved, double weight, double* out,
                              double* products, const Sink& sink) {
  double mean = 0;
  for (int64_t i = 0; i < T_ * P_; ++i) mean += moved[i];
  std::fill_n(out, P_, 0.0);  // f until the backward sweep
  if (log_space_) return log_covariance(mu, moved, mean, weight, out, sink);
  scaled_covariance(mu, moved, mean, weight, out, products, sink);
}

// p(x, y) = a_{t-1}(x) M(x, y) u_t(y) (kernels/chain.cpp), so with
//
//   c_t = (m + f)_t / mu_t * a_t      f_{t+1} = (c_t M) * u_{t+1}
//   d_t = (m + g)_t / mu_t * u_t      g_{t-1} = a_{t-1} * (M d_t)
//
// the pairs are M(x, y) ((c - mean a)_{t-1}(x) u_t(y) + a_{t-1}(x) d_t(y)): outer products, summed over steps
// like the pair marginals.
void SequencePass::scaled_covariance(const double* mu, const double* moved, double mean, double weight,
                                     double* out, double* products, const Sink& sink) {
  const int64_t P = P_;
  const Lattice l = lattice();
  const size_t n = static_cast<size_t>(T_) * P;
  Buffer c(n), d(n), g = Buffer::zeros(P), other(static_cast<size_t>(S_) * P);
  for (int64_t t = 0; t < T_; ++t) {
    const int64_t at = t * P;
    for (int64_t i = at; i < at + P; ++i) c[i] = (moved[i] + out[i]) * reciprocal(mu[i]) * l.alpha[i];
    if (t + 1 < T_) {
      double* next = out + at + P;
      FIELDCRAFT_DISPATCH(times_matrix, c.data() + at, S_, step_matrix(t + 1), P, next);
      for (int y = 0; y < P; ++y) next[y] *= l.node[at + P + y];
    }
    for (int64_t i = at; i < at + P; ++i) c[i] -= mean * l.alpha[i];
  }
  for (int64_t t = T_ - 1; t >= 0; --t) {
    const int64_t at = t * P;
    for (int64_t i = at, y = 0; y < P; ++i, ++y) {
      d[i] = (moved[i] + g[y]) * reciprocal(mu[i]) * l.node[i];
      out[i] = CANARY(COVARIANCE, weight * (out[i] + moved[i] + g[y] - mu[i] * mean));
    }
    if (t == 0) break;
    const bool own = own_ != nullptr && own_->has(t);
    if (own) FIELDCRAFT_DISPATCH(transpose, step_matrix(t), S_, P, other.data());
    const double* matrix = own ? other.data() : edges_->transposed.data();
    FIELDCRAFT_DISPATCH(times_matrix, d.data() + at, S_, matrix, P, g.data());
    for (int x = 0; x < P; ++x) g[x] *= l.alpha[at - P + x];
  }
  Lattice left = l, right = l;
  left.alpha = c.data(), right.node = d.data();
  int64_t begin = 1;
  const auto add_shared = [&](int64_t stop) {
    for (const Lattice* one : {&left, &right})
      if (begin < stop) FIELDCRAFT_DISPATCH(add_edge_products, *one, begin, stop, weight, products);
    begin = stop + 1;
  };
  for (int64_t t = 1; t < T_; ++t) {
    if (own_ == nullptr || !own_->has(t)) continue;
    add_shared(t);
    FIELDCRAFT_DISPATCH(edge_marginals, left, step_matrix(t), t, weight, pairs_.data());
    FIELDCRAFT_DISPATCH(edge_marginals, right, step_matrix(t), t, weight, other.data());
    for (size_t i = 0; i < other.size(); ++i) pairs_[i] += other[i];
    sink(t, pairs_.data());
  }
  add_shared(T_);
}

// Of step t: p(x, y), p(y_t = y | y_{t-1} = x) and, unless null, p(y_{t-1} = x | y_t = y), each [S, P].
void SequencePass::conditionals_at(int64_t t, const double* mu, double* pairs, double* onward, double* back) {
  const double *before = mu + (t - 1) * P_, *a = alpha_.data() + (t - 1) * P_, *b = beta_.data() + t * P_;
  const double* edge = step_scores(t);
  for (int x = 0; x < S_; ++x) {
    for (int64_t y = 0, k = x * P_; y < S_; ++y, ++k) {
      onward[k] = edge[k] + node_[t * P_ + y] + b[y];
      if (back != nullptr) back[k] = a[x] + edge[k];
    }
    soft_max(onward + x * P_, S_, 1, per_unit_);
    for (int64_t y = 0, k = x * P_; y < S_; ++y, ++k) pairs[k] = before[x] * onward[k];
  }
  for (int y = 0; y < S_ && back != nullptr; ++y) soft_max(back + y, S_, P_, per_unit_);
}

void SequencePass::log_covariance(const double* mu, const double* moved, double mean, double weight,
                                  double* out, const Sink& sink) {
  const int64_t S = S_, P = P_;
  const size_t n_pairs = static_cast<size_t>(S) * P;
  Buffer pairs = Buffer::zeros(n_pairs), onward(n_pairs), back(n_pairs);
  std::vector<double> g(P, 0.0), later(P, 0.0);
  for (int64_t t = 1; t < T_; ++t) {
    conditionals_at(t, mu, pairs.data(), onward.data(), nullptr);
    breath_.after(S_ * P_);
    double* f = out + t * P;
    std::fill_n(f, P, 0.0);
    for (int x = 0; x < S; ++x) {
      const double here = moved[(t - 1) * P + x] + out[(t - 1) * P + x];
      if (here == 0) continue;
      for (int y = 0; y < S; ++y) f[y] += here * onward[static_cast<size_t>(x) * P + y];
    }
  }
  for (int64_t t = T_ - 1; t >= 0; --t) {
    double* f = out + t * P;
    const double *m = moved + t * P, *p = mu + t * P;
    if (t > 0) {
      conditionals_at(t, mu, pairs.data(), onward.data(), back.data());
      for (int x = 0; x < S; ++x) {
        const size_t row = static_cast<size_t>(x) * P;
        const double before = m[x - P] + f[x - P];
        later[x] = 0;
        for (int y = 0; y < S; ++y) {
          const double after = back[row + y] * (m[y] + g[y]);
          later[x] += after;
          pairs[row + y] =
              CANARY(COVARIANCE, weight * (onward[row + y] * before + after - mean * pairs[row + y]));
        }
      }
      sink(t, pairs.data());
    }
    for (int y = 0; y < P; ++y) f[y] = y < S ? weight * (f[y] + m[y] + g[y] - p[y] * mean) : 0.0;
    g.swap(later);
  }
}

}  // namespace fieldcraft

// How the parts of a chain vary together with a sum over its nodes.
//
//   cov(1[y_t = y], V) = mu_t(y) (E[V | y_t = y] - E[V])          V(y) = sum over u of v_u(y_u)
//
// That is the derivative of the marginals when the node scores move along v, hence the gradient of any
// function of the node marginals. Given a label, past and future are independent, and the posterior chain is
// Markov, so two sweeps suffice:
//
//   f_t(y) = mu_t(y) E[sum over u < t | y_t = y] = sum over x of  pair_t(x, y) / mu_{t-1}(x) (m + f)_{t-1}(x)
//   g_t(x) = mu_t(x) E[sum over u > t | y_t = x] = sum over y of  pair_{t+1}(x, y) / mu_{t+1}(y) (m +
//   g)_{t+1}(y)
//
// with m = mu v, which stays bounded where v does not. Ratios are conditional probabilities; 0 / 0 is 0.
#include <algorithm>
#include <cmath>

#include "chain.hpp"
#include "kernels.hpp"

namespace fieldcraft {

void SequencePass::pairs_at(int64_t t, double* pairs) {
  if (!log_space_) {
    FIELDCRAFT_DISPATCH(edge_marginals, lattice(), step_matrix(t), t, 1.0, pairs);
    return;
  }
  const double *edge = step_scores(t), *a = alpha_.data() + (t - 1) * P_, *b = beta_.data() + t * P_;
  for (int x = 0; x < S_; ++x)
    for (int y = 0; y < S_; ++y) pairs[x * P_ + y] = a[x] + edge[x * P_ + y] + node_[t * P_ + y] + b[y];
  normalise(pairs, S_, 1.0, pairs);
}

void SequencePass::covariance(const double* mu, const double* moved, double weight, double* out,
                              const Sink& sink) {
  const int S = S_, P = P_;
  const size_t n_pairs = static_cast<size_t>(S) * P;
  Buffer pairs(n_pairs);  // aligned, as the kernels want it
  std::vector<double> before(P), after(P), g(P, 0.0), later(P);
  double mean = 0;
  for (int64_t i = 0; i < T_ * P; ++i) mean += moved[i];
  const auto ratio = [](double x, double p) { return p > 0 ? x / p : 0.0; };
  std::fill_n(out, P, 0.0);  // out holds f until the way back
  for (int64_t t = 1; t < T_; ++t) {
    pairs_at(t, pairs.data());
    double* f = out + t * P;
    std::fill_n(f, P, 0.0);
    for (int x = 0; x < S; ++x) {
      const int64_t from = (t - 1) * P + x;
      const double scale = ratio(moved[from] + out[from], mu[from]);
      for (int y = 0; y < S; ++y) f[y] += scale * pairs[static_cast<size_t>(x) * P + y];
    }
  }
  for (int64_t t = T_ - 1; t >= 0; --t) {
    double* f = out + t * P;
    const double *m = moved + t * P, *p = mu + t * P;
    if (t > 0) {
      pairs_at(t, pairs.data());
      const double *f_before = f - P, *m_before = m - P, *p_before = p - P;
      for (int y = 0; y < S; ++y) after[y] = ratio(m[y] + g[y], p[y]);
      for (int x = 0; x < S; ++x) {
        before[x] = ratio(m_before[x] + f_before[x], p_before[x]) - mean;
        later[x] = 0;
        double* row = pairs.data() + static_cast<size_t>(x) * P;
        for (int y = 0; y < S; ++y) {
          later[x] += row[y] * after[y];
          row[y] *= weight * (before[x] + after[y]);
        }
      }
      sink(t, pairs.data());
    }
    for (int y = 0; y < P; ++y) f[y] = y < S ? weight * (f[y] + m[y] + g[y] - p[y] * mean) : 0.0;
    g.swap(later);
  }
}

}  // namespace fieldcraft

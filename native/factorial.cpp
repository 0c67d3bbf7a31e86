#include "factorial.hpp"

#include <algorithm>
#include <cmath>

#include "canary.hpp"
#include "factorial_algebra.hpp"

namespace fieldcraft {
namespace {

using namespace factorial;

constexpr double kTame = 300;  // scores that differ by less are added up as they are, without logarithms

// Largest number; its difference to the smallest that is not forbidden is added to `range`.
double highest(const double* x, int64_t n, double& range) {
  double high = kForbidden, low = -kForbidden;
  for (int64_t i = 0; i < n; ++i) {
    high = std::max(high, x[i]);
    if (x[i] != kForbidden) low = std::min(low, x[i]);
  }
  if (high != kForbidden) range += high - low;
  return high;
}

double highest(const double* x, int64_t n) {
  double unused = 0;
  return highest(x, n, unused);
}

}  // namespace

namespace factorial {

// Tables as factors, less their largest scores, which are counted apart.
template <class Algebra>
struct Factors {
  explicit Factors(const Factorial& of)
      : edge(of.C_), turned(of.C_), cross(of.C_), unit(of.S_), token(highest(of.unit_.data(), of.S_)) {
    for (int64_t s = 0; s < of.S_; ++s) unit[s] = Algebra::from_score(of.unit_[s] - token);
    for (int c = 0; c < of.C_; ++c) {
      const int n = of.tables_.card[c];
      const std::vector<double>& scores = of.edge_[c];
      const double high = highest(scores.data(), static_cast<int64_t>(scores.size()));
      step += high;
      edge[c].resize(scores.size()), turned[c].resize(scores.size());
      for (size_t at = 0; at < scores.size(); at += static_cast<size_t>(n) * n)
        for (int i = 0; i < n; ++i)
          for (int j = 0; j < n; ++j)
            edge[c][at + i * n + j] = turned[c][at + j * n + i] =
                Algebra::from_score(scores[at + i * n + j] - high);
      if (of.cross_[c].empty()) continue;
      const double most = highest(of.cross_[c].data(), of.S_);
      step += most;
      for (int64_t s = 0; s < of.S_; ++s) cross[c].push_back(Algebra::from_score(of.cross_[c][s] - most));
    }
  }

  std::vector<std::vector<double>> edge, turned, cross;  // as in Factorial; turned: matrices transposed
  std::vector<double> unit;
  double token, step = 0;  // what was taken from the scores of a token, and of a step to the next one
};

}  // namespace factorial

int64_t FactorialTables::n_states() const {
  int64_t n = 1;
  for (const int size : card) n *= size;
  return n;
}

int64_t FactorialTables::edge_cells() const {
  int64_t n = 0;
  for (const int size : card) n += static_cast<int64_t>(size) * size;
  return n;
}

int64_t FactorialTables::step_cells() const {
  int64_t n = 0;
  for (const auto& [c, d] : steps) n += static_cast<int64_t>(card[c]) * card[c] * card[d];
  return n;
}

int64_t FactorialTables::cells(const std::vector<int>& card,
                               const std::vector<std::pair<int, int>>& columns) {
  int64_t n = 0;
  for (const auto& [c, d] : columns) n += static_cast<int64_t>(card[c]) * card[d];
  return n;
}

Factorial::Factorial(const FactorialTables& tables)
    : tables_(tables), S_(tables.n_states()), C_(static_cast<int>(tables.card.size())) {
  stride_.assign(C_, 1), edge_.resize(C_);
  for (int c = C_ - 2; c >= 0; --c) stride_[c] = stride_[c + 1] * tables.card[c + 1];
  unit_.assign(S_, 0.0), cross_.resize(C_);
  const auto spread = [&](int c, int d, const double* table, std::vector<double>& out) {
    highest(table, static_cast<int64_t>(tables.card[c]) * tables.card[d], range_);
    for (int64_t s = 0; s < S_; ++s) {
      const int64_t y = s / stride_[c] % tables.card[c], z = s / stride_[d] % tables.card[d];
      out[s] += table[y * tables.card[d] + z];
    }
  };
  const double* at = tables.pair;
  for (const auto& [c, d] : tables.pairs) {
    spread(c, d, at, unit_);
    at += static_cast<int64_t>(tables.card[c]) * tables.card[d];
  }
  at = tables.cross;
  for (const auto& [c, d] : tables.crosses) {
    if (cross_[d].empty()) cross_[d].assign(S_, 0.0);
    spread(c, d, at, cross_[d]);
    at += static_cast<int64_t>(tables.card[c]) * tables.card[d];
  }
  at = tables.edge;
  for (int c = 0; c < C_; ++c) {
    const int64_t n = static_cast<int64_t>(tables.card[c]) * tables.card[c];
    edge_[c].assign(at, at + n);
    at += n;
  }
  at = tables.step;
  for (const auto& [c, d] : tables.steps) {
    const int64_t n = static_cast<int64_t>(tables.card[c]) * tables.card[c], m = tables.card[d];
    if (static_cast<int64_t>(edge_[c].size()) == n && stride_[c] > 1) {
      const std::vector<double> once = edge_[c];
      for (int64_t b = 1; b < stride_[c]; ++b) edge_[c].insert(edge_[c].end(), once.begin(), once.end());
    }
    for (int64_t b = 0; b < stride_[c]; ++b)
      for (int64_t i = 0; i < n; ++i) edge_[c][b * n + i] += at[i * m + b / stride_[d] % m];
    at += n * m;
  }
  for (const auto& matrices : edge_) highest(matrices.data(), static_cast<int64_t>(matrices.size()), range_);
  if (range_ < kTame) linear_ = std::make_shared<const Factors<Linear>>(*this);
}

bool Factorial::is_tame(const double* node, int64_t T) const {
  for (int64_t t = 0; t < T; ++t) {
    double range = range_;
    for (int c = 0; c < C_; ++c) highest(node + (t * C_ + c) * tables_.width, tables_.card[c], range);
    if (!(range < kTame)) return false;
  }
  return true;
}

// The recursions of one sequence.
template <class Algebra>
class FactorialPass {
 public:
  FactorialPass(const Factorial& of, std::shared_ptr<const Factors<Algebra>> factors, const double* node,
                int64_t T)
      : of_(of), factors_(std::move(factors)), node_(node), T_(T), S_(of.S_), C_(of.C_) {
    alpha_.resize(T * S_), psi_.resize(T * S_), log_sum_.resize(T), stage_.resize(2 * C_ * S_);
    int most = 1;
    for (const int size : of.tables_.card) most = std::max(most, size);
    row_.resize(most), other_.resize(most);
    total_ = T_ * factors_->token + (T_ - 1) * factors_->step;
  }

  double forward() {
    for (int64_t t = 0; t < T_; ++t) {
      double* x = alpha_.data() + t * S_;
      const double* psi = psi_.data() + t * S_;
      total_ += fill(t);
      if (t == 0) {
        std::copy(psi, psi + S_, x);
      } else {
        const double* moved = advance(alpha_.data() + (t - 1) * S_);
        for (int64_t s = 0; s < S_; ++s) x[s] = Algebra::times(moved[s], psi[s]);
      }
      x[0] = CANARY(FACTORIAL_FORWARD, x[0]);
      log_sum_[t] = log_of_sum(Algebra{}, x, S_);
      total_ += log_sum_[t];
      if (!(log_sum_[t] > kForbidden)) return kForbidden;
      for (int64_t s = 0; s < S_; ++s) x[s] = Algebra::scaled(x[s], log_sum_[t]);
    }
    return total_;
  }

  void backward(const FactorialMarginals& out) {
    std::vector<double> beta(S_, Algebra::one), gamma(S_), together(S_, 0.0);
    products_.resize(C_), crossed_.assign(C_ * S_, 0.0);
    for (int c = 0; c < C_; ++c) products_[c].assign(factors_->edge[c].size(), 0.0);
    for (int64_t t = T_ - 1; t >= 0; --t) {
      const double* x = alpha_.data() + t * S_;
      for (int64_t s = 0; s < S_; ++s) gamma[s] = Algebra::probability(Algebra::times(x[s], beta[s]));
      by_column(gamma.data(), out.node + t * C_ * of_.tables_.width);
      for (int64_t s = 0; s < S_; ++s) together[s] += gamma[s];
      if (t == 0) break;
      const double* psi = psi_.data() + t * S_;
      for (int64_t s = 0; s < S_; ++s)
        beta[s] = Algebra::scaled(Algebra::times(psi[s], beta[s]), log_sum_[t]);
      advance(alpha_.data() + (t - 1) * S_);
      retreat(beta.data(), out.edge != nullptr);
    }
    if (out.edge == nullptr) return;
    finish_edges(out.edge, out.step);
    project(of_.tables_.pairs, [&](int) { return together.data(); }, out.pair);
    project(of_.tables_.crosses, [&](int d) { return crossed_.data() + d * S_; }, out.cross);
  }

 private:
  int size(int c) const { return of_.tables_.card[c]; }
  // From one matrix to the next; 0 if there is one for all.
  static int64_t between(const std::vector<double>& matrices, int n) {
    const int64_t cells = static_cast<int64_t>(n) * n;
    return static_cast<int64_t>(matrices.size()) == cells ? 0 : cells;
  }
  double* input(int c) { return stage_.data() + 2 * c * S_; }  // of the step of column c
  double* output(int c) { return stage_.data() + (2 * c + 1) * S_; }

  // psi_t: the factors of a position's states; returns what was taken from the scores.
  double fill(int64_t t) {
    double* psi = psi_.data() + t * S_;
    double taken = 0;
    std::copy(factors_->unit.begin(), factors_->unit.end(), psi);
    for (int c = 0; c < C_; ++c) {
      const double* scores = node_ + (t * C_ + c) * of_.tables_.width;
      const int n = size(c);
      const int64_t inner = of_.stride_[c], outer = S_ / (inner * n);
      const double high = highest(scores, n);
      if (high == kForbidden) {
        std::fill(psi, psi + S_, Algebra::zero);
        return 0;
      }
      taken += high;
      for (int y = 0; y < n; ++y) row_[y] = Algebra::from_score(scores[y] - high);
      for (int64_t a = 0; a < outer; ++a)
        for (int y = 0; y < n; ++y)
          for (int64_t b = 0; b < inner; ++b) {
            double& factor = psi[(a * n + y) * inner + b];
            factor = Algebra::times(factor, row_[y]);
          }
    }
    return taken;
  }

  // x times a matrix [n, n] along column c, or times one of several, by the labels of later columns.
  void step(const double* x, const std::vector<double>& matrices, int c, double* out) {
    const int n = size(c);
    const int64_t inner = of_.stride_[c], outer = S_ / (inner * n), apart = between(matrices, n);
    const double* const matrix = matrices.data();
    if (inner >= n && apart == 0) {  // whole stretches of states move alike
      std::fill(out, out + S_, Algebra::zero);
      for (int64_t a = 0; a < outer; ++a)
        for (int y = 0; y < n; ++y)
          for (int z = 0; z < n; ++z) {
            const double factor = matrix[y * n + z];
            const double* from = x + (a * n + y) * inner;
            double* to = out + (a * n + z) * inner;
            for (int64_t b = 0; b < inner; ++b) to[b] = Algebra::plus(to[b], Algebra::times(from[b], factor));
          }
      return;
    }
    double* const row = row_.data();
    for (int64_t a = 0; a < outer; ++a)
      for (int64_t b = 0; b < inner; ++b) {
        move(Algebra{}, x + a * n * inner + b, inner, matrix + b * apart, n, row);
        for (int z = 0; z < n; ++z) out[(a * n + z) * inner + b] = row[z];
      }
  }

  // One position further; what goes in and out of each column's step stays in stage_.
  const double* advance(const double* from) {
    for (int c = C_ - 1; c >= 0; --c) {
      double *x = input(c), *out = output(c);
      std::copy(from, from + S_, x);
      step(x, factors_->edge[c], c, out);
      if (!factors_->cross[c].empty())
        for (int64_t s = 0; s < S_; ++s) out[s] = Algebra::times(out[s], factors_->cross[c][s]);
      from = out;
    }
    return from;
  }

  // The adjoint of advance, in place; adds up the products that edges and crosses take part in.
  void retreat(double* g, bool counted) {
    std::vector<double>& next = next_;
    next.resize(S_);
    for (int c = 0; c < C_; ++c) {
      if (!factors_->cross[c].empty()) {
        const double* out = output(c);
        for (int64_t s = 0; s < S_; ++s)
          crossed_[c * S_ + s] += Algebra::probability(Algebra::times(out[s], g[s]));
        for (int64_t s = 0; s < S_; ++s) g[s] = Algebra::times(g[s], factors_->cross[c][s]);
      }
      if (counted) add_products(input(c), g, c);
      step(g, factors_->turned[c], c, next.data());
      std::copy(next.begin(), next.end(), g);
    }
  }

  // products_c[y, z] += sum over the other columns of x[.. y ..] g[.. z ..]; in logarithms with the edge.
  void add_products(const double* x, const double* g, int c) {
    const int n = size(c);
    const int64_t inner = of_.stride_[c], outer = S_ / (inner * n);
    const int64_t apart = between(factors_->edge[c], n);
    for (int64_t a = 0; a < outer; ++a)
      for (int64_t b = 0; b < inner; ++b) {
        for (int z = 0; z < n; ++z) other_[z] = g[(a * n + z) * inner + b];
        add(Algebra{}, x + a * n * inner + b, inner, factors_->edge[c].data() + b * apart, other_.data(), n,
            products_[c].data() + b * apart);
      }
  }

  // Products -> probabilities of steps, added up in the tables of edges and of steps.
  void finish_edges(double* out, double* steps) {
    for (int c = 0; c < C_; ++c) {
      const int64_t n = static_cast<int64_t>(size(c)) * size(c);
      if constexpr (std::is_same_v<Algebra, Linear>)
        for (size_t i = 0; i < products_[c].size(); ++i) products_[c][i] *= factors_->edge[c][i];
      products_[c][0] = CANARY(FACTORIAL_EDGE, products_[c][0]);
      std::fill(out, out + n, 0.0);
      for (size_t i = 0; i < products_[c].size(); ++i) out[i % n] += products_[c][i];
      out += n;
    }
    for (const auto& [c, d] : of_.tables_.steps) {
      const int64_t n = static_cast<int64_t>(size(c)) * size(c), m = size(d);
      std::fill(steps, steps + n * m, 0.0);
      for (size_t i = 0; i < products_[c].size(); ++i)
        steps[i % n * m + i / n / of_.stride_[d] % m] += products_[c][i];
      steps += n * m;
    }
  }

  // Marginals of states -> of each column's labels.
  void by_column(const double* gamma, double* out) const {
    for (int c = 0; c < C_; ++c, out += of_.tables_.width) {
      const int n = size(c);
      const int64_t inner = of_.stride_[c], outer = S_ / (inner * n);
      std::fill(out, out + of_.tables_.width, 0.0);
      for (int64_t a = 0; a < outer; ++a)
        for (int y = 0; y < n; ++y)
          for (int64_t b = 0; b < inner; ++b) out[y] += gamma[(a * n + y) * inner + b];
      out[0] = CANARY(FACTORIAL_BACKWARD, out[0]);
    }
  }

  // Sums over states -> tables of two columns, end to end.
  template <class Rows>
  void project(const std::vector<std::pair<int, int>>& columns, const Rows& rows, double* out) const {
    for (const auto& [c, d] : columns) {
      const int n = size(c), m = size(d);
      const double* p = rows(d);
      std::fill(out, out + n * m, 0.0);
      for (int64_t s = 0; s < S_; ++s) out[s / of_.stride_[c] % n * m + s / of_.stride_[d] % m] += p[s];
      out += n * m;
    }
  }

  const Factorial& of_;
  std::shared_ptr<const Factors<Algebra>> factors_;
  const double* node_;
  int64_t T_, S_;
  int C_;
  double total_ = 0;
  std::vector<double> alpha_, psi_, log_sum_, stage_, row_, other_, next_;
  std::vector<double> crossed_;
  std::vector<std::vector<double>> products_;
};

double Factorial::log_partition(const double* node, int64_t T) const {
  if (T == 0) return 0;
  if (is_tame(node, T)) return FactorialPass<Linear>(*this, linear_, node, T).forward();
  const auto factors = std::make_shared<const Factors<Logarithmic>>(*this);
  return FactorialPass<Logarithmic>(*this, factors, node, T).forward();
}

template <class Algebra>
static double both(FactorialPass<Algebra> pass, const FactorialMarginals& out) {
  const double log_z = pass.forward();
  if (log_z > kForbidden) pass.backward(out);
  return log_z;
}

double Factorial::marginals(const double* node, int64_t T, const FactorialMarginals& out) const {
  if (T == 0) return 0;
  if (is_tame(node, T)) return both(FactorialPass<Linear>(*this, linear_, node, T), out);
  const auto factors = std::make_shared<const Factors<Logarithmic>>(*this);
  return both(FactorialPass<Logarithmic>(*this, factors, node, T), out);
}

}  // namespace fieldcraft

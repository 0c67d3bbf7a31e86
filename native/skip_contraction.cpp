#include "skip_contraction.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "canary.hpp"

namespace fieldcraft {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

double exponentials(const double* scores, int n, double* out) {
  const double top = *std::max_element(scores, scores + n);
  const double shift = std::isfinite(top) ? top : 0.0;
  for (int i = 0; i < n; ++i) out[i] = std::exp(scores[i] - shift);
  return shift;
}

// A product of many factors, as a logarithm.
class LogProduct {
 public:
  void multiply(double by) {
    product_ *= by;
    if (product_ < 1e-100 || product_ > 1e100) log_ += std::log(product_), product_ = 1.0;
  }
  void add(double log) { log_ += log; }
  double log() const { return log_ + std::log(product_); }

 private:
  double product_ = 1.0, log_ = 0.0;
};

// The positions from `first` to `last` of a chain and their sums, for each label of the position before.
// kY: the number of labels, which unrolls the loops; 0 where it is known only at run time.
template <int kY>
class Stretch {
 public:
  explicit Stretch(const LongChain& of)
      : of_(of), Y_(kY > 0 ? kY : of.Y), scale_(Y_), local_(Y_), scratch_(kY > 0 ? 0 : Y_ * Y_) {
    steps_.resize(of.edge_stride == 0 ? Y_ * Y_ : 0);
    if (of.edge_stride == 0) shared_shift_ = exponentials(of.edge, Y_ * Y_, steps_.data());
  }

  // Filters positions first .. last. From a label of the position before (`open`: from none, where first is
  // the first of the chain). `closed`: the scores of `last` itself count as well.
  bool forward(int64_t first, int64_t last, bool open, bool closed) {
    const int Y = labels(), cells = Y * Y;
    first_ = first, n_ = last - first + 1, rows_ = open ? 1 : Y;
    const size_t size = static_cast<size_t>(n_) * cells;
    if (filtered_.size() < size) filtered_.resize(size), predicted_.resize(size);
    if (of_.edge_stride != 0 && steps_.size() < size) steps_.resize(size);
    for (int a = 0; a < rows_; ++a) scale_[a] = LogProduct();
    for (int64_t t = first; t <= last; ++t) {
      const int64_t i = t - first;
      double* predicted = predicted_.data() + i * cells;
      predict(t, i, open, predicted);
      if (t == last && !closed) break;
      double* filtered = filtered_.data() + i * cells;
      double* local = local_.data();
      const double shift = exponentials(of_.node + t * Y, Y, local);
      for (int a = 0; a < rows_; ++a) {
        double sum = 0;
        for (int y = 0; y < Y; ++y) sum += filtered[a * Y + y] = predicted[a * Y + y] * local[y];
        if (!(sum > 0)) return false;
        const double factor = 1.0 / sum;
        for (int y = 0; y < Y; ++y) filtered[a * Y + y] *= factor;
        scale_[a].multiply(sum), scale_[a].add(shift);
      }
    }
    return true;
  }

  double scale(int a) const { return scale_[a].log(); }
  int rows() const { return rows_; }
  const double* predicted() const { return predicted_.data() + (n_ - 1) * labels() * labels(); }
  const double* filtered() const { return filtered_.data() + (n_ - 1) * labels() * labels(); }

  // joint [rows, Y]: p(a, y) at the last position; node and edge are those of the whole chain. The marginals
  // of the last position are left alone unless `closed`.
  void backward(std::vector<double>& joint, bool open, bool closed, double* node, double* edge) {
    const int Y = labels(), cells = Y * Y;
    for (int64_t i = n_ - 1; i >= 0; --i) {
      const int64_t t = first_ + i;
      if (i < n_ - 1 || closed)
        for (int y = 0; y < Y; ++y) {
          double sum = 0;
          for (int a = 0; a < rows_; ++a) sum += joint[a * Y + y];
          node[t * Y + y] = sum;
        }
      if (i == 0 && open) break;
      divide(predicted_.data() + i * cells, joint.data());
      const double* before = i == 0 ? nullptr : filtered_.data() + (i - 1) * cells;
      step_back(step_of(i), before, joint.data(), edge + t * cells);
    }
  }

 private:
  int labels() const { return kY > 0 ? kY : Y_; }

  const double* step_of(int64_t i) const {
    return of_.edge_stride == 0 ? steps_.data() : steps_.data() + i * labels() * labels();
  }

  void predict(int64_t t, int64_t i, bool open, double* out) {
    const int Y = labels(), cells = Y * Y;
    if (i == 0 && open) {
      std::fill_n(out, Y, 1.0);
      return;
    }
    double shift = shared_shift_;
    if (of_.edge_stride != 0) shift = exponentials(of_.edge + t * cells, cells, steps_.data() + i * cells);
    for (int a = 0; a < rows_; ++a) scale_[a].add(shift);
    const double* step = step_of(i);
    if (i == 0) {
      std::copy_n(step, cells, out);
      return;
    }
    const double* before = filtered_.data() + (i - 1) * cells;
    for (int a = 0; a < rows_; ++a) {
      double unrolled[kFixed], *sums = kY > 0 ? unrolled : scratch_.data();
      std::fill_n(sums, Y, 0.0);
      for (int x = 0; x < Y; ++x)
        for (int y = 0; y < Y; ++y) sums[y] += before[a * Y + x] * step[x * Y + y];
      sums[0] = CANARY(SKIP_CONTRACTION, sums[0]);
      for (int y = 0; y < Y; ++y) out[a * Y + y] = sums[y];
    }
  }

  // p(a, y) / P(a, y): 0 where the label cannot be reached from a.
  void divide(const double* predicted, double* joint) const {
    for (int k = 0; k < rows_ * labels(); ++k) joint[k] = predicted[k] > 0 ? joint[k] / predicted[k] : 0.0;
  }

  // From quotients at t to the marginals of the step to t, and p(a, y) at t - 1; before = null: there y = a.
  void step_back(const double* step, const double* before, double* joint, double* edge) {
    const int Y = labels();
    double unrolled[kFixed * kFixed], *quotient = kY > 0 ? unrolled : scratch_.data();
    std::copy_n(joint, rows_ * Y, quotient);
    std::fill_n(edge, Y * Y, 0.0);
    for (int a = 0; a < rows_; ++a)
      for (int x = 0; x < Y; ++x) {
        if (before == nullptr && x != a) continue;
        const double weight = before == nullptr ? 1.0 : before[a * Y + x];
        double sum = 0;
        for (int y = 0; y < Y; ++y) {
          const double cell = step[x * Y + y] * quotient[a * Y + y];
          edge[x * Y + y] += weight * cell, sum += cell;
        }
        joint[a * Y + x] = weight * sum;
      }
    edge[0] = CANARY(SKIP_EXPANSION, edge[0]);
  }

  static constexpr int kFixed = kY > 0 ? kY : 1;

  const LongChain& of_;
  const int Y_;
  int64_t first_ = 0, n_ = 0;
  int rows_ = 0;
  double shared_shift_ = 0;
  std::vector<LogProduct> scale_;             // [Y] what rows were divided by
  std::vector<double> steps_;                 // [1 or n, Y * Y] exponentials of edge
  std::vector<double> filtered_, predicted_;  // [n, rows, Y], rows Y * Y apart
  std::vector<double> local_, scratch_;       // [Y]; [Y * Y] where loops are not unrolled
};

template <int kY>
bool contracted(const LongChain& of, double* node, double* edge, double& rest) {
  const int Y = of.Y, cells = Y * Y;
  Stretch<kY> stretch(of);
  rest = 0;
  if (of.M == 0) {
    if (of.T == 0) return true;
    if (!stretch.forward(0, of.T - 1, true, true)) return false;
    rest = stretch.scale(0);
    return true;
  }
  for (int64_t k = 0; k < of.M; ++k) std::copy_n(of.node + of.ends[k] * Y, Y, node + k * Y);
  std::fill_n(edge, cells, 0.0);
  if (of.ends[0] > 0) {
    if (!stretch.forward(0, of.ends[0], true, false)) return false;
    for (int y = 0; y < Y; ++y) node[y] += std::log(stretch.predicted()[y]) + stretch.scale(0);
  }
  for (int64_t k = 1; k < of.M; ++k) {
    if (!stretch.forward(of.ends[k - 1] + 1, of.ends[k], false, false)) return false;
    for (int a = 0; a < Y; ++a) {
      const double scale = stretch.scale(a);
      for (int b = 0; b < Y; ++b) {
        const double sum = stretch.predicted()[a * Y + b];
        edge[k * cells + a * Y + b] = sum > 0 ? std::log(sum) + scale : kNever;
      }
    }
  }
  if (of.ends[of.M - 1] < of.T - 1) {
    if (!stretch.forward(of.ends[of.M - 1] + 1, of.T - 1, false, true)) return false;
    for (int a = 0; a < Y; ++a) node[(of.M - 1) * Y + a] += stretch.scale(a);
  }
  return true;
}

template <int kY>
bool expanded(const LongChain& of, const double* short_node, const double* short_edge, double* node,
              double* edge) {
  const int Y = of.Y, cells = Y * Y;
  Stretch<kY> stretch(of);
  std::vector<double> joint(cells);
  if (of.T == 0) return true;
  std::fill_n(edge, cells, 0.0);
  if (of.M == 0) {
    if (!stretch.forward(0, of.T - 1, true, true)) return false;
    std::copy_n(stretch.filtered(), Y, joint.begin());
    stretch.backward(joint, true, true, node, edge);
    return true;
  }
  for (int64_t k = 0; k < of.M; ++k) std::copy_n(short_node + k * Y, Y, node + of.ends[k] * Y);
  if (of.ends[0] > 0) {
    if (!stretch.forward(0, of.ends[0], true, false)) return false;
    std::copy_n(short_node, Y, joint.begin());
    stretch.backward(joint, true, false, node, edge);
  }
  for (int64_t k = 1; k < of.M; ++k) {
    if (of.ends[k] == of.ends[k - 1] + 1) {
      std::copy_n(short_edge + k * cells, cells, edge + of.ends[k] * cells);
      continue;
    }
    if (!stretch.forward(of.ends[k - 1] + 1, of.ends[k], false, false)) return false;
    std::copy_n(short_edge + k * cells, cells, joint.begin());
    stretch.backward(joint, false, false, node, edge);
  }
  if (of.ends[of.M - 1] < of.T - 1) {
    if (!stretch.forward(of.ends[of.M - 1] + 1, of.T - 1, false, true)) return false;
    for (int a = 0; a < Y; ++a)
      for (int y = 0; y < Y; ++y)
        joint[a * Y + y] = short_node[(of.M - 1) * Y + a] * stretch.filtered()[a * Y + y];
    stretch.backward(joint, false, true, node, edge);
  }
  return true;
}

// Calls body<Y>() with the number of labels, which is known to the compiler where it is a common one, else 0.
template <class Body>
bool with_labels(int Y, const Body& body) {
  switch (Y) {
    case 2:
      return body.template operator()<2>();
    case 3:
      return body.template operator()<3>();
    case 4:
      return body.template operator()<4>();
    case 5:
      return body.template operator()<5>();
    case 8:
      return body.template operator()<8>();
    case 9:
      return body.template operator()<9>();
    default:
      return body.template operator()<0>();
  }
}

}  // namespace

bool contract(const LongChain& of, double* node, double* edge, double& rest) {
  return with_labels(of.Y, [&]<int Y>() { return contracted<Y>(of, node, edge, rest); });
}

bool expand(const LongChain& of, const double* short_node, const double* short_edge, double* node,
            double* edge) {
  return with_labels(of.Y, [&]<int Y>() { return expanded<Y>(of, short_node, short_edge, node, edge); });
}

}  // namespace fieldcraft

#include "messages.hpp"

#include <algorithm>
#include <cmath>

#include "canary.hpp"

namespace fieldcraft {

double log_sum(const double* x, int64_t n) {
  double top = kForbidden, total = 0;
  for (int64_t i = 0; i < n; ++i) top = std::max(top, x[i]);
  if (top == kForbidden) return top;
  for (int64_t i = 0; i < n; ++i) total += std::exp(x[i] - top);
  return top + std::log(total);
}

Messages::Messages(const Graph& graph, const double* tables, bool maximise, const double* shares,
                   Breath breath)
    : graph_(graph),
      tables_(tables),
      maximise_(maximise),
      shares_(shares),
      local_(graph, tables),
      at_(graph.scope.size(), -1),
      breath_(breath) {
  int64_t total = 0, most = 1;
  for (const int32_t f : local_.linking) {
    for (int64_t e = graph.scope_ptr[f]; e < graph.scope_ptr[f + 1]; ++e)
      at_[e] = total, total += graph.card[graph.scope[e]];
    most = std::max(most, graph.cells(f));
  }
  messages_.assign(total, 0.0);
  scratch_.resize(most);
  refresh();
}

void Messages::refresh() {
  beliefs_ = local_.scores;
  for (const int32_t f : local_.linking)
    for (int k = 0; k < graph_.arity(f); ++k) {
      const int32_t v = graph_.scope_of(f)[k];
      const double *m = message(f, k), rho = share(f);
      for (int32_t x = 0; x < graph_.card[v]; ++x) beliefs_[graph_.state_ptr[v] + x] += rho * m[x];
    }
}

// What the variables of f say without f, end to end.
void Messages::cavities(int f) const {
  cavity_.clear(), cavity_at_.clear();
  for (int k = 0; k < graph_.arity(f); ++k) {
    const int32_t v = graph_.scope_of(f)[k];
    const double *m = message(f, k), *b = beliefs_.data() + graph_.state_ptr[v];
    cavity_at_.push_back(static_cast<int64_t>(cavity_.size()));
    for (int32_t x = 0; x < graph_.card[v]; ++x) cavity_.push_back(b[x] - m[x]);
  }
}

// After cavities(f): the message to one variable, before it is shifted.
void Messages::compute(int f, int slot, double* out) const {
  const int n = graph_.arity(f);
  const int32_t* scope = graph_.scope_of(f);
  const double *table = tables_ + graph_.table_ptr[f], inverse = 1 / share(f);
  const int32_t own = graph_.card[scope[slot]];
  if (n == 2) {
    const int32_t other = graph_.card[scope[1 - slot]];
    const double* c = cavity_.data() + cavity_at_[1 - slot];
    const int64_t step = slot == 0 ? 1 : own, stride = slot == 0 ? other : 1;
    for (int32_t x = 0; x < own; ++x) {
      for (int32_t y = 0; y < other; ++y) scratch_[y] = table[x * stride + y * step] * inverse + c[y];
      out[x] = maximise_ ? *std::max_element(scratch_.data(), scratch_.data() + other)
                         : log_sum(scratch_.data(), other);
    }
    return finish(f, slot, out);
  }
  std::vector<int32_t> sizes(n);
  std::vector<int64_t> zeros(n, 0);
  for (int k = 0; k < n; ++k) sizes[k] = graph_.card[scope[k]];
  std::vector<double> top(own, kForbidden), total(own, 0.0);
  Odometer at(sizes.data(), zeros.data(), n);
  int64_t cell = 0;
  do {
    double score = table[cell] * inverse;
    for (int k = 0; k < n; ++k)
      if (k != slot) score += cavity_[cavity_at_[k] + at.digits()[k]];
    scratch_[cell++] = score;
    top[at.digits()[slot]] = std::max(top[at.digits()[slot]], score);
  } while (at.next());
  cell = 0;
  if (!maximise_) do {
      const int32_t x = at.digits()[slot];
      if (top[x] != kForbidden) total[x] += std::exp(scratch_[cell] - top[x]);
      ++cell;
    } while (at.next());
  for (int32_t x = 0; x < own; ++x)
    out[x] = maximise_ || top[x] == kForbidden ? top[x] : top[x] + std::log(total[x]);
  finish(f, slot, out);
}

// Shifts the message to a maximum of 0; impossible states say nothing.
void Messages::finish(int f, int slot, double* out) const {
  const int32_t v = graph_.scope_of(f)[slot];
  const double* local = local_.scores.data() + graph_.state_ptr[v];
  double top = kForbidden;
  for (int32_t x = 0; x < graph_.card[v]; ++x)
    if (local[x] != kForbidden) top = std::max(top, out[x]);
  out[0] = CANARY(MESSAGES, out[0]);
  for (int32_t x = 0; x < graph_.card[v]; ++x)
    out[x] = local[x] == kForbidden || out[x] == kForbidden ? 0.0 : out[x] - top;
  breath_.after(graph_.cells(f) * 4);
}

// The largest change of an entry, exponentiated.
double Messages::change(int f, int slot, const double* next) const {
  const double* m = message(f, slot);
  double largest = 0;
  for (int32_t x = 0; x < graph_.card[graph_.scope_of(f)[slot]]; ++x)
    largest = std::max(largest, std::abs(std::exp(next[x]) - std::exp(m[x])));
  return largest;
}

double Messages::put(int f, int slot, double* next, double damping) {
  const int32_t v = graph_.scope_of(f)[slot];
  double *m = message(f, slot), *b = beliefs_.data() + graph_.state_ptr[v];
  const double moved = change(f, slot, next), rho = share(f);
  for (int32_t x = 0; x < graph_.card[v]; ++x) {
    if (damping > 0) next[x] = std::log((1 - damping) * std::exp(next[x]) + damping * std::exp(m[x]));
    b[x] += rho * (next[x] - m[x]);
    m[x] = next[x];
  }
  return moved;
}

double Messages::flooding(double damping) {
  next_.resize(messages_.size());
  for (const int32_t f : local_.linking) {
    cavities(f);
    for (int k = 0; k < graph_.arity(f); ++k) compute(f, k, next_.data() + at_[graph_.scope_ptr[f] + k]);
  }
  double largest = 0;
  for (const int32_t f : local_.linking)
    for (int k = 0; k < graph_.arity(f); ++k)
      largest = std::max(largest, put(f, k, next_.data() + at_[graph_.scope_ptr[f] + k], damping));
  return largest;
}

double Messages::sequential(double damping, bool backwards) {
  double largest = 0;
  std::vector<double> next;
  const size_t n = local_.linking.size();
  for (size_t i = 0; i < n; ++i) {
    const int32_t f = local_.linking[backwards ? n - 1 - i : i];
    for (int k = 0; k < graph_.arity(f); ++k) {
      cavities(f);
      next.resize(graph_.card[graph_.scope_of(f)[k]]);
      compute(f, k, next.data());
      largest = std::max(largest, put(f, k, next.data(), damping));
    }
  }
  return largest;
}

double Messages::along(const SpanningForests& forests, size_t t, double damping) {
  double largest = 0;
  std::vector<double> next;
  for (const auto* steps : {&forests.upward[t], &forests.downward[t]})
    for (const Step step : *steps) {
      cavities(step.factor);
      next.resize(graph_.card[graph_.scope_of(step.factor)[step.slot]]);
      compute(step.factor, step.slot, next.data());
      largest = std::max(largest, put(step.factor, step.slot, next.data(), damping));
    }
  return largest;
}

Progress Messages::run(const Settings& settings, const SpanningForests* forests) {
  Progress progress;
  if (local_.linking.empty()) return progress;
  if (settings.schedule == Schedule::residual) return residuals(settings);
  const bool tree = settings.schedule == Schedule::tree;
  const size_t n_trees = tree ? forests->factors.size() : 1;
  std::vector<double> recent(n_trees, 1.0);  // residuals of the last pass over each forest
  // One pass along the only tree is exact; the second would merely confirm it.
  const bool once = tree && n_trees == 1 && settings.damping == 0;
  for (; progress.iterations < settings.max_iterations; ++progress.iterations) {
    const size_t t = progress.iterations % n_trees;
    refresh();  // without the rounding errors of many updates
    recent[t] = tree ? along(*forests, t, settings.damping)
                : settings.schedule == Schedule::sequential
                    ? sequential(settings.damping, progress.iterations % 2)
                    : flooding(settings.damping);
    progress.residual = once ? 0 : *std::max_element(recent.begin(), recent.end());
    if (progress.residual <= settings.tolerance) {
      ++progress.iterations;
      refresh();
      return progress;
    }
  }
  refresh();
  progress.converged = false;
  return progress;
}

double Messages::factor_table(int f, double* out) const {
  cavities(f);
  const int n = graph_.arity(f);
  std::vector<int32_t> sizes(n);
  std::vector<int64_t> zeros(n, 0);
  for (int k = 0; k < n; ++k) sizes[k] = graph_.card[graph_.scope_of(f)[k]];
  Odometer at(sizes.data(), zeros.data(), n);
  const double *table = tables_ + graph_.table_ptr[f], inverse = 1 / share(f);
  int64_t cell = 0;
  do {
    double score = table[cell] * inverse;
    for (int k = 0; k < n; ++k) score += cavity_[cavity_at_[k] + at.digits()[k]];
    out[cell++] = score;
  } while (at.next());
  return log_sum(out, cell);
}

double Messages::bethe() const {
  double total = local_.constant;
  std::vector<int32_t> degree(graph_.n_variables(), 0);
  for (const int32_t f : local_.linking) {
    total += factor_table(f, scratch_.data());
    for (int k = 0; k < graph_.arity(f); ++k) ++degree[graph_.scope_of(f)[k]];
  }
  for (int v = 0; v < graph_.n_variables(); ++v)
    total += (1 - degree[v]) * log_sum(beliefs_.data() + graph_.state_ptr[v], graph_.card[v]);
  return total;
}

double Messages::upper_bound() const {
  double total = local_.constant;
  for (int v = 0; v < graph_.n_variables(); ++v)
    total +=
        *std::max_element(beliefs_.data() + graph_.state_ptr[v], beliefs_.data() + graph_.state_ptr[v + 1]);
  std::vector<int32_t> sizes;
  std::vector<int64_t> zeros;
  for (const int32_t f : local_.linking) {
    const int n = graph_.arity(f);
    const double* table = tables_ + graph_.table_ptr[f];
    sizes.clear(), zeros.assign(n, 0);
    for (int k = 0; k < n; ++k) sizes.push_back(graph_.card[graph_.scope_of(f)[k]]);
    Odometer at(sizes.data(), zeros.data(), n);
    double top = kForbidden;
    int64_t cell = 0;
    do {
      double score = table[cell++];
      for (int k = 0; k < n; ++k) {
        const int32_t x = at.digits()[k];
        score = local_.scores[graph_.state_ptr[graph_.scope_of(f)[k]] + x] == kForbidden
                    ? kForbidden
                    : score - share(f) * message(f, k)[x];
      }
      top = std::max(top, score);
    } while (at.next());
    total += top;
  }
  return total;
}

void Messages::marginals(double* variables, double* factors) const {
  const auto normalise = [](const double* x, int64_t n, double* out) {
    const double log_z = log_sum(x, n);
    for (int64_t i = 0; i < n; ++i) out[i] = x[i] == kForbidden ? 0.0 : std::exp(x[i] - log_z);
  };
  for (int v = 0; v < graph_.n_variables(); ++v)
    normalise(beliefs_.data() + graph_.state_ptr[v], graph_.card[v], variables + graph_.state_ptr[v]);
  for (int f = 0; f < graph_.n_factors(); ++f) {
    double* out = factors + graph_.table_ptr[f];
    if (graph_.arity(f) == 0) {
      out[0] = 1.0;
    } else if (graph_.arity(f) == 1) {
      const int32_t v = graph_.scope_of(f)[0];
      std::copy_n(variables + graph_.state_ptr[v], graph_.card[v], out);
    } else {
      factor_table(f, scratch_.data());
      normalise(scratch_.data(), graph_.cells(f), out);
    }
  }
}

void Messages::argmax(int32_t* assignment) const {
  for (int v = 0; v < graph_.n_variables(); ++v) {
    const double* b = beliefs_.data() + graph_.state_ptr[v];
    assignment[v] = static_cast<int32_t>(std::max_element(b, b + graph_.card[v]) - b);
  }
}

}  // namespace fieldcraft

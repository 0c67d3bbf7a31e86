#include "graph.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

namespace fieldcraft {
namespace {

constexpr int64_t kMostCells = int64_t{1} << 40;

int64_t times(int64_t cells, int32_t states, int f) {
  if (cells > kMostCells / states)
    throw std::invalid_argument("factor " + std::to_string(f) + ": a table of more than 2^40 entries");
  return cells * states;
}

}  // namespace

Graph::Graph(std::vector<int32_t> cardinality, const std::vector<uint8_t>& is_observed,
             const std::vector<int64_t>& given_ptr, const std::vector<int32_t>& given)
    : full_card(std::move(cardinality)), card(full_card), observed(is_observed) {
  const int n = n_variables(), n_factors = static_cast<int>(given_ptr.size()) - 1;
  bool some = false;
  for (int v = 0; v < n; ++v)
    if (observed[v] != 0) card[v] = 1, some = true;
  scope_ptr.assign(1, 0), table_ptr.assign(1, 0), full_ptr.assign(1, 0);
  scope_ptr.reserve(n_factors + 1), table_ptr.reserve(n_factors + 1), full_ptr.reserve(n_factors + 1);
  scope.reserve(given.size());
  if (some) slices_.resize(n_factors);
  for (int f = 0; f < n_factors; ++f) {
    int64_t free_cells = 1, cells = 1;
    for (int64_t e = given_ptr[f]; e < given_ptr[f + 1]; ++e) {
      cells = times(cells, full_card[given[e]], f);
      free_cells *= card[given[e]];
      if (observed[given[e]] == 0) scope.push_back(given[e]);
    }
    if (some) {
      int64_t stride = cells;
      for (int64_t e = given_ptr[f]; e < given_ptr[f + 1]; ++e) {
        stride /= full_card[given[e]];
        if (observed[given[e]] == 0)
          slices_[f].stride.push_back(stride);
        else
          slices_[f].observed.push_back(given[e]), slices_[f].observed_stride.push_back(stride);
      }
    }
    scope_ptr.push_back(static_cast<int64_t>(scope.size()));
    table_ptr.push_back(table_ptr.back() + free_cells);
    full_ptr.push_back(full_ptr.back() + cells);
  }
  link();
}

// The factors of each variable.
void Graph::link() {
  const int n = n_variables();
  state_ptr.assign(n + 1, 0), full_state_ptr.assign(n + 1, 0), factor_ptr.assign(n + 1, 0);
  for (int v = 0; v < n; ++v) {
    state_ptr[v + 1] = state_ptr[v] + card[v];
    full_state_ptr[v + 1] = full_state_ptr[v] + full_card[v];
  }
  for (const int32_t v : scope) ++factor_ptr[v + 1];
  std::partial_sum(factor_ptr.begin(), factor_ptr.end(), factor_ptr.begin());
  factor_of.resize(scope.size()), slot_of.resize(scope.size()), edge_of.resize(scope.size());
  std::vector<int64_t> at(factor_ptr.begin(), factor_ptr.end() - 1);
  for (int f = 0; f < n_factors(); ++f)
    for (int64_t e = scope_ptr[f]; e < scope_ptr[f + 1]; ++e) {
      const int64_t k = at[scope[e]]++;
      factor_of[k] = f, slot_of[k] = static_cast<int32_t>(e - scope_ptr[f]), edge_of[k] = e;
    }
}

// A forest has as many edges (variable, factor) as the components of the bipartite graph leave it.
bool Graph::is_forest() const {
  std::vector<int32_t> root(n_variables() + n_factors());
  std::iota(root.begin(), root.end(), 0);
  const auto find = [&](int32_t i) {
    while (root[i] != i) i = root[i] = root[root[i]];
    return i;
  };
  for (int f = 0; f < n_factors(); ++f) {
    if (arity(f) < 2) continue;
    for (int64_t e = scope_ptr[f]; e < scope_ptr[f + 1]; ++e) {
      const int32_t a = find(n_variables() + f), b = find(scope[e]);
      if (a == b) return false;
      root[a] = b;
    }
  }
  return true;
}

void Graph::gather(const double* full, const int32_t* states, double* tables) const {
  if (slices_.empty()) {
    std::copy_n(full, n_full_cells(), tables);
    return;
  }
  std::vector<int32_t> sizes;
  for (int f = 0; f < n_factors(); ++f) {
    const Slice& slice = slices_[f];
    const double* from = full + full_ptr[f];
    double* to = tables + table_ptr[f];
    if (slice.observed.empty()) {
      std::copy_n(from, cells(f), to);
      continue;
    }
    for (size_t k = 0; k < slice.observed.size(); ++k)
      from += slice.observed_stride[k] * states[slice.observed[k]];
    sizes.clear();
    for (int k = 0; k < arity(f); ++k) sizes.push_back(card[scope_of(f)[k]]);
    Odometer at(sizes.data(), slice.stride.data(), arity(f));
    do *to++ = from[at.offset()];
    while (at.next());
  }
}

void Graph::scatter(const double* tables, const int32_t* states, double* full) const {
  if (slices_.empty()) {
    std::copy_n(tables, n_cells(), full);
    return;
  }
  std::fill_n(full, n_full_cells(), 0.0);
  std::vector<int32_t> sizes;
  for (int f = 0; f < n_factors(); ++f) {
    const Slice& slice = slices_[f];
    double* to = full + full_ptr[f];
    const double* from = tables + table_ptr[f];
    for (size_t k = 0; k < slice.observed.size(); ++k)
      to += slice.observed_stride[k] * states[slice.observed[k]];
    sizes.clear();
    for (int k = 0; k < arity(f); ++k) sizes.push_back(card[scope_of(f)[k]]);
    Odometer at(sizes.data(), slice.stride.data(), arity(f));
    do to[at.offset()] = *from++;
    while (at.next());
  }
}

void Graph::scatter_variables(const double* marginals, const int32_t* states, double* full) const {
  for (int v = 0; v < n_variables(); ++v) {
    double* to = full + full_state_ptr[v];
    if (observed[v] == 0) {
      std::copy_n(marginals + state_ptr[v], card[v], to);
    } else {
      std::fill_n(to, full_card[v], 0.0);
      to[states[v]] = 1.0;
    }
  }
}

int64_t Graph::cell_of(int f, const int32_t* assignment) const {
  int64_t cell = 0;
  for (int k = 0; k < arity(f); ++k) cell = cell * card[scope_of(f)[k]] + assignment[scope_of(f)[k]];
  return cell;
}

double Graph::score(const double* tables, const int32_t* assignment) const {
  double total = 0;
  for (int f = 0; f < n_factors(); ++f) total += tables[table_ptr[f] + cell_of(f, assignment)];
  return total;
}

int32_t draw(const double* mass, int64_t n, double uniform) {
  double total = 0;
  for (int64_t i = 0; i < n; ++i) total += mass[i];
  double left = uniform * total;
  int64_t chosen = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (!(mass[i] > 0)) continue;
    chosen = i;
    left -= mass[i];
    if (left < 0) break;
  }
  return static_cast<int32_t>(chosen);
}

}  // namespace fieldcraft

#include "beam.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fieldcraft {
namespace {

constexpr double kMinusInf = -std::numeric_limits<double>::infinity();

}  // namespace

void Beam::choose(double* a, int64_t n, std::vector<int32_t>& order) const {
  order.clear();
  if (states > 0)
    choose_states(a, n, 0.0, order);
  else
    choose_mass(a, n, order);
}

// `absent` is the number of a state that is dropped or impossible.
void Beam::choose_states(double* a, int64_t n, double absent, std::vector<int32_t>& order) const {
  for (int32_t s = 0; s < n; ++s)
    if (a[s] > absent) order.push_back(s);
  if (static_cast<int64_t>(order.size()) <= states) return;
  const auto first_dropped = order.begin() + states;
  std::nth_element(order.begin(), first_dropped, order.end(),
                   [&](int32_t x, int32_t y) { return a[x] != a[y] ? a[x] > a[y] : x < y; });
  for (auto s = first_dropped; s != order.end(); ++s) a[*s] = absent;
}

// From the smallest on, as long as what is dropped adds up to no more than 1 - mass. Numbers below the n-th
// part of that are dropped without being sorted: together they cannot exceed it.
void Beam::choose_mass(double* a, int64_t n, std::vector<int32_t>& order) const {
  double total = 0, dropped = 0;
  for (int64_t s = 0; s < n; ++s) total += a[s];
  const double limit = (1 - mass) * total, small = limit / static_cast<double>(n);
  for (int32_t s = 0; s < n; ++s) {
    if (a[s] > small)
      order.push_back(s);
    else
      dropped += a[s], a[s] = 0;
  }
  std::sort(order.begin(), order.end(),
            [&](int32_t x, int32_t y) { return a[x] != a[y] ? a[x] < a[y] : x > y; });
  for (const int32_t s : order) {
    dropped += a[s];
    if (dropped > limit) return;
    a[s] = 0;
  }
}

void Beam::choose_logs(double* a, int64_t n, std::vector<double>& shares, std::vector<int32_t>& order) const {
  order.clear();
  if (states > 0) return choose_states(a, n, kMinusInf, order);
  const double top = *std::max_element(a, a + n);
  if (!std::isfinite(top)) return;
  shares.resize(static_cast<size_t>(n));
  for (int64_t s = 0; s < n; ++s) shares[s] = std::exp(a[s] - top);
  choose_mass(shares.data(), n, order);
  for (int64_t s = 0; s < n; ++s)
    if (shares[s] == 0) a[s] = kMinusInf;
}

}  // namespace fieldcraft

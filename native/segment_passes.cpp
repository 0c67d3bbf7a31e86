#include "segment_passes.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "canary.hpp"

namespace fieldcraft {
namespace {

constexpr double kLargestSum = 1e300;

double largest(const std::vector<double>& scores) {
  double most = 0;
  for (const double x : scores) most = std::abs(x) <= most ? most : std::abs(x);  // NaN stays
  return most;
}

}  // namespace

using Part = SegmentDesign::Part;

SegmentPasses::SegmentPasses(const SegmentSpace& space, std::shared_ptr<const SegmentDesign> design,
                             Objective objective)
    : space_(space),
      shared_(std::move(design)),
      design_(*shared_),
      objective_(std::move(objective)),
      edge_rows_(design_.parts[Part::edge].map.n_entries > 0),
      pass_(nullptr) {}

void SegmentPasses::spread(const double* values, double* field) const {
  std::copy_n(values, n_features(), field);
}

void SegmentPasses::gather(const double* field, double* values) const {
  std::copy_n(field, n_features(), values);
}

size_t SegmentPasses::size(int64_t i) const {
  return static_cast<size_t>(design_.length(i) * (space_.n_states + space_.n_edges + space_.n_columns));
}

template <class Visit>
void SegmentPasses::each_entry(Part part, int64_t i, const Visit& visit) const {
  const SegmentPart& own = design_.parts[part];
  const LinearMap& map = own.map;
  if (map.n_entries == 0) return;
  const int64_t per_token = part == Part::segment ? design_.longest : 1;
  const int64_t first = design_.offsets[i] * per_token, n = design_.length(i) * per_token;
  for (int64_t row = part == Part::edge ? 1 : 0; row < n; ++row)
    for (int64_t k = map.position_ptr[first + row]; k < map.position_ptr[first + row + 1]; ++k) {
      const int32_t a = map.attributes[k];
      const double value = map.values == nullptr ? 1.0 : map.values[k];
      for (int64_t entry = map.ptr[a]; entry < map.ptr[a + 1]; ++entry)
        visit(row, map.column[entry], own.feature[entry], value);
    }
}

double* SegmentPasses::add_up(Part part, int64_t i, const double* field, double scale) {
  const SegmentPart& own = design_.parts[part];
  const int64_t width = own.map.width, n = design_.length(i) * (part == Part::segment ? design_.longest : 1);
  rows_.assign(n * width, 0.0);
  each_entry(part, i, [&](int64_t row, int32_t column, int32_t feature, double value) {
    rows_[row * width + column] += value * field[feature];
  });
  for (size_t k = 0; k < own.shared_column.size(); ++k)
    for (int64_t row = 0; row < n; ++row)
      rows_[row * width + own.shared_column[k]] += field[own.shared_feature[k]];
  if (scale != 1)
    for (double& x : rows_) x *= scale;
  return rows_.data();
}

// The scores of a sequence.
void SegmentPasses::score(int64_t i, const double* field, double scale) {
  const int64_t T = design_.length(i), K = space_.n_types, S = space_.n_states, C = space_.n_columns;
  const double* rows = add_up(Part::node, i, field, scale);
  node_.assign(rows, rows + T * S);
  rows = add_up(Part::first, i, field, scale);
  for (int64_t t = 0; t < T; ++t)
    for (int64_t x = 0; x < K; ++x) node_[t * S + space_.first[x]] += rows[t * K + x];
  rows = add_up(Part::edge, i, field, scale);
  edge_.assign(rows, rows + (edge_rows_ ? T : std::min<int64_t>(T, 1)) * space_.n_edges);
  rows = add_up(Part::segment, i, field, scale);
  segment_.resize(T * C);
  for (int64_t t = 0; t < T; ++t)
    for (int64_t x = 0; x < K; ++x)
      for (int64_t d = 0; d < space_.longest[x]; ++d)
        segment_[t * C + space_.column[x] + d] = rows[(t * design_.longest + d) * K + x];
  rows = add_up(Part::last, i, field, scale);
  for (int64_t t = 0; t < T; ++t)
    for (int64_t x = 0; x < K; ++x)
      for (int64_t c = space_.column[x]; c < space_.column[x + 1]; ++c)
        segment_[t * C + c] += rows[t * K + x];
}

double SegmentPasses::evaluate(int64_t i, const double* field, double scale) {
  const int64_t T = design_.length(i), S = space_.n_states;
  const int32_t* gold = design_.gold.data() + design_.offsets[i];
  i_ = i;
  score(i, field, scale);
  gradient_.assign(size(i), 0.0);
  const double most = largest(node_) + largest(edge_) + largest(segment_);
  if (!(most * static_cast<double>(T + 1) < kLargestSum)) return NAN;  // sums would overflow
  SegmentPotentials batch{space_, node_.data(), edge_.data(), segment_.data(), edge_rows_, true, {0, T}};
  const double known = segments_score(SegmentSequence(batch, 0), gold);
  if (!objective_.cost.empty()) {
    augmented_ = node_;
    for (int64_t t = 0; t < T; ++t)
      for (int64_t s = 0; s < S; ++s) augmented_[t * S + s] += objective_.cost[gold[t] * S + s];
    batch.node = augmented_.data();
  }
  const SegmentSequence sequence(batch, 0);
  double value = 0;
  if (objective_.loss == Loss::likelihood || objective_.loss == Loss::softmax_margin) {
    pass_.forget();
    value = pass_.log_partition(sequence);
    double* out = gradient_.data();
    pass_.marginals(sequence, out, out + T * S, out + T * (S + space_.n_edges));
  } else {
    Breath breath;
    best_.resize(T);
    value = best_segments(sequence, breath, best_.data());
    add_indicator(best_.data(), T, 1.0);
  }
  add_indicator(gold, T, -1.0);
  const double weight = weight_of(i);
  if (weight != 1)
    for (double& g : gradient_) g *= weight;
  return weight == 0 ? 0.0 : weight * (value - known);
}

// Adds amount times the parts of a segmentation to the gradient.
void SegmentPasses::add_indicator(const int32_t* states, int64_t T, double amount) {
  const int64_t S = space_.n_states, E = space_.n_edges, C = space_.n_columns;
  double *node = gradient_.data(), *edge = node + T * S, *segment = edge + T * E;
  int64_t d = 0;  // tokens of the segment so far
  for (int64_t t = 0; t < T; ++t) {
    const int64_t x = space_.type_of[states[t]];
    const bool begins = states[t] == space_.first[x];
    d = begins ? 1 : d + 1;
    node[t * S + states[t]] += amount;
    if (t > 0)
      edge[t * E + (begins   ? space_.entering[states[t - 1] * space_.n_types + x]
                    : d == 2 ? space_.second[x]
                             : space_.inside[x])] += amount;
    if (t + 1 == T || states[t + 1] == space_.first[space_.type_of[states[t + 1]]])
      segment[t * C + space_.column[x] + d - 1] += CANARY(SEGMENT_PASSES, amount);
  }
}

int64_t SegmentPasses::wrong() const {
  const int64_t S = space_.n_states;
  int64_t n = 0;
  for (int64_t t = 0; t < design_.length(i_); ++t) {
    const double* row = gradient_.data() + t * S;
    n += std::any_of(row, row + S, [](double g) { return g != 0; });
  }
  return n;
}

void SegmentPasses::remember(float* parts) const { std::copy(gradient_.begin(), gradient_.end(), parts); }

// Calls visit(feature, amount) for what each entry's weight gets from a flat gradient.
template <class Visit>
void SegmentPasses::each_gradient(int64_t i, const double* parts, const Visit& visit) const {
  const int64_t T = design_.length(i), S = space_.n_states, E = space_.n_edges, C = space_.n_columns;
  const double *node = parts, *edge = node + T * S, *segment = edge + T * E;
  const auto cell = [&](int64_t row, int32_t x) {
    const int64_t d = row % design_.longest;
    return d < space_.longest[x] ? segment[row / design_.longest * C + space_.column[x] + d] : 0.0;
  };
  const auto ending = [&](int64_t t, int32_t x) {
    double total = 0;
    for (int64_t c = space_.column[x]; c < space_.column[x + 1]; ++c) total += segment[t * C + c];
    return total;
  };
  const auto add = [&](Part part, int64_t n, const auto& amount) {
    each_entry(part, i, [&](int64_t row, int32_t column, int32_t feature, double value) {
      visit(feature, value * amount(row, column));
    });
    const SegmentPart& own = design_.parts[part];
    for (size_t k = 0; k < own.shared_column.size() && n > 0; ++k) {
      double total = 0;
      for (int64_t row = 0; row < n; ++row) total += amount(row, own.shared_column[k]);
      visit(own.shared_feature[k], total);
    }
  };
  add(Part::node, T, [&](int64_t t, int32_t s) { return node[t * S + s]; });
  add(Part::edge, T > 1 ? T : 0, [&](int64_t t, int32_t e) { return edge[t * E + e]; });
  add(Part::first, T, [&](int64_t t, int32_t x) { return node[t * S + space_.first[x]]; });
  add(Part::last, T, ending);
  add(Part::segment, T * design_.longest, cell);
}

void SegmentPasses::add_gradients(int64_t first, int64_t last, const double* weights, double* gradient,
                                  double* losses) const {
  SegmentPasses worker(space_, shared_, objective_);
  for (int64_t i = first; i < last; ++i) {
    losses[i - first] = worker.evaluate(i, weights, 1);
    worker.each_gradient(i, worker.gradient_.data(),
                         [&](int32_t feature, double amount) { gradient[feature] += amount; });
  }
}

void SegmentPasses::collect(int64_t i, const double* parts, bool all, SparseGradient& out) const {
  out.clear();
  each_gradient(i, parts, [&](int32_t feature, double amount) {
    if (all || amount != 0) out.single(static_cast<uint32_t>(feature)) += amount;
  });
}

void SegmentPasses::touch(int64_t i, SparseGradient& out) {
  const std::vector<double> zeros(size(i), 0.0);
  collect(i, zeros.data(), true, out);
}

}  // namespace fieldcraft

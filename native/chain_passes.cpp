#include "chain_passes.hpp"

#include <algorithm>
#include <cstring>

namespace fieldcraft {

ChainPasses::ChainPasses(const ChainProblem& problem, const int32_t* gold)
    : problem_(problem),
      layout_(problem.layout()),
      gold_(gold, gold + problem.n_tokens()),
      oracle_(layout_),
      sums_(layout_.n_pairs()) {}

// Made again only when a weight of a label pair has changed.
const Edges& ChainPasses::edges_of(const double* field, double scale) {
  const double* pairs = field + layout_.pairs_at();
  const size_t n = layout_.n_pairs();
  if (!edges_ || scale != scale_ || std::memcmp(pairs_.data(), pairs, n * sizeof(double)) != 0) {
    pairs_.assign(pairs, pairs + n), scale_ = scale;
    edges_ = layout_.edges(field, scale);
  }
  return *edges_;
}

void ChainPasses::make_room(int64_t i, SequenceParts& parts) const {
  parts.node.reserve(static_cast<size_t>(layout_.length(i)) * layout_.P());
  parts.pairs.reserve(layout_.n_pairs());
  parts.entries.reserve(static_cast<size_t>(layout_.n_entries(i)));
}

double ChainPasses::evaluate(int64_t i, const double* field, double scale) {
  const Edges& edges = edges_of(field, scale);
  i_ = i;
  make_room(i, parts_);
  sums_.clear();
  sums_.entries = parts_.entries.data();
  std::fill_n(sums_.entries, layout_.n_entries(i), 0.0);
  const Chain chain = oracle_.chain(i, layout_.view(field), scale, edges, gold_.data() + layout_.first(i),
                                    problem_.allowed(i));
  const double loss = oracle_.loss(problem_.objective(), chain, weight_of(i), parts_.node.data(), sums_);
  sums_.sum(edges, parts_.pairs.data());
  return loss;
}

int64_t ChainPasses::wrong() const {
  const int64_t P = layout_.P();
  int64_t n = 0;
  for (int64_t t = 0; t < layout_.length(i_); ++t) {
    const double* row = parts_.node.data() + t * P;
    n += std::any_of(row, row + P, [](double g) { return g != 0; });
  }
  return n;
}

size_t ChainPasses::size(int64_t i) const {
  return static_cast<size_t>((layout_.length(i) + layout_.S()) * layout_.S() + layout_.n_entries(i));
}

void ChainPasses::remember(float* out) const {
  const int64_t S = layout_.S(), P = layout_.P();
  for (int64_t t = 0; t < layout_.length(i_); ++t) out = std::copy_n(parts_.node.data() + t * P, S, out);
  for (int x = 0; x < S; ++x) out = std::copy_n(parts_.pairs.data() + x * P, S, out);
  std::copy_n(parts_.entries.data(), layout_.n_entries(i_), out);
}

void ChainPasses::collect(int64_t i, const double* parts, SparseGradient& out) {
  const int64_t S = layout_.S(), P = layout_.P();
  make_room(i, given_);
  const auto unpack = [&](int64_t n, double* rows) {
    for (int64_t t = 0; t < n; ++t, parts += S) {
      std::copy_n(parts, S, rows + t * P);
      std::fill(rows + t * P + S, rows + (t + 1) * P, 0.0);
    }
  };
  unpack(layout_.length(i), given_.node.data()), unpack(S, given_.pairs.data());
  std::copy_n(parts, layout_.n_entries(i), given_.entries.data());
  layout_.collect(i, given_, true, out);
}

}  // namespace fieldcraft

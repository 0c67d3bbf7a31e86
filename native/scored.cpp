#include "scored.hpp"

#include <algorithm>
#include <limits>

#include "queries.hpp"

namespace fieldcraft {
namespace {
constexpr double kMinusInf = -std::numeric_limits<double>::infinity();
}  // namespace

class ScoredPotentials::ScoredReader final : public Reader {
 public:
  explicit ScoredReader(const ScoredPotentials& of) : of_(of), source_(of.from_.reader()) {}
  void go_to(int64_t sequence) override {
    sequence_ = sequence;
    if (own() != nullptr) source_->go_to(sequence);
  }
  void fill(double* node) override {
    const int64_t S = of_.S(), P = of_.P();
    const double* from = of_.node_.data() + of_.offsets[sequence_] * S;
    for (int64_t t = 0; t < of_.length(sequence_); ++t, from += S, node += P) {
      std::copy_n(from, S, node);
      std::fill(node + S, node + P, kMinusInf);
    }
  }
  const OwnEdges* own() const override { return source_->own(); }

 private:
  const ScoredPotentials& of_;
  std::unique_ptr<Reader> source_;
  int64_t sequence_ = 0;
};

ScoredPotentials::ScoredPotentials(const Potentials& from, int n_threads, Watch& watch)
    : from_(from), node_(static_cast<size_t>(from.n_tokens()) * from.S()) {
  offsets = from.offsets;
  node_scores(from, n_threads, watch, node_.data());
}

std::unique_ptr<Potentials::Reader> ScoredPotentials::reader() const {
  return std::make_unique<ScoredReader>(*this);
}

}  // namespace fieldcraft

#include "scored.hpp"

#include <algorithm>
#include <limits>

#include "parallel.hpp"

namespace fieldcraft {
namespace {
constexpr double kMinusInf = -std::numeric_limits<double>::infinity();
constexpr int64_t kTaskTokens = 1024;
}  // namespace

class ScoredPotentials::ScoredReader final : public Reader {
 public:
  explicit ScoredReader(const ScoredPotentials& of) : of_(of), source_(of.from_.reader()) {}
  void go_to(int64_t sequence) override {
    sequence_ = sequence;
    if (own() != nullptr) source_->go_to(sequence);
  }
  void fill(double* node) override {
    const int S = of_.S(), P = of_.P();
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

ScoredPotentials::ScoredPotentials(const Potentials& from, int n_threads)
    : from_(from), node_(static_cast<size_t>(from.n_tokens()) * from.S()) {
  offsets = from.offsets;
  const int S = from.S(), P = from.P();
  std::vector<int64_t> cuts{0};  // sequences that begin a task
  for (int64_t i = 0; i < from.n_sequences(); ++i)
    if (i + 1 == from.n_sequences() || offsets[i + 1] - offsets[cuts.back()] >= kTaskTokens)
      cuts.push_back(i + 1);
  for_each_task(n_threads, cuts.size() - 1, [&](size_t task, int) {
    const auto reader = from.reader();
    Buffer rows;
    for (int64_t i = cuts[task]; i < cuts[task + 1]; ++i) {
      rows.reserve(from.length(i) * P);
      reader->go_to(i);
      reader->fill(rows.data());
      for (int64_t t = 0; t < from.length(i); ++t)
        std::copy_n(rows.data() + t * P, S, node_.data() + (offsets[i] + t) * S);
    }
  });
}

std::unique_ptr<Potentials::Reader> ScoredPotentials::reader() const {
  return std::make_unique<ScoredReader>(*this);
}

}  // namespace fieldcraft

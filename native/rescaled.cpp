#include "rescaled.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace fieldcraft {
namespace {

constexpr double kMinusInf = -std::numeric_limits<double>::infinity();

Edges rescaled(const Edges& edges) {
  std::vector<double> square(static_cast<size_t>(edges.S) * edges.S);
  for (int64_t x = 0; x < edges.S; ++x)
    for (int64_t y = 0; y < edges.S; ++y)
      square[x * edges.S + y] = edges.scores[x * edges.P + y] / Rescaled::kPerUnit;
  return Edges(square.data(), edges.S);
}

}  // namespace

class Rescaled::RescaledReader final : public Reader, private OwnEdges {
 public:
  explicit RescaledReader(const Rescaled& of) : of_(of), source_(of.from_.reader()) {}
  void go_to(int64_t sequence) override {
    sequence_ = sequence;
    source_->go_to(sequence);
  }
  void fill(double* node) override {
    source_->fill(node);
    rescale(node, of_.length(sequence_));
  }
  const OwnEdges* own() const override { return source_->own() == nullptr ? nullptr : this; }

 private:
  bool has(int64_t t) const override { return source_->own()->has(t); }
  void fill(int64_t t, double* scores) const override {
    source_->own()->fill(t, scores);
    rescale(scores, of_.S());
  }
  void rescale(double* rows, int64_t n) const {
    const int64_t S = of_.S(), P = of_.P();
    for (int64_t r = 0; r < n; ++r)
      for (double* x = rows + r * P; x < rows + r * P + S; ++x) {
        if (!std::isfinite(*x) && !(*x == kMinusInf && of_.forbids())) throw BeyondRange(sequence_);
        *x /= kPerUnit;
      }
  }

  const Rescaled& of_;
  std::unique_ptr<Reader> source_;
  int64_t sequence_ = 0;
};

Rescaled::Rescaled(const Potentials& from) : from_(from), edges_(rescaled(from.edges())) {
  offsets = from.offsets;
}

bool Rescaled::needed(const Potentials& from) {
  int64_t longest = 0;
  for (int64_t i = 0; i < from.n_sequences(); ++i) longest = std::max(longest, from.length(i));
  return needed(from.magnitude(), longest);
}

bool Rescaled::needed(const Potentials& from, Potentials::Reader& reader, int64_t sequence, Buffer& room) {
  const int64_t T = from.length(sequence), S = from.S(), P = from.P();
  const auto wide = [&](const double* rows, int64_t n) {  // [n, P] without padding
    for (int64_t r = 0; r < n; ++r)
      if (needed(largest(rows + r * P, S, from.forbids()), T)) return true;
    return false;
  };
  room.reserve(static_cast<size_t>(std::max(T, S) * P));
  reader.fill(room.data());
  bool found = wide(room.data(), T) || (T > 1 && wide(from.edges().scores.data(), S));
  for (int64_t t = 1; t < T && !found && reader.own() != nullptr; ++t) {
    if (!reader.own()->has(t)) continue;
    reader.own()->fill(t, room.data());
    found = wide(room.data(), S);
  }
  return found;
}

std::unique_ptr<Potentials::Reader> Rescaled::reader() const {
  return std::make_unique<RescaledReader>(*this);
}

}  // namespace fieldcraft

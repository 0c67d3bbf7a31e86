#include "potentials.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace fieldcraft {
namespace {
constexpr double kMinusInf = -std::numeric_limits<double>::infinity();
}  // namespace

// Absolute values are in the order of their bits, which are quicker to compare; infinity and NaN come last.
double largest(const double* x, size_t n, bool but_forbidden) {
  constexpr int64_t kAllButSign = std::numeric_limits<int64_t>::max();
  int64_t most = 0;
  for (size_t i = 0; i < n; ++i) {
    const int64_t bits = std::bit_cast<int64_t>(x[i]) & kAllButSign;
    most = std::max(most, but_forbidden && x[i] == kMinusInf ? 0 : bits);
  }
  return std::bit_cast<double>(most);
}

class ArrayPotentials::ArrayReader final : public Reader, private OwnEdges {
 public:
  explicit ArrayReader(const ArrayPotentials& of) : of_(of) {}
  void go_to(int64_t sequence) override { first_ = of_.offsets[sequence], T_ = of_.length(sequence); }
  void fill(double* node) override {
    const int64_t S = of_.S(), P = of_.P();
    for (int64_t t = 0; t < T_; ++t, node += P) {
      std::copy_n(of_.node_ + (first_ + t) * S, S, node);
      std::fill(node + S, node + P, kMinusInf);
      for (int y = 0; y < S; ++y)
        if ((t == 0 && !of_.starts_[y]) || (t == T_ - 1 && !of_.stops_[y])) node[y] = kMinusInf;
    }
  }
  const OwnEdges* own() const override { return of_.per_token_ ? this : nullptr; }

 private:
  bool has(int64_t) const override { return true; }
  void fill(int64_t t, double* scores) const override {
    const int64_t S = of_.S(), P = of_.P();
    const double* from = of_.edge_ + (first_ + t) * S * S;
    for (int y = 0; y < S; ++y) {
      std::copy_n(from + y * S, S, scores + y * P);
      std::fill(scores + y * P + S, scores + (y + 1) * P, kMinusInf);
    }
  }
  const ArrayPotentials& of_;
  int64_t first_ = 0, T_ = 0;
};

ArrayPotentials::ArrayPotentials(const double* node, const double* edge, bool per_token,
                                 std::vector<int64_t> offsets_given, std::vector<uint8_t> starts,
                                 std::vector<uint8_t> stops, double magnitude)
    : node_(node),
      edge_(edge),
      per_token_(per_token),
      starts_(std::move(starts)),
      stops_(std::move(stops)),
      magnitude_(magnitude),
      edges_(per_token ? std::vector<double>(starts_.size() * starts_.size(), 0.0).data() : edge,
             static_cast<int>(starts_.size())) {
  offsets = std::move(offsets_given);
}

std::unique_ptr<Potentials::Reader> ArrayPotentials::reader() const {
  return std::make_unique<ArrayReader>(*this);
}

namespace {

PackedFeatures checked(PackedFeatures features, const Array<double>& weights) {
  features.check();
  if (static_cast<int64_t>(weights.size()) != features.n_features())
    throw std::invalid_argument("one weight per feature is needed");
  return features;
}

}  // namespace

ChainModel::ChainModel(PackedFeatures features_given, Array<double> weights)
    : features(checked(std::move(features_given), weights)),
      edge_features(features.edge_features()),
      weights_(std::move(weights)),
      largest_(largest(weights_.data(), weights_.size(), true)),
      laid_out_(features, LaidOutWeights::Memory::in_place) {
  if (!std::isfinite(largest_)) throw std::invalid_argument("a weight is not finite");
  forbids_ = std::find(weights_.begin(), weights_.end(), kMinusInf) != weights_.end();
  laid_out_.set(weights_.data());
}

class ModelPotentials::ModelReader final : public Reader {
 public:
  explicit ModelReader(const ModelPotentials& of)
      : of_(of), model_(of.model_), observed_(model_.edge_features, of.tokens_) {}
  void go_to(int64_t sequence) override {
    first_ = of_.offsets[sequence], T_ = of_.length(sequence);
    if (own() != nullptr) observed_.go_to(first_, T_, of_.edges(), model_.weights().view().each);
  }
  void fill(double* node) override {
    const PackedFeatures& layout = model_.features;
    layout.score(layout.encode(of_.tokens_, first_, first_ + T_, memory_), model_.weights().view(), node);
  }
  const OwnEdges* own() const override { return model_.edge_features.empty() ? nullptr : &observed_; }

 private:
  const ModelPotentials& of_;
  const ChainModel& model_;
  ObservedEdges observed_;
  OwnedRows memory_;
  int64_t first_ = 0, T_ = 0;
};

ModelPotentials::ModelPotentials(const ChainModel& model, EncodedTokens tokens, double reach)
    : model_(model), tokens_(tokens), reach_(reach) {
  offsets.assign(tokens.offsets, tokens.offsets + tokens.n_sequences + 1);
}

std::unique_ptr<Potentials::Reader> ModelPotentials::reader() const {
  return std::make_unique<ModelReader>(*this);
}

}  // namespace fieldcraft

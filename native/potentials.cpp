#include "potentials.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace fieldcraft {
namespace {
constexpr double kMinusInf = -std::numeric_limits<double>::infinity();
}

class ArrayPotentials::ArrayReader final : public Reader, private OwnEdges {
 public:
  explicit ArrayReader(const ArrayPotentials& of) : of_(of) {}
  void go_to(int64_t sequence) override { first_ = of_.offsets[sequence], T_ = of_.length(sequence); }
  void fill(double* node) override {
    const int S = of_.S(), P = of_.P();
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
    const int S = of_.S(), P = of_.P();
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
                                 std::vector<uint8_t> stops)
    : node_(node), edge_(edge), per_token_(per_token), starts_(std::move(starts)), stops_(std::move(stops)) {
  offsets = std::move(offsets_given);
  const int S = static_cast<int>(starts_.size());
  const std::vector<double> none(per_token ? static_cast<size_t>(S) * S : 0, 0.0);
  edges_ = std::make_shared<const Edges>(per_token ? none.data() : edge, S);
}

std::unique_ptr<Potentials::Reader> ArrayPotentials::reader() const {
  return std::make_unique<ArrayReader>(*this);
}

ChainModel::ChainModel(PackedFeatures given, Array<double> weights_given)
    : features(std::move(given)), weights(std::move(weights_given)) {
  features.check();
  if (static_cast<int64_t>(weights.size()) != features.n_features())
    throw std::invalid_argument("one weight per feature is needed");
  bool finite = true;
  for (const double w : weights) finite &= std::isfinite(w);
  if (!finite) throw std::invalid_argument("a weight is not finite");
  const int S = features.S, P = padded(S);
  edge_features = features.edges(P);
  rows = Buffer(static_cast<size_t>(features.n_rows) * P);
  features.expand(weights.data(), P, rows.data());
  std::vector<double> shared(static_cast<size_t>(S) * S);
  features.shared_edges(weights.data(), shared.data());
  edges = std::make_shared<const Edges>(shared.data(), S);
}

class ModelPotentials::ModelReader final : public Reader {
 public:
  explicit ModelReader(const ModelPotentials& of)
      : of_(of), observed_(of.model_.edge_features, of.tokens_, *of.model_.edges, of.model_.weights.data()) {}
  void go_to(int64_t sequence) override {
    first_ = of_.offsets[sequence], T_ = of_.length(sequence);
    if (!of_.model_.edge_features.empty()) observed_.go_to(first_, T_);
  }
  void fill(double* node) override {
    const ChainModel& m = of_.model_;
    m.features.gather(of_.tokens_, first_, first_ + T_, rows_);
    FIELDCRAFT_DISPATCH(score_tokens, rows_.view(), m.rows.data(), m.weights.data(), 0, T_, of_.S(), of_.P(),
                        node);
  }
  const OwnEdges* own() const override { return of_.model_.edge_features.empty() ? nullptr : &observed_; }

 private:
  const ModelPotentials& of_;
  ObservedEdges observed_;
  OwnedRows rows_;
  int64_t first_ = 0, T_ = 0;
};

ModelPotentials::ModelPotentials(const ChainModel& model, EncodedTokens tokens)
    : model_(model), tokens_(tokens) {
  offsets.assign(tokens.offsets, tokens.offsets + tokens.n_sequences + 1);
  edges_ = model.edges;
}

std::unique_ptr<Potentials::Reader> ModelPotentials::reader() const {
  return std::make_unique<ModelReader>(*this);
}

}  // namespace fieldcraft

// Where the potentials of a batch of chains come from: arrays, or a model applied to encoded tokens.
//
// Every query (queries.hpp) is written once against this interface. A Reader is one thread's view.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "chain.hpp"
#include "packed.hpp"

namespace fieldcraft {

// The largest absolute value; not finite if one of the numbers is not. With `but_forbidden`, -inf does not
// count.
double largest(const double* x, size_t n, bool but_forbidden = false);

class Potentials {
 public:
  class Reader {
   public:
    virtual ~Reader() = default;
    virtual void go_to(int64_t sequence) = 0;
    virtual void fill(double* node) = 0;      // [T, P], padding -inf
    virtual const OwnEdges* own() const = 0;  // of the current sequence, or null
  };
  virtual ~Potentials() = default;
  virtual std::unique_ptr<Reader> reader() const = 0;

  int64_t n_sequences() const { return static_cast<int64_t>(offsets.size()) - 1; }
  int64_t n_tokens() const { return offsets.back(); }
  int64_t length(int64_t i) const { return offsets[i + 1] - offsets[i]; }
  virtual const Edges& edges() const = 0;
  // No finite score is larger than this in absolute value; it may overstate.
  virtual double magnitude() const = 0;
  // Whether -inf may be a score; if not, it can only come from an overflow.
  virtual bool forbids() const { return false; }
  int64_t S() const { return edges().S; }
  int64_t P() const { return edges().P; }

  std::vector<int64_t> offsets;  // [N + 1] first token of each sequence
};

// node [tokens, S]; edge [S, S] shared or, if per_token, [tokens, S, S]; starts, stops [S].
class ArrayPotentials final : public Potentials {
 public:
  ArrayPotentials(const double* node, const double* edge, bool per_token, std::vector<int64_t> offsets,
                  std::vector<uint8_t> starts, std::vector<uint8_t> stops, double magnitude);
  std::unique_ptr<Reader> reader() const override;
  // Memory that matrices of label pairs take besides the arrays given.
  static size_t matrix_bytes(int64_t S) { return 8 * static_cast<size_t>(S) * S + Edges::bytes(S); }
  const Edges& edges() const override { return edges_; }
  double magnitude() const override { return magnitude_; }
  bool forbids() const override { return true; }

 private:
  class ArrayReader;
  const double *node_, *edge_;
  bool per_token_;
  std::vector<uint8_t> starts_, stops_;
  double magnitude_;
  Edges edges_;
};

// A model file's weights with everything that scoring needs, ready for any number of threads.
class ChainModel {
 public:
  // Checks the features; weights [F] in their order, read in place.
  ChainModel(PackedFeatures features, Array<double> weights);

  const PackedFeatures features;
  const EdgeFeatures edge_features;
  const LaidOutWeights& weights() const { return laid_out_; }
  // Memory that matrices of label pairs take while a model is made.
  static size_t matrix_bytes(int64_t S) {
    return 2 * 8 * static_cast<size_t>(S) * padded(S) + Edges::bytes(S);
  }
  double largest_weight() const { return largest_; }  // in absolute value, -inf apart
  bool forbids() const { return forbids_; }           // is some weight -inf

 private:
  Array<double> weights_;
  double largest_;
  bool forbids_ = false;
  LaidOutWeights laid_out_;
};

class ModelPotentials final : public Potentials {
 public:
  // reach: what the absolute values of a token's attributes add up to at the most.
  ModelPotentials(const ChainModel& model, EncodedTokens tokens, double reach);
  std::unique_ptr<Reader> reader() const override;
  const Edges& edges() const override { return model_.weights().edges(); }
  double magnitude() const override { return model_.largest_weight() * (1 + reach_); }
  bool forbids() const override { return model_.forbids(); }

 private:
  class ModelReader;
  const ChainModel& model_;
  EncodedTokens tokens_;
  double reach_;
};

}  // namespace fieldcraft

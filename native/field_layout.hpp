// Where weights stand in a field: one flat memory that the tokens of a corpus are scored from, and that their
// gradient is added up in.
//
// A column is what one attribute has: a row over the labels, or a few scalars where it was seen with one
// label or few. Labels are numbered by how many features they have, so that most rows are short; a row ends
// with the last label that it needs, in whole units of 4 or 8 doubles, and rows of one width are a class. In
// the field the classes come first, then the scalars, then the features of label pairs that look at the
// input; within each, frequent attributes first.
//
// Attributes that occur at the same tokens with the same values share a column: the field holds the sums of
// their weights, and each gets the gradient of the sum. That is exact for any weights.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "aligned_buffer.hpp"
#include "attribute_tokens.hpp"
#include "kernels.hpp"
#include "prefetch.hpp"
#include "raw_vector.hpp"
#include "scoring_layout.hpp"
#include "shared_weights.hpp"

namespace fieldcraft {

class FieldLayout {
 public:
  static constexpr uint32_t kNoColumn = 0xffffffffu;

  // The arrays of `tokens` must stay if there are edges that look at the input; else they may go after
  // construction. `columns` are the tokens, transposed, of which nothing is left afterwards; null: this
  // transposes them. Labels keep their numbers if `keep_order`.
  FieldLayout(const FeatureColumns& features, int n_states, const EncodedTokens& tokens,
              AttributeTokens* columns, bool keep_order, int n_threads);

  int S() const { return S_; }
  int P() const { return P_; }  // width of a node's row
  int unit() const { return unit_; }
  int64_t n_features() const { return n_features_; }
  int number(int label) const { return number_[label]; }  // of a label in this layout
  const EdgeEntries& edges() const { return edges_; }

  int n_classes() const { return n_classes_; }
  const int* widths() const { return widths_; }
  uint32_t n_columns() const { return static_cast<uint32_t>(at_.size()) - 1; }
  uint32_t first_of(int c) const { return first_[c]; }  // column of a class; of the scalars for n_classes
  uint32_t first_edge() const { return first_[n_classes_ + 1]; }
  int class_of(uint32_t column) const {
    int c = 0;
    while (column >= first_[c + 1]) ++c;
    return c;
  }
  uint32_t end_of(int kind) const { return std::min(first_[kind + 1], n_columns()); }
  const uint32_t* all_at() const { return at_.data(); }  // [columns + 1]
  uint32_t at(uint32_t column) const { return at_[column]; }
  uint32_t width(uint32_t column) const {  // numbers in it
    return column < first_[n_classes_] ? static_cast<uint32_t>(widths_[class_of(column)])
                                       : at_[column + 1] - at_[column];
  }
  size_t weights_size() const { return at_[first_edge()]; }  // the part that tokens are scored from
  size_t size() const { return at_.back(); }
  uint32_t scalars_at() const { return at_[first_[n_classes_]]; }
  uint16_t label_at(uint32_t at) const { return labels_[at - scalars_at()]; }  // until forget()

  // The column of an attribute: kNoColumn where it has none, or shares that of another one. Until forget().
  struct Place {
    static constexpr uint8_t kMany = 255;
    uint32_t column, at;
    uint16_t label;  // of the first scalar
    uint8_t kind;    // class; n_classes for scalars
    uint8_t few;     // 1 for a row, otherwise scalars; kMany: see n_of
  };
  uint32_t n_of(const Place& place) const {
    return place.few < Place::kMany ? place.few : at_[place.column + 1] - at_[place.column];
  }
  const Place& place(int32_t attribute) const { return places_[attribute]; }
  FIELDCRAFT_FETCHES void prefetch(int32_t attribute) const { __builtin_prefetch(&places_[attribute]); }
  void forget() { RawVector<Place>().swap(places_), RawVector<uint16_t>().swap(labels_); }

  // Pieces of columns, for threads: their weights are put into the field, and their sums added up.
  size_t n_pieces() const { return pieces_.size() - 1; }
  uint32_t piece(size_t p) const { return pieces_[p].column; }  // its first column
  void expand(size_t piece, const double* weights, double* field) const;
  // The same for weights of label pairs, scores [S, S].
  void expand_pairs(const double* weights, double* scores) const;
  // gradient[f] = the pair's total, 0 for features that no token has; collect() takes care of all others.
  template <class Total>
  void collect_pairs(const Total& total, double* gradient) const {
    for (int64_t k = 0; k < static_cast<int64_t>(S_) * S_; ++k)
      if (const uint32_t f = pair_feature_[k]; f != kNone)
        gradient[f] = total(static_cast<int>(k / S_), static_cast<int>(k % S_));
    for (const uint32_t f : absent_) gradient[f] = 0.0;
  }
  // gradient[f] = sums - less[f - begin] for some features, in their own order; without `less`, the sums.
  void collect(size_t begin, size_t end, const double* sums, const double* less, double* gradient) const;

  // Features that have the same place in the field and are alike become one variable (shared_weights.hpp):
  // from here on there are so many features fewer, and "weights" are variables. False where that would be
  // few.
  bool share(const Alike& alike, int n_threads);
  const SharedWeights* shared() const { return shared_ ? &*shared_ : nullptr; }

  size_t bytes() const;

 private:
  static constexpr uint32_t kNone = 0xffffffffu;
  struct Piece {
    uint32_t column;
    int64_t feature;
  };
  struct Groups;  // attributes with equal columns
  struct Sizes;
  struct Scratch;  // one thread's memory

  void look_through(const FeatureColumns& f, bool keep_order, int n_threads);
  void choose_classes();
  int class_for(int n_labels, int last) const;
  void place_nodes(const FeatureColumns& f, const Groups& groups, int n_threads);
  Sizes measure(const FeatureColumns& f, const Groups& groups, int n_threads);
  RawVector<uint32_t> in_order(const Groups& groups, const Sizes& sizes, int n_threads);
  void make_room(const RawVector<uint32_t>& order, const Sizes& sizes, int n_threads);
  void place(uint32_t column, uint32_t group, const FeatureColumns& f, const Groups& groups,
             Scratch& scratch);
  void place_edges(const FeatureColumns& f, const EncodedTokens& tokens, int n_threads);
  void cut_pieces(int n_threads);
  RawVector<uint32_t> first_of_places(const Alike& alike, int n_threads) const;
  void take_variables(const RawVector<uint32_t>& first, const SharedWeights& shared, int n_threads);

  int S_, P_, unit_;
  int64_t n_features_;
  std::vector<int> number_;  // [S]
  int n_classes_ = 0;
  int widths_[kMostClasses] = {};
  uint32_t first_[kMostClasses + 3] = {};  // column of each class, of the scalars, of the edges; the end
  RawVector<uint32_t> at_;                 // [columns + 1]
  RawVector<uint16_t> labels_;             // [scalars]
  RawVector<Place> places_;                // [A]
  RawVector<uint32_t> feature_;            // by column
  RawVector<uint32_t> slot_;               // the same, while it is built
  RawVector<uint16_t> from_piece_;         // its slot less the first one of the piece; of nodes alone
  RawVector<uint32_t> slot_of_;      // [F] the same by feature; kNone for pairs, and where no token has it
  RawVector<int64_t> features_end_;  // [columns + 1] while it is built
  std::optional<SharedWeights> shared_;
  RawVector<uint8_t> members_by_place_;  // of variables, in the order of feature_
  std::vector<Piece> pieces_;
  std::vector<uint32_t> pair_feature_;  // [S * S]
  std::vector<uint32_t> absent_;        // features that no token has
  EdgeEntries edges_;
};

}  // namespace fieldcraft

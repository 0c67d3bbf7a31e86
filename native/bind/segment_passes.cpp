// Passes over the sequences of a semi-Markov chain.
#include "segment_passes.hpp"

#include <nanobind/stl/optional.h>

#include <optional>

#include "bind/arrays.hpp"

namespace fieldcraft::bind {
namespace {

// The arrays of one part's features, checked and kept alive.
class BoundPart {
 public:
  BoundPart(In1<int64_t> position_ptr, In1<int32_t> attributes, std::optional<In1<double>> values,
            In1<int64_t> ptr, In1<int32_t> column, In1<int32_t> feature, In1<int32_t> shared_column,
            In1<int32_t> shared_feature, int64_t width)
      : position_ptr_(position_ptr),
        attributes_(attributes),
        values_(values),
        ptr_(ptr),
        column_(column),
        feature_(feature) {
    check_offsets(position_ptr, static_cast<int64_t>(attributes.shape(0)), "position offsets");
    check_offsets(ptr, static_cast<int64_t>(column.shape(0)), "entry offsets");
    check_range(attributes, 0, static_cast<int64_t>(ptr.shape(0)) - 1, "attributes");
    check_range(column, 0, width, "column");
    require(!values || values->shape(0) == attributes.shape(0), "one value per attribute is needed");
    require(feature.shape(0) == column.shape(0), "one feature per entry is needed");
    require(shared_feature.shape(0) == shared_column.shape(0), "one feature per shared column is needed");
    part_.map = {static_cast<int64_t>(position_ptr.shape(0)) - 1,
                 position_ptr.data(),
                 attributes.data(),
                 values ? values->data() : nullptr,
                 ptr.data(),
                 column.data(),
                 static_cast<int64_t>(column.shape(0)),
                 width};
    part_.feature = feature.data();
    part_.shared_column = vector_of(shared_column), part_.shared_feature = vector_of(shared_feature);
    check_range(part_.shared_column.data(), part_.shared_column.size(), 0, width, "shared columns");
  }

  // The part, for passes over so many rows.
  const SegmentPart& checked(int64_t rows, int64_t width, int64_t n_features, const char* name) const {
    require(part_.map.width == width, "part ", name, " has ", part_.map.width, " columns, expected ", width);
    require(part_.map.n_entries == 0 || part_.map.n_positions == rows, "part ", name, " has ",
            part_.map.n_positions, " rows, expected ", rows);
    check_range(feature_, 0, n_features, "features");
    const std::vector<int32_t>& shared = part_.shared_feature;
    check_range(shared.data(), shared.size(), 0, n_features, "features");
    return part_;
  }

 private:
  In1<int64_t> position_ptr_;
  In1<int32_t> attributes_;
  std::optional<In1<double>> values_;
  In1<int64_t> ptr_;
  In1<int32_t> column_;
  In1<int32_t> feature_;
  SegmentPart part_;
};

Objective objective_of(const std::string& name, std::optional<In2<double>> cost,
                       std::optional<In1<double>> label_weights, size_t S) {
  const auto loss = loss_by_name(name);
  const bool margin = loss == Loss::margin || loss == Loss::softmax_margin;
  require(margin || loss == Loss::likelihood || loss == Loss::perceptron,
          "passes over segments have no loss ", name);
  Objective made{*loss, {}, {}, {}};
  if (!margin) return made;
  require(cost && cost->shape(0) == S && cost->shape(1) == S, "costs need a row and a column per state");
  require(!label_weights || label_weights->shape(0) == S, "one weight per label is needed");
  for (size_t k = 0; k < S * S; ++k)
    made.cost.push_back((label_weights ? label_weights->data()[k / S] : 1.0) * cost->data()[k]);
  return made;
}

SegmentPasses* make_segment_passes(const SegmentSpace& space, int64_t n_features, In1<int64_t> offsets,
                                   const BoundPart& node, const BoundPart& edge, const BoundPart& first,
                                   const BoundPart& last, const BoundPart& segment, In1<int32_t> gold,
                                   std::optional<In1<double>> sequence_weights, const std::string& objective,
                                   std::optional<In2<double>> cost,
                                   std::optional<In1<double>> label_weights) {
  require(n_features >= 0 && n_features <= 0x7fffffffll, "n_features must be between 0 and 2^31 - 1");
  SegmentDesign design{};
  design.n_features = n_features, design.offsets = vector_of(offsets);
  const int64_t tokens = static_cast<int64_t>(gold.shape(0)), K = space.n_types;
  check_offsets(design.offsets.data(), design.offsets.size(), tokens, "offsets");
  for (const int32_t D : space.longest) design.longest = std::max<int64_t>(design.longest, D);
  design.parts = {node.checked(tokens, space.n_states, n_features, "node"),
                  edge.checked(tokens, space.n_edges, n_features, "edge"),
                  first.checked(tokens, K, n_features, "first"), last.checked(tokens, K, n_features, "last"),
                  segment.checked(tokens * design.longest, K, n_features, "segment")};
  design.gold = checked_labels(gold, tokens, space.n_states);
  for (int64_t i = 0; i < design.n_sequences(); ++i)
    require(is_segmentation(space, design.gold.data() + design.offsets[i], design.length(i)), "sequence ", i,
            ": its states are those of no segmentation");
  if (sequence_weights) design.weights = vector_of(*sequence_weights);
  require(!sequence_weights || design.weights.size() + 1 == design.offsets.size(),
          "one weight per sequence is needed");
  return new SegmentPasses(space, std::make_shared<const SegmentDesign>(std::move(design)),
                           objective_of(objective, cost, label_weights, static_cast<size_t>(space.n_states)));
}

// The losses of sequences first .. last - 1, and the sum of their gradients [n_features].
nb::tuple gradients(const SegmentPasses& self, int64_t first, int64_t last, In1<double> weights) {
  require(first >= 0 && first <= last && last <= self.n_sequences(), "sequences ", first, " to ", last,
          " of ", self.n_sequences());
  require(weights.shape(0) == static_cast<size_t>(self.n_features()), "one weight per feature is needed");
  std::vector<double> losses(last - first), gradient(self.n_features());
  unlocked([&] { self.add_gradients(first, last, weights.data(), gradient.data(), losses.data()); });
  return give_all(std::move(losses), std::move(gradient));
}

}  // namespace

void bind_segment_passes(nb::module_& m) {
  nb::class_<BoundPart>(m, "SegmentPart", "The features of one part of a semi-Markov chain, and their rows.")
      .def(nb::init<In1<int64_t>, In1<int32_t>, std::optional<In1<double>>, In1<int64_t>, In1<int32_t>,
                    In1<int32_t>, In1<int32_t>, In1<int32_t>, int64_t>(),
           "position_ptr"_a, "attributes"_a, "values"_a.none(), "ptr"_a, "column"_a, "feature"_a,
           "shared_column"_a, "shared_feature"_a, "width"_a);
  nb::class_<SegmentPasses, Passes>(m, "SegmentPasses")
      .def("gradients", &gradients, "first"_a, "last"_a, "weights"_a);
  m.def("segment_passes", &make_segment_passes, "space"_a, "n_features"_a, "offsets"_a, "node"_a, "edge"_a,
        "first"_a, "last"_a, "segment"_a, "gold"_a, "sequence_weights"_a.none(), "objective"_a,
        "cost"_a.none(), "label_weights"_a.none(), nb::keep_alive<0, 1>(), nb::keep_alive<0, 4>(),
        nb::keep_alive<0, 5>(), nb::keep_alive<0, 6>(), nb::keep_alive<0, 7>(), nb::keep_alive<0, 8>());
}

}  // namespace fieldcraft::bind

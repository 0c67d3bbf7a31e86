#include "linear_map.hpp"

#include <nanobind/stl/optional.h>

#include <optional>

#include "bind/arrays.hpp"

namespace fieldcraft::bind {
namespace {

// The arrays of a map, checked once and kept alive.
class BoundMap {
 public:
  BoundMap(In1<int64_t> position_ptr, In1<int32_t> attributes, std::optional<In1<double>> values,
           In1<int64_t> ptr, In1<int32_t> column, int64_t width)
      : position_ptr_(position_ptr), attributes_(attributes), values_(values), ptr_(ptr), column_(column) {
    check_offsets(position_ptr, static_cast<int64_t>(attributes.shape(0)), "position offsets");
    check_offsets(ptr, static_cast<int64_t>(column.shape(0)), "entry offsets");
    check_range(attributes, 0, static_cast<int64_t>(ptr.shape(0)) - 1, "attributes");
    check_range(column, 0, width, "column");
    require(!values || values->shape(0) == attributes.shape(0), "one value per attribute is needed");
    map_ = {static_cast<int64_t>(position_ptr.shape(0)) - 1,
            position_ptr.data(),
            attributes.data(),
            values ? values->data() : nullptr,
            ptr.data(),
            column.data(),
            static_cast<int64_t>(column.shape(0)),
            width};
  }

  nb::object apply(In1<double> weights) const {
    check_shape("weights", weights.shape(0), map_.n_entries);
    std::vector<double> out(static_cast<size_t>(map_.n_positions * map_.width));
    unlocked([&] { map_.apply(weights.data(), out.data()); });
    return give(std::move(out), {static_cast<size_t>(map_.n_positions), static_cast<size_t>(map_.width)});
  }

  nb::object adjoint(In2<double> numbers) const {
    check_shape("rows of numbers", numbers.shape(0), map_.n_positions);
    check_shape("columns of numbers", numbers.shape(1), map_.width);
    std::vector<double> out(static_cast<size_t>(map_.n_entries));
    unlocked([&] { map_.adjoint(numbers.data(), out.data()); });
    return give(std::move(out));
  }

 private:
  static void check_shape(const char* what, size_t given, int64_t expected) {
    require(given == static_cast<size_t>(expected), "linear map: ", given, " ", what, " where ", expected,
            " are expected");
  }

  In1<int64_t> position_ptr_;
  In1<int32_t> attributes_;
  std::optional<In1<double>> values_;
  In1<int64_t> ptr_;
  In1<int32_t> column_;
  LinearMap map_;
};

}  // namespace

void bind_linear_map(nb::module_& m) {
  nb::class_<BoundMap>(m, "LinearMap", "The linear map of a design for one part: weights <-> numbers.")
      .def(nb::init<In1<int64_t>, In1<int32_t>, std::optional<In1<double>>, In1<int64_t>, In1<int32_t>,
                    int64_t>(),
           "position_ptr"_a, "attributes"_a, "values"_a.none(), "ptr"_a, "column"_a, "width"_a)
      .def("apply", &BoundMap::apply, "weights"_a)
      .def("adjoint", &BoundMap::adjoint, "numbers"_a);
}

}  // namespace fieldcraft::bind

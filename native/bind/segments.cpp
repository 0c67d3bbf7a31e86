// Semi-Markov chains: their space, and the queries of a batch.
#include "segments.hpp"

#include <cmath>

#include "bind/arrays.hpp"
#include "bind/watched.hpp"

namespace fieldcraft::bind {
namespace {

SegmentSpace* make_space(In1<int32_t> longest, In1<int32_t> first, In1<int32_t> later, In1<int32_t> source,
                         In1<int32_t> target) {
  const size_t K = longest.shape(0), E = source.shape(0);
  require(K >= 1 && first.shape(0) == K && later.shape(0) == K, "each type needs a length and two states");
  require(target.shape(0) == E, "sources and targets differ in length");
  std::vector<int32_t> lengths = vector_of(longest), sources = vector_of(source), targets = vector_of(target);
  int64_t S = static_cast<int64_t>(K), C = 0;
  for (const int32_t D : lengths) {
    require(D >= 1, "a longest segment has ", D, " tokens, must have at least 1");
    S += D > 1, C += D;
  }
  require(S <= 65535 && C <= (1 << 24), "too many types, or too long segments");
  check_range(sources.data(), E, 0, S, "sources");
  check_range(targets.data(), E, 0, S, "targets");
  return new SegmentSpace(std::move(lengths), vector_of(first), vector_of(later), std::move(sources),
                          std::move(targets));
}

void check_scores(const In2<double>& scores, const std::vector<int64_t>& offsets, bool skip_first,
                  const char* what) {
  const size_t width = scores.shape(1);
  std::vector<bool> first(skip_first ? scores.shape(0) + 1 : 0);
  for (const int64_t at : skip_first ? offsets : std::vector<int64_t>{}) first[at] = true;
  for (size_t t = 0; t < scores.shape(0); ++t)
    for (size_t c = 0; c < width && !(skip_first && first[t]); ++c) {
      const double x = scores.data()[t * width + c];
      require(!std::isnan(x) && x != INFINITY, what, " potentials contain ", x, " at row ", t,
              "; they must be finite or -inf");
    }
}

// The arrays of a batch, checked and kept alive.
class BoundSegments {
 public:
  BoundSegments(const SegmentSpace& space, In2<double> node, In2<double> edge, In2<double> segment,
                In1<int64_t> offsets)
      : node_(node), edge_(edge), segment_(segment), from_{space, nullptr, nullptr, nullptr,
                                                           false, false,   {}} {
    const size_t tokens = node.shape(0);
    from_.offsets = vector_of(offsets);
    check_offsets(from_.offsets.data(), from_.offsets.size(), static_cast<int64_t>(tokens), "offsets");
    const auto rows = [&](const In2<double>& array, int64_t width, const char* what) {
      require(array.shape(1) == static_cast<size_t>(width), what, " potentials have ", array.shape(1),
              " columns, expected ", width);
      require(array.shape(0) == tokens || array.shape(0) == 1, what, " potentials have ", array.shape(0),
              " rows, expected ", tokens, " or 1");
      return array.shape(0) == tokens;
    };
    require(rows(node, space.n_states, "node"), "node potentials need a row per token");
    from_.edge_rows = rows(edge, space.n_edges, "edge");
    from_.segment_rows = rows(segment, space.n_columns, "segment");
    check_scores(node, from_.offsets, false, "node");
    check_scores(edge, from_.offsets, from_.edge_rows && tokens > 0, "edge");
    check_scores(segment, from_.offsets, false, "segment");
    from_.node = node.data(), from_.edge = edge.data(), from_.segment = segment.data();
  }

  nb::object log_partition(int n_jobs) const {
    std::vector<double> out(from_.n_sequences());
    watched([&](Watch& watch) { segment_log_partitions(from_, n_jobs, watch, out.data()); });
    return give(std::move(out));
  }

  nb::tuple marginals(int n_jobs) const {
    const size_t tokens = node_.shape(0), S = from_.space.n_states, E = from_.space.n_edges,
                 C = from_.space.n_columns;
    std::vector<double> node(tokens * S), edge(tokens * E), segment(tokens * C), log_z(from_.n_sequences());
    watched([&](Watch& watch) {
      segment_marginals(from_, n_jobs, watch, node.data(), edge.data(), segment.data(), log_z.data());
    });
    return nb::make_tuple(give(std::move(node), {tokens, S}), give(std::move(edge), {tokens, E}),
                          give(std::move(segment), {tokens, C}), give(std::move(log_z)));
  }

  nb::tuple argmax(int n_jobs) const {
    std::vector<int32_t> states(node_.shape(0));
    std::vector<double> scores(from_.n_sequences());
    watched([&](Watch& watch) { segment_argmax(from_, n_jobs, watch, states.data(), scores.data()); });
    return give_all(std::move(states), std::move(scores));
  }

  nb::object score(In1<int32_t> states, int n_jobs) const {
    const std::vector<int32_t> own =
        checked_labels(states, static_cast<int64_t>(node_.shape(0)), from_.space.n_states);
    std::vector<double> out(from_.n_sequences());
    watched([&](Watch& watch) { segment_scores(from_, n_jobs, watch, own.data(), out.data()); });
    return give(std::move(out));
  }

  nb::list k_best(int k, int n_jobs) const {
    require(k >= 1, "k must be at least 1, got ", k);
    std::vector<Ranked> all = watched([&](Watch& watch) { return segment_k_best(from_, k, n_jobs, watch); });
    nb::list out;
    for (int64_t i = 0; i < from_.n_sequences(); ++i) {
      const size_t n = all[i].scores.size(), T = from_.length(i);
      out.append(nb::make_tuple(give(std::move(all[i].states), {n, T}), give(std::move(all[i].scores))));
    }
    return out;
  }

  nb::list sample(int n, uint64_t seed, int64_t first, int n_jobs) const {
    require(n >= 0, "the number of samples must not be negative");
    auto all = watched([&](Watch& watch) { return segment_samples(from_, n, seed, first, n_jobs, watch); });
    nb::list out;
    for (int64_t i = 0; i < from_.n_sequences(); ++i)
      out.append(give(std::move(all[i]), {static_cast<size_t>(n), static_cast<size_t>(from_.length(i))}));
    return out;
  }

 private:
  In2<double> node_, edge_, segment_;
  SegmentPotentials from_;
};

}  // namespace

void bind_segments(nb::module_& m) {
  nb::class_<SegmentSpace>(m, "SegmentSpace",
                           "Types of segments with their states, lengths and transitions.");
  m.def("segment_space", &make_space, "longest"_a, "first"_a, "later"_a, "source"_a, "target"_a);
  nb::class_<BoundSegments>(m, "SegmentPotentials", "Potentials of a batch of semi-Markov chains.")
      .def(nb::init<const SegmentSpace&, In2<double>, In2<double>, In2<double>, In1<int64_t>>(), "space"_a,
           "node"_a, "edge"_a, "segment"_a, "offsets"_a, nb::keep_alive<1, 2>())
      .def("log_partition", &BoundSegments::log_partition, "n_jobs"_a)
      .def("marginals", &BoundSegments::marginals, "n_jobs"_a)
      .def("argmax", &BoundSegments::argmax, "n_jobs"_a)
      .def("score", &BoundSegments::score, "states"_a, "n_jobs"_a)
      .def("k_best", &BoundSegments::k_best, "k"_a, "n_jobs"_a)
      .def("sample", &BoundSegments::sample, "n"_a, "seed"_a, "first"_a, "n_jobs"_a);
}

}  // namespace fieldcraft::bind

// The nearest entries of a gazetteer for candidate segments.
#include "similarity.hpp"

#include "bind/arrays.hpp"
#include "bind/watched.hpp"

namespace fieldcraft::bind {
namespace {

std::vector<std::string> strings_of(const nb::list& given) {
  std::vector<std::string> out;
  for (const nb::handle item : given) {
    const nb::bytes text = nb::cast<nb::bytes>(item);
    out.emplace_back(text.c_str(), text.size());
  }
  return out;
}

Similarity similarity_of(const std::string& name) {
  if (name == "exact") return Similarity::exact;
  if (name == "jaccard") return Similarity::jaccard;
  if (name == "cosine") return Similarity::cosine;
  require(name == "edit", "similarity must be exact, jaccard, cosine or edit, got ", name);
  return Similarity::edit;
}

NearestIndex* make_index(const std::string& similarity, double threshold, const nb::list& entries) {
  require(threshold > 0.5 && threshold <= 1, "the threshold must be above 0.5 and at most 1, got ",
          threshold);
  const std::vector<std::string> texts = strings_of(entries);
  const Similarity kind = similarity_of(similarity);
  return unlocked([&] { return new NearestIndex(kind, threshold, texts); });
}

nb::tuple py_cells(const NearestIndex& index, const nb::list& words, In1<int32_t> ids, In1<int64_t> offsets,
                   int64_t longest, int n_jobs) {
  const std::vector<std::string> texts = strings_of(words);
  const std::vector<int32_t> own = vector_of(ids);
  const std::vector<int64_t> cuts = vector_of(offsets);
  check_range(own.data(), own.size(), 0, static_cast<int64_t>(texts.size()), "words");
  check_offsets(cuts.data(), cuts.size(), static_cast<int64_t>(own.size()), "offsets");
  require(longest >= 1, "longest must be at least 1, got ", longest);
  const std::vector<Near> found =
      watched([&](Watch& watch) { return index.cells(texts, own, cuts, longest, n_jobs, watch); });
  std::vector<int64_t> rows;
  std::vector<double> similarities;
  for (const Near& near : found) rows.push_back(near.row), similarities.push_back(near.similarity);
  return give_all(std::move(rows), std::move(similarities));
}

}  // namespace

void bind_similarity(nb::module_& m) {
  nb::class_<NearestIndex>(m, "NearestIndex", "Entries of a list, found by similarity.")
      .def("cells", &py_cells, "words"_a, "ids"_a, "offsets"_a, "longest"_a, "n_jobs"_a);
  m.def("nearest_index", &make_index, "similarity"_a, "threshold"_a, "entries"_a);
}

}  // namespace fieldcraft::bind

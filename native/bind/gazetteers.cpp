// Gazetteers: built from lists of names, saved as arrays, matched over words.
#include <nanobind/stl/shared_ptr.h>

#include "bind/arrays.hpp"
#include "bind/strings.hpp"
#include "gazetteer.hpp"

namespace fieldcraft::bind {
namespace {

// entries: one string each, words separated by single blanks, already folded to the case policy.
std::shared_ptr<Gazetteer> gazetteer_from(const nb::list& entries) {
  Interner vocabulary;
  std::vector<int32_t> rows;
  std::vector<int64_t> starts{0};
  for (size_t e = 0; e < nb::len(entries); ++e) {
    std::string_view text = text_of(PyList_GetItem(entries.ptr(), static_cast<Py_ssize_t>(e)), e, 0, "entry");
    while (!text.empty()) {
      const size_t end = std::min(text.find(' '), text.size());
      if (end > 0) rows.push_back(vocabulary.intern(text.substr(0, end)));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (static_cast<int64_t>(rows.size()) > starts.back())
      starts.push_back(static_cast<int64_t>(rows.size()));
  }
  return std::make_shared<Gazetteer>(std::move(vocabulary), rows, starts);
}

std::shared_ptr<Gazetteer> gazetteer_restore(const In1<uint8_t>& bytes, const In1<uint32_t>& word_starts,
                                             const In1<uint32_t>& word_slots, const In1<int32_t>& words,
                                             const In1<int64_t>& starts) {
  check_offsets(starts, static_cast<int64_t>(words.shape(0)), "starts");
  return std::make_shared<Gazetteer>(table_over(bytes, word_starts, word_slots), looking_at<int32_t>(words),
                                     looking_at<int64_t>(starts));
}

// One tag per word: -1 outside, 0 B, 1 I, 2 L, 3 U. Words are folded to the case policy already.
nb::object gazetteer_tag(const Gazetteer& self, const std::vector<std::string>& words, bool all) {
  std::vector<int32_t> text;
  for (const std::string& word : words) text.push_back(self.vocabulary().find(word));
  std::vector<int8_t> tags(words.size());
  self.tag(text.data(), text.size(), all ? MatchRule::all : MatchRule::longest, tags.data());
  return give(std::move(tags));
}

nb::tuple gazetteer_state(const Gazetteer& self) {
  const Interner& v = self.vocabulary();
  return nb::make_tuple(give(std::vector<uint8_t>(v.arena().begin(), v.arena().end())),
                        give(copied(v.starts())), give(v.file_slots()), give(copied(self.words())),
                        give(copied(self.starts())));
}

}  // namespace

void bind_gazetteers(nb::module_& m) {
  nb::class_<Gazetteer>(m, "GazetteerTable")
      .def_static("build", &gazetteer_from, "entries"_a)
      .def_static("restore", &gazetteer_restore)
      .def("state", &gazetteer_state)
      .def("tag", &gazetteer_tag, "words"_a, "all"_a)
      .def("__len__", &Gazetteer::size);
}

}  // namespace fieldcraft::bind

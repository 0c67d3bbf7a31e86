// The table of attribute names: names that a Collector read -> ids, and back.
#include <cmath>
#include <stdexcept>

#include "bind/arrays.hpp"
#include "bind/reading.hpp"
#include "bind/strings.hpp"

namespace fieldcraft::bind {

void bind_string_lists(nb::module_& m);

namespace {

class AttributeTable {
 public:
  explicit AttributeTable(int64_t hash_size) : hash_size_(hash_size) {
    require(hash_size >= 0 && hash_size < 0x7fffffff, "hash_size must be in 0 .. 2^31 - 2");
  }

  int64_t size() const { return hash_size_ > 0 ? hash_size_ : static_cast<int64_t>(table_.size()); }

  nb::tuple encode(nb::list sequences, bool grow, int n_threads) {
    Reading reading(table_, hash_size_, grow, n_threads);
    reading.read(sequences.ptr());
    AttributeIds& out = reading.out;
    if (grow) {  // a model is to be trained: memory counts
      // A table that grows by one sequence at a time keeps its room: shrinking it copies all names.
      if (out.offsets.size() > kFew) table_.shrink();
      // What was reserved and not used was never touched: to copy the ids costs more than it saves.
      if (out.ids.capacity() / 4 * 3 > out.ids.size()) out.ids.shrink_to_fit();
    }
    nb::object values = out.valued ? give(std::move(out.values)) : nb::none();
    return nb::make_tuple(give(std::move(out.offsets)), give(std::move(out.token_ptr)),
                          give(std::move(out.ids)), values);
  }

  // Ids of names, -1 where unknown; new names are added if `grow`.
  nb::object ids(nb::list names, bool grow) {
    std::vector<int32_t> out;
    for (nb::handle name : names) {
      const auto text = nb::cast<std::string>(name);
      out.push_back(id_of(text, hash_bytes(text.data(), text.size()), grow));
    }
    return give(std::move(out));
  }

  nb::object name(int64_t id) const {
    require(id >= 0 && id < size(), "attribute id ", id, " is out of range");
    if (hash_size_ > 0) return nb::cast("#" + std::to_string(id));
    const auto k = table_.key(static_cast<size_t>(id));
    return nb::steal(PyUnicode_DecodeUTF8(k.data(), static_cast<Py_ssize_t>(k.size()), "replace"));
  }

  nb::tuple state() const {
    const nb::tuple kept = names();
    return nb::make_tuple(kept[0], kept[1], give(table_.file_slots()));
  }

  // The names end to end, and where each begins.
  nb::tuple names() const {
    return nb::make_tuple(give(std::vector<uint8_t>(table_.arena().begin(), table_.arena().end())),
                          give(copied(table_.starts())));
  }

  // The same without a copy: until the table grows.
  static nb::tuple views(nb::handle_t<AttributeTable> self) {
    const Interner& table = nb::cast<const AttributeTable&>(self).table_;
    const auto view = [&]<class T>(const T* data, size_t n) {
      return nb::cast(nb::ndarray<nb::numpy, const T>(data, {n}, self));
    };
    const auto* const bytes = reinterpret_cast<const uint8_t*>(table.arena().data());
    return nb::make_tuple(view(bytes, table.arena().size()),
                          view(table.starts().data(), table.starts().size()));
  }

  // The same with some names only, in the order of `ids`.
  AttributeTable keep(In1<int64_t> ids) const {
    AttributeTable out(hash_size_);
    for (const int64_t id : vector_of(ids)) {
      require(id >= 0 && id < static_cast<int64_t>(table_.size()), "ids out of range");
      out.table_.intern(table_.key(static_cast<size_t>(id)));
    }
    out.table_.shrink();
    return out;
  }

  // The arrays stay in use: they may be parts of a mapped file.
  static AttributeTable restore(In1<uint8_t> bytes, In1<uint32_t> starts, In1<uint32_t> slots,
                                int64_t hash_size) {
    AttributeTable table(hash_size);
    table.table_ = table_over(bytes, starts, slots);
    return table;
  }

 private:
  int32_t id_of(std::string_view name, uint64_t hash, bool grow) {
    if (hash_size_ > 0) return static_cast<int32_t>(hash % static_cast<uint64_t>(hash_size_));
    return grow ? table_.intern(name, hash) : table_.find(name, hash);
  }

  static constexpr size_t kFew = 64;  // sequences
  Interner table_;
  int64_t hash_size_;
};

}  // namespace

void bind_attributes(nb::module_& m) {
  text_layout = TextLayout::probe();
  list_layout = ListLayout::probe();
  nb::class_<AttributeTable>(m, "AttributeTable")
      .def(nb::init<int64_t>(), "hash_size"_a)
      .def("__len__", &AttributeTable::size)
      .def("encode", &AttributeTable::encode, "sequences"_a, "grow"_a, "n_threads"_a = 1)
      .def("ids", &AttributeTable::ids, "names"_a, "grow"_a)
      .def("name", &AttributeTable::name, "id"_a)
      .def("state", &AttributeTable::state)
      .def("names", &AttributeTable::names)
      .def("views", &AttributeTable::views)
      .def("keep", &AttributeTable::keep, "ids"_a)
      .def_static("restore", &AttributeTable::restore, "bytes"_a, "starts"_a, "slots"_a, "hash_size"_a);
  m.def(
      "reads_in_parallel", [] { return text_layout.known; },
      "Whether several threads can read Python's strings at once: not if this Python stores them in a way "
      "that is not known here, or has no interpreter lock.");
  m.def(
      "looks_into_lists", [] { return list_layout.known; },
      "Whether lists are read and filled in place where a build uses Python's stable interface: not if this "
      "Python stores them in a way that is not known here, or has no interpreter lock.");
  bind_string_lists(m);
  // Slots for keys that lie end to end: what a file without them lacks.
  m.def(
      "string_slots",
      [](In1<uint8_t> bytes, In1<uint32_t> starts) {
        return give(Interner::rebuild(looking_at<char>(bytes), looking_at<uint32_t>(starts)).file_slots());
      },
      "bytes"_a, "starts"_a);
}

}  // namespace fieldcraft::bind

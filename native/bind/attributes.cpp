// The table of attribute names: names that a Collector read -> ids, and back.
#include <cmath>
#include <stdexcept>

#include "bind/arrays.hpp"
#include "bind/collector.hpp"
#include "bind/strings.hpp"

namespace fieldcraft::bind {
namespace {

class AttributeTable {
 public:
  explicit AttributeTable(int64_t hash_size) : hash_size_(hash_size) {
    require(hash_size >= 0 && hash_size < 0x7fffffff, "hash_size must be in 0 .. 2^31 - 2");
  }

  int64_t size() const { return hash_size_ > 0 ? hash_size_ : static_cast<int64_t>(table_.size()); }

  nb::tuple encode(nb::list sequences, bool grow) {
    std::vector<int64_t> offsets{0}, token_ptr{0};
    std::vector<int32_t> ids, looked_up;
    std::vector<double> values;
    bool valued = false;  // false while all values are 1
    Collector collector;
    constexpr Py_ssize_t kSampled = 64;  // sequences from which the size of all is guessed
    const Py_ssize_t n = list_size(sequences.ptr());
    for (Py_ssize_t i = 0; i < n && i < list_size(sequences.ptr()); ++i) {
      const auto next = [&] {
        return i + 1 < list_size(sequences.ptr()) ? list_item(sequences.ptr(), i + 1) : nullptr;
      };
      Collector::prefetch_tokens(next());
      const nb::object current = nb::borrow(list_item(sequences.ptr(), i));
      collector.sequence(current.ptr(), i);
      Collector::prefetch_first_items(next());
      take(collector, grow, looked_up, token_ptr, ids, values, valued);
      offsets.push_back(static_cast<int64_t>(token_ptr.size()) - 1);
      collector.done();
      if (i + 1 == kSampled) {  // growing step by step would touch twice the memory
        ids.reserve(ids.size() * (n / kSampled + 1) * 9 / 8);
        token_ptr.reserve(token_ptr.size() * (n / kSampled + 1) * 9 / 8);
        offsets.reserve(n + 1);
      }
    }
    if (grow) {  // a model is to be trained: memory counts
      // A table that grows by one sequence at a time keeps its room: shrinking it copies all names.
      if (n >= kSampled) table_.shrink();
      ids.shrink_to_fit();
    }
    nb::object shown = valued ? give(std::move(values)) : nb::none();
    return nb::make_tuple(give(std::move(offsets)), give(std::move(token_ptr)), give(std::move(ids)), shown);
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
    return nb::make_tuple(give(std::vector<uint8_t>(table_.arena().begin(), table_.arena().end())),
                          give(copied(table_.starts())), give(table_.file_slots()));
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

  // Ids of all attributes of a sequence, -1 where unknown.
  void look_up(const Collector& c, bool grow, std::vector<int32_t>& ids) {
    const size_t total = c.names.size();
    ids.resize(total);
    if (hash_size_ > 0) {
      for (size_t i = 0; i < total; ++i) ids[i] = id_of(c.names[i], c.hashes[i], grow);
      return;
    }
    for (size_t first = 0; first < total; first += Interner::kBatch) {
      const size_t n = std::min(Interner::kBatch, total - first);
      table_.find_many(c.names.data() + first, c.hashes.data() + first, n, ids.data() + first);
      for (size_t i = first; grow && i < first + n; ++i)
        if (ids[i] < 0) ids[i] = table_.intern(c.names[i], c.hashes[i]);
    }
  }

  void take(const Collector& c, bool grow, std::vector<int32_t>& looked_up, std::vector<int64_t>& token_ptr,
            std::vector<int32_t>& ids, std::vector<double>& values, bool& valued) {
    look_up(c, grow, looked_up);
    if (!c.values.empty() && !valued) values.assign(ids.size(), 1.0), valued = true;
    const size_t before = ids.size();
    ids.resize(before + looked_up.size());
    if (valued) values.resize(before + looked_up.size());
    size_t i = 0, n = before;
    for (const int64_t end : c.token_ends) {
      for (; i < static_cast<size_t>(end); ++i) {
        ids[n] = looked_up[i];
        if (valued) values[n] = c.values.empty() ? 1.0 : c.values[i];
        n += looked_up[i] >= 0;
      }
      token_ptr.push_back(static_cast<int64_t>(n));
    }
    ids.resize(n);
    if (valued) values.resize(n);
  }

  Interner table_;
  int64_t hash_size_;
};

}  // namespace

void bind_attributes(nb::module_& m) {
  nb::class_<AttributeTable>(m, "AttributeTable")
      .def(nb::init<int64_t>(), "hash_size"_a)
      .def("__len__", &AttributeTable::size)
      .def("encode", &AttributeTable::encode, "sequences"_a, "grow"_a)
      .def("ids", &AttributeTable::ids, "names"_a, "grow"_a)
      .def("name", &AttributeTable::name, "id"_a)
      .def("state", &AttributeTable::state)
      .def("keep", &AttributeTable::keep, "ids"_a)
      .def_static("restore", &AttributeTable::restore, "bytes"_a, "starts"_a, "slots"_a, "hash_size"_a);
  // Slots for keys that lie end to end: what a file without them lacks.
  m.def(
      "string_slots",
      [](In1<uint8_t> bytes, In1<uint32_t> starts) {
        return give(Interner::rebuild(looking_at<char>(bytes), looking_at<uint32_t>(starts)).file_slots());
      },
      "bytes"_a, "starts"_a);
}

}  // namespace fieldcraft::bind

// Features that users wrote in Python -> attribute ids, natively.
//
// A sequence is a list (or any iterable) of items; an item is a str, a list, tuple or set of str, or a dict
// of name -> str | bool | number | list | set | dict. {"k": "v"} is the attribute `k:v`, nesting joins with
// `:`, a number is the attribute's value, True is 1, and 0 and False leave the attribute out.
//
// A sequence is read in three phases, so that the memory behind cold strings arrives while others are worked
// on: collect pointers to the UTF-8 bytes, hash them all and fetch their table slots ahead, probe.
#include <cmath>
#include <stdexcept>

#include "bind/arrays.hpp"
#include "bind/strings.hpp"

namespace fieldcraft::bind {
namespace {

#ifdef Py_LIMITED_API
inline PyObject* list_item(PyObject* list, Py_ssize_t i) { return PyList_GetItem(list, i); }
inline Py_ssize_t list_size(PyObject* list) { return PyList_Size(list); }
inline const char* utf8(PyObject* string, Py_ssize_t* n) { return PyUnicode_AsUTF8AndSize(string, n); }
#else
inline PyObject* list_item(PyObject* list, Py_ssize_t i) { return PyList_GET_ITEM(list, i); }
inline Py_ssize_t list_size(PyObject* list) { return PyList_GET_SIZE(list); }
inline const char* utf8(PyObject* string, Py_ssize_t* n) {
  if (!PyUnicode_IS_COMPACT_ASCII(string)) return PyUnicode_AsUTF8AndSize(string, n);
  *n = PyUnicode_GET_LENGTH(string);
  return reinterpret_cast<const char*>(PyUnicode_1BYTE_DATA(string));
}
#endif

class Collector {
 public:
  std::vector<std::string_view> names;  // of all attributes of the sequence
  std::vector<uint64_t> hashes;
  std::vector<double> values;       // empty while all are 1
  std::vector<int64_t> token_ends;  // number of attributes found up to and with each token

  void sequence(PyObject* items, int64_t index) {
    sequence_ = index;
    token_ = -1;
    names.clear(), values.clear(), token_ends.clear();
    joined_.clear(), joined_at_.clear();
    if (PyUnicode_Check(items) || PyDict_Check(items))
      fail("a sequence must be a list of items (tokens), got " + type_name(items) +
           "; wrap it in a list, or X has one level too few");
    nb::object held;
    if (!PyList_Check(items)) {
      held = nb::steal(PySequence_List(items));
      if (!held.is_valid()) {
        PyErr_Clear();
        fail("a sequence must be a list of items (tokens), got " + type_name(items));
      }
      items = held.ptr();
      keep_.push_back(held);
    }
    const Py_ssize_t n = list_size(items);
    for (token_ = 0; token_ < n; ++token_) {
      if (token_ + 2 < n) prefetch_items(list_item(items, token_ + 2));
      item(list_item(items, token_));
      token_ends.push_back(static_cast<int64_t>(names.size()));
    }
    for (const auto& [at, offset] : joined_at_) names[at] = {joined_.data() + offset, names[at].size()};
    hashes.resize(names.size());
    for (size_t i = 0; i < names.size(); ++i) hashes[i] = hash_bytes(names[i].data(), names[i].size());
  }
  void done() { keep_.clear(); }

  // The first tokens of the sequence to come: they have nothing before them that could fetch them ahead.
  static void prefetch_tokens(PyObject* items) {
    if (items == nullptr || !PyList_Check(items)) return;
    for (Py_ssize_t t = 0; t < std::min<Py_ssize_t>(kFirst, list_size(items)); ++t)
      __builtin_prefetch(list_item(items, t));
  }
  static void prefetch_first_items(PyObject* items) {
    if (items == nullptr || !PyList_Check(items)) return;
    for (Py_ssize_t t = 0; t < std::min<Py_ssize_t>(kFirst, list_size(items)); ++t)
      prefetch_items(list_item(items, t));
  }

 private:
  static std::string type_name(PyObject* object) {
    return nb::cast<std::string>(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(object))).attr("__name__"));
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw std::invalid_argument("sequence " + std::to_string(sequence_) +
                                (token_ >= 0 ? ", token " + std::to_string(token_) : "") + ": " + what);
  }

  std::string_view text(PyObject* string) {
    Py_ssize_t n = 0;
    const char* p = utf8(string, &n);
    if (p == nullptr) {
      PyErr_Clear();
      fail(
          "a feature name is not valid Unicode (it holds a lone surrogate); decode the text with "
          "errors='replace'");
    }
    return {p, static_cast<size_t>(n)};
  }

  void item(PyObject* object) {
    if (PyList_Check(object)) return list(object);
    if (PyUnicode_Check(object)) return add(text(object), 1.0);
    if (PyDict_Check(object)) return dict(object, {});
    if (PyTuple_Check(object) || PyAnySet_Check(object)) return elements(object, {});
    fail("an item must be a str, a list or set of str, or a dict of features, got " + type_name(object) +
         (PyFloat_Check(object) || PyLong_Check(object) ? "; numbers need a name: {'size': 3.5}" : ""));
  }

  static void prefetch_items(PyObject* object) {
    if (!PyList_Check(object)) return;
    const Py_ssize_t n = list_size(object);
    for (Py_ssize_t i = 0; i < n; ++i) {
      const char* string = reinterpret_cast<const char*>(list_item(object, i));
      __builtin_prefetch(string);
      __builtin_prefetch(string + 64);  // the text begins near the end of the first line
    }
  }

  void list(PyObject* object) {
    const Py_ssize_t n = list_size(object);
    const size_t before = names.size();
    names.resize(before + n);
    for (Py_ssize_t i = 0; i < n; ++i) {
      PyObject* name = list_item(object, i);
      if (!PyUnicode_Check(name)) not_a_name(name);
      names[before + i] = text(name);
    }
    if (!values.empty()) values.resize(names.size(), 1.0);
  }

  // Elements of a list, tuple or set: `prefix:element`, or the element alone. Sets have no order that two
  // runs share, so theirs are sorted.
  void elements(PyObject* object, const std::string& prefix) {
    nb::object held = nb::borrow(object);
    if (PyAnySet_Check(object)) {
      for (nb::handle element : held)
        if (!PyUnicode_Check(element.ptr())) not_a_name(element.ptr());
      held = nb::steal(PySequence_List(object));
      if (!held.is_valid() || PyList_Sort(held.ptr()) != 0) nb::raise_python_error();
      keep_.push_back(held);
    }
    for (nb::handle element : held) {
      if (!PyUnicode_Check(element.ptr())) not_a_name(element.ptr());
      if (prefix.empty())
        add(text(element.ptr()), 1.0);
      else
        add_joined(prefix + std::string(text(element.ptr())), 1.0);
    }
  }

  [[noreturn]] void not_a_name(PyObject* object) const {
    const bool deeper = PyList_Check(object) || PyDict_Check(object);
    fail("a list of features must hold str, got " + type_name(object) +
         (deeper ? "; X has one level too many" : "; use str(value), or a dict for numbers"));
  }

  void dict(PyObject* object, const std::string& prefix) {
    PyObject *key, *value;
    Py_ssize_t position = 0;
    while (PyDict_Next(object, &position, &key, &value)) {
      if (!PyUnicode_Check(key))
        fail("a feature name must be a str, got " + type_name(key) + "; use str(name)");
      entry(text(key), value, prefix);
    }
  }

  void entry(std::string_view name, PyObject* value, const std::string& prefix) {
    if (value == Py_True || value == Py_False) return number(name, value == Py_True ? 1.0 : 0.0, prefix);
    if (PyUnicode_Check(value))
      return add_joined(prefix + std::string(name) + ":" + std::string(text(value)), 1.0);
    if (PyFloat_Check(value) || PyLong_Check(value)) return number(name, as_double(value, name), prefix);
    const std::string longer = prefix + std::string(name) + ":";
    if (PyDict_Check(value)) return dict(value, longer);
    if (PyList_Check(value) || PyTuple_Check(value) || PyAnySet_Check(value)) return elements(value, longer);
    if (value != Py_None && PyNumber_Check(value)) return number(name, as_double(value, name), prefix);
    fail("feature '" + std::string(name) + "' has a value of type " + type_name(value) +
         "; allowed are str, bool, int, float, and lists, sets or dicts of them");
  }

  double as_double(PyObject* value, std::string_view name) {
    const double x = PyFloat_AsDouble(value);
    if (PyErr_Occurred()) {
      PyErr_Clear();
      fail("feature '" + std::string(name) +
           "' has a value that is not one number; flatten it or give it as str");
    }
    return x;
  }

  void number(std::string_view name, double value, const std::string& prefix) {
    if (!std::isfinite(value))
      fail("feature '" + prefix + std::string(name) + "' has the value " + std::to_string(value) +
           "; values must be finite: drop the feature or give it a number");
    if (value == 0) return;
    if (prefix.empty())
      add(name, value);
    else
      add_joined(prefix + std::string(name), value);
  }

  void add(std::string_view name, double value) {
    if (value != 1.0 && values.empty()) values.assign(names.size(), 1.0);
    names.push_back(name);
    if (value != 1.0 || !values.empty()) values.push_back(value);
  }
  void add_joined(const std::string& name, double value) {
    joined_at_.emplace_back(names.size(), joined_.size());
    add(name, value);
    joined_ += name;
  }

  static constexpr Py_ssize_t kFirst = 2;  // tokens
  int64_t sequence_ = 0, token_ = -1;
  std::string joined_;                                // names put together here,
  std::vector<std::pair<size_t, size_t>> joined_at_;  // and which they are: attribute, offset
  std::vector<nb::object> keep_;
};

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
      PyObject* next = i + 1 < n ? list_item(sequences.ptr(), i + 1) : nullptr;
      Collector::prefetch_tokens(next);
      collector.sequence(list_item(sequences.ptr(), i), i);
      Collector::prefetch_first_items(next);
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
      table_.shrink();
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
    require(id >= 0 && id < size(),
            [&] { return std::string("attribute id ") + std::to_string(id) + " is out of range"; });
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
    for (size_t i = 0; i < ids.shape(0); ++i) {
      require(ids(i) >= 0 && ids(i) < static_cast<int64_t>(table_.size()), "ids out of range");
      out.table_.intern(table_.key(static_cast<size_t>(ids(i))));
    }
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

  // Ids of all attributes found in a sequence, -1 where unknown.
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
      .def(nb::init<int64_t>(), nb::arg("hash_size"))
      .def("__len__", &AttributeTable::size)
      .def("encode", &AttributeTable::encode, nb::arg("sequences"), nb::arg("grow"))
      .def("ids", &AttributeTable::ids, nb::arg("names"), nb::arg("grow"))
      .def("name", &AttributeTable::name, nb::arg("id"))
      .def("state", &AttributeTable::state)
      .def("keep", &AttributeTable::keep, nb::arg("ids"))
      .def_static("restore", &AttributeTable::restore, nb::arg("bytes"), nb::arg("starts"), nb::arg("slots"),
                  nb::arg("hash_size"));
  // Slots for keys that lie end to end: what a file without them lacks.
  m.def(
      "string_slots",
      [](In1<uint8_t> bytes, In1<uint32_t> starts) {
        return give(Interner::rebuild(looking_at<char>(bytes, 0, bytes.shape(0)),
                                      looking_at<uint32_t>(starts, 0, starts.shape(0)))
                        .file_slots());
      },
      nb::arg("bytes"), nb::arg("starts"));
}

}  // namespace fieldcraft::bind

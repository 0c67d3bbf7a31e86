// Lists of strings <-> numbers: labels, there and back.
#include <atomic>
#include <utility>

#include "bind/arrays.hpp"
#include "bind/plain_reader.hpp"
#include "bind/turns.hpp"
#include "parallel.hpp"

namespace fieldcraft::bind {
namespace {

// Python's search for cycles looks at new lists again and again while many are made, though strings have
// none. Nobody notices the pause: the interpreter lock is kept.
class WithoutCollections {
 public:
  WithoutCollections() : enabled_(PyGC_Disable() != 0) {}
  ~WithoutCollections() {
    if (enabled_) PyGC_Enable();
  }
  WithoutCollections(const WithoutCollections&) = delete;

 private:
  const bool enabled_;
};

// Reads blocks of lists with all threads that are at hand, while the calling one keeps the interpreter lock
// (plain_text.hpp); each block has a table of its own, and these are merged in their order.
class NumberedStrings {
 public:
  // False: there is something else than Python's own lists of strings.
  bool read(PyObject* lists) {
    const Py_ssize_t n = list_size(lists);
    const int n_threads = static_cast<int>(std::min<Py_ssize_t>(Crew::at_hand(), n / kLists + 1));
    const Py_ssize_t window = kLists * kBlocks * n_threads;
    offsets.reserve(static_cast<size_t>(n) + 1);
    for (Py_ssize_t first = 0; first < n; first += window) {
      if (list_size(lists) != n) return false;
      const Py_ssize_t end = std::min(n, first + window);
      std::vector<Block> blocks(static_cast<size_t>((end - first + kLists - 1) / kLists));
      std::atomic<bool> plain{true};
      for_each_task(n_threads, blocks.size(), [&](size_t b, int) {
        const Py_ssize_t from = first + static_cast<Py_ssize_t>(b) * kLists;
        if (!blocks[b].read(lists, from, std::min(end, from + kLists))) plain = false;
      });
      if (!plain) return false;
      for (Block& block : blocks) make_room(block);
      for_each_task(n_threads, blocks.size(), [&](size_t b, int) { place(blocks[b]); });
      if (first == 0) numbers.reserve(numbers.size() / static_cast<size_t>(end) * static_cast<size_t>(n));
      turns_.between([] {});
    }
    return list_size(lists) == n;
  }

  Interner table;
  RawVector<int64_t> offsets{0};
  RawVector<int32_t> numbers;

 private:
  class Block {
   public:
    // On any thread: nothing here but list_item and plain_text touches Python.
    bool read(PyObject* lists, Py_ssize_t first, Py_ssize_t last) {
      for (Py_ssize_t i = first; i < last; ++i) {
        PyObject* const list = list_item(lists, i);
        if (!is_exact(list, PyList_Type)) return false;
        const Py_ssize_t n = list_size(list);
        const size_t before = numbers.size();
        numbers.resize(before + static_cast<size_t>(n));
        for (Py_ssize_t k = 0; k < n; ++k)
          if (!number(list_item(list, k), numbers[before + static_cast<size_t>(k)])) return false;
        ends.push_back(static_cast<int64_t>(numbers.size()));
      }
      return true;
    }

    Interner table;
    RawVector<int32_t> numbers;
    std::vector<int64_t> ends;         // of each list, in them
    std::vector<int32_t> id_of;        // [names of the table] in that of all blocks
    size_t first = 0, first_list = 0;  // where they go

   private:
    // A few objects stand for nearly all labels: those are known by their address, without a look at the
    // text.
    bool number(PyObject* object, int32_t& out) {
      Recent& known =
          recent_[(reinterpret_cast<uintptr_t>(object) * uint64_t{0x9e3779b97f4a7c15}) >> (64 - kBits)];
      if (known.object != object) {
        std::string_view text;
        if (plain_text(object, text, memory_) == Text::foreign) return false;
        known = {object, table.intern(text)};
      }
      out = known.number;
      return true;
    }

    struct Recent {
      PyObject* object = nullptr;
      int32_t number = 0;
    };
    static constexpr int kBits = 7;
    Recent recent_[1 << kBits];
    std::string memory_;
  };

  // In the order of the blocks.
  void make_room(Block& block) {
    block.id_of = table.merge(block.table);
    block.first = numbers.size(), block.first_list = offsets.size();
    numbers.resize(numbers.size() + block.numbers.size());
    offsets.resize(offsets.size() + block.ends.size());
  }
  void place(const Block& block) {
    for (size_t i = 0; i < block.ends.size(); ++i)
      offsets[block.first_list + i] = static_cast<int64_t>(block.first) + block.ends[i];
    for (size_t t = 0; t < block.numbers.size(); ++t)
      numbers[block.first + t] = block.id_of[static_cast<size_t>(block.numbers[t])];
  }

  static constexpr Py_ssize_t kLists = 128, kBlocks = 8;  // of a block; blocks per thread between two turns
  Turns turns_;
};

// The strings of lists as numbers in the order of their first appearance, with the list of them and offsets
// [lists + 1]; None if anything else than Python's own lists of strings is there.
nb::object numbered_strings(const nb::list& lists) {
  NumberedStrings read;
  if (!text_layout.known || !read.read(lists.ptr())) return nb::none();
  nb::list names;
  for (size_t i = 0; i < read.table.size(); ++i) {
    const std::string_view key = read.table.key(i);
    names.append(nb::str(key.data(), key.size()));
  }
  return nb::make_tuple(names, give(std::move(read.numbers)), give(std::move(read.offsets)));
}

// The elements of an array of objects. NumPy would look at what it is given, element by element.
class ObjectArray {
 public:
  ObjectArray(nb::handle array, size_t n) {
    if (PyObject_GetBuffer(array.ptr(), &view_, PyBUF_WRITABLE | PyBUF_ND | PyBUF_FORMAT) != 0)
      nb::raise_python_error();
    const bool objects = std::string_view(view_.format) == "O" && view_.itemsize == sizeof(PyObject*);
    if (objects && view_.ndim == 1 && view_.shape[0] == static_cast<Py_ssize_t>(n)) return;
    PyBuffer_Release(&view_);
    throw std::invalid_argument("an array of " + std::to_string(n) + " objects is needed");
  }
  ~ObjectArray() { PyBuffer_Release(&view_); }
  ObjectArray(const ObjectArray&) = delete;

  void set(size_t i, PyObject* own) {
    PyObject* const before = std::exchange(static_cast<PyObject**>(view_.buf)[i], own);
    Py_XDECREF(before);
  }

 private:
  Py_buffer view_;
};

// The reverse: out[i] <- list i, of names[numbers[t]] for t in offsets[i] .. offsets[i + 1] - 1.
void spell_lists(const nb::list& names, const In1<int32_t>& numbers, const In1<int64_t>& offsets,
                 nb::handle array) {
  check_offsets(offsets, static_cast<int64_t>(numbers.shape(0)), "offsets");
  check_range(numbers, 0, static_cast<int64_t>(nb::len(names)), "numbers");
  std::vector<PyObject*> objects;
  for (nb::handle name : names) objects.push_back(name.ptr());
  const size_t n_lists = offsets.shape(0) - 1;
  ObjectArray out(array, n_lists);
  const WithoutCollections paused;
  const int32_t* number = numbers.data();
  for (size_t i = 0; i < n_lists; ++i) {
    const Py_ssize_t n = static_cast<Py_ssize_t>(offsets.data()[i + 1] - offsets.data()[i]);
    PyObject* const list = PyList_New(n);
    if (list == nullptr) nb::raise_python_error();
    for (Py_ssize_t t = 0; t < n; ++t) {
      PyObject* const name = objects[static_cast<size_t>(*number++)];
      Py_INCREF(name);
      set_new_item(list, t, name);
    }
    out.set(i, list);
  }
}

// 64-bit digests of pieces of bytes, by all threads that are at hand.
nb::object digests(const In1<uint8_t>& bytes) {
  constexpr size_t kPiece = 1 << 16;
  const size_t n = bytes.shape(0);
  const char* const data = reinterpret_cast<const char*>(bytes.data());
  std::vector<uint64_t> out((n + kPiece - 1) / kPiece);
  unlocked([&] {
    for_each_task(Crew::at_hand(), out.size(), [&](size_t p, int) {
      out[p] = hash_long(data + p * kPiece, std::min(kPiece, n - p * kPiece));
    });
  });
  return give(std::move(out));
}

}  // namespace

void bind_string_lists(nb::module_& m) {
  m.def("numbered_strings", &numbered_strings, "lists"_a);
  m.def("spell_lists", &spell_lists, "names"_a, "numbers"_a, "offsets"_a, "out"_a);
  m.def("digests", &digests, "data"_a);
}

}  // namespace fieldcraft::bind

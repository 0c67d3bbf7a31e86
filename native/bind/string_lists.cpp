// Lists of strings <-> numbers: labels, there and back.
#include <atomic>

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
    std::vector<PlainReader> readers(static_cast<size_t>(n_threads));
    for (Py_ssize_t first = 0; first < n; first += window) {
      if (list_size(lists) != n) return false;
      const Py_ssize_t end = std::min(n, first + window);
      std::vector<Block> blocks(static_cast<size_t>((end - first + kLists - 1) / kLists));
      std::atomic<bool> plain{true};
      for_each_task(n_threads, blocks.size(), [&](size_t b, int thread) {
        const Py_ssize_t from = first + static_cast<Py_ssize_t>(b) * kLists;
        if (!blocks[b].read(lists, from, std::min(end, from + kLists), readers[static_cast<size_t>(thread)]))
          plain = false;
      });
      if (!plain) return false;
      for (const Block& block : blocks) append(block);
      turns_.between([] {});
    }
    return list_size(lists) == n;
  }

  Interner table;
  std::vector<int64_t> offsets{0};
  std::vector<int32_t> numbers;

 private:
  struct Block {
    // On any thread: nothing here but list_item and PlainReader touches Python.
    bool read(PyObject* lists, Py_ssize_t first, Py_ssize_t last, PlainReader& reader) {
      for (Py_ssize_t i = first; i < last; ++i) {
        if (i + 1 < last) PlainReader::prefetch_items(list_item(lists, i + 1));
        if (!reader.strings(list_item(lists, i))) return false;
        for (size_t k = 0; k < reader.names.size(); ++k)
          numbers.push_back(table.intern(reader.names[k], reader.hashes[k]));
        ends.push_back(static_cast<int64_t>(numbers.size()));
      }
      return true;
    }
    Interner table;
    std::vector<int32_t> numbers;
    std::vector<int64_t> ends;  // of each list, in them
  };

  void append(const Block& block) {
    const std::vector<int32_t> id_of = table.merge(block.table);
    const int64_t before = offsets.back();
    for (const int64_t end : block.ends) offsets.push_back(before + end);
    for (const int32_t number : block.numbers) numbers.push_back(id_of[static_cast<size_t>(number)]);
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

// The reverse: list i of names[numbers[t]] for t in offsets[i] .. offsets[i + 1] - 1.
nb::list spelled_lists(const nb::list& names, const In1<int32_t>& numbers, const In1<int64_t>& offsets) {
  check_offsets(offsets, static_cast<int64_t>(numbers.shape(0)), "offsets");
  check_range(numbers, 0, static_cast<int64_t>(nb::len(names)), "numbers");
  std::vector<PyObject*> objects;
  for (nb::handle name : names) objects.push_back(name.ptr());
  const size_t n_lists = offsets.shape(0) - 1;
  const WithoutCollections paused;
  nb::list out = nb::steal<nb::list>(PyList_New(static_cast<Py_ssize_t>(n_lists)));
  if (!out.is_valid()) nb::raise_python_error();
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
    set_new_item(out.ptr(), static_cast<Py_ssize_t>(i), list);
  }
  return out;
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
  m.def("spelled_lists", &spelled_lists, "names"_a, "numbers"_a, "offsets"_a);
  m.def("digests", &digests, "data"_a);
}

}  // namespace fieldcraft::bind

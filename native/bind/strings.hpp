// Python strings read in place, and string tables from arrays.
#pragma once

#include <string_view>

#include "bind/arrays.hpp"
#include "interning.hpp"

namespace fieldcraft::bind {

inline std::string where(size_t sequence, size_t token, const std::string& column) {
  return "sequence " + std::to_string(sequence) + ", token " + std::to_string(token) + ", column '" + column +
         "': ";
}

inline std::string_view text_of(PyObject* object, size_t sequence, size_t token, const std::string& column) {
  Py_ssize_t length = 0;
  if (PyUnicode_Check(object)) {
    const char* text = PyUnicode_AsUTF8AndSize(object, &length);
    if (text) return {text, static_cast<size_t>(length)};
    PyErr_Clear();
    throw std::invalid_argument(
        where(sequence, token, column) +
        "the text holds a lone surrogate, which is no character; read the file with its "
        "own encoding or with errors='replace'");
  }
  const nb::str type =
      nb::borrow<nb::str>(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(object))).attr("__name__"));
  throw std::invalid_argument(where(sequence, token, column) + "a token must be text, not " + type.c_str() +
                              "; convert it with str()");
}

// A table of strings as three arrays; many tables lie end to end, `ptr` [tables + 1] says where each begins.
struct StringArrays {
  std::vector<uint8_t> bytes;
  std::vector<uint32_t> starts, slots;  // of each table: keys + 1, and a power of two
  std::vector<int64_t> byte_ptr{0}, start_ptr{0}, slot_ptr{0};

  void add(const Interner& table) {
    bytes.insert(bytes.end(), table.arena().begin(), table.arena().end());
    starts.insert(starts.end(), table.starts().begin(), table.starts().end());
    const std::vector<uint32_t> mine = table.file_slots();
    slots.insert(slots.end(), mine.begin(), mine.end());
    byte_ptr.push_back(static_cast<int64_t>(bytes.size()));
    start_ptr.push_back(static_cast<int64_t>(starts.size()));
    slot_ptr.push_back(static_cast<int64_t>(slots.size()));
  }
};

inline Interner table_over(const In1<uint8_t>& bytes, const In1<uint32_t>& starts,
                           const In1<uint32_t>& slots) {
  return Interner::over(looking_at<char>(bytes, 0, bytes.shape(0)),
                        looking_at<uint32_t>(starts, 0, starts.shape(0)),
                        looking_at<uint32_t>(slots, 0, slots.shape(0)));
}

}  // namespace fieldcraft::bind

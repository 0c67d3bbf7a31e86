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

// Keys `from` .. `to` - 1 of many laid end to end; the offsets are checked by the caller.
inline Interner table_from(const In1<uint8_t>& bytes, const In1<int64_t>& starts, int64_t from, int64_t to) {
  const int64_t base = starts(static_cast<size_t>(from));
  std::vector<int64_t> local;
  for (int64_t i = from; i <= to; ++i) local.push_back(starts(static_cast<size_t>(i)) - base);
  return Interner::restore(reinterpret_cast<const char*>(bytes.data()) + base,
                           static_cast<size_t>(local.back()), local.data(), static_cast<size_t>(to - from));
}

}  // namespace fieldcraft::bind

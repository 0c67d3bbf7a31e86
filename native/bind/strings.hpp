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
        "the text contains a lone surrogate, which is no character; read the file with its "
        "encoding or with errors='replace'");
  }
  const nb::str type =
      nb::borrow<nb::str>(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(object))).attr("__name__"));
  throw std::invalid_argument(where(sequence, token, column) + "a token must be text, not " + type.c_str() +
                              "; convert it with str()");
}

// Arrays of several tables, end to end: elements ptr[i] .. ptr[i + 1] - 1 are those of table i.
template <class T>
struct Joined {
  std::vector<T> values;
  std::vector<int64_t> ptr{0};

  template <class Iterator>
  void add(Iterator begin, Iterator end) {
    values.insert(values.end(), begin, end);
    ptr.push_back(static_cast<int64_t>(values.size()));
  }
};

inline Interner table_over(const In1<uint8_t>& bytes, const In1<uint32_t>& starts,
                           const In1<uint32_t>& slots) {
  return Interner::over(looking_at<char>(bytes), looking_at<uint32_t>(starts), looking_at<uint32_t>(slots));
}

}  // namespace fieldcraft::bind

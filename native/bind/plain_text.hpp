// Python's own strings, lists and dicts read on any thread while the calling thread holds the interpreter
// lock and waits.
//
// No Python code runs then, so nothing changes. A reading thread has no thread state: it may call nothing
// that allocates objects, raises, runs code or touches a reference count. Exact str, list, tuple, dict, float
// and int can be read that way: list and tuple elements and dict entries through functions that only look,
// the text of a str in place: ASCII, or UTF-8 that Python has made already. Other text is encoded here.
//
// Where a str keeps these things is not part of Python's stable interface. It is found out by looking at
// strings made for the purpose when the module is loaded. If anything about them is unexpected, and in
// Pythons without an interpreter lock, `known` is false, and the calling thread reads everything.
#pragma once

#include <cstring>
#include <string>
#include <string_view>

#include "bind/arrays.hpp"

namespace fieldcraft::bind {

template <class T>
T look(const void* object, size_t at) {
  T value;
  std::memcpy(&value, static_cast<const char*>(object) + at, sizeof value);
  return value;
}

struct TextLayout {
  bool known = false;
  // PyObject, length, hash and a word of flags follow one another in every version.
  static constexpr size_t kLength = sizeof(PyObject), kFlags = kLength + 2 * sizeof(Py_ssize_t);
  uint32_t compact = 0, ascii = 0;   // flags: the text follows the head; it is ASCII
  size_t text = 0;                   // where ASCII begins
  size_t utf8_length = 0, utf8 = 0;  // where the length and the address of cached UTF-8 are, for other text

  static TextLayout probe();
};

inline TextLayout text_layout;  // set when the module is made

// A list has its size behind its head, then the address of its items. Where a list made for the purpose has
// not, `known` is false, and Python's functions are called for each item.
struct ListLayout {
  bool known = false;
  static constexpr size_t kSize = sizeof(PyObject), kItems = kSize + sizeof(Py_ssize_t);

  static ListLayout probe();
};

inline ListLayout list_layout;  // set when the module is made

inline PyObject** list_items(PyObject* list) { return look<PyObject**>(list, ListLayout::kItems); }

enum class Text { foreign, in_place, elsewhere };

inline bool is_exact(PyObject* object, const PyTypeObject& type) { return Py_TYPE(object) == &type; }

Text text_beyond_ascii(PyObject* object, uint32_t flags, std::string_view& text, std::string& memory);

// The UTF-8 of an exact str: in place, in the object itself; or elsewhere, where Python has made it, or in
// `memory` if Python has none yet: that needs a copy. Foreign: any other object, and text that has no UTF-8
// (lone surrogates).
inline Text plain_text(PyObject* object, std::string_view& text, std::string& memory) {
  if (!is_exact(object, PyUnicode_Type)) return Text::foreign;
  const uint32_t flags = look<uint32_t>(object, TextLayout::kFlags);
  const uint32_t both = text_layout.ascii | text_layout.compact;
  if ((flags & both) != both) return text_beyond_ascii(object, flags, text, memory);
  text = {reinterpret_cast<const char*>(object) + text_layout.text,
          look<size_t>(object, TextLayout::kLength)};
  return Text::in_place;
}

}  // namespace fieldcraft::bind

// How a str is laid out, found out at run time, and its text.
#include "bind/plain_text.hpp"

#include <bit>

namespace fieldcraft::bind {
namespace {

uint32_t flags_of(PyObject* object) { return look<uint32_t>(object, TextLayout::kFlags); }

nb::object string_of(const std::string& utf8) {
  return nb::steal(PyUnicode_FromStringAndSize(utf8.data(), static_cast<Py_ssize_t>(utf8.size())));
}

const std::string kAscii = "a probe in ASCII", kLatin = "une sonde \xc3\xa9troit",
                  kWide = "\xe6\x8e\xa2 probe beyond", kWidest = "\xf0\x9f\x94\xad probe beyond";

// Strings of many lengths at different addresses: flags that mean nothing are not the same in all of them.
template <class Make>
std::vector<nb::object> samples(const std::string& text, const Make& make) {
  std::vector<nb::object> out;
  for (size_t i = 0; i < 256; ++i) out.push_back(make(string_of(text + std::string(i % 64, 'x'))));
  return out;
}

// The flags that all of the first have and none of the second.
uint32_t distinction(const std::vector<nb::object>& with, const std::vector<nb::object>& without) {
  uint32_t flags = ~uint32_t{0};
  for (const nb::object& string : with) flags &= flags_of(string.ptr());
  for (const nb::object& string : without) flags &= ~flags_of(string.ptr());
  return flags;
}

// A str in ASCII differs from others in one flag. The one before says that the text follows the head, as in
// every str but those of subclasses.
bool find_flags(TextLayout& layout) {
  const nb::object builtins = nb::module_::import_("builtins");
  const nb::object subclass =
      builtins.attr("type")("Probe", nb::make_tuple(builtins.attr("str")), nb::dict());
  const auto itself = [](const nb::object& string) { return string; };
  const auto ascii = samples(kAscii, itself), latin = samples(kLatin, itself);
  const auto other = samples(kAscii, [&](const nb::object& string) { return nb::object(subclass(string)); });
  layout.ascii = distinction(ascii, latin);
  layout.compact = layout.ascii >> 1;
  const uint32_t kept_behind = distinction(ascii, other) & distinction(latin, other);
  return std::has_single_bit(layout.ascii) && (layout.compact & kept_behind) != 0;
}

// Does a str in ASCII look as expected? Interned and short ones may be made in other ways.
bool fits_ascii(const TextLayout& layout, const nb::object& string) {
  Py_ssize_t n = 0;
  const char* text = PyUnicode_AsUTF8AndSize(string.ptr(), &n);
  const uint32_t both = layout.ascii | layout.compact;
  return text == reinterpret_cast<const char*>(string.ptr()) + layout.text &&
         look<Py_ssize_t>(string.ptr(), TextLayout::kLength) == n && (flags_of(string.ptr()) & both) == both;
}

// Does another str look as expected, before and after Python has made its UTF-8?
bool fits_other(const TextLayout& layout, const std::string& utf8) {
  const nb::object string = string_of(utf8);
  const bool empty = look<const char*>(string.ptr(), layout.utf8) == nullptr;
  Py_ssize_t n = 0;
  const char* text = PyUnicode_AsUTF8AndSize(string.ptr(), &n);
  const uint32_t flags = flags_of(string.ptr()) & (layout.ascii | layout.compact);
  return empty && text != nullptr && look<const char*>(string.ptr(), layout.utf8) == text &&
         look<Py_ssize_t>(string.ptr(), layout.utf8_length) == n && flags == layout.compact &&
         look<Py_ssize_t>(string.ptr(), TextLayout::kLength) == PyUnicode_GetLength(string.ptr());
}

bool probed(TextLayout& layout) {
  if (!find_flags(layout)) return false;
  const nb::object first = string_of(kAscii);
  Py_ssize_t n = 0;
  const char* text = PyUnicode_AsUTF8AndSize(first.ptr(), &n);
  layout.text = static_cast<size_t>(text - reinterpret_cast<const char*>(first.ptr()));
  if (layout.text < TextLayout::kFlags + sizeof(uint32_t) || layout.text > 128) return false;
  layout.utf8_length = layout.text;
  layout.utf8 = layout.text + sizeof(Py_ssize_t);
  bool fits = true;
  for (const std::string& ascii : {std::string(), std::string("a"), kAscii, std::string(1000, 'x')})
    fits = fits && fits_ascii(layout, string_of(ascii));
  fits = fits && fits_ascii(layout, nb::steal(PyUnicode_InternFromString("a name of fieldcraft")));
  for (const std::string& other : {kLatin, kWide, kWidest}) fits = fits && fits_other(layout, other);
  return fits;
}

// One character more; false for half of a pair of surrogates.
bool append_utf8(std::string& out, uint32_t c) {
  const auto more = [&](int shift) { out += static_cast<char>(0x80 | (c >> shift & 0x3f)); };
  if (c < 0x80) return out += static_cast<char>(c), true;
  if (c < 0x800) return out += static_cast<char>(0xc0 | c >> 6), more(0), true;
  if (c >= 0xd800 && c < 0xe000) return false;
  if (c < 0x10000) return out += static_cast<char>(0xe0 | c >> 12), more(6), more(0), true;
  return out += static_cast<char>(0xf0 | c >> 18), more(12), more(6), more(0), true;
}

}  // namespace

TextLayout TextLayout::probe() {
  TextLayout layout;
#ifndef Py_GIL_DISABLED
  layout.known = probed(layout);
#endif
  return layout;
}

ListLayout ListLayout::probe() {
  ListLayout layout;
#ifndef Py_GIL_DISABLED
  constexpr size_t kBytes = kItems + 2 * sizeof(Py_ssize_t);  // the last word: how many have room
  const nb::object list_type = nb::borrow(reinterpret_cast<PyObject*>(&PyList_Type));
  if (nb::cast<size_t>(list_type.attr("__basicsize__")) != kBytes) return layout;
  for (const size_t n : {1, 3, 1000}) {
    nb::list sample;
    for (size_t i = 0; i < n; ++i) sample.append(string_of(std::to_string(i)));
    if (look<size_t>(sample.ptr(), kSize) != n || look<size_t>(sample.ptr(), kBytes - sizeof(size_t)) < n)
      return layout;
    for (size_t i = 0; i < n; ++i)
      if (list_items(sample.ptr())[i] != PyList_GetItem(sample.ptr(), static_cast<Py_ssize_t>(i)))
        return layout;
  }
  layout.known = true;
#endif
  return layout;
}

Text text_beyond_ascii(PyObject* object, uint32_t flags, std::string_view& text, std::string& memory) {
  const TextLayout& layout = text_layout;
  if ((flags & layout.compact) == 0) return Text::foreign;
  if (const char* made = look<const char*>(object, layout.utf8)) {
    text = {made, look<size_t>(object, layout.utf8_length)};
    return Text::elsewhere;
  }
  memory.clear();
  const Py_ssize_t n = look<Py_ssize_t>(object, TextLayout::kLength);
  for (Py_ssize_t i = 0; i < n; ++i)
    if (!append_utf8(memory, PyUnicode_ReadChar(object, i))) return Text::foreign;
  text = memory;
  return Text::elsewhere;
}

}  // namespace fieldcraft::bind

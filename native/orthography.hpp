// Spelling of words: functions from an ASCII string to a value, or to nothing.
//
// A function returns true and writes its value to `out`, or returns false: the predicate is false
// and makes no attribute. A predicate that is true writes the empty value. These are fast versions
// of the functions in fieldcraft/features/predicates.py, which document each; a string with a byte
// above 127 never comes here, so upper, lower and digit have their ASCII meaning.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fieldcraft {

using WordFunction = bool (*)(std::string_view word, int argument, std::string& out);

// The function of that name; nullptr if it exists only in Python.
WordFunction word_function(std::string_view name);

struct WordStep {
  WordFunction function;
  int argument;
};

// Applies the steps from first to last; false as soon as one of them is.
bool apply_steps(const std::vector<WordStep>& steps, std::string_view word, std::string& out);

inline bool is_ascii(std::string_view text) {
  for (const char c : text)
    if (static_cast<unsigned char>(c) > 127) return false;
  return true;
}

}  // namespace fieldcraft

// The word functions for ASCII, and the table of their names.
#include "orthography.hpp"

#include <algorithm>
#include <utility>

namespace fieldcraft {
namespace {

bool upper(char c) { return c >= 'A' && c <= 'Z'; }
bool lower(char c) { return c >= 'a' && c <= 'z'; }
bool digit(char c) { return c >= '0' && c <= '9'; }
bool letter(char c) { return upper(c) || lower(c); }
bool punctuation(char c) { return c > ' ' && c < 127 && !letter(c) && !digit(c); }

template <class Test>
bool any(std::string_view w, const Test& test) {
  return std::any_of(w.begin(), w.end(), test);
}
template <class Test>
bool all(std::string_view w, const Test& test) {
  return !w.empty() && std::all_of(w.begin(), w.end(), test);
}

// A predicate as a word function: the empty value where it is true.
template <bool (*Holds)(std::string_view)>
bool predicate(std::string_view w, int, std::string& out) {
  out.clear();
  return Holds(w);
}

bool contains_digit(std::string_view w) { return any(w, digit); }
bool contains_upper(std::string_view w) { return any(w, upper); }
bool contains_hyphen(std::string_view w) { return w.find('-') != w.npos; }
bool contains_period(std::string_view w) { return w.find('.') != w.npos; }
bool contains_punctuation(std::string_view w) { return any(w, punctuation); }
bool is_digits(std::string_view w) { return all(w, digit); }
bool is_upper(std::string_view w) { return any(w, upper) && !any(w, lower); }
bool is_lower(std::string_view w) { return any(w, lower) && !any(w, upper); }
bool is_mixed(std::string_view w) { return any(w, lower) && any(w, upper); }
bool is_capitalised(std::string_view w) { return !w.empty() && upper(w[0]); }
bool is_initial(std::string_view w) { return w.size() == 2 && upper(w[0]) && w[1] == '.'; }

bool is_alphanumeric(std::string_view w) {
  return all(w, [](char c) { return letter(c) || digit(c); }) && any(w, letter) && any(w, digit);
}

bool is_roman(std::string_view w) {
  return all(w, [](char c) { return std::string_view("IVXLCDM").find(c) != std::string_view::npos; });
}

// Upper case starts each run of letters, lower case continues it: str.istitle.
bool is_title(std::string_view w) {
  bool inside = false, cased = false;
  for (const char c : w) {
    if ((upper(c) && inside) || (lower(c) && !inside)) return false;
    inside = letter(c);
    cased |= inside;
  }
  return cased;
}

// ABC or A.B.C. (two letters or more).
bool is_acronym(std::string_view w) {
  if (w.size() >= 2 && all(w, upper)) return true;
  if (w.size() < 4 || w.size() % 2) return false;
  for (size_t i = 0; i < w.size(); i += 2)
    if (!upper(w[i]) || w[i + 1] != '.') return false;
  return true;
}

size_t digits_at(std::string_view w, size_t i) {
  size_t n = 0;
  while (i + n < w.size() && digit(w[i + n])) ++n;
  return n;
}

// [+-] then 12, 1,234 or nothing, then .5 or nothing; at least one digit.
bool is_number(std::string_view w) {
  if (!w.empty() && (w[0] == '+' || w[0] == '-')) w.remove_prefix(1);
  size_t i = digits_at(w, 0);
  const size_t whole = i;
  if (whole >= 1 && whole <= 3)
    while (i < w.size() && w[i] == ',' && digits_at(w, i + 1) == 3) i += 4;
  if (i == w.size()) return whole > 0;
  if (w[i] != '.') return false;
  const size_t part = digits_at(w, i + 1);
  return part > 0 && i + 1 + part == w.size();
}

bool to_lower(std::string_view w, int, std::string& out) {
  out.assign(w);
  for (char& c : out)
    if (upper(c)) c = static_cast<char>(c + 32);
  return true;
}

bool prefix(std::string_view w, int n, std::string& out) {
  out.assign(w.substr(0, static_cast<size_t>(n)));
  return true;
}

bool suffix(std::string_view w, int n, std::string& out) {
  const size_t keep = std::min(w.size(), static_cast<size_t>(n));
  out.assign(w.substr(w.size() - keep));
  return true;
}

bool length(std::string_view w, int, std::string& out) {
  out = std::to_string(w.size());
  return true;
}

// Each character becomes a symbol; a run of one symbol keeps its first `longest`.
std::string symbols(std::string_view w, const char* three, size_t longest) {
  std::string out;
  char last = 0;
  size_t run = 0;
  for (const char c : w) {
    const char symbol = upper(c) ? three[0] : lower(c) ? three[1] : digit(c) ? three[2] : c;
    run = run > 0 && symbol == last ? run + 1 : 1;
    last = symbol;
    if (run <= longest) out.push_back(symbol);
  }
  return out;
}

bool shape(std::string_view w, int, std::string& out) {
  out = symbols(w, "Xxd", 2);
  return true;
}

bool collins(std::string_view w, int, std::string& out) {
  out = symbols(w, "Aa0", 1);
  return true;
}

constexpr std::pair<std::string_view, WordFunction> kFunctions[] = {
    {"lower", to_lower},
    {"prefix", prefix},
    {"suffix", suffix},
    {"length", length},
    {"shape", shape},
    {"collins", collins},
    {"contains_digit", predicate<contains_digit>},
    {"contains_upper", predicate<contains_upper>},
    {"contains_hyphen", predicate<contains_hyphen>},
    {"contains_period", predicate<contains_period>},
    {"contains_punctuation", predicate<contains_punctuation>},
    {"is_digits", predicate<is_digits>},
    {"is_number", predicate<is_number>},
    {"is_alphanumeric", predicate<is_alphanumeric>},
    {"is_roman", predicate<is_roman>},
    {"is_upper", predicate<is_upper>},
    {"is_lower", predicate<is_lower>},
    {"is_mixed", predicate<is_mixed>},
    {"is_title", predicate<is_title>},
    {"is_capitalised", predicate<is_capitalised>},
    {"is_initial", predicate<is_initial>},
    {"is_acronym", predicate<is_acronym>},
};

}  // namespace

WordFunction word_function(std::string_view name) {
  for (const auto& [known, function] : kFunctions)
    if (known == name) return function;
  return nullptr;
}

bool apply_steps(const std::vector<WordStep>& steps, std::string_view word, std::string& out) {
  out.assign(word);
  std::string before;
  for (const WordStep& step : steps) {
    before.swap(out);
    if (!step.function(before, step.argument, out)) return false;
  }
  return true;
}

}  // namespace fieldcraft

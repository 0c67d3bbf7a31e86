// Memory that will be read soon, fetched by loops that mostly wait for other memory.
//
// A loop over a batch of names looks them up in tables, and has time for one more request at each step: it
// calls choose() before the batch and fetch(i) at step i. What comes next is for a subclass to say; without
// one nothing is fetched but this object's own memory.
#pragma once

#include <algorithm>
#include <cstddef>

#include "prefetch.hpp"

namespace fieldcraft {

class Upcoming {
 public:
  static constexpr size_t kBatch = 64;  // steps

  Upcoming() { fill_from(0); }
  Upcoming(const Upcoming&) { fill_from(0); }  // addresses are not copied
  Upcoming& operator=(const Upcoming&) { return *this; }
  virtual ~Upcoming() = default;
  virtual void choose() {}
  FIELDCRAFT_FETCHES void fetch(size_t step) const { fetch(at_[step]); }

 protected:
  FIELDCRAFT_FETCHES static void fetch(const char* memory) {
    __builtin_prefetch(memory);
    __builtin_prefetch(memory + 64);  // the text of a string begins near the end of its first line
  }
  void fill_from(size_t step) { std::fill(at_ + step, at_ + kBatch, reinterpret_cast<const char*>(this)); }

  const char* at_[kBatch];
};

}  // namespace fieldcraft

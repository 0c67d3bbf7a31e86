// How far from one another in memory things are that different threads write again and again.
//
// A line of memory that two cores write in turn goes from one to the other each time, which takes as long as
// hundreds of instructions, and processors fetch lines in pairs.
#pragma once

#include <cstddef>

namespace fieldcraft {

inline constexpr size_t kApart = 128;  // bytes

}  // namespace fieldcraft

// Memory that is asked for before it is needed.
#pragma once

// For functions that do nothing else. Where GCC does not inline one, it takes it for a function without
// effects, and leaves out its calls.
#define FIELDCRAFT_FETCHES [[gnu::always_inline]]

namespace fieldcraft {

// Fetches memory that this thread is about to change.
inline void prefetch_to_write(const void* at) {
#if defined(__x86_64__)
  __asm__ volatile("prefetchw %0" ::"m"(*static_cast<const char*>(at)));  // other processors skip it
#else
  __builtin_prefetch(at, 1);
#endif
}

}  // namespace fieldcraft

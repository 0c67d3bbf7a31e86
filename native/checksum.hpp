// CRC-32C of bytes, by the processor's instruction where there is one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fieldcraft {

uint32_t crc32c(const uint8_t* data, size_t n);

}  // namespace fieldcraft

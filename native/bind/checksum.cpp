// Checksums of files.
#include "checksum.hpp"

#include "bind/arrays.hpp"

namespace fieldcraft::bind {

void bind_checksum(nb::module_& m) {
  m.def(
      "crc32c",
      [](In1<uint8_t> data) {
        nb::gil_scoped_release released;
        return crc32c(data.data(), data.shape(0));
      },
      "data"_a, "The CRC-32C of bytes.");
}

}  // namespace fieldcraft::bind

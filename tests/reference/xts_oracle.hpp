// XTS of consecutive data units as an oracle: libcrypto's EVP unit by unit, the number of each computed bytewise.
#pragma once

#include <cstdint>
#include <vector>

namespace oracle {

using Bytes = std::vector<std::uint8_t>;

/// The 16 little-endian bytes of `number` + `units`, modulo 2^128.
Bytes later_unit(Bytes number, std::uint64_t units);

/// `in` is data units of `unit` bytes, the last maybe shorter but of at least 16; `number` is that of the first, and
/// grows by `step`.
Bytes xts(bool encrypt, const Bytes& key, const Bytes& tweak_key, const Bytes& number, std::size_t unit,
          const Bytes& in, std::uint64_t step = 1);

}  // namespace oracle

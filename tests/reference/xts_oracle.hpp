// Oracle for XTS of consecutive data units: calls libcrypto's EVP for each unit, and computes unit numbers bytewise.
#pragma once

#include <cstdint>
#include <vector>

namespace oracle {

using Bytes = std::vector<std::uint8_t>;

/// Returns the 16 little-endian bytes of `number` + `units`, modulo 2^128.
Bytes later_unit(Bytes number, std::uint64_t units);

/// `in` consists of data units of `unit` bytes. The last unit may be shorter, but has at least 16 bytes. `number` is
/// the first unit's number; numbers grow by `step` per unit.
Bytes xts(bool encrypt, const Bytes& key, const Bytes& tweak_key, const Bytes& number, std::size_t unit,
          const Bytes& in, std::uint64_t step = 1);

}  // namespace oracle

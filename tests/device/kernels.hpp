// Kernels that only call <warpaes/device.cuh>, with wrapper functions that plain C++ can call. Buffers are in host
// memory. Outputs are poisoned before a launch and are followed by a guard. A CUDA error throws std::runtime_error.
#pragma once

#include <cstdint>
#include <vector>

namespace device_test {

using Bytes = std::vector<std::uint8_t>;

/// A kernel's launch parameters, and the offset of its tables in dynamic shared memory.
struct Shape {
    unsigned grid = 2;
    unsigned threads[3] = {64, 1, 1};
    unsigned tables_at = 0;  ///< a multiple of 16
};

/// Returns the reason why no kernel can run here, or null.
const char* no_gpu();
/// Returns the maximum bytes of shared memory per thread block.
unsigned shared_memory();

/// Runs ECB with one key. The host expands the key and passes the schedule as a kernel parameter. `tables` is 1, 2 or
/// 4.
Bytes encrypt(int tables, const Bytes& key, const Bytes& blocks, const Shape& shape = {});
Bytes decrypt(int tables, const Bytes& key, const Bytes& blocks, const Shape& shape = {});
/// Processes block i with key i. The thread expands the key with the tables to encrypt, and with the circuit and an
/// inversion to decrypt.
Bytes encrypt_fresh(int key_bytes, const Bytes& keys, const Bytes& blocks);
Bytes decrypt_fresh(int key_bytes, const Bytes& keys, const Bytes& blocks);

enum class Expansion { host, circuit, tables, inverse_on_host, inverse };
/// Returns the concatenated schedules of many keys. `tables` is used only with Expansion::tables.
Bytes schedules(Expansion how, int tables, int key_bytes, const Bytes& keys);

/// Runs counter_prg on every key. Block j of key i is block blocks * i + j of the result.
Bytes prg(int tables, int key_bytes, int blocks, const Bytes& keys, const Bytes& counter);

/// Runs ctr_stream with one table. Each thread writes `each` blocks. Block k of thread t is block threads * k + t of
/// the result. Thread t begins at first + t * apart.
Bytes ctr(const Bytes& key, const Bytes& counter, std::uint64_t first, std::uint64_t apart, std::uint64_t stride,
          unsigned each, const Shape& shape = {});

enum class Hash { cr, ccr, tccr, matyas_meyer_oseas };
/// Hashes every block with the tweak or key at its index.
Bytes hash(Hash kind, int tables, int key_bytes, const Bytes& keys, const Bytes& blocks, const Bytes& tweaks);

/// Runs bitsliced ECB on a multiple of 1,024 blocks, with the same key for the whole grid or with one of `keys` for
/// each 1,024 blocks.
Bytes encrypt_planes(const Bytes& key, const Bytes& blocks);
Bytes encrypt_planes_per_warp(int key_bytes, const Bytes& keys, const Bytes& blocks);
/// Runs bitsliced CTR on `groups` times 1,024 blocks.
Bytes ctr_planes(const Bytes& key, const Bytes& counter, unsigned groups);

/// Returns the tables in shared memory after load().
Bytes table_bytes(int tables, bool inverse, const Shape& shape);

/// Encrypts one block with AES-128 in the kernel in second_unit.cu, another translation unit that includes the header.
Bytes encrypt_in_second_unit(const Bytes& key, const Bytes& block);

}  // namespace device_test

// Kernels that only call <warpaes/device.cuh>, with functions that plain C++ can call. Buffers are the
// host's; outputs are poisoned before a launch and have a guard after them. A failure of CUDA throws
// std::runtime_error.
#pragma once

#include <cstdint>
#include <vector>

namespace device_test {

using Bytes = std::vector<std::uint8_t>;

/// Launch parameters of a kernel, and the offset of its tables in dynamic shared memory.
struct Shape {
    unsigned grid = 2;
    unsigned threads[3] = {64, 1, 1};
    unsigned tables_at = 0;  ///< a multiple of 16
};

/// The reason why no kernel can run here, or null.
const char* no_gpu();
/// Bytes of shared memory that a block may have.
unsigned shared_memory();

/// ECB with one key; the host expands the key, and the schedule is a kernel parameter. `tables`: 1, 2 or 4.
Bytes encrypt(int tables, const Bytes& key, const Bytes& blocks, const Shape& shape = {});
Bytes decrypt(int tables, const Bytes& key, const Bytes& blocks, const Shape& shape = {});
/// Block i with key i, expanded by the thread: with the tables (one), or the circuit and inverted.
Bytes encrypt_fresh(int key_bytes, const Bytes& keys, const Bytes& blocks);
Bytes decrypt_fresh(int key_bytes, const Bytes& keys, const Bytes& blocks);

enum class Expansion { host, circuit, tables, inverse_on_host, inverse };
/// The schedules of many keys, one after the other. Only Expansion::tables uses `tables`.
Bytes schedules(Expansion how, int tables, int key_bytes, const Bytes& keys);

/// counter_prg of every key: block j of key i is block blocks * i + j.
Bytes prg(int tables, int key_bytes, int blocks, const Bytes& keys, const Bytes& counter);

/// `each` blocks of ctr_stream from each thread, block k of thread t being block threads * k + t of the result.
/// Thread t begins at first + t * apart. One table.
Bytes ctr(const Bytes& key, const Bytes& counter, std::uint64_t first, std::uint64_t apart, std::uint64_t stride,
          unsigned each, const Shape& shape = {});

enum class Hash { cr, ccr, tccr, matyas_meyer_oseas };
/// Every block, with the tweak or the key of its number.
Bytes hash(Hash kind, int tables, int key_bytes, const Bytes& keys, const Bytes& blocks, const Bytes& tweaks);

/// ECB of a multiple of 1,024 blocks by planes; one key for the grid, or one of `keys` for each 1,024 blocks.
Bytes encrypt_planes(const Bytes& key, const Bytes& blocks);
Bytes encrypt_planes_per_warp(int key_bytes, const Bytes& keys, const Bytes& blocks);
/// `groups` times 1,024 blocks of CTR by planes.
Bytes ctr_planes(const Bytes& key, const Bytes& counter, unsigned groups);

/// Shared memory after load(), as much of it as the tables take.
Bytes table_bytes(int tables, bool inverse, const Shape& shape);

/// The kernel of second_unit.cu, another translation unit with the same header: one block with AES-128.
Bytes encrypt_in_second_unit(const Bytes& key, const Bytes& block);

}  // namespace device_test

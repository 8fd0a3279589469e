// warpaes: AES (FIPS 197) for your own CUDA kernels. Header only; it requires only the CUDA toolkit, C++17 or C++20,
// and compute capability 7.5 or newer. Four T-tables need 128 KiB of shared memory, which compute capabilities 8.0, 9.0
// and 10.0 provide.
//
//     #include <warpaes/device.cuh>
//     namespace aes = warpaes::device;
//
//     __global__ void __launch_bounds__(1024) children(const uint4* seeds, uint4* out, unsigned n) {
//         extern __shared__ __align__(16) unsigned char shared[];      // aes::tables<4>::bytes of it
//         const aes::tables<4> t(shared);
//         t.load();                                                    // all threads, once
//         for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
//             uint4 two[2];
//             aes::counter_prg<128>(t, aes::make_key(seeds[i]), make_uint4(0, 0, 0, 0), two);
//             out[2 * i] = two[0], out[2 * i + 1] = two[1];
//         }
//     }
//
// Contents:
//
//   tables<Count>, inverse_tables<Count>   T-tables in shared memory, one copy per bank          device/tables.cuh
//   encrypt_block, decrypt_block           one block with a key schedule                         device/tables.cuh
//   expand_key, invert                     key schedules, on the host or in a thread's registers device/keys.cuh
//   counter_prg                            1, 2 or 4 blocks under a fresh key per thread         device/prg.cuh
//   ctr_stream                             one key, many blocks: each thread's share of CTR      device/prg.cuh
//   hash_cr, hash_ccr, hash_tccr           a block hashed under a fixed, public key              device/hash.cuh
//   matyas_meyer_oseas                     a block hashed under its own key                      device/hash.cuh
//   encrypt_planes, to_planes, …           bitsliced: 32 blocks per thread, no tables            device/bitsliced.cuh
//
// Rules for all functions:
//
//  - A block is a uint4 in memory order: x contains bytes 0 to 3, with byte 0 in its low bits. A 16-byte load therefore
//    reads the input of FIPS 197, and a 16-byte store writes its output. The words of a key have the same byte order.
//  - Constant time: no branch and no address depends on a key or on data, except that a table lookup uses one secret
//    byte as its index. A lane reads only its own bank of shared memory, so a lookup takes one pass for any value of
//    the byte.
//  - The number of key bits is 128, 192 or 256. Any other number does not compile.
//  - Functions are inlined into the calling kernel and keep their state in its registers. The functions themselves are
//    stateless, and every thread may call them at any time. Only load() must be called by all threads of a block
//    together.
//  - Nothing is wiped: the kernel's author is responsible for clearing its registers and shared memory.
//
// Costs are stated in lookups, which are 32-bit reads of shared memory by one lane. A multiprocessor of compute
// capability 8.0 or 9.0 completes 32 lookups per clock, which limits the speed of the T-table functions. docs/device.md
// contains measurements.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <warpaes/device/bitsliced.cuh>
#include <warpaes/device/hash.cuh>
#include <warpaes/device/keys.cuh>
#include <warpaes/device/prg.cuh>
#include <warpaes/device/sbox.cuh>
#include <warpaes/device/tables.cuh>

// warpaes: AES (FIPS 197) for your own CUDA kernels. Header only; it needs the CUDA toolkit and nothing else, C++17 or
// C++20, compute capability 8.0 or newer (the table kind with one or two tables: 7.0).
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
// What there is:
//
//   tables<Count>, inverse_tables<Count>   T-tables in shared memory, every lane in its own bank    device/tables.cuh
//   encrypt_block, decrypt_block           one block with a key schedule                            device/tables.cuh
//   expand_key, invert                     key schedules, on the host or in a thread's registers    device/keys.cuh
//   counter_prg                            a fresh key per thread: 1, 2 or 4 blocks of it           device/prg.cuh
//   ctr_stream                             one key, many blocks: every thread its part of CTR       device/prg.cuh
//   hash_cr, hash_ccr, hash_tccr           a block hashed under a fixed, public key                device/hash.cuh
//   matyas_meyer_oseas                     a block hashed under a key that comes with it            device/hash.cuh
//   encrypt_planes, to_planes, …           32 blocks a thread without tables device/bitsliced.cuh
//
// Rules for all of it:
//
//  - A block is a uint4 in memory order: x holds bytes 0 to 3, byte 0 the lowest. What a kernel reads with a 16-byte
//    load and writes with a 16-byte store is what FIPS 197 calls in and out. Keys are words of the same order.
//  - Constant time: no branch and no address depends on a key or on data, except for the byte of a word by which a lane
//    looks up in its own bank of shared memory; such a lookup takes one pass whatever the byte is.
//  - A number of key bits is 128, 192 or 256. Anything else does not compile.
//  - Functions are inlined into the calling kernel and keep their state in its registers. They have none of their own,
//    and every thread may call them at any time; only load() is for all threads of a block together.
//  - Nothing is wiped: what a kernel leaves in registers and shared memory is for its author to think of.
//
// Costs are given as lookups: 32-bit reads of shared memory by a lane. A multiprocessor of compute capability 8.0
// or 9.0 answers 32 of them a clock, which is what limits the table kind. docs/device.md has measurements.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <warpaes/device/bitsliced.cuh>
#include <warpaes/device/hash.cuh>
#include <warpaes/device/keys.cuh>
#include <warpaes/device/prg.cuh>
#include <warpaes/device/sbox.cuh>
#include <warpaes/device/tables.cuh>

// Many messages in modes where each block depends on the previous one: CBC, CFB and OFB encryption, CMAC, CCM.
//
// A thread processes one message and keeps its round keys in registers, so the messages of a warp may have 32 different
// keys. A warp processes 32 messages of about the same length (the host has sorted the groups), the longest first. An
// atomic counter assigns the messages instead of a fixed schedule, so that the multiprocessors share the work evenly
// for any batch.
//
// If each thread read its own message, every lane would access a different cache line: 32 passes for every load.
// Therefore a warp moves 64 bytes of each of its messages at a time through shared memory, with four lanes per message,
// and loads the next 64 bytes while it encrypts the current 64. Blocks are placed so that neither copying nor
// encrypting causes bank conflicts. The ends of messages, and messages that are not aligned to words, are read and
// written by individual lanes.
#include <span>

#include "aes/cmac.hpp"
#include "cuda/kernels/batch_message.cuh"
#include "cuda/kernels/catalogue.hpp"
#include "cuda/kernels/cipher.cuh"
#include "cuda/kernels/copy_async.cuh"
#include "cuda/kernels/field.cuh"
#include "cuda/kernels/ghash.cuh"
#include "cuda/kernels/wipe.cuh"
#include "cuda/tuning/serial.hpp"

namespace warpaes::cuda {

inline constexpr unsigned stage_blocks = 4;  ///< blocks of each message that are moved at a time
inline constexpr unsigned stage_bytes = warp_lanes * stage_blocks * static_cast<unsigned>(block_bytes);
inline constexpr unsigned serial_stages = 2;
inline constexpr unsigned serial_shared_bytes_per_warp = serial_stages * stage_bytes;

/// Returns the offset of block `block` of message `message` in a stage. Eight lanes that read one block of each of
/// eight messages, or two groups of four lanes that read the four blocks of a message, access eight different groups of
/// four banks.
__device__ __forceinline__ unsigned staged_at(unsigned message, unsigned block) {
    return (message * stage_blocks + (block ^ (message / 2 % stage_blocks))) * static_cast<unsigned>(block_bytes);
}

/// Returns the minimum over the warp. Since 8.0 this is a single instruction. The compiler can assume that all lanes
/// get the same result, so it keeps values derived from it in uniform registers.
__device__ __forceinline__ std::uint32_t least_of_warp(std::uint32_t v) {
#if !defined(WARPAES_SIMT) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    return __reduce_min_sync(full_warp, v);
#else
    for (int lanes = warp_lanes / 2; lanes != 0; lanes /= 2) {
        const std::uint32_t other = __shfl_xor_sync(full_warp, v, lanes);
        v = other < v ? other : v;
    }
    return v;
#endif
}

/// Moves chunk `chunk` of all messages of a warp, `Unit` bytes per lane at a time, by calling `move(message, offset in
/// the stage, address)`. `mine` is where this lane's message begins.
template <unsigned Unit, typename Move>
__device__ __forceinline__ void move_chunk(const void* mine, std::uint32_t chunk, const Move& move) {
    constexpr unsigned row_bytes = stage_blocks * static_cast<unsigned>(block_bytes), row_lanes = row_bytes / Unit;
    const unsigned at = lane_id() % row_lanes * Unit, in_block = at % static_cast<unsigned>(block_bytes);
    const std::uint64_t offset = std::uint64_t{chunk} * row_bytes + at;
#pragma unroll 4
    for (unsigned first = 0; first < warp_lanes; first += warp_lanes / row_lanes) {
        const unsigned message = first + lane_id() / row_lanes;
        move(message, staged_at(message, at / block_bytes) + in_block,
             shuffle(reinterpret_cast<std::uintptr_t>(mine), message) + offset);
    }
}

__device__ __forceinline__ uint4 block_of(const Block& block) {
    return load_block(block.data(), 1);
}

__device__ __forceinline__ uint4 first_bytes(uint4 block, unsigned bytes) {
    std::uint32_t words[4];
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
        const std::uint32_t mask = bytes >= 4 * i + 4 ? ~0u : bytes <= 4 * i ? 0u : (1u << (8 * (bytes - 4 * i))) - 1;
        words[i] = word_of(block, i) & mask;
    }
    return make_uint4(words[0], words[1], words[2], words[3]);
}

/// Encrypts two blocks under the same key. The blocks do not depend on each other, so their latencies overlap.
template <int Rounds, int Tables>
__device__ __forceinline__ void cipher_of_both(const SharedTables<Tables>& t, uint4& a, uint4& b,
                                               const std::uint32_t* keys) {
    a = a ^ make_uint4(keys[0], keys[1], keys[2], keys[3]);
    b = b ^ make_uint4(keys[0], keys[1], keys[2], keys[3]);
#pragma unroll
    for (int r = 1; r < Rounds; ++r) {
        a = cipher_round<false>(t, a, keys + 4 * r);
        b = cipher_round<false>(t, b, keys + 4 * r);
    }
    a = last_round<false>(t, a, keys + 4 * Rounds);
    b = last_round<false>(t, b, keys + 4 * Rounds);
}

/// The state of a lane's message between blocks.
template <Mode M, int Rounds, int Tables>
class SerialChain {
public:
    static constexpr bool has_output = M != Mode::cmac;

    __device__ __forceinline__ SerialChain(const SharedTables<Tables>& tables, const SerialParams& p,
                                           const BatchMessage& m)
        : tables_(tables), decrypts_(p.decrypts != 0 ? ~0u : 0u) {
        const uint4* const slot = m.key_slot();
#pragma unroll
        for (unsigned r = 0; r <= Rounds; ++r) {
            const std::uint32_t* const one = p.batch.round_keys + 4 * r;
            const uint4 k = p.batch.one_key != 0 ? make_uint4(one[0], one[1], one[2], one[3]) : slot[r];
            keys_[4 * r] = k.x;
            keys_[4 * r + 1] = k.y;
            keys_[4 * r + 2] = k.z;
            keys_[4 * r + 3] = k.w;
        }
        const BatchGroup& g = *m.group;
        const std::uint8_t* const iv = g.iv + m.index * g.iv_stride;
        if constexpr (M == Mode::ccm) {
            begin_ccm(g, {iv, g.iv_length}, g.aad + m.index * g.aad_stride);
        } else if constexpr (M != Mode::cmac) {
            chain_ = load_block(iv, 1);
        }
    }

    /// Processes the next block of text and returns the block of output. The first `bytes` bytes (CFB1: bits) of the
    /// text are valid; the rest is zero.
    __device__ __forceinline__ uint4 next(uint4 text, unsigned bytes) {
        if constexpr (M == Mode::cbc || M == Mode::cmac) {
            return chain_ = encrypted(text ^ chain_);
        } else if constexpr (M == Mode::cfb128) {
            return chain_ = encrypted(chain_) ^ text;
        } else if constexpr (M == Mode::ofb) {
            chain_ = encrypted(chain_);
            return chain_ ^ text;
        } else if constexpr (M == Mode::ccm) {
            const uint4 result = text ^ key_stream_;
            uint4 plain = text ^ make_uint4(key_stream_.x & decrypts_, key_stream_.y & decrypts_,
                                            key_stream_.z & decrypts_, key_stream_.w & decrypts_);
            if (bytes < block_bytes) plain = first_bytes(plain, bytes);
            chain_ = chain_ ^ plain;
            key_stream_ = next_counter();
            cipher_of_both<Rounds>(tables_, chain_, key_stream_, keys_);
            return result;
        } else if constexpr (M == Mode::cfb8) {
            return next_bytes(text, bytes);
        } else {
            return next_bits(text, bytes);
        }
    }

    /// CMAC: returns the last block, of `bytes` bytes, padded and masked with its subkey (SP 800-38B, 6.2); the
    /// chaining value is added later. `l` is E(K, 0).
    [[nodiscard]] __device__ __forceinline__ static uint4 last_of_cmac(uint4 text, unsigned bytes, uint4 l) {
        FieldElement subkey = doubled(element_of(l));
        if (bytes == block_bytes) return text ^ block_of(subkey);
        subkey = doubled(subkey);
        const std::uint32_t end = 0x80u << (8 * (bytes % 4));
        return text ^ block_of(subkey) ^
               make_uint4(bytes / 4 == 0 ? end : 0, bytes / 4 == 1 ? end : 0, bytes / 4 == 2 ? end : 0,
                          bytes / 4 == 3 ? end : 0);
    }

    [[nodiscard]] __device__ __forceinline__ uint4 tag() const {
        if constexpr (M == Mode::ccm) return chain_ ^ pad_;
        return chain_;
    }

private:
    [[nodiscard]] __device__ __forceinline__ uint4 encrypted(uint4 block) const {
        return cipher<false, Rounds>(tables_, block, keys_);
    }

    /// Like `doubled` in aes/cmac.hpp.
    [[nodiscard]] __device__ __forceinline__ static FieldElement doubled(FieldElement e) {
        return {(e.high << 1) | (e.low >> 63), (e.low << 1) ^ ((0 - (e.high >> 63)) & 0x87)};
    }

    /// Computes the block that masks the tag, the first block of the key stream, and the MAC of the data before the
    /// text.
    __device__ __forceinline__ void begin_ccm(const BatchGroup& g, std::span<const std::uint8_t> nonce,
                                              const std::uint8_t* aad) {
        counter_ = block_of(ccm_counter0(nonce));
        const CcmAadPrefix prefix = ccm_aad_prefix(g.aad_length);
        const std::uint64_t aad_blocks = (prefix.size + g.aad_length + block_bytes - 1) / block_bytes;
        chain_ = block_of(ccm_b0(nonce, g.aad_length, g.length, g.tag_length));
#pragma unroll 1
        for (std::uint64_t i = 0; i < aad_blocks + 3; ++i) {
            if (i == 2) {
                counter_low_ = join(byte_swap(counter_.z), byte_swap(counter_.w)) + 1;
            } else if (i > 2) {
                chain_ = chain_ ^ aad_block(prefix, aad, g.aad_length, i - 3);
            }
            uint4 block = i == 0   ? counter_
                          : i == 1 ? make_uint4(counter_.x, counter_.y, counter_.z, counter_.w | one_at_end)
                                   : chain_;
            block = encrypted(block);
            if (i == 0) {
                pad_ = block;
            } else if (i == 1) {
                key_stream_ = block;
            } else {
                chain_ = block;
            }
        }
    }

    [[nodiscard]] __device__ __forceinline__ static uint4 aad_block(const CcmAadPrefix& prefix, const std::uint8_t* aad,
                                                                    std::uint64_t aad_bytes, std::uint64_t block) {
        std::uint32_t words[4] = {};
#pragma unroll
        for (unsigned i = 0; i < block_bytes; ++i) {
            const std::uint64_t at = block * block_bytes + i;
            std::uint32_t byte = 0;
            if (at < prefix.size) {
                byte = prefix.bytes[i % 10];
            } else if (at - prefix.size < aad_bytes) {
                byte = aad[at - prefix.size];
            }
            words[i / 4] |= byte << (8 * (i % 4));
        }
        return make_uint4(words[0], words[1], words[2], words[3]);
    }

    [[nodiscard]] __device__ __forceinline__ uint4 next_counter() {
        ++counter_low_;
        return make_uint4(counter_.x, counter_.y, byte_swap(static_cast<std::uint32_t>(counter_low_ >> 32)),
                          byte_swap(static_cast<std::uint32_t>(counter_low_)));
    }

    __device__ __forceinline__ uint4 next_bytes(uint4 text, unsigned bytes) {
        uint4 out{};
        const auto shift = [](uint4 v, std::uint32_t next) {
            return make_uint4(__funnelshift_r(v.x, v.y, 8), __funnelshift_r(v.y, v.z, 8), __funnelshift_r(v.z, v.w, 8),
                              __funnelshift_r(v.w, next, 8));
        };
#pragma unroll 1
        for (unsigned i = 0; i < bytes; ++i) {
            const std::uint32_t byte = (encrypted(chain_).x ^ text.x) & 0xff;
            text = shift(text, 0);
            out = shift(out, byte);
            chain_ = shift(chain_, byte);
        }
#pragma unroll 1
        for (unsigned i = bytes; i < block_bytes; ++i) out = shift(out, 0);
        return out;
    }

    __device__ __forceinline__ uint4 next_bits(uint4 text, unsigned bits) {
        const auto swapped = [](uint4 v) {
            return make_uint4(byte_swap(v.x), byte_swap(v.y), byte_swap(v.z), byte_swap(v.w));
        };
        const auto shift = [](uint4 v, std::uint32_t next) {
            return make_uint4(__funnelshift_l(v.y, v.x, 1), __funnelshift_l(v.z, v.y, 1), __funnelshift_l(v.w, v.z, 1),
                              v.w << 1 | next);
        };
        uint4 in = swapped(text), out{}, chain = swapped(chain_);
#pragma unroll 1
        for (unsigned i = 0; i < bits; ++i) {
            const std::uint32_t bit = ((encrypted(swapped(chain)).x >> 7) ^ (in.x >> 31)) & 1;
            in = shift(in, 0);
            out = shift(out, bit);
            chain = shift(chain, bit);
        }
#pragma unroll 1
        for (unsigned i = bits; i < 8 * block_bytes; ++i) out = shift(out, 0);
        chain_ = swapped(chain);
        return swapped(out);
    }

    static constexpr std::uint32_t one_at_end = 1u << 24;

    const SharedTables<Tables>& tables_;
    std::uint32_t keys_[4 * (Rounds + 1)];
    std::uint32_t decrypts_;
    uint4 chain_{};
    // CCM
    uint4 counter_{}, key_stream_{}, pad_{};
    std::uint64_t counter_low_ = 0;
};

template <Mode M, int Rounds, int Tables>
__device__ __forceinline__ void run_serial_warp(const SharedTables<Tables>& tables, const SerialParams& p,
                                                unsigned char* stages, std::uint64_t first) {
    constexpr std::uint64_t unit = M == Mode::cfb1 ? 8 * block_bytes : block_bytes;  // a block; CFB1: in bits
    const unsigned lane = lane_id();
    const std::uint64_t left = p.batch.messages - first;
    const unsigned present = left < warp_lanes ? static_cast<unsigned>(left) : warp_lanes;
    const bool mine = lane < present;
    // Lanes without a message read the last message and write nothing.
    const BatchMessage m(p.batch, first + (mine ? lane : present - 1));
    const BatchGroup& g = *m.group;
    const std::uint8_t* const in = g.input + m.index * g.input_stride;
    std::uint8_t* const out = g.output + m.index * g.output_stride;
    const std::uint64_t length = g.length;

    using Chain = SerialChain<M, Rounds, Tables>;
    Chain chain(tables, p, m);

    std::uint64_t done = 0;  // blocks
    if constexpr (M != Mode::cfb8 && M != Mode::cfb1) {
        // CMAC treats its last block separately.
        const std::uint64_t whole = M == Mode::cmac ? (length == 0 ? 0 : (length - 1) / unit) : length / unit;
        constexpr std::uint64_t most = ~std::uint32_t{0};
        const std::uint64_t wanted = whole / stage_blocks;
        const std::uint32_t alignment = least_of_warp(p.staged != 0 ? g.alignment : 1);
        const std::uint32_t chunks =
            alignment < 4 ? 0 : least_of_warp(static_cast<std::uint32_t>(wanted < most ? wanted : most));
        const auto fetch = [&](std::uint32_t chunk) {
            unsigned char* const stage = stages + chunk % serial_stages * stage_bytes;
            if (alignment == block_bytes) {
                move_chunk<16>(in, chunk, [&](unsigned, unsigned at, std::uintptr_t from) {
                    copy_async_16(stage + at, reinterpret_cast<const std::uint8_t*>(from));
                });
            } else {
                move_chunk<4>(in, chunk, [&](unsigned, unsigned at, std::uintptr_t from) {
                    copy_async_4(stage + at, reinterpret_cast<const std::uint8_t*>(from));
                });
            }
        };
        if (chunks != 0) fetch(0);
        copy_async_commit();
#pragma unroll 1
        for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
            if (chunk + 1 < chunks) fetch(chunk + 1);
            copy_async_commit();
            copy_async_wait<1>();
            __syncwarp();
            unsigned char* const stage = stages + chunk % serial_stages * stage_bytes;
#pragma unroll 1
            for (unsigned i = 0; i < stage_blocks; ++i) {
                auto* const at = reinterpret_cast<uint4*>(stage + staged_at(lane, i));
                const uint4 result = chain.next(*at, block_bytes);
                if (Chain::has_output) *at = result;
            }
            __syncwarp();
            if constexpr (Chain::has_output) {
                const auto store = [&]<typename T>(T, unsigned message, unsigned at, std::uintptr_t to) {
                    if (message < present) *reinterpret_cast<T*>(to) = *reinterpret_cast<const T*>(stage + at);
                };
                if (alignment == block_bytes) {
                    move_chunk<16>(out, chunk, [&](auto... where) { store(uint4{}, where...); });
                } else {
                    move_chunk<4>(out, chunk, [&](auto... where) { store(std::uint32_t{}, where...); });
                }
                __syncwarp();
            }
        }
        done = std::uint64_t{chunks} * stage_blocks;
    }

    [[maybe_unused]] Stretch wrong;
    if (mine) {
        const std::uint64_t blocks = M == Mode::cmac && length == 0 ? 1 : length / unit + (length % unit != 0 ? 1 : 0);
#pragma unroll 1
        for (; done < blocks; ++done) {
            const std::uint64_t here = length - done * unit;
            const unsigned size = here < unit ? static_cast<unsigned>(here) : static_cast<unsigned>(unit);
            const unsigned bytes = M == Mode::cfb1 ? (size + 7) / 8 : size;
            const std::uint8_t* const from = in + done * block_bytes;
            uint4 text = bytes == block_bytes ? load_block(from, g.alignment) : load_tail(from, bytes);
            if constexpr (M == Mode::cmac) {
                if (done + 1 == blocks) text = Chain::last_of_cmac(text, bytes, m.key_slot()[key_slot_h]);
            }
            const uint4 result = chain.next(text, size);
            if constexpr (Chain::has_output) {
                if (bytes == block_bytes) {
                    store_block(out + done * block_bytes, result, g.alignment);
                } else {
                    store_tail(out + done * block_bytes, result, bytes);
                }
            }
        }
        if constexpr (uses_tag(M)) {
            if (!settle_tag(m, chain.tag(), p.decrypts != 0) && Chain::has_output) wrong = {out, length};
        }
    }
    // Each message was encrypted by one thread, so the time that a warp needs to wipe 32 messages is negligible.
    if constexpr (uses_tag(M) && Chain::has_output) wipe_stretches(wrong);
    __syncwarp();
}

template <Mode M, int Rounds, int Tables>
__global__ void __launch_bounds__(SerialBatchShape::most_threads, 1)
    serial_batch_kernel(const __grid_constant__ SerialParams p) {
    const SharedTables<Tables> tables;
    tables.fill(te0_table);
    const unsigned warp = least_of_warp(threadIdx.x / warp_lanes);
    if (warp >= p.warps) return;
    unsigned char* const stages = dynamic_shared() + table_bytes<Tables> + warp * serial_shared_bytes_per_warp;

    // The first 32 messages of each warp are fixed. Otherwise the multiprocessor that starts first would claim the
    // longest messages.
    const auto all = static_cast<std::uint32_t>((p.batch.messages + warp_lanes - 1) / warp_lanes);
    for (std::uint32_t next = blockIdx.x + warp * gridDim.x; next < all;) {
        run_serial_warp<M, Rounds>(tables, p, stages, std::uint64_t{next} * warp_lanes);
        std::uint32_t ticket = ~0u;
        if (lane_id() == 0) ticket = static_cast<std::uint32_t>(atomicAdd(p.batch.ticket, 1ull));
        next = gridDim.x * p.warps + least_of_warp(ticket);
    }
    if (p.staged != 0) {
        // The stages contain plaintext.
        for (unsigned at = lane_id() * 16; at < serial_shared_bytes_per_warp; at += warp_lanes * 16) {
            *reinterpret_cast<uint4*>(stages + at) = make_uint4(0, 0, 0, 0);
        }
    }
}

Kernel<SerialParams> serial_batch_kernel_for(Mode mode, int rounds, int tables) {
    return with_rounds_and_tables(rounds, tables, [&]<int Rounds, int Tables>() -> Kernel<SerialParams> {
        switch (mode) {
        case Mode::cbc:
            return &serial_batch_kernel<Mode::cbc, Rounds, Tables>;
        case Mode::cfb128:
            return &serial_batch_kernel<Mode::cfb128, Rounds, Tables>;
        case Mode::cfb8:
            return &serial_batch_kernel<Mode::cfb8, Rounds, Tables>;
        case Mode::cfb1:
            return &serial_batch_kernel<Mode::cfb1, Rounds, Tables>;
        case Mode::ofb:
            return &serial_batch_kernel<Mode::ofb, Rounds, Tables>;
        case Mode::ccm:
            return &serial_batch_kernel<Mode::ccm, Rounds, Tables>;
        default:
            return &serial_batch_kernel<Mode::cmac, Rounds, Tables>;
        }
    });
}

}  // namespace warpaes::cuda

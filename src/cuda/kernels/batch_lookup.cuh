// Finds the message to which a unit of work belongs, and the round keys if each message has its own key.
#pragma once

#include "aes/types.hpp"
#include "cuda/kernels/batch_params.cuh"
#include "cuda/kernels/cipher.cuh"
#include "cuda/kernels/memory.cuh"

namespace warpaes::cuda {

/// Returns the last group whose `First` in `array` is at most `at`. `array` has one element per group.
template <auto First, typename Element>
__device__ __forceinline__ std::uint32_t find_in(const Element* array, std::uint32_t groups, std::uint64_t at) {
    std::uint32_t low = 0, high = groups;
    while (high - low > 1) {
        const std::uint32_t middle = low + (high - low) / 2;
        if (array[middle].*First <= at) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

template <std::uint64_t BatchGroup::*First, typename Params>
__device__ inline std::uint32_t find_group(const Params& p, std::uint64_t at) {
    return find_in<First>(p.groups, p.group_count, at);
}

/// Like find_in(), but searches from `group`, which begins at or before `at`.
template <std::uint64_t BatchGroup::*First, typename Params>
__device__ __forceinline__ std::uint32_t walk_to_group(const Params& p, std::uint32_t group, std::uint64_t at) {
    while (group + 1 < p.group_count && p.groups[group + 1].*First <= at) ++group;
    return group;
}

/// Returns a value that is the same in all lanes of the warp, in a way that the compiler recognizes: it then keeps the
/// value, and parameters that it loads with it, in uniform registers.
template <typename T>
__device__ __forceinline__ T same_in_warp(T value) {
    return __shfl_sync(full_warp, value, 0);
}

/// Round keys that are the same for all messages: constant-bank operands.
struct SharedKey {
    const std::uint32_t* words;
    __device__ __forceinline__ const std::uint32_t* round(int r, std::uint32_t (&)[4]) const { return words + 4 * r; }
};

/// Round keys of one message, in a slot in device memory.
struct SlotKey {
    const uint4* slot;
    __device__ __forceinline__ const std::uint32_t* round(int r, std::uint32_t (&buffer)[4]) const {
        const uint4 k = slot[r];
        buffer[0] = k.x;
        buffer[1] = k.y;
        buffer[2] = k.z;
        buffer[3] = k.w;
        return buffer;
    }
};

/// Round keys of one of a few keys that are kernel parameters. A load from the constant bank occupies neither the
/// load-store unit, which the lookups use, nor registers beyond the round.
struct FewKey {
    const FewKeys& keys;
    std::uint32_t number;
    __device__ __forceinline__ const std::uint32_t* round(int r, std::uint32_t (&buffer)[4]) const {
        const uint4 k = *reinterpret_cast<const uint4*>(&keys.words[number][4 * r]);
        buffer[0] = k.x;
        buffer[1] = k.y;
        buffer[2] = k.z;
        buffer[3] = k.w;
        return buffer;
    }
};

/// Round keys of a slot, starting at `First`, kept in registers for many blocks. Reading a round key for all lanes
/// takes four passes of the load-store unit, as many as four lookups. Registers suffice for ten round keys; for
/// AES-256, two more are read from the slot every time.
template <int Rounds, int First>
struct RegisterKey {
    static constexpr int end = Rounds < First + 10 ? Rounds + 1 : First + 10;
    SlotKey rest;
    std::uint32_t words[4 * (end - First)];
    __device__ __forceinline__ explicit RegisterKey(const SlotKey& key) : rest(key) {
#pragma unroll
        for (int r = First; r < end; ++r) {
            std::uint32_t buffer[4];
            const std::uint32_t* k = key.round(r, buffer);
#pragma unroll
            for (int i = 0; i < 4; ++i) words[4 * (r - First) + i] = k[i];
        }
    }
    __device__ __forceinline__ const std::uint32_t* round(int r, std::uint32_t (&buffer)[4]) const {
        return r < end ? words + 4 * (r - First) : rest.round(r, buffer);
    }
};

/// Returns the source of the keys for the rounds from `First`, for many blocks.
template <int Rounds, int First>
__device__ __forceinline__ SharedKey at_hand(const SharedKey& key) {
    return key;
}
template <int Rounds, int First>
__device__ __forceinline__ FewKey at_hand(const FewKey& key) {
    return key;
}
template <int Rounds, int First>
__device__ __forceinline__ RegisterKey<Rounds, First> at_hand(const SlotKey& key) {
    return RegisterKey<Rounds, First>(key);
}

/// The locations of the keys of a batch's messages, with one type for each kind of batch. `at` returns the key of a
/// message, and `kept` returns the part that a thread keeps between messages.
struct FromOneKey {
    static constexpr bool in_registers = false;
    const BatchParams& p;
    __device__ __forceinline__ SharedKey at(const BatchGroup&, std::uint64_t) const { return {p.round_keys}; }
};

struct FromFewKeys {
    static constexpr bool in_registers = false;
    const FewKeys& keys;
    __device__ __forceinline__ FewKey at(const BatchGroup& group, std::uint64_t) const {
        return {keys, group.key_number};
    }
};

struct FromSlots {
    static constexpr bool in_registers = true;
    __device__ __forceinline__ SlotKey at(const BatchGroup& group, std::uint64_t message) const {
        return {global(group.keys) + message * group.key_stride};
    }
};

/// All round keys of the messages that a thread processes one after another, for kernels that cannot determine the next
/// key in advance. They stay in registers until a message has a different key.
template <int Rounds, typename Keys>
class KeptKey {
public:
    __device__ __forceinline__ explicit KeptKey(const Keys&) {}
    __device__ __forceinline__ void take(const BatchGroup& group, std::uint64_t message) {
        const SlotKey key = FromSlots{}.at(group, message);
        if (key.slot == of_) return;
        of_ = key.slot;
#pragma unroll
        for (int r = 0; r <= Rounds; ++r) {
            std::uint32_t buffer[4];
            const std::uint32_t* k = key.round(r, buffer);
#pragma unroll
            for (int i = 0; i < 4; ++i) words_[4 * r + i] = k[i];
        }
    }
    __device__ __forceinline__ const std::uint32_t* round(int r, std::uint32_t (&)[4]) const {
        return words_ + 4 * r;
    }

private:
    const uint4* of_ = nullptr;
    std::uint32_t words_[4 * (Rounds + 1)] = {};
};

template <int Rounds>
class KeptKey<Rounds, FromOneKey> : public SharedKey {
public:
    __device__ __forceinline__ explicit KeptKey(const FromOneKey& keys) : SharedKey{keys.p.round_keys} {}
    __device__ __forceinline__ void take(const BatchGroup&, std::uint64_t) {}
};

template <int Rounds>
class KeptKey<Rounds, FromFewKeys> : public FewKey {
public:
    __device__ __forceinline__ explicit KeptKey(const FromFewKeys& keys) : FewKey{keys.keys, 0} {}
    __device__ __forceinline__ void take(const BatchGroup& group, std::uint64_t) { number = group.key_number; }
};

template <bool OneKey>
__device__ __forceinline__ auto keys_of(const BatchParams& p) {
    if constexpr (OneKey) {
        return FromOneKey{p};
    } else {
        return FromSlots{};
    }
}

template <bool OneKey>
using KeyOf = std::conditional_t<OneKey, SharedKey, SlotKey>;

template <bool OneKey>
__device__ __forceinline__ KeyOf<OneKey> key_of(const BatchParams& p, const BatchGroup& group, std::uint64_t message) {
    return keys_of<OneKey>(p).at(group, message);
}

/// Applies rounds `First` to `Rounds`, like rounds_from().
template <bool Inverse, int Rounds, int First, int Tables, typename Key>
__device__ __forceinline__ uint4 rounds_with(const SharedTables<Tables>& t, uint4 s, const Key& key) {
    std::uint32_t buffer[4];
#pragma unroll
    for (int r = First; r < Rounds; ++r) s = cipher_round<Inverse>(t, s, key.round(r, buffer));
    return last_round<Inverse>(t, s, key.round(Rounds, buffer));
}

template <bool Inverse, int Rounds, int Tables, typename Key>
__device__ __forceinline__ uint4 cipher_with(const SharedTables<Tables>& t, uint4 block, const Key& key) {
    std::uint32_t buffer[4];
    const std::uint32_t* k = key.round(0, buffer);
    const uint4 whitened = block ^ make_uint4(k[0], k[1], k[2], k[3]);
    return rounds_with<Inverse, Rounds, 1>(t, whitened, key);
}

/// Loads a block of unknown alignment.
__device__ __forceinline__ uint4 load_block(const std::uint8_t* p) {
    return load_block(p, alignment_of(p, p));
}

__device__ __forceinline__ uint4 load_iv(const BatchGroup& group, std::uint64_t message) {
    return load_block(global(group.iv) + message * group.iv_stride);
}

/// A message's 12-byte nonce, followed by `counter` (SP 800-38D, 7.1, step 2).
__device__ __forceinline__ uint4 nonce_block(const BatchGroup& group, std::uint64_t message, std::uint32_t counter) {
    const std::uint8_t* iv = global(group.iv) + message * group.iv_stride;
    const std::uint32_t alignment = alignment_of(iv, iv);
    uint4 block{};
    std::uint32_t* const words[3] = {&block.x, &block.y, &block.z};
#pragma unroll
    for (unsigned i = 0; i < 3; ++i) {
        *words[i] = alignment >= 4 ? reinterpret_cast<const std::uint32_t*>(iv)[i] : load_word_bytewise(iv + 4 * i);
    }
    block.w = byte_swap(counter);
    return block;
}

/// Like xor_partial_block, but word by word if the alignment permits.
__device__ inline void xor_partial_block(std::uint8_t* out, const std::uint8_t* in, uint4 key_stream, unsigned bytes,
                                         std::uint32_t alignment) {
    unsigned at = 0;
    if (alignment >= 4) {
#pragma unroll 1
        for (; at + 4 <= bytes; at += 4) {
            *reinterpret_cast<std::uint32_t*>(out + at) =
                *reinterpret_cast<const std::uint32_t*>(in + at) ^ word_of(key_stream, at / 4);
        }
    }
#pragma unroll 1
    for (; at < bytes; ++at) {
        out[at] = static_cast<std::uint8_t>(in[at] ^ (word_of(key_stream, at / 4) >> (8 * (at % 4))));
    }
}

}  // namespace warpaes::cuda

// The interface that every backend implements, and its two main types: keys and groups of messages.
//
// A backend processes blocks, modes and memory, but not file formats, padding or messages that arrive in pieces.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aes/first_round.hpp"
#include "aes/ghash.hpp"
#include "aes/key_schedule.hpp"
#include "aes/types.hpp"
#include "backend/gpu_memory.hpp"
#include "backend/group.hpp"
#include "backend/short.hpp"
#include "base/pool.hpp"
#include "base/secret.hpp"

namespace warpaes {

/// An AES key, expanded once for both directions. Immutable; wiped on destruction.
class ExpandedKey {
public:
    /// `key` must have 16, 24 or 32 bytes; otherwise throws Error{KEY_LENGTH}.
    explicit ExpandedKey(std::span<const std::uint8_t> key);
    /// Uses a hash subkey other than E(K, 0). Such a key may be used only on CPU lanes and for hashing.
    ExpandedKey(std::span<const std::uint8_t> key, FieldElement hash_subkey);
    ExpandedKey(const ExpandedKey&) = delete;
    ExpandedKey& operator=(const ExpandedKey&) = delete;
    ~ExpandedKey();

    /// A number that is unique among all keys of this process, past and present.
    [[nodiscard]] std::uint64_t serial() const noexcept { return serial_; }
    [[nodiscard]] int rounds() const noexcept { return rounds_; }
    [[nodiscard]] unsigned bits() const noexcept { return static_cast<unsigned>(32 * (rounds_ - 6)); }
    [[nodiscard]] std::span<const std::uint8_t> bytes() const noexcept {
        return {bytes_->data(), static_cast<std::size_t>(4 * (rounds_ - 6))};
    }
    /// Round keys of the cipher (FIPS 197, 5.1).
    [[nodiscard]] const RoundKeys& encrypt() const noexcept { return *encrypt_; }
    /// Round keys of the equivalent inverse cipher (FIPS 197, 5.3.5).
    [[nodiscard]] const RoundKeys& decrypt() const noexcept { return *decrypt_; }
    /// The round keys that the mode uses in this direction.
    [[nodiscard]] const RoundKeys& round_keys(Mode mode, Direction direction) const noexcept {
        return uses_inverse_cipher(mode, direction) ? decrypt() : encrypt();
    }
    [[nodiscard]] bool has_own_hash_subkey() const noexcept { return has_own_hash_subkey_; }
    /// The GHASH tables of this key, created on first use. Thread-safe.
    [[nodiscard]] const HashKey& hash_key() const {
        if (!hash_key_ready_.load(std::memory_order_acquire)) make_hash_key_once();
        return *hash_key_;
    }
    /// Returns hash_key() if it already exists, or if the key has processed enough text to justify computing it;
    /// otherwise null. Counts `bytes`, which are about to be processed.
    [[nodiscard]] const HashKey* hash_key_if_worth(std::uint64_t bytes) const {
        if (!hash_key_ready_.load(std::memory_order_acquire) && count_text(bytes) < worth_a_hash_key) return nullptr;
        return &hash_key();
    }
    /// The first-round table for counter blocks, created on first use: 4 KiB that few keys need. Thread-safe.
    [[nodiscard]] const FirstRound& first_round() const {
        if (!first_round_ready_.load(std::memory_order_acquire)) make_first_round_once();
        return **first_round_;
    }

    /// Returns first_round() if the table already exists, or if the key has processed enough text to justify computing
    /// it, which takes more than a microsecond; otherwise null. Counts `bytes`, which are about to be processed.
    [[nodiscard]] const FirstRound* first_round_if_worth(std::uint64_t bytes) const {
        if (!first_round_ready_.load(std::memory_order_acquire) && count_text(bytes) < worth_a_first_round)
            return nullptr;
        return &first_round();
    }

    /// Prefetches the round keys and, for GCM, the powers of H for messages of `blocks` blocks. The keys of a batch's
    /// next entries are rarely in the first-level cache.
    void prefetch(Mode mode, std::uint64_t blocks) const noexcept {
        constexpr std::size_t line = 64;
        const auto load = [](const void* first, std::size_t bytes) {
            for (std::size_t at = 0; at < bytes; at += line) __builtin_prefetch(static_cast<const char*>(first) + at);
        };
        load(&*encrypt_, sizeof(RoundKeys) + line);
        if (mode != Mode::gcm) return;
        const std::size_t skip = HashKey::count - std::min<std::uint64_t>(blocks, HashKey::count);
        const std::size_t bytes = sizeof hash_key_->descending[0] * (HashKey::count - skip);
        load(&hash_key_->descending[skip], bytes);
        load(&hash_key_->folded[skip], bytes);
        load(&hash_key_ready_, 1);
    }

    /// Data that a backend derives from the key: created by T::make(key, result) on first use and kept with the key.
    /// Thread-safe. All calls must use the same type, because a key stores only one derived value, which only the CUDA
    /// backend uses.
    template <typename T>
    [[nodiscard]] const T& derived() const {
        if (!derived_ready_.load(std::memory_order_acquire)) {
            std::call_once(derived_made_, [this] {
                auto made = std::make_shared<Secret<T>>();
                T::make(*this, **made);
                derived_ = std::move(made);
                derived_ready_.store(true, std::memory_order_release);
            });
        }
        return **static_cast<const Secret<T>*>(derived_.get());
    }

private:
    /// Computing the powers of H takes as long as hashing a few kilobytes without them.
    static constexpr std::uint64_t worth_a_hash_key = 8192;
    /// The table saves 0.002 ns per byte (Zen 5).
    static constexpr std::uint64_t worth_a_first_round = std::uint64_t{1} << 20;

    /// Adds `bytes` to the amount of text that the key has processed, and returns the sum. The sum need not be exact:
    /// concurrent additions may be lost.
    std::uint64_t count_text(std::uint64_t bytes) const {
        const std::uint64_t sum = text_bytes_.load(std::memory_order_relaxed) + bytes;
        text_bytes_.store(sum, std::memory_order_relaxed);
        return sum;
    }
    void make_hash_key_once() const;
    void make_first_round_once() const;

    std::uint64_t serial_;
    int rounds_;
    bool has_own_hash_subkey_ = false;
    Secret<std::array<std::uint8_t, 32>> bytes_;
    Secret<RoundKeys> encrypt_;
    Secret<RoundKeys> decrypt_;
    Secret<Block>
        own_hash_subkey_;  // stored as a block, because g++ 12 warns of an overflow when a FieldElement is wiped
    // std::call_once costs more than a short message's tag, even if the value already exists, so a flag is tested
    // first.
    mutable std::atomic<bool> hash_key_ready_{false}, first_round_ready_{false}, derived_ready_{false};
    mutable std::atomic<std::uint64_t> text_bytes_{0};
    mutable std::once_flag hash_key_made_;
    mutable Secret<HashKey> hash_key_;
    mutable std::once_flag first_round_made_;
    mutable std::unique_ptr<const Secret<FirstRound>> first_round_;
    mutable std::once_flag derived_made_;
    mutable std::shared_ptr<const void> derived_;
};

/// Registers `forget`, which is called with the serial number of every key that is destroyed, so that a backend that
/// keeps copies of keys can discard them. Only one backend can register.
void when_key_ends(void (*forget)(std::uint64_t serial)) noexcept;

/// A worker's part of a backend: staging memory, and for a GPU a device and a stream. Used by one thread at a time.
class Lane {
public:
    virtual ~Lane() = default;
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;

    /// The staging buffers for input and output, each of the size with which the lane was opened. They are page-locked
    /// for a GPU, wiped when the lane is closed, and empty if the lane was opened with 0 bytes.
    [[nodiscard]] virtual std::span<std::uint8_t> input_staging() noexcept = 0;
    [[nodiscard]] virtual std::span<std::uint8_t> output_staging() noexcept = 0;

    /// Processes all messages of all groups, in any order; outputs, tags and failures are complete on return. Groups
    /// read and write host memory, which is pageable unless the group is `direct`; a CUDA lane also accepts memory of
    /// its own device.
    virtual void run(std::span<const MessageGroup> groups) = 0;
    void run(const MessageGroup& group) { run({&group, 1}); }
    /// Processes groups in host memory that have the form of `form`, which has a key for all messages and is not itself
    /// processed. `form.failed`, if not null, is the byte of the first message of the first group; the bytes of all
    /// messages follow.
    virtual void run_alike(const MessageGroup& form, std::span<const AlikeGroup> groups);

    /// Overwrites the first `bytes` bytes of both staging buffers, and all data of earlier runs on a device.
    virtual void wipe_staging(std::size_t bytes) noexcept {
        wipe(input_staging().first(bytes));
        wipe(output_staging().first(bytes));
    }

    /// CUDA device number, or -1.
    [[nodiscard]] virtual int device() const noexcept { return -1; }

protected:
    Lane() = default;
};

/// Nominal properties of a GPU, used to estimate costs before a calibration; 0 means unknown.
struct GpuSpeed {
    int compute_capability = 0;  ///< 90 for 9.0
    double clock = 0;            ///< multiprocessor clock, in Hz
    double memory = 0;           ///< bytes per second
    bool tensor_cores = true;    ///< whether tensor cores compute GHASH for long messages
};

struct BackendInfo {
    std::string name;
    std::string description;
    std::string reason;  ///< why the backend or device cannot run on this machine; empty if it can
    int device = -1;
    int multiprocessors = 0;
    std::uint64_t memory_bytes = 0;
    GpuSpeed speed{};
    bool gpu = false;  ///< Backend::is_gpu() of the backend
    [[nodiscard]] bool usable() const noexcept { return reason.empty(); }
};

/// A stretch of a GCM-SIV message (RFC 8452), under the keys derived from its nonce. The data is in host memory, except
/// on a GPU.
struct GcmSivRun {
    const ExpandedKey* key;  ///< its hash subkey is POLYVAL's subkey, converted for GHASH (aes/gcm_siv.hpp)
    Block counter;           ///< the first counter block
    const std::uint8_t* input;
    std::uint8_t* output;  ///< equal to the input or disjoint from it; null: the input is only hashed
    std::uint64_t bytes;
    Block* digest;  ///< receives the GHASH digest of this stretch only, computed over the output if there is one; null:
                    ///< no digest
};
using GcmSivFunction = void (*)(const GcmSivRun&);

class Backend {
public:
    virtual ~Backend() = default;
    Backend(const Backend&) = delete;
    Backend& operator=(const Backend&) = delete;

    [[nodiscard]] virtual std::string_view name() const noexcept = 0;
    /// A CPU backend has one entry. A CUDA backend has one entry per device, or a single entry that states why there is
    /// no device.
    [[nodiscard]] virtual const std::vector<BackendInfo>& info() const noexcept = 0;
    [[nodiscard]] bool usable() const noexcept { return info().front().usable(); }
    /// Whether the backend's devices are GPUs, which have their own memory.
    [[nodiscard]] virtual bool is_gpu() const noexcept { return false; }

    /// `device` is a CUDA device number; CPU backends ignore it. `staging_bytes` is the size of each staging buffer.
    /// `pool` provides threads that help to prepare very many messages, or is null; it must outlive the lane.
    /// Thread-safe. Throws Error{OUT_OF_MEMORY}, Error{DEVICE_MEMORY} or Error{DEVICE}.
    [[nodiscard]] virtual std::unique_ptr<Lane> open_lane(int device, std::size_t staging_bytes,
                                                          Pool* pool = nullptr) = 0;

    /// Returns the function that processes short messages of this mode without a lane, for keys of `rounds` rounds;
    /// null if a lane is at least as good. The function records all of the stack that it uses. In a parallel direction,
    /// the function never fails, except in the libcrypto backend, because libcrypto allocates memory.
    [[nodiscard]] virtual ShortFunction short_function(Mode /*mode*/, Direction /*direction*/,
                                                       int /*rounds*/) const noexcept {
        return nullptr;
    }

    /// Returns the function that processes GCM-SIV stretches without a lane; null if ECB and GHASH on a lane are at
    /// least as fast.
    [[nodiscard]] virtual GcmSivFunction gcm_siv_function() const noexcept { return nullptr; }

protected:
    Backend() = default;
};

/// Uses libcrypto's EVP interface. Available everywhere; the other CPU backends also use it for serial modes.
Backend& libcrypto_backend();
/// AES-NI with 128-bit registers.
Backend& aesni_backend();
/// VAES, with 512-bit registers if the CPU has AVX-512, otherwise with 256-bit registers.
Backend& vaes_backend();
/// Throws Error{BACKEND} if WARPAES_VECTOR_BITS, which limits the register width of the VAES backend, has an unknown
/// value.
void check_vector_bits();
/// The AES and PMULL instructions of 64-bit Arm.
Backend& armv8_backend();

}  // namespace warpaes

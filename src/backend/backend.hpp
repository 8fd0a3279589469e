// The one interface that every backend implements, and the two notions it speaks in: a key and a group of messages.
//
// A backend knows blocks, modes and memory; it knows no file format, no padding and no message that arrives in pieces.
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
#include "backend/group.hpp"
#include "backend/short.hpp"
#include "base/pool.hpp"
#include "base/secret.hpp"

namespace warpaes {

/// A key, expanded once for both directions. Immutable; wipes itself.
class ExpandedKey {
public:
    /// `key`: 16, 24 or 32 bytes; throws Error{KEY_LENGTH} otherwise.
    explicit ExpandedKey(std::span<const std::uint8_t> key);
    /// The same with another hash subkey than E(K, 0). For CPU lanes, and to hash alone.
    ExpandedKey(std::span<const std::uint8_t> key, FieldElement hash_subkey);
    ExpandedKey(const ExpandedKey&) = delete;
    ExpandedKey& operator=(const ExpandedKey&) = delete;
    ~ExpandedKey();

    /// No other key of this process has or had it.
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
    /// What the mode takes in this direction.
    [[nodiscard]] const RoundKeys& round_keys(Mode mode, Direction direction) const noexcept {
        return uses_inverse_cipher(mode, direction) ? decrypt() : encrypt();
    }
    /// Whether its hash subkey is another than E(K, 0).
    [[nodiscard]] bool has_own_hash_subkey() const noexcept { return has_own_hash_subkey_; }
    /// What GHASH needs of this key; made when first asked for. Thread-safe.
    [[nodiscard]] const HashKey& hash_key() const {
        if (!hash_key_ready_.load(std::memory_order_acquire)) make_hash_key_once();
        return *hash_key_;
    }
    /// The same for counter blocks; 4 KiB that few need.
    [[nodiscard]] const FirstRound& first_round() const {
        if (!first_round_ready_.load(std::memory_order_acquire)) make_first_round_once();
        return **first_round_;
    }

    /// The same if the key has been used for so much that its making, more than a microsecond, has paid: `bytes` more
    /// are on their way. Null if it has not.
    [[nodiscard]] const FirstRound* first_round_if_worth(std::uint64_t bytes) const {
        if (!first_round_ready_.load(std::memory_order_acquire)) {
            // Whoever counts at the same time may be forgotten.
            const std::uint64_t sum = text_bytes_.load(std::memory_order_relaxed) + bytes;
            text_bytes_.store(sum, std::memory_order_relaxed);
            if (sum < worth_a_first_round) return nullptr;
            make_first_round_once();
        }
        return &**first_round_;
    }

private:
    /// A fiftieth of a nanosecond is gained with every ten bytes (Zen 5).
    static constexpr std::uint64_t worth_a_first_round = std::uint64_t{1} << 20;

    void make_hash_key_once() const;
    void make_first_round_once() const;

    std::uint64_t serial_;
    int rounds_;
    bool has_own_hash_subkey_ = false;
    Secret<std::array<std::uint8_t, 32>> bytes_;
    Secret<RoundKeys> encrypt_;
    Secret<RoundKeys> decrypt_;
    Secret<Block> own_hash_subkey_;  // as a block: of the element g++ 12 thinks that its wiping is too long
    // std::call_once costs more than a short message's tag, even when all is done.
    mutable std::atomic<bool> hash_key_ready_{false}, first_round_ready_{false};
    mutable std::atomic<std::uint64_t> text_bytes_{0};
    mutable std::once_flag hash_key_made_;
    mutable Secret<HashKey> hash_key_;
    mutable std::once_flag first_round_made_;
    mutable std::unique_ptr<const Secret<FirstRound>> first_round_;
};

/// Calls `forget` with the serial number of every key that is destroyed from now on: for a backend that keeps copies.
/// Only one can ask for it.
void when_key_ends(void (*forget)(std::uint64_t serial)) noexcept;

/// Where a buffer lies.
enum class Memory { pageable, page_locked, device };

/// A worker's own share of a backend: staging memory, and for a GPU a device and a stream. One thread at a time.
class Lane {
public:
    virtual ~Lane() = default;
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;

    /// Staging of the size that the lane was opened with, `input` and `output` apart; page-locked for a GPU. Wiped when
    /// the lane is closed. Empty if it was opened with 0 bytes.
    [[nodiscard]] virtual std::span<std::uint8_t> input_staging() noexcept = 0;
    [[nodiscard]] virtual std::span<std::uint8_t> output_staging() noexcept = 0;

    /// All messages of all groups, in any order; outputs, tags and failures are complete on return. What a group reads
    /// and writes is host memory, pageable where it is not `direct`; a CUDA lane takes memory of its own device too.
    virtual void run(std::span<const MessageGroup> groups) = 0;
    void run(const MessageGroup& group) { run({&group, 1}); }

    /// Overwrites the first `bytes` of both stagings, and what a device holds of any run.
    virtual void wipe_staging(std::size_t bytes) noexcept {
        wipe(input_staging().first(bytes));
        wipe(output_staging().first(bytes));
    }

    /// CUDA device number, or -1.
    [[nodiscard]] virtual int device() const noexcept { return -1; }

protected:
    Lane() = default;
};

/// A backend or one of its devices, as this machine sees it.
struct BackendInfo {
    std::string name;
    std::string description;
    std::string reason;  ///< why it cannot run here; empty if it can
    int device = -1;
    int multiprocessors = 0;
    std::uint64_t memory_bytes = 0;
    [[nodiscard]] bool usable() const noexcept { return reason.empty(); }
};

/// A stretch of a message of GCM-SIV (RFC 8452), under the keys of its nonce; in host memory, but for a GPU.
struct GcmSivRun {
    const ExpandedKey* key;  ///< its hash subkey is POLYVAL's, as GHASH takes it (aes/gcm_siv.hpp)
    Block counter;           ///< the first counter block
    const std::uint8_t* input;
    std::uint8_t* output;  ///< equal to the input or disjoint; null: the input is only hashed
    std::uint64_t bytes;
    Block* digest;  ///< of this stretch alone, as GHASH gives it: of the output, where there is one; null: none
};
using GcmSivFunction = void (*)(const GcmSivRun&);

class Backend {
public:
    virtual ~Backend() = default;
    Backend(const Backend&) = delete;
    Backend& operator=(const Backend&) = delete;

    [[nodiscard]] virtual std::string_view name() const noexcept = 0;
    /// One entry; a CUDA backend: one per device, or one that says why there is none.
    [[nodiscard]] virtual const std::vector<BackendInfo>& info() const noexcept = 0;
    [[nodiscard]] bool usable() const noexcept { return info().front().usable(); }

    /// `device`: a CUDA device number; CPU backends ignore it. `staging_bytes`: see Lane::input_staging.
    /// `pool`, which must outlive the lane: who helps with making very many messages ready; or null. Thread-safe.
    /// Throws Error{OUT_OF_MEMORY, DEVICE_MEMORY, DEVICE}.
    [[nodiscard]] virtual std::unique_ptr<Lane> open_lane(int device, std::size_t staging_bytes,
                                                          Pool* pool = nullptr) = 0;

    /// What does short messages of this mode with keys of so many rounds without a lane; null if there is nothing
    /// better than a lane. It notes all of the stack that it uses. Never fails for want of anything, if the direction
    /// is parallel.
    [[nodiscard]] virtual ShortFunction short_function(Mode /*mode*/, Direction /*direction*/,
                                                       int /*rounds*/) const noexcept {
        return nullptr;
    }

    /// Null: there is nothing better than ECB and GHASH on a lane.
    [[nodiscard]] virtual GcmSivFunction gcm_siv_function() const noexcept { return nullptr; }

protected:
    Backend() = default;
};

/// Calls into libcrypto's EVP. Everywhere; the serial modes of the other CPU backends too.
Backend& libcrypto_backend();
/// AES-NI, 128-bit registers.
Backend& aesni_backend();
/// VAES: 512-bit registers where the CPU has AVX-512, else 256-bit.
Backend& vaes_backend();
/// AES and PMULL of 64-bit Arm.
Backend& armv8_backend();

}  // namespace warpaes

// The one interface that every backend implements, and the two notions it speaks in: a key and a run.
//
// A backend knows blocks, modes and memory; it knows no file format, no padding and no message that arrives in pieces.
#pragma once

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
#include "backend/batch.hpp"
#include "base/secret.hpp"

namespace warpaes {

/// A key, expanded once for both directions. Immutable; wipes itself.
class ExpandedKey {
public:
    /// `key`: 16, 24 or 32 bytes; throws Error{KEY_LENGTH} otherwise.
    explicit ExpandedKey(std::span<const std::uint8_t> key);
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
    /// What GHASH needs of this key; made when first asked for. Thread-safe.
    [[nodiscard]] const HashKey& hash_key() const;
    /// The same for counter blocks; 4 KiB that few need.
    [[nodiscard]] const FirstRound& first_round() const;

private:
    std::uint64_t serial_;
    int rounds_;
    Secret<std::array<std::uint8_t, 32>> bytes_;
    Secret<RoundKeys> encrypt_;
    Secret<RoundKeys> decrypt_;
    mutable std::once_flag hash_key_made_;
    mutable Secret<HashKey> hash_key_;
    mutable std::once_flag first_round_made_;
    mutable std::unique_ptr<const Secret<FirstRound>> first_round_;
};

/// Calls `forget` with the serial number of every key that is destroyed from now on: for a backend that keeps copies.
/// Only one can ask for it.
void when_key_ends(void (*forget)(std::uint64_t serial)) noexcept;

/// A stretch of one message, processed in one go: `length` bytes from `input` to `output`, which are equal or disjoint.
///
/// ECB and CBC: whole blocks. CTR, OFB, CFB128: any length, but a stretch that does not end on a block boundary is the
/// last one of its message. CFB8: any number of bytes. CFB1: `length` counts bits; full bytes unless it is the last.
struct Run {
    Mode mode;
    Direction direction;
    const ExpandedKey* key;
    const std::uint8_t* input;
    std::uint8_t* output;
    std::uint64_t length;
    /// Chaining value before the first block: IV, counter, or previous ciphertext (for CFB8 and CFB1 the shift
    /// register). A run does not change it: see `chain_after`. XTS: the first data unit's tweak before its encryption,
    /// a little-endian number that grows by one from unit to unit (IEEE 1619, 5.1).
    Block chain;
    /// XTS: the key that encrypts the tweaks, and the bytes of a data unit. The run is whole units, of which the last
    /// of a message may be shorter; none is shorter than 16 bytes.
    const ExpandedKey* tweak_key = nullptr;
    std::uint64_t data_unit = 0;
};

/// AES-GCM (SP 800-38D) under one key: `count` segments at equal distances, each a message of its own; or with
/// `count` = 1 a stretch of one message, or only its authentication.
///
/// GHASH is linear: the sum over the blocks of a message can be cut anywhere, each part starting from zero, and put
/// together as `part * H^(blocks after it)`. So a stretch yields the digest of its own ciphertext, padded with zeros to
/// whole blocks, and whoever cut the message adds the digests up (aes/ghash.hpp).
struct GcmRun {
    Direction direction;
    const ExpandedKey* key;
    const std::uint8_t* input;
    /// Equal to `input` (then with equal strides) or disjoint. Null, where digests are wanted: `input` is only hashed,
    /// as associated data is; `j0` is then ignored.
    std::uint8_t* output;
    std::uint64_t count = 1;
    std::uint64_t segment_bytes = 0;  ///< plaintext of every segment but the last
    std::uint64_t last_bytes = 0;     ///< of the last, at most segment_bytes
    /// From the beginning of a segment to that of the next; at least segment_bytes. What lies between the segments of
    /// the output may be overwritten.
    std::uint64_t input_stride = 0;
    std::uint64_t output_stride = 0;
    /// The pre-counter block J0 (SP 800-38D, 7.1) of every segment, in host memory.
    const Block* j0 = nullptr;
    /// Block of the message that a stretch begins with: its first counter is inc32 applied 1 + first_block times to J0.
    std::uint64_t first_block = 0;
    /// Whether all know the last four bytes of J0, as they do if IVs have 12 bytes. Those of other IVs come from H: on
    /// a CPU no branch and no address may depend on their counters.
    bool public_counters = false;

    /// What `results` receives for every segment: the digest described above, or the tag of a whole message, 16 bytes.
    enum class Result { digest, tag } result = Result::digest;
    /// For tags: the digest of the associated data, which is the same for all segments, and its length.
    Block aad_digest{};
    std::uint64_t aad_bytes = 0;
    /// `count` blocks in host memory; for CudaBackend::run_gcm_async memory that the device can write. Decryption
    /// hashes its input and writes the tag that the message should have: comparing is the caller's.
    Block* results = nullptr;

    [[nodiscard]] std::uint64_t total_bytes() const noexcept {
        return count == 0 ? 0 : (count - 1) * segment_bytes + last_bytes;
    }
    /// The tag of an empty message needs no output either.
    [[nodiscard]] bool hashes_only() const noexcept { return output == nullptr && result == Result::digest; }
};

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

    /// Runs it and returns when the output is complete. Staging or any other host memory will do; for a CUDA lane
    /// page-locked memory copies fastest and memory of its own device is used as it lies.
    virtual void run(const Run& run) = 0;
    /// The same for GCM; results included.
    virtual void run_gcm(const GcmRun& run) = 0;
    /// All messages, in any order; outputs, tags and failures are complete on return.
    virtual void run_batch(std::span<const MessageGroup> groups);

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
    /// Thread-safe. Throws Error{OUT_OF_MEMORY, DEVICE_MEMORY, DEVICE}.
    [[nodiscard]] virtual std::unique_ptr<Lane> open_lane(int device, std::size_t staging_bytes) = 0;

protected:
    Backend() = default;
};

/// Calls into libcrypto's EVP. Everywhere; the serial modes of the other CPU backends too.
Backend& libcrypto_backend();
/// AES-NI, 128-bit registers.
Backend& aesni_backend();
/// VAES: 512-bit registers where the CPU has AVX-512, else 256-bit.
Backend& vaes_backend();

}  // namespace warpaes

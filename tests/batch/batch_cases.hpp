// Batches of messages with expected results, for all code that runs batches: the backends' lanes, and the library
// through its ABI.
//
// Each group has its own poisoned memory, and the test checks every byte of it after the run. The check detects writes
// to gaps between messages, to inputs, and to the bytes after a short tag.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "backend/backend.hpp"
#include "memory.hpp"

namespace warpaes::test {

/// Uses SplitMix64, because seeding a Mersenne twister takes longer than most messages.
class QuickGenerator {
public:
    using result_type = std::uint32_t;
    explicit QuickGenerator(std::uint64_t seed) : state_(seed) {}
    static constexpr result_type min() { return 0; }
    static constexpr result_type max() { return ~result_type{0}; }
    result_type operator()() {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return static_cast<result_type>((z ^ (z >> 31)) >> 32);
    }

private:
    std::uint64_t state_;
};

/// Random numbers from any source, such as a generator, which is held by reference, or a fuzzer's input.
class Random {
public:
    template <std::uniform_random_bit_generator Generator>
    Random(Generator& generator) : next_([&generator] { return static_cast<std::uint32_t>(generator()); }) {}
    explicit Random(std::function<std::uint32_t()> next) : next_(std::move(next)) {}

    std::uint32_t operator()() { return next_(); }
    std::uint64_t below(std::uint64_t bound) { return next_() % bound; }
    bool chance(unsigned percent) { return below(100) < percent; }
    std::vector<std::uint8_t> bytes(std::size_t n);

private:
    std::function<std::uint32_t()> next_;
};

/// A few keys per length, shared by consecutive batches, so that cached key material is reused in other modes and
/// directions.
class KeyPool {
public:
    static constexpr unsigned keys_each = 3;

    /// Makes `each` keys of each length.
    explicit KeyPool(std::uint32_t seed, unsigned each = keys_each);
    [[nodiscard]] const ExpandedKey& key(std::size_t bytes, unsigned number) const { return *place(bytes, number); }
    [[nodiscard]] bool owns(const ExpandedKey& key) const;
    /// Replaces a key with a different key, or with a new key that has the same bytes.
    void renew(std::size_t bytes, unsigned number, Random random);
    void make_again(std::size_t bytes, unsigned number);

private:
    [[nodiscard]] const std::unique_ptr<const ExpandedKey>& place(std::size_t bytes, unsigned number) const {
        return keys_[(bytes - 16) / 8 * each_ + number % each_];
    }
    unsigned each_;
    std::vector<std::unique_ptr<const ExpandedKey>> keys_;
};

/// Returns a pool that the whole process shares and that is never modified.
KeyPool& shared_keys();

/// The shape of a group of messages. The contents come from a seed.
struct GroupSpec {
    Mode mode = Mode::ecb;
    Direction direction = Direction::encrypt;
    std::size_t key_bytes = 16;
    std::uint64_t count = 1;
    std::uint64_t length = 0;  ///< in bytes; for CFB1, in bits
    std::uint32_t iv_length = 16;
    std::uint64_t aad_length = 0;
    std::uint32_t tag_length = 16;
    std::uint64_t data_unit = 512;  ///< XTS
    std::uint64_t unit_step = 1;

    bool in_place = false;
    bool raw_keys = false;   ///< key bytes for each message, instead of one key for all messages
    bool shared_iv = false;  ///< stride 0, as for the fields below
    bool shared_aad = false;
    bool shared_key = false;     ///< for raw keys
    bool shared_input = false;   ///< not for authenticated decryption
    bool null_if_empty = false;  ///< null pointers to empty parts
    bool reports = true;         ///< whether the group has an array `failed`
    unsigned wrong_tags = 0;     ///< percentage of messages with a wrong tag, for decryption
    std::size_t gap = 0;         ///< bytes between messages, and between their IVs, tags and other parts
    std::size_t shift = 0;       ///< bytes before the first message
    /// Index of the pool's key. Without it, a random key of the pool, or sometimes another. Not for raw keys.
    std::optional<unsigned> key = std::nullopt;
    std::optional<unsigned> tweak_key = std::nullopt;  ///< the same for XTS's second key, only together with `key`
};

std::ostream& operator<<(std::ostream& out, const GroupSpec& spec);

/// A batch in memory of the caller's choice, which must outlive the batch.
class BatchCase {
public:
    /// Inputs and outputs are in the memory `text`; keys, IVs, associated data and tags are in `rest`. `failed` is
    /// always in host memory.
    BatchCase(std::span<const GroupSpec> specs, std::uint32_t seed, BatchMemory& text = guarded_memory(),
              BatchMemory& rest = guarded_memory(), const KeyPool& pool = shared_keys());
    BatchCase(const BatchCase&) = delete;
    BatchCase& operator=(const BatchCase&) = delete;
    ~BatchCase();

    [[nodiscard]] std::span<const MessageGroup> groups() const noexcept { return groups_; }
    /// Returns the faults that a run caused, or "".
    [[nodiscard]] std::string complaints() const;
    /// Returns the messages of group `index` that must not be authentic.
    [[nodiscard]] std::uint64_t false_messages(std::size_t index) const;
    /// Returns whether the memory of group `index` contains a block of plaintext from a message with a tag.
    [[nodiscard]] bool shows_plaintext(std::size_t index) const;
    /// Blocks that only the caller's memory may contain: text, raw keys that are not in the pool, the H of these keys,
    /// and, for XTS, the encrypted first tweak of each message.
    using Blocks = std::vector<Block>;
    [[nodiscard]] Blocks blocks_of_texts() const;
    [[nodiscard]] Blocks blocks_of_keys() const;

private:
    struct Group;
    std::vector<std::unique_ptr<Group>> owned_;
    std::vector<MessageGroup> groups_;
};

using RunGroups = std::function<void(std::span<const MessageGroup>)>;

/// Builds a batch, runs it, and adds a test failure for every fault.
void check_batch(const RunGroups& run, std::span<const GroupSpec> specs, std::uint32_t seed,
                 BatchMemory& text = guarded_memory(), BatchMemory& rest = guarded_memory());

/// Bounds of random groups.
struct Limits {
    std::uint64_t count = 40;
    std::uint64_t length = 4100;  ///< bytes
    std::uint64_t aad = 300;
};

/// Returns all modes that batches support.
std::span<const Mode> batch_modes();
const char* batch_mode_name(Mode mode);

/// Returns a random group. Its messages are preferably empty or short, or their lengths are near a block boundary.
GroupSpec random_group(Random random, Mode mode, Direction direction, const Limits& limits = {});
/// Returns random groups of any modes.
std::vector<GroupSpec> random_batch(Random random, std::size_t groups, const Limits& limits = {});

}  // namespace warpaes::test

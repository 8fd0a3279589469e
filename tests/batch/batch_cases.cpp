#include "batch_cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <sstream>

#include "evp_oracle.hpp"

namespace warpaes::test {

namespace {

using oracle::Bytes;

constexpr std::uint8_t poison = 0xa5;

/// Part of a BatchMemory, with its contents before and after the run.
class Arena {
public:
    explicit Arena(BatchMemory& memory) : memory_(memory) {}
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;
    ~Arena() {
        if (data_ != nullptr) memory_.release(data_, before.size());
    }

    /// Adds `count` pieces at equal distances and returns the position of the first piece. No gap follows the last
    /// piece.
    std::size_t reserve(std::size_t lead, std::uint64_t count, std::size_t bytes, std::size_t stride) {
        const std::size_t first = before.size() + lead;
        before.resize(count == 0 ? first : first + (count - 1) * stride + bytes, poison);
        return first;
    }
    /// Allocates the memory. Afterwards, no piece can be added.
    void allocate() {
        if (before.empty()) before.push_back(poison);
        data_ = memory_.allocate(before.size());
    }
    [[nodiscard]] std::uint8_t* at(std::size_t offset) const { return data_ + offset; }
    void put(std::size_t offset, const Bytes& bytes) {
        std::copy(bytes.begin(), bytes.end(), before.begin() + static_cast<std::ptrdiff_t>(offset));
    }
    void write() { memory_.write(data_, before); }
    [[nodiscard]] Bytes contents() const {
        Bytes bytes(before.size());
        memory_.read(bytes, data_);
        return bytes;
    }

    Bytes before;

private:
    BatchMemory& memory_;
    std::uint8_t* data_ = nullptr;
};

void overlay(Bytes& image, std::size_t offset, const Bytes& bytes) {
    std::copy(bytes.begin(), bytes.end(), image.begin() + static_cast<std::ptrdiff_t>(offset));
}

/// The positions of the pieces of one kind in their arena.
struct Pieces {
    std::size_t first = 0, bytes = 0, stride = 0;
    bool absent = false;

    [[nodiscard]] std::size_t at(std::uint64_t i) const { return first + i * stride; }
    [[nodiscard]] Elements elements(const Arena& arena) const {
        if (absent) return {};
        return {arena.at(first), stride};
    }
};

}  // namespace

std::vector<std::uint8_t> Random::bytes(std::size_t n) {
    Bytes bytes(n);
    for (auto& b : bytes) b = static_cast<std::uint8_t>(next_());
    return bytes;
}

KeyPool::KeyPool(std::uint32_t seed, unsigned each) : each_(each), keys_(std::size_t{3} * each) {
    QuickGenerator generator(seed);
    for (const std::size_t bytes : {16u, 24u, 32u}) {
        for (unsigned i = 0; i < each_; ++i) renew(bytes, i, generator);
    }
}

bool KeyPool::owns(const ExpandedKey& key) const {
    return std::any_of(keys_.begin(), keys_.end(), [&](const auto& k) { return k.get() == &key; });
}

void KeyPool::renew(std::size_t bytes, unsigned number, Random random) {
    keys_[(bytes - 16) / 8 * each_ + number % each_] = std::make_unique<const ExpandedKey>(random.bytes(bytes));
}

void KeyPool::make_again(std::size_t bytes, unsigned number) {
    const auto same = key(bytes, number).bytes();
    keys_[(bytes - 16) / 8 * each_ + number % each_] =
        std::make_unique<const ExpandedKey>(Bytes(same.begin(), same.end()));
}

KeyPool& shared_keys() {
    static KeyPool pool(12);
    return pool;
}

struct BatchCase::Group {
    Group(const GroupSpec& s, std::uint32_t seed, BatchMemory& text_memory, BatchMemory& rest_memory,
          const KeyPool& key_pool)
        : spec(s), generator(seed), pool(key_pool), text(text_memory), rest(rest_memory) {
        place();
        make_keys();
        text.allocate();
        rest.allocate();
        for (std::uint64_t i = 0; i < spec.count; ++i) fill(i);
        text_after = text.before;
        rest_after = rest.before;
        for (const Answer& a : answers) {
            if (!output.absent) overlay(text_after, a.output_at, a.output);
            if (!a.tag.empty()) overlay(rest_after, a.tag_at, a.tag);
        }
        text.write();
        rest.write();
    }

    [[nodiscard]] bool encrypts() const { return spec.direction == Direction::encrypt; }

    void place() {
        const auto pieces = [&](Arena& arena, std::size_t bytes, bool wanted, bool shared) {
            Pieces p;
            p.bytes = wanted ? bytes : 0;
            p.absent = !wanted || (bytes == 0 && spec.null_if_empty);
            if (p.absent) return p;
            p.stride = shared ? 0 : bytes + spec.gap;
            p.first = arena.reserve(spec.shift, shared ? 1 : spec.count, bytes, p.stride);
            return p;
        };
        const std::size_t bytes = spec.mode == Mode::cfb1 ? (spec.length + 7) / 8 : spec.length;
        const bool has_output = spec.mode != Mode::cmac;
        // In half of the groups, the outputs come first.
        const bool apart = has_output && !spec.in_place, output_first = apart && random.chance(50);
        if (output_first) output = pieces(text, bytes, true, false);
        input = pieces(text, bytes, true, spec.shared_input);
        if (apart && !output_first) output = pieces(text, bytes, true, false);
        if (has_output && spec.in_place) output = input;
        if (!has_output) output.absent = true;

        iv = pieces(rest, spec.iv_length, uses_iv(spec.mode), spec.shared_iv);
        aad = pieces(rest, spec.aad_length, spec.mode == Mode::gcm || spec.mode == Mode::ccm, spec.shared_aad);
        tag = pieces(rest, spec.tag_length, uses_tag(spec.mode), false);
        keys = pieces(rest, spec.key_bytes, spec.raw_keys, spec.shared_key);
    }

    const ExpandedKey& make_key(unsigned number) {
        if (spec.key || random.chance(75)) return pool.key(spec.key_bytes, number);
        return *own_keys.emplace_back(std::make_unique<const ExpandedKey>(random.bytes(spec.key_bytes)));
    }

    void make_keys() {
        const unsigned number = spec.key ? *spec.key : static_cast<unsigned>(random.below(KeyPool::keys_each));
        if (!spec.raw_keys) key = &make_key(number);
        // IEEE 1619 requires two different keys.
        const auto other = static_cast<unsigned>(1 + random.below(KeyPool::keys_each - 1));
        if (spec.mode == Mode::xts) tweak_key = &make_key(spec.tweak_key.value_or(number + other));
        failed.assign(spec.count, poison);
        failed_after = failed;
    }

    Bytes piece(Arena& arena, const Pieces& p, std::uint64_t i, const std::function<Bytes()>& make) {
        if (p.bytes == 0) return {};
        if (p.stride == 0 && i != 0) {
            const auto from = arena.before.begin() + static_cast<std::ptrdiff_t>(p.first);
            return {from, from + static_cast<std::ptrdiff_t>(p.bytes)};
        }
        Bytes bytes = make();
        arena.put(p.at(i), bytes);
        return bytes;
    }

    /// Some IVs are about to carry, both as counters and as data-unit numbers.
    Bytes make_iv() {
        Bytes bytes = random.bytes(spec.iv_length);
        if (random.chance(25) && !bytes.empty()) {
            const auto n = static_cast<std::ptrdiff_t>(random.below(bytes.size()) + 1);
            if (spec.mode == Mode::xts) {
                std::fill_n(bytes.begin(), n, std::uint8_t{0xff});
            } else {
                std::fill(bytes.end() - n, bytes.end(), std::uint8_t{0xff});
                bytes.back() = static_cast<std::uint8_t>(0xff - random.below(20));
            }
        }
        return bytes;
    }

    static void add_blocks(Blocks& blocks, const Bytes& bytes) {
        for (auto it = bytes.begin(); bytes.end() - it >= static_cast<std::ptrdiff_t>(block_bytes); it += block_bytes) {
            std::copy_n(it, block_bytes, blocks.emplace_back().begin());
        }
    }

    Bytes raw_key() {
        if (random.chance(50)) {
            const Bytes bytes = random.bytes(keys.bytes);
            add_blocks(key_blocks, bytes);
            add_blocks(key_blocks, *oracle::evp("ECB", true, bytes, {}, Bytes(block_bytes)));
            return bytes;
        }
        const auto bytes = pool.key(keys.bytes, static_cast<unsigned>(random.below(KeyPool::keys_each))).bytes();
        return {bytes.begin(), bytes.end()};
    }

    struct Answer {
        std::size_t output_at = 0, tag_at = 0;
        Bytes output{}, tag{};
    };

    void fill(std::uint64_t i) {
        oracle::Message m{.mode = batch_mode_name(spec.mode)};
        m.iv = piece(rest, iv, i, [&] { return make_iv(); });
        m.aad = piece(rest, aad, i, [&] { return random.bytes(aad.bytes); });
        m.key = piece(rest, keys, i, [&] { return raw_key(); });
        if (key) m.key.assign(key->bytes().begin(), key->bytes().end());
        if (tweak_key) m.tweak_key.assign(tweak_key->bytes().begin(), tweak_key->bytes().end());
        m.tag_bytes = spec.tag_length;
        m.data_unit = spec.data_unit;
        m.unit_step = spec.unit_step;
        if (spec.mode == Mode::cfb1) m.bits = spec.length;

        Answer answer{.output_at = output.at(i), .tag_at = tag.at(i)};
        if (uses_tag(spec.mode) && !encrypts()) {
            const Bytes plaintext = random.bytes(input.bytes);
            m.text = plaintext;
            if (spec.mode != Mode::cmac) plaintexts.push_back(plaintext);
            auto [ciphertext, right_tag] = oracle::seal(m);
            answer.output = plaintext;
            if (random.chance(spec.wrong_tags)) {
                spoil(ciphertext, right_tag);
                answer.output.assign(input.bytes, 0);
                if (spec.reports) failed_after[i] = 1;
                ++false_ones;
            }
            if (!input.absent) text.put(input.at(i), spec.mode == Mode::cmac ? plaintext : ciphertext);
            if (spec.mode == Mode::cmac) answer.output.clear();
            rest.put(tag.at(i), right_tag);
        } else {
            m.text = piece(text, input, i, [&] { return random.bytes(input.bytes); });
            if (uses_tag(spec.mode)) {
                auto [ciphertext, right_tag] = oracle::seal(m);
                answer.output = std::move(ciphertext);
                answer.tag = std::move(right_tag);
                if (spec.mode == Mode::cmac) answer.output.clear();
            } else {
                answer.output = oracle::crypt(m, encrypts());
            }
        }
        add_blocks(text_blocks, m.text);
        if (spec.mode == Mode::xts) add_blocks(key_blocks, *oracle::evp("ECB", true, m.tweak_key, {}, m.iv));
        answers.push_back(std::move(answer));
    }

    /// Flips one bit of the tag, or one bit of the ciphertext if the tag is so short that an altered tag could match by
    /// chance.
    void spoil(Bytes& ciphertext, Bytes& right_tag) {
        const bool in_text =
            spec.mode != Mode::cmac && right_tag.size() >= 8 && !ciphertext.empty() && random.chance(50);
        Bytes& target = in_text ? ciphertext : right_tag;
        target[random.below(target.size())] ^= static_cast<std::uint8_t>(1u << random.below(8));
    }

    [[nodiscard]] MessageGroup group() {
        return {.mode = spec.mode,
                .direction = spec.direction,
                .count = spec.count,
                .length = spec.mode == Mode::cfb1 ? (spec.length + 7) / 8 : spec.length,
                .unused_bits = spec.mode == Mode::cfb1 ? static_cast<std::uint32_t>(-spec.length % 8) : 0,
                .input = input.elements(text),
                .output = output.elements(text),
                .iv = iv.elements(rest),
                .iv_length = uses_iv(spec.mode) ? spec.iv_length : 0,
                .aad_length = aad.bytes,
                .aad = aad.elements(rest),
                .tag = tag.elements(rest),
                .tag_length = uses_tag(spec.mode) ? spec.tag_length : 0,
                .key = key,
                .keys = keys.elements(rest),
                .key_bytes = spec.raw_keys ? static_cast<std::uint32_t>(spec.key_bytes) : 0,
                .tweak_key = tweak_key,
                .data_units = spec.mode == Mode::xts ? DataUnits{spec.data_unit, spec.unit_step} : DataUnits{},
                .failed = spec.reports ? failed.data() : nullptr};
    }

    /// Returns the faults, or "".
    [[nodiscard]] std::string complaints() const {
        std::ostringstream out;
        compare(out, text, text_after, {{"input", input}, {"output", output}});
        compare(out, rest, rest_after, {{"IV", iv}, {"associated data", aad}, {"tag", tag}, {"key", keys}});
        for (std::uint64_t i = 0; i < spec.count; ++i) {
            if (failed[i] == failed_after[i]) continue;
            out << "  `failed` of message " << i << " is " << unsigned{failed[i]} << ", not "
                << unsigned{failed_after[i]} << "\n";
            break;
        }
        return out.str();
    }

    void compare(std::ostream& out, const Arena& arena, const Bytes& after,
                 const std::vector<std::pair<const char*, Pieces>>& kinds) const {
        const Bytes contents = arena.contents();
        if (contents == after) return;
        const auto wrong = static_cast<std::size_t>(
            std::mismatch(contents.begin(), contents.end(), after.begin()).first - contents.begin());
        out << "  first wrong byte: " << unsigned{contents[wrong]} << " instead of " << unsigned{after[wrong]};
        bool found = false;
        for (const auto& [name, p] : kinds) {
            for (std::uint64_t i = 0; i < (p.stride == 0 ? 1 : spec.count); ++i) {
                if (p.absent || wrong < p.at(i) || wrong >= p.at(i) + p.bytes) continue;
                out << ", " << name << " of message " << i << ", byte " << wrong - p.at(i);
                found = true;
            }
        }
        out << (found ? "\n" : ", between the messages\n");
    }

    [[nodiscard]] bool shows_plaintext() const {
        const Bytes contents = text.contents();
        for (const Bytes& plaintext : plaintexts) {
            for (std::size_t at = 0; at + block_bytes <= plaintext.size(); at += block_bytes) {
                const auto block = plaintext.begin() + static_cast<std::ptrdiff_t>(at);
                if (std::search(contents.begin(), contents.end(), block, block + block_bytes) != contents.end()) {
                    return true;
                }
            }
        }
        return false;
    }

    GroupSpec spec;
    QuickGenerator generator;
    Random random{generator};
    const KeyPool& pool;
    Arena text, rest;
    Bytes text_after, rest_after;
    Pieces input, output, iv, aad, tag, keys;
    std::vector<std::unique_ptr<const ExpandedKey>> own_keys;
    const ExpandedKey *key = nullptr, *tweak_key = nullptr;
    std::vector<Answer> answers;
    std::vector<Bytes> plaintexts;  ///< the results of decryption
    Blocks text_blocks, key_blocks;
    Bytes failed, failed_after;
    std::uint64_t false_ones = 0;
};

BatchCase::BatchCase(std::span<const GroupSpec> specs, std::uint32_t seed, BatchMemory& text, BatchMemory& rest,
                     const KeyPool& pool) {
    for (const GroupSpec& spec : specs) {
        owned_.push_back(std::make_unique<Group>(spec, seed++, text, rest, pool));
        groups_.push_back(owned_.back()->group());
    }
}

BatchCase::~BatchCase() = default;

std::string BatchCase::complaints() const {
    std::ostringstream out;
    unsigned wrong = 0;
    for (std::size_t g = 0; g < owned_.size(); ++g) {
        const std::string complaints = owned_[g]->complaints();
        if (complaints.empty()) continue;
        if (++wrong <= 5) out << "group " << g << ": " << owned_[g]->spec << "\n" << complaints;
    }
    if (wrong > 5) out << wrong - 5 << " more groups are wrong\n";
    return out.str();
}

BatchCase::Blocks BatchCase::blocks_of_texts() const {
    Blocks blocks;
    for (const auto& g : owned_) blocks.insert(blocks.end(), g->text_blocks.begin(), g->text_blocks.end());
    return blocks;
}

BatchCase::Blocks BatchCase::blocks_of_keys() const {
    Blocks blocks;
    for (const auto& g : owned_) blocks.insert(blocks.end(), g->key_blocks.begin(), g->key_blocks.end());
    return blocks;
}

std::uint64_t BatchCase::false_messages(std::size_t index) const {
    return owned_[index]->false_ones;
}

bool BatchCase::shows_plaintext(std::size_t index) const {
    return owned_[index]->shows_plaintext();
}

void check_batch(const RunGroups& run, std::span<const GroupSpec> specs, std::uint32_t seed, BatchMemory& text,
                 BatchMemory& rest) {
    SCOPED_TRACE("batch of seed " + std::to_string(seed));
    BatchCase batch(specs, seed, text, rest);
    run(batch.groups());
    EXPECT_EQ(batch.complaints(), "");
}

std::span<const Mode> batch_modes() {
    static constexpr std::array modes{Mode::ecb, Mode::cbc, Mode::cfb128, Mode::cfb8, Mode::cfb1, Mode::ofb,
                                      Mode::ctr, Mode::xts, Mode::gcm,    Mode::ccm,  Mode::cmac};
    return modes;
}

const char* batch_mode_name(Mode mode) {
    static constexpr const char* names[] = {"",    "ECB", "CBC", "CFB128", "CFB8", "CFB1",
                                            "OFB", "CTR", "XTS", "GCM",    "CCM",  "CMAC"};
    return names[static_cast<std::size_t>(mode)];
}

std::ostream& operator<<(std::ostream& out, const GroupSpec& s) {
    out << s.count << " x " << batch_mode_name(s.mode) << (s.direction == Direction::encrypt ? " encrypt" : " decrypt")
        << ", length " << s.length << ", key of " << s.key_bytes << (s.raw_keys ? " (raw)" : "");
    if (uses_iv(s.mode)) out << ", IV " << s.iv_length << (s.shared_iv ? " (shared)" : "");
    if (s.aad_length != 0) out << ", AAD " << s.aad_length << (s.shared_aad ? " (shared)" : "");
    if (uses_tag(s.mode)) out << ", tag " << s.tag_length;
    if (s.mode == Mode::xts) out << ", unit " << s.data_unit << ", step " << s.unit_step;
    return out << (s.in_place ? ", in place" : "") << (s.shared_input ? ", one input" : "") << ", gap " << s.gap
               << ", shift " << s.shift;
}

namespace {

/// Returns a length in bytes, preferably near a block boundary and more often short than long.
std::uint64_t random_length(Random& random, std::uint64_t most) {
    switch (random.below(8)) {
    case 0:
        return random.below(4) == 0 ? 0 : std::min<std::uint64_t>(most, random.below(34));
    case 1:
        return random.below(most + 1);
    default: {
        const std::uint64_t limit = random.chance(30) ? most : std::min<std::uint64_t>(most, 700);
        const std::uint64_t blocks = random.below(limit / 16 + 1), off = random.below(4);
        return std::min(most, 16 * blocks + (off == 3 ? 0 : off + (blocks == 0 ? 1 : 0)) - (off == 0 && blocks != 0));
    }
    }
}

}  // namespace

GroupSpec random_group(Random random, Mode mode, Direction direction, const Limits& limits) {
    GroupSpec s{.mode = mode, .direction = direction};
    static constexpr std::size_t key_sizes[] = {16, 24, 32};
    s.key_bytes = key_sizes[random.below(3)];
    s.count = random.chance(30) ? 1 : 1 + random.below(limits.count);
    s.length = random_length(random, limits.length);
    if (mode == Mode::gcm) {
        s.iv_length = random.chance(60) ? 12 : static_cast<std::uint32_t>(1 + random.below(70));
        s.tag_length = random.chance(60) ? 16 : static_cast<std::uint32_t>(4 + random.below(13));
    } else if (mode == Mode::ccm) {
        s.iv_length = static_cast<std::uint32_t>(7 + random.below(7));
        s.tag_length = static_cast<std::uint32_t>(4 + 2 * random.below(7));
        if (s.iv_length == 13) s.length = std::min<std::uint64_t>(s.length, 65535);
    } else if (mode == Mode::cmac) {
        s.tag_length = random.chance(60) ? 16 : static_cast<std::uint32_t>(1 + random.below(16));
    } else if (mode == Mode::xts) {
        s.key_bytes = random.chance(50) ? 16 : 32;
        static constexpr std::uint64_t units[] = {16, 17, 31, 32, 48, 100, 512, 520, 4096};
        s.data_unit = units[random.below(std::size(units))];
        s.unit_step = random.chance(60) ? 1 : 1 + random.below(std::size_t{1} << 20);
        if (s.length != 0 && s.length < 16) s.length += 16;
        if (s.length % s.data_unit != 0 && s.length % s.data_unit < 16) s.length -= s.length % s.data_unit;
    }
    if (needs_whole_blocks(mode)) s.length = s.length / 16 * 16;
    if (mode == Mode::cfb1) {
        s.length = 8 * std::min<std::uint64_t>(s.length, 200) + (random.chance(50) ? random.below(8) : 0);
    } else if (mode == Mode::cfb8) {
        s.length = std::min<std::uint64_t>(s.length, 700);
    }
    if (mode == Mode::gcm || mode == Mode::ccm) {
        s.aad_length = random.chance(30) ? 13 : random_length(random, limits.aad);
        s.shared_aad = random.chance(20);
    }
    s.in_place = random.chance(40);
    s.raw_keys = mode != Mode::xts && random.chance(40);
    s.shared_key = random.chance(20);
    s.shared_iv = random.chance(15);
    s.shared_input = !s.in_place && random.chance(10) && !(uses_tag(mode) && direction == Direction::decrypt);
    s.null_if_empty = random.chance(50);
    s.reports = random.chance(80);
    s.wrong_tags = random.chance(50) ? 0 : 20;
    static constexpr std::size_t gaps[] = {0, 0, 0, 1, 7, 16, 64, 100};
    s.gap = gaps[random.below(std::size(gaps))];
    s.shift = random.chance(50) ? 0 : random.below(64);
    return s;
}

std::vector<GroupSpec> random_batch(Random random, std::size_t groups, const Limits& limits) {
    std::vector<GroupSpec> specs;
    for (std::size_t i = 0; i < groups; ++i) {
        const Mode mode = batch_modes()[random.below(batch_modes().size())];
        specs.push_back(
            random_group(random, mode, random.chance(50) ? Direction::encrypt : Direction::decrypt, limits));
    }
    return specs;
}

}  // namespace warpaes::test

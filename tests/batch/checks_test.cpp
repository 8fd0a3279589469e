// Tests entries that are refused because of other entries: bytes with two writers, and repeated nonces.
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

#include "message/batch/clashes.hpp"
#include "message/batch/nonces.hpp"

namespace warpaes {
namespace {

/// Returns the strips that overlap. `strips` is in ascending order, as most clients write them. The first `cut` strips
/// are added separately from the others.
std::set<std::uint32_t> clashes_of(const std::vector<Strip>& strips, std::uint32_t cut) {
    const auto writes = [&](std::uint32_t i) { return std::array<Strip, 2>{strips[i], Strip{}}; };
    Clashes clashes, rest;
    for (std::uint32_t i = 0; i < strips.size(); ++i) (i < cut ? clashes : rest).add(i, writes(i));
    clashes.append(rest);
    std::set<std::uint32_t> found;
    clashes.find(writes, [&](std::uint32_t i) { found.insert(i); });
    return found;
}

TEST(Clashes, OneByteOfNeighbours) {
    for (std::uint32_t cut = 0; cut <= 3; ++cut) {
        EXPECT_EQ(clashes_of({{1000, 0, 1, 100}, {1100, 0, 1, 100}, {1200, 0, 1, 1}}, cut),
                  (std::set<std::uint32_t>{}));
        EXPECT_EQ(clashes_of({{1000, 0, 1, 101}, {1100, 0, 1, 100}, {1200, 0, 1, 1}}, cut),
                  (std::set<std::uint32_t>{0, 1}));
        EXPECT_EQ(clashes_of({{1000, 50, 2, 50}, {1100, 0, 1, 100}, {1199, 0, 1, 1}}, cut),
                  (std::set<std::uint32_t>{1, 2}));
    }
}

/// GCM messages, each under its own key.
struct Messages {
    std::vector<std::uint8_t> keys, ivs;

    [[nodiscard]] MessageGroup group() {
        MessageGroup g{};
        g.mode = Mode::gcm;
        g.direction = Direction::encrypt;
        g.count = keys.size() / 16;
        g.keys = {keys.data(), 16};
        g.key_bytes = 16;
        g.iv = {ivs.data(), 12};
        g.iv_length = 12;
        return g;
    }
    /// Adds a message whose key and IV consist of the given bytes, repeated.
    void add(std::uint8_t key, std::uint8_t iv) {
        keys.insert(keys.end(), 16, key);
        ivs.insert(ivs.end(), 12, iv);
    }
};

std::set<std::uint32_t> reused(std::vector<Messages> entries) {
    NonceCheck check;
    for (std::uint32_t i = 0; i < entries.size(); ++i) check.add(i, entries[i].group(), -1);
    std::set<std::uint32_t> found;
    check.find([&](std::uint32_t i) { return entries[i].group(); }, [&](std::uint32_t i) { found.insert(i); });
    return found;
}

TEST(Nonces, UnderEachMessagesOwnKey) {
    Messages several, other, single;
    for (std::uint8_t i = 1; i <= 4; ++i) several.add(i, static_cast<std::uint8_t>(10 + i));
    for (std::uint8_t i = 1; i <= 4; ++i) other.add(i, static_cast<std::uint8_t>(20 + i));
    single.add(3, 13);
    EXPECT_EQ(reused({several, other}), (std::set<std::uint32_t>{}));
    EXPECT_EQ(reused({several, other, single}), (std::set<std::uint32_t>{0, 2}));
    // The first message's key differs from the keys of the others.
    Messages same_iv;
    for (std::uint8_t i = 1; i <= 4; ++i) same_iv.add(i, 30);
    EXPECT_EQ(reused({same_iv}), (std::set<std::uint32_t>{}));
    same_iv.add(2, 30);
    EXPECT_EQ(reused({same_iv, other}), (std::set<std::uint32_t>{0}));
}

}  // namespace
}  // namespace warpaes

#include "backend/group.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "backend/backend.hpp"

namespace warpaes {

std::uint64_t cached_bytes() {
    static const std::uint64_t bytes = [] {
        constexpr long most = long{32} << 20;
        const long size = sysconf(_SC_LEVEL3_CACHE_SIZE);
        return static_cast<std::uint64_t>(size > 0 ? std::min(size, most) : most) / 2;
    }();
    return bytes;
}

std::uint64_t core_cached_bytes() {
    static const std::uint64_t bytes = [] {
        constexpr long usual = long{1} << 20;
        const long size = sysconf(_SC_LEVEL2_CACHE_SIZE);
        return static_cast<std::uint64_t>(size > 0 ? size : usual) / 2;
    }();
    return bytes;
}

bool is_beyond_caches(const MessageGroup& g) {
    return g.input.first != g.output.first && g.count * g.length >= cached_bytes();
}

MessageGroup MessageGroup::slice(std::uint64_t first, std::uint64_t n) const {
    MessageGroup part = *this;
    part.count = n;
    for (Elements* e : {&part.input, &part.output, &part.iv, &part.aad, &part.tag, &part.keys}) *e = e->from(first);
    if (failed != nullptr) part.failed = failed + first;
    if (statuses != nullptr) part.statuses = statuses + first;
    return part;
}

MessageGroup MessageGroup::with(const AlikeGroup& other) const {
    MessageGroup group = *this;
    const auto move = [](Elements& elements, std::uint8_t* to) {
        if (elements.first != nullptr) elements.first = to;
    };
    move(group.input, other.input);
    move(group.output, other.output);
    move(group.iv, other.iv);
    move(group.aad, other.aad);
    move(group.tag, other.tag);
    group.key = other.key;
    group.count = other.count;
    return group;
}

void Lane::run_alike(const MessageGroup& form, std::span<const AlikeGroup> groups) {
    std::vector<MessageGroup> all;
    all.reserve(groups.size());
    std::uint8_t* failed = form.failed;
    for (const AlikeGroup& group : groups) {
        all.emplace_back(form.with(group)).failed = failed;
        if (failed != nullptr) failed += group.count;
    }
    run(all);
}

MessageGroup stretch_of(Mode mode, Direction direction, const ExpandedKey& key, const Block& chain,
                        const std::uint8_t* input, std::uint8_t* output, std::uint64_t length) {
    return {.mode = mode,
            .direction = direction,
            .length = length,
            .input = Elements::of(input),
            .output = {output, 0},
            .iv = Elements::of(chain.data()),
            .iv_length = block_bytes,
            .key = &key};
}

void copy_rows(std::uint8_t* to, std::uint64_t to_stride, const std::uint8_t* from, std::uint64_t from_stride,
               std::uint64_t bytes, std::uint64_t rows) {
    if (rows == 1 || (to_stride == bytes && from_stride == bytes)) {
        std::memcpy(to, from, rows * bytes);
        return;
    }
    const auto copy = [&](auto size) {
        for (std::uint64_t i = 0; i < rows; ++i) std::memcpy(to + i * to_stride, from + i * from_stride, size);
    };
    // Calling memcpy for every tag took longer than computing the tags.
    if (bytes == block_bytes) return copy(std::integral_constant<std::size_t, block_bytes>());
    copy(static_cast<std::size_t>(bytes));
}

int MessageGroup::rounds() const noexcept {
    return key != nullptr ? key->rounds() : rounds_for_key_bytes(key_bytes);
}

Block j0_of(const MessageGroup& g, std::uint64_t index) {
    if (g.j0 != nullptr) return *g.j0;
    return pre_counter(std::span<const std::uint8_t, gcm_nonce_bytes>(g.iv.at(index), gcm_nonce_bytes));
}

}  // namespace warpaes

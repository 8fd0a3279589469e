#include "lab/payload.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "aes/key_schedule.hpp"

namespace lab {

namespace {

constexpr std::uint64_t block = 16, most_threads = 0x7fffffff;

std::uint64_t stride_of(const Elements& e) {
    return e.stride != 0 ? e.stride : e.size;
}

void check(const Elements& e, std::size_t data_bytes, const char* what) {
    const auto fail = [&](const char* why) { throw std::invalid_argument(std::string(what) + ": " + why); };
    if (e.offset % block != 0 || e.size % block != 0 || stride_of(e) % block != 0) fail("not whole blocks");
    if (e.count == 0) return;
    const std::uint64_t gaps = e.count - 1, stride = stride_of(e);
    if (e.offset > data_bytes || e.size > data_bytes - e.offset) fail("beyond the stream");
    if (gaps != 0 && stride > (data_bytes - e.offset - e.size) / gaps) fail("beyond the stream");
}

/// Returns the offset of element `i`. A single element is used for every message.
std::uint64_t place_of(const Elements& e, std::uint64_t i) {
    return e.offset + (e.count > 1 ? i * stride_of(e) : 0);
}

}  // namespace

std::size_t KeySchedules::Hash::operator()(const Key& key) const noexcept {
    std::uint64_t low = 0, high = 0;
    std::memcpy(&low, key.data(), 8);
    std::memcpy(&high, key.data() + 8, 8);
    return (low ^ (high * 0x9e3779b97f4a7c15u)) * 0xff51afd7ed558ccdu;
}

std::array<std::uint32_t, KeySchedules::words> KeySchedules::expanded(std::span<const std::uint8_t> key) {
    const warpaes::RoundKeys keys = warpaes::expand_key(key);
    std::array<std::uint32_t, words> schedule{};
    std::copy_n(keys.words.begin(), words, schedule.begin());
    return schedule;
}

std::uint32_t KeySchedules::place(const Key& key) {
    const auto [entry, added] = places_.try_emplace(key, static_cast<std::uint32_t>(places_.size()));
    if (added) {
        const std::array<std::uint32_t, words> schedule = expanded(key);
        schedules_.insert(schedules_.end(), schedule.begin(), schedule.end());
    }
    return entry->second;
}

PreparedPayload prepare(const PayloadDescriptor& payload, std::size_t data_bytes,
                        std::span<const std::uint8_t> key_stream, KeySchedules& schedules) {
    PreparedPayload ready;
    std::size_t messages = 0;
    for (const MessageDescriptor& d : payload.messages) {
        check(d.messages, data_bytes, "messages");
        check(d.ivs, data_bytes, "IVs");
        const bool one_each = d.ivs.count == d.messages.count || d.ivs.count == 1;
        if (d.mode != Mode::ecb && (d.ivs.size != block || !one_each)) {
            throw std::invalid_argument("IVs: one for each message, or one for all, of 16 bytes");
        }
        if (d.associated.count != 0 || d.tags.count != 0) {
            throw std::invalid_argument("tags: must be empty; no mode of the data model supports tags");
        }
        if (d.keys == 0 || d.first_key + d.keys > key_stream.size() / KeySchedules::key_bytes) {
            throw std::invalid_argument("keys: must be in the key stream");
        }
        messages += d.messages.count;
    }
    ready.messages.reserve(messages);
    ready.first.reserve(messages);

    std::uint64_t threads = 0;
    for (const MessageDescriptor& d : payload.messages) {
        const auto blocks = d.messages.size / block;
        const std::uint64_t threads_each = is_serial(d.mode) ? 1 : blocks;
        if (blocks == 0) continue;
        if (blocks > most_threads || d.messages.count > (most_threads - threads) / threads_each) {
            throw std::invalid_argument("messages: more than 2^31 - 1 threads");
        }
        std::uint32_t schedule = 0;
        for (std::uint64_t i = 0; i < d.messages.count; ++i) {
            if (i == 0 || d.keys > 1) {
                KeySchedules::Key key;
                std::memcpy(key.data(), key_stream.data() + (d.first_key + i % d.keys) * key.size(), key.size());
                schedule = schedules.place(key);
            }
            ready.messages.push_back(
                {place_of(d.messages, i), place_of(d.ivs, i), static_cast<std::uint32_t>(blocks), schedule, d.mode});
            ready.first.push_back(static_cast<std::uint32_t>(threads));
            threads += threads_each;
        }
    }
    ready.threads = static_cast<std::uint32_t>(threads);
    return ready;
}

}  // namespace lab

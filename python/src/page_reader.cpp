// Reads complete pages of an encrypted Parquet file from a descriptor and decrypts them, in one call.
//
// SPDX-License-Identifier: Apache-2.0
#include "page_reader.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <thread>

namespace warpaes::python {
namespace {

/// Number of bytes that usually suffice for a header module and the next length field.
constexpr std::size_t ahead = 256;
/// Maximum number of data pages in a column chunk.
constexpr std::uint32_t most_ordinals = 32768;
/// Pages are not divided among threads if a part would have more pages, because finding them takes longer than
/// decryption.
constexpr std::uint64_t most_pages_of_part = 32;

/// Returns the size of a module according to its length field.
std::uint64_t module_bytes(const std::uint8_t* module) {
    std::uint32_t length = 0;
    for (int i = 3; i >= 0; --i) length = length << 8 | module[i];
    return std::uint64_t{4} + length;
}

void advance(warpaes_parquet_chunk& chunk, std::uint64_t pages) {
    const bool dictionary = (chunk.flags & WARPAES_PARQUET_DICTIONARY) != 0;
    chunk.first_page += static_cast<std::uint32_t>(pages) - (dictionary ? 1U : 0U);
    chunk.flags &= ~static_cast<std::uint32_t>(WARPAES_PARQUET_DICTIONARY);
}

/// The pages that one thread processes.
class Part {
public:
    Part(const warpaes_parquet_chunk& chunk, const PagesInFile& pages)
        : chunk_(chunk),
          file_(pages.descriptor),
          at_(pages.offset),
          end_(pages.offset + pages.length),
          to_(pages.to),
          room_(pages.room),
          batch_bytes_(pages.window_bytes) {}

    void run(warpaes_engine* engine) {
        try {
            while (result.status == WARPAES_OK && step(engine)) {
            }
            if (result.status != WARPAES_OK) result.sentence = warpaes_last_error();
        } catch (const std::bad_alloc&) {
            result.no_memory = true;
        }
    }
    [[nodiscard]] std::uint64_t written() const { return written_; }
    [[nodiscard]] bool full() const { return written_ == room_; }

    PagesRead result;

private:
    /// Fills the window with at least this many bytes, and enlarges it if necessary. A hostile length never causes an
    /// allocation larger than the rest of the column chunk.
    bool fill(std::uint64_t bytes) {
        if (bytes > window_bytes_) {
            const std::uint64_t wanted = std::max(bytes, std::min(batch_bytes_, end_ - at_));
            std::unique_ptr<std::uint8_t[]> larger(new std::uint8_t[wanted]);
            if (held_ != 0) std::memcpy(larger.get(), window_.get(), held_);
            window_ = std::move(larger);
            window_bytes_ = wanted;
        }
        while (held_ < bytes) {
            const ssize_t got = pread(file_, window_.get() + held_, bytes - held_, static_cast<off_t>(at_ + held_));
            if (got > 0) {
                held_ += static_cast<std::uint64_t>(got);
            } else if (got == 0) {
                return false;
            } else if (errno != EINTR) {
                result.read_error = errno;
                return false;
            }
        }
        return true;
    }

    /// Decrypts the pages of one window.
    bool step(warpaes_engine* engine) {
        warpaes_status& status = result.status;
        const std::uint64_t left = std::min(end_ - at_, room_ - written_);
        if (left < 4 || !fill(std::min<std::uint64_t>(ahead, left))) return false;
        const std::uint64_t header = module_bytes(window_.get());
        if (header + 4 > left || !fill(header + 4)) return false;
        const std::uint64_t page = header + module_bytes(window_.get() + header);
        if (page > left) return false;
        if (!fill(std::min(std::max<std::uint64_t>(batch_bytes_, page + ahead), left))) return false;
        chunk_.modules = window_.get();
        chunk_.modules_len = held_;
        std::uint64_t count = 0, walked = 0;
        status = warpaes_parquet_walk(&chunk_, pages_.data(), pages_.size(), &count, &walked);
        if (status == WARPAES_ERROR_BUFFER_TOO_SMALL) {
            pages_.resize(count);
            status = warpaes_parquet_walk(&chunk_, pages_.data(), pages_.size(), &count, &walked);
        }
        while (count != 0 && walked > left) {
            --count;
            walked = pages_[count].offset;
        }
        if (status != WARPAES_OK || count == 0) return false;
        status = warpaes_parquet_decrypt(engine, &chunk_, pages_.data(), count, to_ + written_, walked);
        if (status != WARPAES_OK) return false;
        for (std::uint64_t i = 0; i < count; ++i) {
            result.sizes.push_back(std::uint64_t{pages_[i].header_bytes} + pages_[i].page_bytes);
        }
        advance(chunk_, count);
        held_ -= walked;
        std::memmove(window_.get(), window_.get() + walked, held_);
        at_ += walked;
        written_ += walked;
        return at_ < end_ && written_ < room_ && chunk_.first_page < most_ordinals;
    }

    warpaes_parquet_chunk chunk_;
    int file_;
    std::uint64_t at_, end_;
    std::uint8_t* to_;
    std::uint64_t room_, written_ = 0;
    std::unique_ptr<std::uint8_t[]> window_;
    std::uint64_t window_bytes_ = 0, batch_bytes_, held_ = 0;
    std::vector<warpaes_parquet_page> pages_ = std::vector<warpaes_parquet_page>(64);
};

bool read_exactly(int file, std::uint64_t offset, std::uint8_t* to, std::uint64_t bytes) {
    return pread(file, to, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
}

/// Returns the size of the page at `offset`, from its two length fields, or 0 if it does not end within `left` bytes.
std::uint64_t page_bytes(int file, std::uint64_t offset, std::uint64_t left) {
    std::uint8_t bytes[ahead];
    const std::uint64_t held = std::min<std::uint64_t>(left, sizeof bytes);
    if (left < 8 || !read_exactly(file, offset, bytes, held)) return 0;
    const std::uint64_t header = module_bytes(bytes);
    if (header > left - 4) return 0;
    std::uint8_t length[4];
    if (header + 4 <= held) {
        std::memcpy(length, bytes + header, sizeof length);
    } else if (!read_exactly(file, offset + header, length, sizeof length)) {
        return 0;
    }
    const std::uint64_t page = header + module_bytes(length);
    return page > left ? 0 : page;
}

/// Divides pages into parts of about equal length. A wrong length field ends the search, and decryption stops at that
/// page.
std::vector<Part> parts_of(warpaes_parquet_chunk chunk, const PagesInFile& pages, unsigned threads) {
    const std::uint64_t whole = std::min(pages.length, pages.room);
    const std::uint64_t count = std::min<std::uint64_t>(threads, whole / std::max<std::uint64_t>(pages.part_bytes, 1));
    std::vector<Part> parts;
    PagesInFile part = pages;
    std::uint64_t at = 0, found = 0, begin = 0;
    warpaes_parquet_chunk next = chunk;
    while (parts.size() + 1 < count) {
        const std::uint64_t page = page_bytes(pages.descriptor, pages.offset + at, whole - at);
        if (page == 0 || next.first_page + 1 >= most_ordinals) break;
        at += page;
        advance(next, 1);
        if (++found == 8 && at / found < pages.part_bytes / most_pages_of_part) break;
        if (at - begin < whole / count) continue;
        part.room = at - begin;
        parts.emplace_back(chunk, part);
        part.offset += at - begin;
        part.length -= at - begin;
        part.to += at - begin;
        begin = at;
        chunk = next;
    }
    part.room = pages.room - begin;
    parts.emplace_back(chunk, part);
    return parts;
}

}  // namespace

PagesRead read_pages(warpaes_engine* engine, const warpaes_parquet_chunk& chunk, const PagesInFile& pages,
                     unsigned threads) {
    PagesRead all;
    try {
        std::vector<Part> parts = parts_of(chunk, pages, threads);
        std::vector<std::thread> others;
        others.reserve(parts.size());
        std::size_t started = 1;
        try {
            for (; started < parts.size(); ++started) {
                others.emplace_back([&part = parts[started], engine] { part.run(engine); });
            }
        } catch (const std::exception&) {  // this thread processes the remaining parts
        }
        parts.front().run(engine);
        for (std::size_t i = started; i < parts.size(); ++i) parts[i].run(engine);
        for (auto& other : others) other.join();
        bool goes_on = true;
        for (const auto& part : parts) {
            if (part.result.failed() && !all.failed()) {
                all.status = part.result.status;
                all.sentence = part.result.sentence;
                all.read_error = part.result.read_error;
                all.no_memory = part.result.no_memory;
            }
            if (goes_on) all.sizes.insert(all.sizes.end(), part.result.sizes.begin(), part.result.sizes.end());
            goes_on = goes_on && part.full();
        }
    } catch (const std::bad_alloc&) {
        all.no_memory = true;
    }
    if (all.failed()) std::memset(pages.to, 0, pages.room);
    return all;
}

}  // namespace warpaes::python

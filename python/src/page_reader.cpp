// Reads complete pages of an encrypted Parquet file from a descriptor and decrypts them, in one call.
//
// SPDX-License-Identifier: Apache-2.0
#include "page_reader.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <thread>

namespace warpaes::python {
namespace {

/// Number of bytes that usually suffice for the module of a page header and the length field of the page's module.
constexpr std::size_t ahead = 256;
/// Maximum number of data pages in an encrypted column chunk.
constexpr std::uint32_t most_ordinals = 32768;
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

/// Reads from the file until `to` contains `bytes` bytes or the file ends. Returns errno, or 0 on success.
int read_file(int file, std::uint64_t offset, std::uint8_t* to, std::uint64_t bytes, std::uint64_t& held) {
    while (held < bytes) {
        const ssize_t got = pread(file, to + held, bytes - held, static_cast<off_t>(offset + held));
        if (got > 0) {
            held += static_cast<std::uint64_t>(got);
        } else if (got == 0) {
            return 0;
        } else if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

/// Thrown if the file cannot be read (sets `read_error`) or the library reports an error (sets `status`).
struct Failed {
    warpaes_status status = WARPAES_OK;
    const char* sentence = "";
    int read_error = 0;
};

void require_ok(warpaes_status status) {
    if (status != WARPAES_OK) throw Failed{.status = status, .sentence = warpaes_last_error()};
}

/// Consecutive pages that one thread decrypts, and the thread's buffer for their ciphertext.
struct Window {
    warpaes_parquet_chunk chunk{};
    std::vector<warpaes_parquet_page> pages = std::vector<warpaes_parquet_page>(64);
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;  ///< size of all pages together; their decrypted view has the same size
    std::uint8_t* to = nullptr;
    std::uint64_t offset = 0;  ///< the file offset of the first page
    std::uint64_t held = 0;    ///< number of bytes in `ciphertext`
    std::unique_ptr<std::uint8_t[]> ciphertext;
    std::uint64_t capacity = 0;

    void reserve(std::uint64_t wanted) {
        if (wanted <= capacity) return;
        std::unique_ptr<std::uint8_t[]> larger(new std::uint8_t[wanted]);
        if (held != 0) std::memcpy(larger.get(), ciphertext.get(), held);
        ciphertext = std::move(larger);
        capacity = wanted;
    }
    /// Reads from the file until the window contains `wanted` bytes. Returns false if the file ends earlier.
    bool fill(int file, std::uint64_t wanted) {
        reserve(wanted);
        const int error = read_file(file, offset, ciphertext.get(), wanted, held);
        if (error != 0) throw Failed{.read_error = error};
        return held >= wanted;
    }
    /// Finds the complete pages in the window.
    void walk() {
        chunk.modules = ciphertext.get();
        chunk.modules_len = held;
        warpaes_status status = warpaes_parquet_walk(&chunk, pages.data(), pages.size(), &count, &bytes);
        if (status == WARPAES_ERROR_BUFFER_TOO_SMALL) {
            pages.resize(count);
            status = warpaes_parquet_walk(&chunk, pages.data(), pages.size(), &count, &bytes);
        }
        require_ok(status);
    }
    void decrypt(warpaes_engine* engine) {
        require_ok(warpaes_parquet_decrypt(engine, &chunk, pages.data(), count, to, bytes));
    }
};

/// The pages of a column chunk that no thread has taken yet.
class Cursor {
public:
    explicit Cursor(const ChunkInFile& of)
        : chunk_(of.chunk), pages_(of.pages), left_(std::min(of.pages.length, of.pages.room)) {}

    /// Moves the next pages to a window. Returns false if there are no more complete pages. `shared` means that other
    /// threads may wait for this call. Long pages are then only found by their length fields, and complete() reads them
    /// without the lock.
    bool take(Window& window, bool shared) {
        const std::lock_guard lock(mutex_);
        if (over_) return false;
        over_ = true;
        window.chunk = chunk_;
        window.to = pages_.to;
        window.offset = pages_.offset;
        window.held = window.count = window.bytes = 0;
        if (chunk_.first_page >= most_ordinals || left_ < 4) return false;
        const bool find = shared && page_bytes_ >= pages_.found_bytes;
        if (!(find ? find_pages(window) : read_pages(window))) return false;
        over_ = false;
        left_ -= window.bytes;
        pages_.offset += window.bytes;
        pages_.to += window.bytes;
        page_bytes_ = window.bytes / window.count;
        advance(chunk_, window.count);
        return true;
    }
    /// Reads the pages of a window unless take() has already read them.
    void complete(Window& window) const {
        if (window.held != 0) return;
        const std::uint64_t bytes = window.bytes, count = window.count;
        const bool whole = window.fill(pages_.descriptor, bytes);
        if (whole) window.walk();
        if (!whole || window.bytes != bytes || window.count != count) {
            throw Failed{.status = WARPAES_ERROR_FORMAT,
                         .sentence = "the length of a page has changed, so the file was replaced or altered"};
        }
    }

    std::vector<std::uint64_t> sizes;

private:
    /// Reads the next pages. A forged length never causes an allocation larger than the rest of the column chunk.
    bool read_pages(Window& window) {
        if (!tail_.empty()) {
            window.reserve(tail_.size());
            std::memcpy(window.ciphertext.get(), tail_.data(), tail_.size());
            window.held = tail_.size();
            tail_.clear();
        }
        if (!window.fill(pages_.descriptor, std::min<std::uint64_t>(ahead, left_))) return false;
        const std::uint64_t header = module_bytes(window.ciphertext.get());
        if (header + 4 > left_ || !window.fill(pages_.descriptor, header + 4)) return false;
        const std::uint64_t page = header + module_bytes(window.ciphertext.get() + header);
        if (page > left_) return false;
        // Pages usually have about the same length. A multiple of this length therefore ends with few bytes of an
        // incomplete page, which have to be copied to the next window.
        const std::uint64_t pages = std::max<std::uint64_t>(pages_.window_bytes / page, 1);
        if (!window.fill(pages_.descriptor, std::min(pages * page + ahead + page / 64, left_))) return false;
        window.walk();
        while (window.count != 0 && window.bytes > left_) {
            --window.count;
            window.bytes = window.pages[window.count].offset;
        }
        if (window.count == 0) return false;
        for (std::uint64_t i = 0; i < window.count; ++i) {
            sizes.push_back(std::uint64_t{window.pages[i].header_bytes} + window.pages[i].page_bytes);
        }
        const std::uint8_t* const begin = window.ciphertext.get();
        tail_.assign(begin + window.bytes, begin + window.held);
        return true;
    }
    /// Finds the next pages by their length fields.
    bool find_pages(Window& window) {
        tail_.clear();
        const std::uint64_t most = most_ordinals - chunk_.first_page;
        while (window.count < most) {
            const std::uint64_t page = size_of_page(pages_.offset + window.bytes, left_ - window.bytes);
            if (page == 0 || (window.count != 0 && window.bytes + page > pages_.window_bytes)) break;
            window.bytes += page;
            ++window.count;
            sizes.push_back(page);
        }
        return window.count != 0;
    }
    /// Returns the size of the page at an offset in the file, or 0 if it does not end within `left` bytes.
    [[nodiscard]] std::uint64_t size_of_page(std::uint64_t offset, std::uint64_t left) const {
        std::uint8_t bytes[ahead];
        const std::uint64_t wanted = std::min<std::uint64_t>(left, sizeof bytes);
        const auto read = [&](std::uint64_t at, std::uint8_t* to, std::uint64_t count) {
            std::uint64_t held = 0;
            const int error = read_file(pages_.descriptor, at, to, count, held);
            if (error != 0) throw Failed{.read_error = error};
            return held == count;
        };
        if (left < 8 || !read(offset, bytes, wanted)) return 0;
        const std::uint64_t header = module_bytes(bytes);
        if (header > left - 4) return 0;
        std::uint8_t length[4];
        if (header + 4 <= wanted) {
            std::memcpy(length, bytes + header, sizeof length);
        } else if (!read(offset + header, length, sizeof length)) {
            return 0;
        }
        const std::uint64_t page = header + module_bytes(length);
        return page > left ? 0 : page;
    }

    std::mutex mutex_;
    warpaes_parquet_chunk chunk_;
    PagesInFile pages_;
    std::uint64_t left_;              ///< number of bytes until the end of the chunk or of its buffer
    std::uint64_t page_bytes_ = 0;    ///< mean length of the pages taken last
    std::vector<std::uint8_t> tail_;  ///< bytes of the file after the pages taken last
    bool over_ = false;
};

/// The work of one call.
class Job {
public:
    Job(warpaes_engine* engine, const std::vector<ChunkInFile>& chunks) : engine_(engine) {
        cursors_.reserve(chunks.size());
        for (const auto& chunk : chunks) cursors_.push_back(std::make_unique<Cursor>(chunk));
    }
    /// Reads and decrypts pages until none is left. A thread first reads the chunks that no other thread has started,
    /// and then helps with the others.
    void run(bool shared) noexcept {
        try {
            Window window;
            for (std::size_t i = next_++; i < cursors_.size() && !failed_; i = next_++)
                read(window, *cursors_[i], shared);
            if (!shared) return;
            for (std::size_t i = cursors_.size(); i-- > 0 && !failed_;) read(window, *cursors_[i], shared);
        } catch (const Failed& failure) {
            fail(failure);
        } catch (const std::bad_alloc&) {
            fail({});
        }
    }
    PagesRead result() {
        for (const auto& cursor : cursors_) result_.sizes.push_back(std::move(cursor->sizes));
        return std::move(result_);
    }

private:
    void read(Window& window, Cursor& cursor, bool shared) {
        while (!failed_ && cursor.take(window, shared)) {
            cursor.complete(window);
            window.decrypt(engine_);
        }
    }
    /// Stores the first failure of any thread. A failure that sets neither `status` nor `read_error` means that memory
    /// is exhausted.
    void fail(const Failed& failure) noexcept {
        const std::lock_guard lock(mutex_);
        if (failed_.exchange(true)) return;
        result_.status = failure.status;
        result_.read_error = failure.read_error;
        try {
            result_.sentence = failure.sentence;
        } catch (const std::bad_alloc&) {
            result_.no_memory = true;
        }
        result_.no_memory = result_.no_memory || !result_.failed();
    }

    warpaes_engine* engine_;
    std::vector<std::unique_ptr<Cursor>> cursors_;
    std::atomic<std::size_t> next_ = 0;
    std::atomic<bool> failed_ = false;
    std::mutex mutex_;
    PagesRead result_;
};

unsigned threads_for(const std::vector<ChunkInFile>& chunks, unsigned most) {
    std::uint64_t parts = 0;
    for (const auto& [_, pages] : chunks) {
        parts += std::min(pages.length, pages.room) / std::max<std::uint64_t>(pages.part_bytes, 1);
    }
    return static_cast<unsigned>(std::clamp<std::uint64_t>(parts, 1, std::max(most, 1U)));
}

}  // namespace

PagesRead read_pages(warpaes_engine* engine, const std::vector<ChunkInFile>& chunks, unsigned threads) {
    PagesRead all;
    try {
        Job job(engine, chunks);
        const unsigned count = threads_for(chunks, threads);
        std::vector<std::thread> others;
        others.reserve(count);
        try {
            while (others.size() + 1 < count) others.emplace_back([&job] { job.run(true); });
        } catch (const std::exception&) {  // the other threads process all pages
        }
        job.run(!others.empty());
        for (auto& other : others) other.join();
        all = job.result();
    } catch (const std::bad_alloc&) {
        all.no_memory = true;
    }
    if (all.failed()) {
        for (const auto& [_, pages] : chunks) std::memset(pages.to, 0, pages.room);
    }
    return all;
}

}  // namespace warpaes::python

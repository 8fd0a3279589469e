// What the provider has done: calls and bytes by algorithm, and where they ran. In the process, and if the
// configuration names a file also there, summed over all processes that name it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

namespace warpaes::provider {

enum class Kind : std::uint32_t { ecb, cbc, cfb, cfb8, cfb1, ofb, ctr, xts, gcm, ccm, siv, gcm_siv, wrap, cmac, gmac };
inline constexpr std::size_t kinds = 15;
inline constexpr std::array<const char*, kinds> kind_names{"ECB", "CBC", "CFB", "CFB8",    "CFB1", "OFB",  "CTR", "XTS",
                                                           "GCM", "CCM", "SIV", "GCM-SIV", "WRAP", "CMAC", "GMAC"};

/// Where it ran: kernels on the calling thread; the engine, on several threads; a GPU; or OpenSSL's own code, where
/// that alone will do.
enum class Where : std::uint32_t { kernels, engine, gpu, delegated };
inline constexpr std::size_t wheres = 4;
inline constexpr std::array<const char*, wheres> where_names{"kernels", "threads", "gpu", "delegated"};

/// As in memory, so in the file (counter_file.hpp).
struct Counters {
    struct Cell {
        std::atomic<std::uint64_t> calls, bytes;
    };
    char magic[8];  ///< "warpaes1"
    std::atomic<std::uint64_t> loads;
    std::array<std::array<Cell, wheres>, kinds> cells;

    void add(Kind kind, Where where, std::uint64_t calls, std::uint64_t bytes) noexcept {
        Cell& cell = cells[static_cast<std::size_t>(kind)][static_cast<std::size_t>(where)];
        cell.calls.fetch_add(calls, std::memory_order_relaxed);
        cell.bytes.fetch_add(bytes, std::memory_order_relaxed);
    }
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// This process's own.
Counters& process_counters() noexcept;
/// To this file also; from now on, and if it cannot be opened `why` says so.
bool share_counters(const std::string& path, std::string& why);
/// To both.
void count(Kind kind, Where where, std::uint64_t calls, std::uint64_t bytes) noexcept;
void count_load() noexcept;

/// A context's own count, for an addition that other processors see costs as much as a short message.
struct Tally {
    Kind kind;
    std::uint32_t calls;
    std::uint64_t bytes;

    void add(std::uint64_t n) noexcept {
        ++calls;
        bytes += n;
        if (bytes >= (1u << 20) || calls >= (1u << 16)) [[unlikely]]
            flush();
    }
    void flush() noexcept {
        if (calls != 0) count(kind, Where::kernels, calls, bytes);
        forget();
    }
    void forget() noexcept {
        calls = 0;
        bytes = 0;
    }
};

}  // namespace warpaes::provider

// Counts of the provider's work: calls and bytes, by algorithm and by the place where the work ran. The counts are kept
// in the process and, if the configuration names a file, also in that file, summed over all processes that use it.
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

/// Where work ran: in kernels on the calling thread, in the engine on several threads, on a GPU, or in OpenSSL's own
/// code, for work that only OpenSSL can do.
enum class Where : std::uint32_t { kernels, engine, gpu, delegated };
inline constexpr std::size_t wheres = 4;
inline constexpr std::array<const char*, wheres> where_names{"kernels", "threads", "gpu", "delegated"};

/// The counters, which have the same layout in memory and in the file (counters.cpp).
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

/// Returns the counters of this process only.
Counters& process_counters() noexcept;
/// After this call, count() also adds to a file. Returns false, with the reason in `why`, if the file cannot be opened.
bool share_counters(const std::string& path, std::string& why);
/// Adds calls and bytes to the process's counters and to the file.
void count(Kind kind, Where where, std::uint64_t calls, std::uint64_t bytes) noexcept;
void count_load() noexcept;

/// A context's local count. An atomic addition to a shared counter for each call would cost as much as a short message.
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

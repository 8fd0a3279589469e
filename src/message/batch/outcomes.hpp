// The results of entries: statuses, failures and messages, written by several threads at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "base/error.hpp"
#include "message/batch/entries.hpp"

namespace warpaes {

/// Converts the exception being handled, of any type, to an Error. Allocates nothing if an allocation has failed.
Error current_error() noexcept;

class Outcomes {
public:
    explicit Outcomes(const BatchRequest& request) : request_(request) {}

    /// Initializes the entry's result. Must be called before any other function for the entry.
    void begin(std::uint64_t entry) noexcept;
    /// Called when the entry has passed its checks. Sets the statuses of its messages to OK.
    void admit(std::uint64_t entry) noexcept;
    /// Records that the entry, or a part of it, failed. Only the first such status of an entry is kept.
    void fail(std::uint64_t entry, warpaes_status status, const char* sentence) noexcept;
    void fail(std::uint64_t entry, const Error& error) noexcept { fail(entry, error.status(), error.what()); }
    /// Records which messages, starting at `first`, are not authentic: the messages whose mark is 1. All marks are
    /// recorded in one call, because other threads count failures of the same entry.
    void reject(std::uint64_t entry, std::uint64_t first, std::span<const std::uint8_t> marks) noexcept;
    /// Ends the batch: sets the statuses of the messages of failed entries to their entry's status.
    void close() noexcept;

    [[nodiscard]] std::uint64_t failed_entries() const noexcept { return failed_entries_; }
    /// The status of the first entry that failed.
    [[nodiscard]] warpaes_status status() const noexcept;
    /// Returns the message for the entry's status; null if there are too many messages to keep. May be called only
    /// after all work is done. The result is valid as long as this object.
    [[nodiscard]] const char* sentence(std::uint64_t entry) const;
    [[nodiscard]] warpaes_status status_of(std::uint64_t entry) const noexcept { return request_.result(entry).status; }
    /// Returns the first entry that failed, if any entry failed.
    [[nodiscard]] std::optional<std::uint64_t> first_failed() const noexcept {
        return first_failed_ == none ? std::nullopt : std::optional(first_failed_.load());
    }

private:
    /// Sets the entry's status. Returns false if an earlier status is kept.
    bool spoil(std::uint64_t entry, warpaes_status status) noexcept;

    static constexpr std::size_t most_sentences = 4096;
    static constexpr std::uint64_t none = ~std::uint64_t{0};

    const BatchRequest& request_;
    std::atomic<std::uint64_t> failed_entries_{0};
    std::atomic<std::uint64_t> first_failed_{none};
    std::atomic<std::uint64_t> first_refused_{none};  ///< the first entry that failed for a reason other than a wrong
                                                      ///< tag
    mutable std::mutex mutex_;
    mutable std::map<std::uint64_t, std::string> sentences_;
};

}  // namespace warpaes

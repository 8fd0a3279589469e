// What becomes of the entries: statuses, failures and sentences, written by many threads at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "message/batch/entries.hpp"

namespace warpaes {

/// What is being caught, whatever it is.
Error current_error();

class Outcomes {
public:
    explicit Outcomes(const BatchRequest& request) : request_(request) {}

    /// Before anything else is said of the entry.
    void begin(std::uint64_t entry) noexcept;
    /// It is in order: its messages begin as good ones.
    void admit(std::uint64_t entry) noexcept;
    /// The entry comes to nothing, or a part of it. The first such status of an entry stands.
    void fail(std::uint64_t entry, warpaes_status status, const char* sentence) noexcept;
    void fail(std::uint64_t entry, const Error& error) noexcept { fail(entry, error.status(), error.what()); }
    /// A message is not authentic.
    void reject(std::uint64_t entry, std::uint64_t message) noexcept;
    /// When nothing more will be said: the messages of entries that failed have their entry's status.
    void close() noexcept;

    [[nodiscard]] std::uint64_t failed_entries() const noexcept { return failed_entries_; }
    /// That of the first entry that failed.
    [[nodiscard]] warpaes_status status() const noexcept;
    /// When all is done: what goes with its status; null, if there are too many to keep. Lives as long as this.
    [[nodiscard]] const char* sentence(std::uint64_t entry) const;
    [[nodiscard]] warpaes_status status_of(std::uint64_t entry) const noexcept { return request_.result(entry).status; }
    /// The first entry that failed, if any has.
    [[nodiscard]] std::optional<std::uint64_t> first_failed() const noexcept {
        return first_failed_ == none ? std::nullopt : std::optional(first_failed_.load());
    }

private:
    /// False if the entry has such a status already.
    bool spoil(std::uint64_t entry, warpaes_status status) noexcept;

    static constexpr std::size_t most_sentences = 4096;
    static constexpr std::uint64_t none = ~std::uint64_t{0};

    const BatchRequest& request_;
    std::atomic<std::uint64_t> failed_entries_{0};
    std::atomic<std::uint64_t> first_failed_{none};
    std::atomic<std::uint64_t> first_refused_{none};  ///< that failed otherwise than by tags
    mutable std::mutex mutex_;
    mutable std::map<std::uint64_t, std::string> sentences_;
};

}  // namespace warpaes

#include "message/batch/outcomes.hpp"

#include <algorithm>
#include <cstring>

namespace warpaes {

namespace {

/// Created in advance, because the message requires memory; copying an Error does not. Never destroyed, because threads
/// may outlive the static objects.
const Error& no_memory = *new Error(WARPAES_ERROR_OUT_OF_MEMORY, "out of host memory");

template <typename Atomic>
void lower_to(Atomic&& value, std::uint64_t to) noexcept {
    std::uint64_t seen = value.load(std::memory_order_relaxed);
    while (to < seen && !value.compare_exchange_weak(seen, to, std::memory_order_relaxed)) {
    }
}

}  // namespace

Error current_error() noexcept {
    try {
        try {
            throw;
        } catch (const Error& e) {
            return e;
        } catch (const std::bad_alloc&) {
            return no_memory;
        } catch (const std::exception& e) {
            return {WARPAES_ERROR_INTERNAL, e.what()};
        } catch (...) {
            return {WARPAES_ERROR_INTERNAL, "unknown failure"};
        }
    } catch (const std::bad_alloc&) {
        return no_memory;  // the sentence needs memory
    }
}

void Outcomes::begin(std::uint64_t entry) noexcept {
    request_.result(entry) = {.status = WARPAES_OK, .reserved = 0, .failures = 0, .first_failure = none};
}

void Outcomes::admit(std::uint64_t entry) noexcept {
    std::ranges::fill(statuses_of(request_.entry(entry)), WARPAES_OK);
}

bool Outcomes::spoil(std::uint64_t entry, warpaes_status status) noexcept {
    const std::atomic_ref its(request_.result(entry).status);
    warpaes_status before = WARPAES_OK;
    if (its.compare_exchange_strong(before, status, std::memory_order_relaxed)) {
        failed_entries_.fetch_add(1, std::memory_order_relaxed);
        lower_to(first_failed_, entry);
        return true;
    }
    // A wrong tag concerns one message, but other failures concern the whole entry, so their status replaces the status
    // of a wrong tag.
    return before == WARPAES_ERROR_AUTHENTICATION && status != before &&
           its.compare_exchange_strong(before, status, std::memory_order_relaxed);
}

void Outcomes::fail(std::uint64_t entry, warpaes_status status, const char* sentence) noexcept {
    if (!spoil(entry, status)) return;
    lower_to(first_refused_, entry);
    const std::lock_guard lock(mutex_);
    if (sentences_.size() >= most_sentences) return;
    try {
        sentences_.try_emplace(entry, sentence);
    } catch (const std::bad_alloc&) {
        // Without memory for a message, the status must suffice.
    }
}

void Outcomes::reject(std::uint64_t entry, std::uint64_t first, std::span<const std::uint8_t> marks) noexcept {
    // memchr is many times faster than std::find, and usually there is nothing to find.
    const void* const first_bad = marks.empty() ? nullptr : std::memchr(marks.data(), 1, marks.size());
    if (first_bad == nullptr) return;
    const auto begin = marks.begin(), end = marks.end();
    const auto bad = begin + (static_cast<const std::uint8_t*>(first_bad) - marks.data());
    warpaes_entry_result& its = request_.result(entry);
    std::atomic_ref(its.failures)
        .fetch_add(static_cast<std::uint64_t>(std::count(bad, end, 1)), std::memory_order_relaxed);
    lower_to(std::atomic_ref(its.first_failure), first + static_cast<std::uint64_t>(bad - begin));
    warpaes_status* const statuses = request_.entry(entry).statuses;
    for (auto it = bad; statuses != nullptr && it != end; it = std::find(it + 1, end, 1)) {
        statuses[first + static_cast<std::uint64_t>(it - begin)] = WARPAES_ERROR_AUTHENTICATION;
    }
    (void)spoil(entry, WARPAES_ERROR_AUTHENTICATION);
}

void Outcomes::close() noexcept {
    for (std::uint64_t i = first_refused_; i < request_.count; ++i) {
        const warpaes_status status = status_of(i);
        if (status == WARPAES_OK || status == WARPAES_ERROR_AUTHENTICATION) continue;
        std::ranges::fill(statuses_of(request_.entry(i)), status);
    }
}

warpaes_status Outcomes::status() const noexcept {
    return first_failed_ == none ? WARPAES_OK : status_of(first_failed_);
}

const char* Outcomes::sentence(std::uint64_t entry) const {
    const warpaes_entry_result& its = request_.result(entry);
    if (its.status == WARPAES_OK) return "";
    const std::lock_guard lock(mutex_);
    auto it = sentences_.find(entry);
    if (it == sentences_.end()) {
        if (its.status != WARPAES_ERROR_AUTHENTICATION || sentences_.size() >= most_sentences) {
            return nullptr;
        }
        it = sentences_
                 .try_emplace(entry, "tag: " + std::to_string(its.failures) + " of " +
                                         std::to_string(request_.entry(entry).count) +
                                         " messages are not authentic, the first is message " +
                                         std::to_string(its.first_failure) +
                                         ". The key, the IV or the associated data is wrong, or the data was altered")
                 .first;
    }
    return it->second.c_str();
}

}  // namespace warpaes

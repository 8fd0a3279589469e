// Groups with their right answers (batch_cases.hpp) as entries of the C ABI.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "batch_cases.hpp"
#include "warpaes/warpaes.h"

namespace warpaes::test {

struct Destroy {
    void operator()(warpaes_engine* engine) const { warpaes_engine_destroy(engine); }
    void operator()(warpaes_key* key) const { warpaes_key_destroy(key); }
    void operator()(warpaes_arena* arena) const { warpaes_arena_destroy(arena); }
    void operator()(warpaes_batch* batch) const { warpaes_batch_destroy(batch); }
};
using AbiEngine = std::unique_ptr<warpaes_engine, Destroy>;
using AbiKey = std::unique_ptr<warpaes_key, Destroy>;
using AbiArena = std::unique_ptr<warpaes_arena, Destroy>;
using AbiBatchHandle = std::unique_ptr<warpaes_batch, Destroy>;

/// Null if it cannot be made.
AbiEngine make_engine(const std::string& backend, std::uint32_t threads = 0);
AbiKey make_key(std::span<const std::uint8_t> bytes);
AbiArena make_arena(const AbiEngine& engine, std::uint64_t bytes, warpaes_memory memory = WARPAES_MEMORY_PAGE_LOCKED,
                    int device = 0);

/// Backends that can run here, each once.
std::vector<std::string> usable_backends();
/// Whether the GPU is simulated: WARPAES_TEST_SIMULATED=1.
bool simulated();
/// A size for a simulated GPU, or a larger one otherwise.
Limits limits();

/// Handles of a pool's keys, each created at its first use and kept. Thread-safe.
class KeyHandles {
public:
    explicit KeyHandles(const KeyPool& pool) : pool_(pool) {}
    [[nodiscard]] const KeyPool& pool() const noexcept { return pool_; }
    /// Null for a key of another pool.
    [[nodiscard]] const warpaes_key* of(const ExpandedKey& key);
    void destroy(const ExpandedKey& key);

private:
    const KeyPool& pool_;
    std::mutex mutex_;
    std::map<std::uint64_t, AbiKey> handles_;  ///< by the keys' serial numbers
};

/// Of shared_keys().
KeyHandles& shared_handles();

/// Whether the ABI accepts the group: unlike backends, it refuses one IV for several encryptions with one key, and some
/// tags.
GroupSpec allowed(GroupSpec spec);

/// A group of one message under keys of the pool as a message.
warpaes_message message_of(const MessageGroup& g, KeyHandles& handles);

/// The groups of a case as entries, which lives longer.
class AbiEntries {
public:
    explicit AbiEntries(const BatchCase& cases, KeyHandles& handles = shared_handles());

    [[nodiscard]] std::vector<warpaes_batch_entry>& entries() noexcept { return entries_; }
    /// After the run: marks in the case which messages were not authentic. The first fault in the statuses, or "".
    std::string settle(const warpaes_batch* batch);

private:
    const BatchCase& cases_;
    std::vector<AbiKey> keys_;  ///< of no pool
    std::vector<warpaes_batch_entry> entries_;
    std::vector<std::vector<warpaes_status>> statuses_;
};

/// The outcomes of the first `count` entries of a finished batch.
std::vector<warpaes_entry_result> results_of(const warpaes_batch* batch, std::size_t count);

/// Compares the statuses of messages with those of their finished entries; returns the first difference, or "".
std::string complaints_of_statuses(std::span<const warpaes_batch_entry> entries,
                                   std::span<const warpaes_entry_result> results);

/// Runs them as a batch, and returns all faults, or "".
std::string complaints_of_entries(warpaes_engine* engine, const BatchCase& cases, AbiEntries& entries);
/// Builds the batch first.
std::string complaints_of_abi_batch(const AbiEngine& engine, std::span<const GroupSpec> specs, std::uint32_t seed,
                                    BatchMemory& text = guarded_memory(), BatchMemory& rest = guarded_memory());
/// Fails the test if there are any.
void check_abi_batch(const AbiEngine& engine, std::span<const GroupSpec> specs, std::uint32_t seed,
                     BatchMemory& text = guarded_memory(), BatchMemory& rest = guarded_memory());

}  // namespace warpaes::test

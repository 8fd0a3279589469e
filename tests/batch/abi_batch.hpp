// Converts groups with expected results (batch_cases.hpp) to entries of the C ABI.
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

/// Returns null on an error.
AbiEngine make_engine(const std::string& backend, std::uint32_t threads = 0);
AbiKey make_key(std::span<const std::uint8_t> bytes);
AbiArena make_arena(const AbiEngine& engine, std::uint64_t bytes, warpaes_memory memory = WARPAES_MEMORY_PAGE_LOCKED,
                    int device = 0);

/// Returns the usable backends, without duplicates.
std::vector<std::string> usable_backends();
/// Returns whether the GPU is simulated (WARPAES_TEST_SIMULATED=1).
bool simulated();
/// Returns the first size if the GPU is simulated, otherwise the second.
Limits limits();

/// Handles for a pool's keys. Each handle is created when its key is first used and then kept. Thread-safe.
class KeyHandles {
public:
    explicit KeyHandles(const KeyPool& pool) : pool_(pool) {}
    [[nodiscard]] const KeyPool& pool() const noexcept { return pool_; }
    /// Returns null if the key belongs to a different pool.
    [[nodiscard]] const warpaes_key* of(const ExpandedKey& key);
    void destroy(const ExpandedKey& key);

private:
    const KeyPool& pool_;
    std::mutex mutex_;
    std::map<std::uint64_t, AbiKey> handles_;  ///< indexed by the keys' serial numbers
};

/// Returns the handles for shared_keys().
KeyHandles& shared_handles();

/// Returns the group with changes that make the ABI accept it. Unlike backends, the ABI refuses some tag lengths, and
/// an IV that several encryptions with the same key share.
GroupSpec allowed(GroupSpec spec);

/// Converts a group of one message to a message. The group's keys must belong to the pool.
warpaes_message message_of(const MessageGroup& g, KeyHandles& handles);

/// The groups of a case as entries. The case must outlive this object.
class AbiEntries {
public:
    explicit AbiEntries(const BatchCase& cases, KeyHandles& handles = shared_handles());

    [[nodiscard]] std::vector<warpaes_batch_entry>& entries() noexcept { return entries_; }
    /// Must be called after the run. Records in the case which messages were not authentic, and returns the first fault
    /// in the statuses, or "".
    std::string settle(const warpaes_batch* batch);

private:
    const BatchCase& cases_;
    std::vector<AbiKey> keys_;  ///< keys that do not belong to a pool
    std::vector<warpaes_batch_entry> entries_;
    std::vector<std::vector<warpaes_status>> statuses_;
};

/// Returns the outcomes of the first `count` entries of a finished batch.
std::vector<warpaes_entry_result> results_of(const warpaes_batch* batch, std::size_t count);

/// Compares the statuses of messages with those of their finished entries. Returns the first difference, or "".
std::string complaints_of_statuses(std::span<const warpaes_batch_entry> entries,
                                   std::span<const warpaes_entry_result> results);

/// Runs the entries as a batch and returns all faults, or "".
std::string complaints_of_entries(warpaes_engine* engine, const BatchCase& cases, AbiEntries& entries);
/// Builds a batch from the specs, runs it and returns all faults, or "".
std::string complaints_of_abi_batch(const AbiEngine& engine, std::span<const GroupSpec> specs, std::uint32_t seed,
                                    BatchMemory& text = guarded_memory(), BatchMemory& rest = guarded_memory());
/// Runs such a batch and adds a test failure for every fault.
void check_abi_batch(const AbiEngine& engine, std::span<const GroupSpec> specs, std::uint32_t seed,
                     BatchMemory& text = guarded_memory(), BatchMemory& rest = guarded_memory());

}  // namespace warpaes::test

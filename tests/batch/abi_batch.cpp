#include "abi_batch.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

namespace warpaes::test {

AbiEngine make_engine(const std::string& backend, std::uint32_t threads) {
    warpaes_engine_options options = WARPAES_ENGINE_OPTIONS_INIT;
    options.backend = backend.c_str();
    options.threads = threads;
    warpaes_engine* engine = nullptr;
    (void)warpaes_engine_create(&options, &engine);
    return AbiEngine(engine);
}

AbiKey make_key(std::span<const std::uint8_t> bytes) {
    warpaes_key* key = nullptr;
    EXPECT_EQ(warpaes_key_create(bytes.data(), bytes.size(), &key), WARPAES_OK) << warpaes_last_error();
    return AbiKey(key);
}

AbiArena make_arena(const AbiEngine& engine, std::uint64_t bytes, warpaes_memory memory, int device) {
    warpaes_arena* arena = nullptr;
    EXPECT_EQ(warpaes_arena_create(engine.get(), memory, device, bytes, &arena), WARPAES_OK) << warpaes_last_error();
    return AbiArena(arena);
}

std::vector<std::string> usable_backends() {
    std::vector<std::string> found;
    for (std::size_t i = 0; i < warpaes_backend_count(); ++i) {
        warpaes_backend_info info = {};
        info.struct_size = sizeof info;
        if (warpaes_backend_query(i, &info) != WARPAES_OK || info.usable == 0) continue;
        if (std::find(found.begin(), found.end(), info.name) == found.end()) found.emplace_back(info.name);
    }
    return found;
}

bool simulated() {
    const char* value = std::getenv("WARPAES_TEST_SIMULATED");
    return value != nullptr && std::string(value) == "1";
}

Limits limits() {
    if (!simulated()) return {};
    return {.count = 5, .length = 300, .aad = 40};
}

const warpaes_key* KeyHandles::of(const ExpandedKey& key) {
    if (!pool_.owns(key)) return nullptr;
    const std::lock_guard lock(mutex_);
    AbiKey& handle = handles_[key.serial()];
    if (handle == nullptr) handle = make_key(key.bytes());
    return handle.get();
}

void KeyHandles::destroy(const ExpandedKey& key) {
    const std::lock_guard lock(mutex_);
    handles_.erase(key.serial());
}

KeyHandles& shared_handles() {
    static KeyHandles handles(shared_keys());
    return handles;
}

GroupSpec allowed(GroupSpec spec) {
    if (spec.mode == Mode::gcm || spec.mode == Mode::ccm) spec.shared_iv = false;
    if (spec.mode == Mode::gcm) spec.tag_length = 12 + spec.tag_length % 5;
    if (spec.mode == Mode::cmac) spec.tag_length = std::max(spec.tag_length, 4U);
    return spec;
}

/// The ABI counts CFB1 lengths in bits.
static std::uint64_t abi_length(const MessageGroup& g) {
    return kernel_length(g.mode, g.length, g.unused_bits);
}

warpaes_message message_of(const MessageGroup& g, KeyHandles& handles) {
    warpaes_message m = WARPAES_MESSAGE_INIT;
    m.mode = static_cast<warpaes_mode>(g.mode);
    m.direction = static_cast<warpaes_direction>(g.direction);
    if (g.mode == Mode::cfb1) m.flags = WARPAES_LENGTH_IN_BITS;
    m.key = handles.of(*g.key);
    m.iv = g.iv.first;
    m.iv_len = g.iv_length;
    m.input = g.input.first;
    m.input_len = abi_length(g);
    m.output = g.output.first;
    m.output_capacity = g.length;
    m.aad = g.aad.first;
    m.aad_len = g.aad_length;
    m.tag = g.tag.first;
    m.tag_len = g.tag_length;
    if (g.tweak_key != nullptr) m.tweak_key = handles.of(*g.tweak_key);
    m.data_unit_len = g.data_units.bytes;
    m.data_unit_step = g.mode == Mode::xts ? g.data_units.step : 0;
    return m;
}

AbiEntries::AbiEntries(const BatchCase& cases, KeyHandles& handles) : cases_(cases) {
    for (const MessageGroup& g : cases.groups()) {
        const auto key_of = [&](const ExpandedKey* key) -> const warpaes_key* {
            if (key == nullptr) return nullptr;
            if (const warpaes_key* const handle = handles.of(*key)) return handle;
            return keys_.emplace_back(make_key(key->bytes())).get();
        };
        const auto elements = [](const Elements& e) {
            warpaes_elements out{};
            out.at.pointer = e.first;
            out.stride = e.stride;
            return out;
        };
        warpaes_batch_entry e{};
        e.mode = static_cast<warpaes_mode>(g.mode);
        e.direction = static_cast<warpaes_direction>(g.direction);
        e.count = g.count;
        e.length = abi_length(g);
        e.input = elements(g.input);
        e.output = elements(g.output);
        e.iv = elements(g.iv);
        e.aad = elements(g.aad);
        e.tag = elements(g.tag);
        e.keys = elements(g.keys);
        e.aad_len = g.aad_length;
        e.iv_len = static_cast<std::uint32_t>(g.iv_length);
        e.tag_len = static_cast<std::uint32_t>(g.tag_length);
        e.key_len = g.key_bytes;
        e.key = key_of(g.key);
        e.tweak_key = key_of(g.tweak_key);
        e.data_unit_len = g.data_units.bytes;
        e.data_unit_step = g.mode == Mode::xts ? static_cast<std::uint32_t>(g.data_units.step) : 0;
        if (g.failed != nullptr) {
            e.statuses = statuses_.emplace_back(g.count, WARPAES_ERROR_INTERNAL).data();
        }
        entries_.push_back(e);
    }
}

std::string AbiEntries::settle(const warpaes_batch* batch) {
    std::string wrong;
    const std::vector<warpaes_entry_result> results = results_of(batch, entries_.size());
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        const warpaes_entry_result& r = results[i];
        const MessageGroup& g = cases_.groups()[i];
        const warpaes_batch_entry& e = entries_[i];
        const auto say = [&](const std::string& what) {
            wrong += "entry " + std::to_string(i) + " (mode " + std::to_string(e.mode) + "): " + what + "; ";
        };
        if (r.status != (r.failures != 0 ? WARPAES_ERROR_AUTHENTICATION : WARPAES_OK)) {
            say(std::string("status ") + std::to_string(r.status) + ": " + warpaes_batch_entry_error(batch, i));
        }
        if (r.reserved != 0) say("reserved");
        if (g.failed == nullptr) continue;
        std::uint64_t failures = 0, first = ~std::uint64_t{0};
        for (std::uint64_t m = 0; m < g.count; ++m) {
            if (e.statuses[m] == WARPAES_OK) continue;
            if (e.statuses[m] != WARPAES_ERROR_AUTHENTICATION) say("status of message " + std::to_string(m));
            g.failed[m] = 1;
            first = std::min(first, m);
            ++failures;
        }
        if (failures != r.failures || (failures != 0 && first != r.first_failure)) say("failures");
    }
    return wrong;
}

std::vector<warpaes_entry_result> results_of(const warpaes_batch* batch, std::size_t count) {
    std::vector<warpaes_entry_result> results(count);
    for (std::size_t i = 0; i < count; ++i) {
        EXPECT_EQ(warpaes_batch_query_entry(batch, i, &results[i]), WARPAES_OK) << warpaes_last_error();
    }
    return results;
}

std::string complaints_of_statuses(std::span<const warpaes_batch_entry> entries,
                                   std::span<const warpaes_entry_result> results) {
    std::string wrong;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const warpaes_batch_entry& e = entries[i];
        const warpaes_entry_result& r = results[i];
        if (e.statuses == nullptr) continue;
        // A wrong tag affects only its own message. Any other fault affects the whole entry.
        const bool own = r.status == WARPAES_ERROR_AUTHENTICATION;
        const std::span<const warpaes_status> all(e.statuses, e.count);
        const auto n = static_cast<std::uint64_t>(std::count(all.begin(), all.end(), r.status));
        const auto good = own ? static_cast<std::uint64_t>(std::count(all.begin(), all.end(), WARPAES_OK)) : 0;
        if (n + good == e.count && (!own || (n != 0 && n == r.failures && all[r.first_failure] == r.status))) continue;
        wrong += "entry " + std::to_string(i) + " has status " + std::to_string(r.status) + ", of its " +
                 std::to_string(e.count) + " messages " + std::to_string(n) + " have; ";
    }
    return wrong;
}

std::string complaints_of_entries(warpaes_engine* engine, const BatchCase& cases, AbiEntries& entries) {
    warpaes_batch_options options = WARPAES_BATCH_OPTIONS_INIT;
    warpaes_batch* handle = nullptr;
    auto& list = entries.entries();
    if (warpaes_batch_submit(engine, &options, list.data(), list.size(), &handle) != WARPAES_OK) {
        return warpaes_last_error();
    }
    const AbiBatchHandle batch(handle);
    const warpaes_status status = warpaes_batch_wait(handle, WARPAES_UNKNOWN);
    if (status != WARPAES_OK && status != WARPAES_ERROR_AUTHENTICATION) return warpaes_last_error();
    warpaes_batch_result result = {};
    result.struct_size = sizeof result;
    if (warpaes_batch_query(handle, &result) != WARPAES_OK) return warpaes_last_error();
    std::uint64_t messages = 0;
    for (const auto& e : list) messages += e.count;
    std::string wrong = entries.settle(handle);
    wrong += cases.complaints();
    if (result.messages != messages || result.messages_on_cpu + result.messages_on_gpu != messages) {
        wrong += " messages: " + std::to_string(messages) + ", counted " + std::to_string(result.messages) + " = " +
                 std::to_string(result.messages_on_cpu) + " + " + std::to_string(result.messages_on_gpu);
    }
    return wrong;
}

std::string complaints_of_abi_batch(const AbiEngine& engine, std::span<const GroupSpec> specs, std::uint32_t seed,
                                    BatchMemory& text, BatchMemory& rest) {
    std::vector<GroupSpec> taken;
    for (const GroupSpec& spec : specs) taken.push_back(allowed(spec));
    BatchCase cases(taken, seed, text, rest);
    AbiEntries entries(cases);
    return complaints_of_entries(engine.get(), cases, entries);
}

void check_abi_batch(const AbiEngine& engine, std::span<const GroupSpec> specs, std::uint32_t seed, BatchMemory& text,
                     BatchMemory& rest) {
    EXPECT_EQ(complaints_of_abi_batch(engine, specs, seed, text, rest), "") << "seed " << seed;
}

}  // namespace warpaes::test

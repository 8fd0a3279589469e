#include "message/batch/batch.hpp"

#include <limits>
#include <memory>
#include <utility>

#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "message/batch/enqueue.hpp"
#include "message/batch/table.hpp"

using namespace warpaes;
using namespace warpaes::capi;

namespace {

void require_few(std::uint64_t count) {
    if (count < std::numeric_limits<std::uint32_t>::max()) return;
    throw Error(WARPAES_ERROR_ARGUMENT, "count: must be below 2^32 - 1, got " + std::to_string(count));
}

constexpr KeyHandles key_handles{.alive = is_alive,
                                 .key = [](const warpaes_key* key) -> const ExpandedKey& { return key->impl; }};

BatchRequest to_request(const warpaes_batch_options& o, const warpaes_batch_entry* entries, std::uint64_t count) {
    constexpr std::uint32_t known = WARPAES_BATCH_OFFSETS | WARPAES_BATCH_CHECK_NONCES | WARPAES_BATCH_MORE_COPIES;
    refuse_unknown_flags(o.flags, known);
    if (count != 0) require(entries, "entries");
    require_few(count);
    if (o.entry_size < first_entry_bytes || o.entry_size % alignof(warpaes_batch_entry) != 0) {
        throw Error(WARPAES_ERROR_ARGUMENT,
                    "entry_size: is " + std::to_string(o.entry_size) + "; set it to sizeof(warpaes_batch_entry)");
    }
    if (o.results != nullptr &&
        (o.result_size < first_entry_result_bytes || o.result_size % alignof(warpaes_entry_result) != 0)) {
        throw Error(WARPAES_ERROR_ARGUMENT,
                    "result_size: is " + std::to_string(o.result_size) + "; set it to sizeof(warpaes_entry_result)");
    }
    const bool more_copies = (o.flags & WARPAES_BATCH_MORE_COPIES) != 0;
    if (more_copies && o.copies == nullptr) {
        throw Error(WARPAES_ERROR_ARGUMENT, "options: WARPAES_BATCH_MORE_COPIES applies only with copies");
    }
    const bool offsets = (o.flags & WARPAES_BATCH_OFFSETS) != 0;
    if (offsets) require(o.arena, "arena");
    return {.entries = entries,
            .count = count,
            .entry_bytes = static_cast<std::size_t>(o.entry_size),
            .results = o.results,
            .result_bytes = static_cast<std::size_t>(o.result_size),
            .offsets = offsets,
            .check_nonces = (o.flags & WARPAES_BATCH_CHECK_NONCES) != 0,
            .copies = o.copies,
            .more_copies = more_copies,
            .arena = o.arena != nullptr ? &o.arena->impl : nullptr,
            .handles = key_handles,
            .finished = {}};
}

warpaes_batch_options options_of(const warpaes_batch_options* options) {
    warpaes_batch_options o = WARPAES_BATCH_OPTIONS_INIT;
    if (options != nullptr) o = read_struct(options, "options");
    return o;
}

/// Submits the batch; its callback receives the handle that this function returns.
warpaes_batch* submitted(warpaes_engine* engine, const warpaes_batch_options& o, BatchRequest request) {
    if (o.copies != nullptr) {
        throw Error(WARPAES_ERROR_ARGUMENT, "options: copies applies only to warpaes_batch_enqueue");
    }
    auto made = std::make_unique<warpaes_batch>();
    if (o.finished != nullptr) {
        request.finished = [call = o.finished, user = o.user, its = made.get()] { call(user, its); };
    }
    made->engine = engine->batches;
    engine->batches->submit(std::move(request), made->impl);
    return made.release();
}

BatchRequest table_request(warpaes_batch_options o, const warpaes_batch_table& table, void* stream) {
    if ((o.flags & WARPAES_BATCH_OFFSETS) != 0) {
        throw Error(WARPAES_ERROR_ARGUMENT,
                    "options: WARPAES_BATCH_OFFSETS does not apply to tables, whose offsets refer to extents");
    }
    require_few(table.count);
    std::shared_ptr<const TableEntries> made = entries_of(table, stream);
    o.entry_size = sizeof(warpaes_batch_entry);
    BatchRequest request = to_request(o, made->entries.data(), table.count);
    request.offsets = true;
    request.table = std::move(made);
    return request;
}

/// A batch that was finished before fork() may be queried in the child, because its results are in memory.
void require_here(const warpaes_batch& batch) {
    if (!batch.impl->finished()) batch.home.require("batch", "its work continues there");
}

const char* sentence_of(const Batch& batch, std::uint64_t entry) {
    const char* sentence = batch.outcomes().sentence(entry);
    return sentence != nullptr ? sentence : warpaes_status_message(batch.outcomes().status_of(entry));
}

}  // namespace

warpaes_engine::warpaes_engine(const EngineOptions& options)
    : impl(options), batches(std::make_shared<BatchEngine>(impl)) {}

warpaes_engine::~warpaes_engine() {
    if (impl.home().is_here()) {
        batches->stop();
    } else {
        batches->flush_keys_of_host();
        (void)new auto(std::move(batches));  // not destroyed, because the parent's threads may hold the locks of the
                                             // batches
    }
}

extern "C" {

warpaes_status warpaes_engine_flush_keys(warpaes_engine* engine) {
    return guarded([&] {
        require(engine, "engine");
        if (!engine->impl.home().is_here()) return engine->batches->flush_keys_of_host();
        engine->batches->flush_keys();
    });
}

warpaes_status warpaes_arena_create(warpaes_engine* engine, warpaes_memory memory, int32_t device, uint64_t bytes,
                                    warpaes_arena** arena) {
    return created(arena, "arena", [&] {
        require(engine, "engine");
        return new warpaes_arena{
            Arena(engine->impl, checked_memory(memory), memory == WARPAES_MEMORY_SHARED, device, bytes)};
    });
}

void warpaes_arena_destroy(warpaes_arena* arena) {
    delete arena;
}

void* warpaes_arena_data(const warpaes_arena* arena) {
    return arena != nullptr ? arena->impl.data() : nullptr;
}

uint64_t warpaes_arena_size(const warpaes_arena* arena) {
    return arena != nullptr ? arena->impl.bytes() : 0;
}

int warpaes_arena_fd(const warpaes_arena* arena) {
    return arena != nullptr ? arena->impl.descriptor() : -1;
}

warpaes_status warpaes_batch_submit(warpaes_engine* engine, const warpaes_batch_options* options,
                                    const warpaes_batch_entry* entries, uint64_t count, warpaes_batch** batch) {
    return created(batch, "batch", [&] {
        require(engine, "engine");
        engine->impl.home().require("engine", "create an engine for batches in this process");
        const warpaes_batch_options o = options_of(options);
        return submitted(engine, o, to_request(o, entries, count));
    });
}

warpaes_status warpaes_batch_submit_table(warpaes_engine* engine, const warpaes_batch_options* options,
                                          const warpaes_batch_table* table, warpaes_batch** batch) {
    return created(batch, "batch", [&] {
        require(engine, "engine");
        engine->impl.home().require("engine", "create an engine for batches in this process");
        const warpaes_batch_options o = options_of(options);
        return submitted(engine, o, table_request(o, read_struct(table, "table"), nullptr));
    });
}

warpaes_status warpaes_batch_enqueue_table(warpaes_engine* engine, const warpaes_batch_table* table,
                                           void* cuda_stream) {
    return guarded([&] {
        require(engine, "engine");
        engine->impl.home().require("engine", "create an engine for batches in this process");
        const warpaes_batch_table its = read_struct(table, "table");
        require_few(its.count);
        if (enqueue_in_order(engine->impl, key_handles, its, cuda_stream)) return;
        enqueue_batch(engine->impl, table_request(options_of(nullptr), its, cuda_stream), cuda_stream);
    });
}

warpaes_status warpaes_batch_enqueue(warpaes_engine* engine, const warpaes_batch_options* options,
                                     const warpaes_batch_entry* entries, uint64_t count, void* cuda_stream) {
    return guarded([&] {
        require(engine, "engine");
        engine->impl.home().require("engine", "create an engine for batches in this process");
        const warpaes_batch_options o = options_of(options);
        const BatchRequest request = to_request(o, entries, count);
        if (o.results != nullptr || o.finished != nullptr || request.check_nonces) {
            throw Error(WARPAES_ERROR_ARGUMENT,
                        "options: results, finished and WARPAES_BATCH_CHECK_NONCES apply only to batches that a caller "
                        "waits for");
        }
        enqueue_batch(engine->impl, request, cuda_stream);
    });
}

int warpaes_batch_fd(warpaes_batch* batch) {
    return batch != nullptr && batch->home.is_here() ? batch->impl->descriptor() : -1;
}

int warpaes_batch_poll(const warpaes_batch* batch) {
    return batch != nullptr && batch->impl->finished() ? 1 : 0;
}

warpaes_status warpaes_batch_wait(warpaes_batch* batch, uint64_t milliseconds) {
    warpaes_status outcome = WARPAES_OK;
    const warpaes_status waited = guarded([&] {
        require(batch, "batch");
        require_here(*batch);
        Batch& its = *batch->impl;
        if (!batch->engine->wait(batch->impl, milliseconds)) {
            throw Error(WARPAES_ERROR_TIMEOUT, "batch: is not finished after " + std::to_string(milliseconds) + " ms");
        }
        const auto failed = its.outcomes().first_failed();
        if (!failed) return;
        outcome = its.outcomes().status();
        remember_error(sentence_of(its, *failed));
    });
    return waited != WARPAES_OK ? waited : outcome;
}

void warpaes_batch_cancel(warpaes_batch* batch) {
    if (batch != nullptr && batch->home.is_here()) batch->impl->cancel();
}

warpaes_status warpaes_batch_query(const warpaes_batch* batch, warpaes_batch_result* result) {
    return guarded([&] {
        auto out = read_struct(result, "result");
        require(batch, "batch");
        require_here(*batch);
        const Batch& its = *batch->impl;
        if (!its.complete()) throw Error(WARPAES_ERROR_STATE, "batch: is not finished");
        out = {.struct_size = out.struct_size,
               .notes = its.notes(),
               .messages = its.messages(),
               .failed_entries = its.outcomes().failed_entries(),
               .messages_on_cpu = its.messages_on_cpu(),
               .messages_on_gpu = its.messages_on_gpu(),
               .status = its.outcomes().status(),
               .reserved = 0,
               .reason = its.reason()};
        write_struct(out, result, out.struct_size);
    });
}

warpaes_status warpaes_batch_query_entry(const warpaes_batch* batch, uint64_t index, warpaes_entry_result* result) {
    return guarded([&] {
        require(batch, "batch");
        require(result, "result");
        require_here(*batch);
        if (index >= batch->impl->entries()) {
            throw Error(WARPAES_ERROR_ARGUMENT, "index: there are " + std::to_string(batch->impl->entries()) +
                                                    " entries, got " + std::to_string(index));
        }
        if (!batch->impl->complete()) throw Error(WARPAES_ERROR_STATE, "batch: is not finished");
        *result = batch->impl->request().result(index);
    });
}

const char* warpaes_batch_entry_error(const warpaes_batch* batch, uint64_t index) {
    if (batch == nullptr || !batch->impl->complete() || index >= batch->impl->entries()) return "";
    return sentence_of(*batch->impl, index);
}

void warpaes_batch_destroy(warpaes_batch* batch) {
    if (batch == nullptr) return;
    if (!batch->home.is_here()) return;  // not freed, because the parent's threads may hold the batch's locks
    clean_stack([&] { (void)batch->engine->wait(batch->impl, Batch::forever); });
    delete batch;
}

}  // extern "C"

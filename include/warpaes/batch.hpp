// warpaes: many messages at once, and arenas for them. C++20 over the C ABI, header only. The rules in warpaes.hpp and
// the rules of warpaes_batch_submit in warpaes.h also apply here.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <future>
#include <warpaes/warpaes.hpp>

namespace warpaes {
inline namespace cpp {

enum class Memory {
    pageable = WARPAES_MEMORY_PAGEABLE,
    host = WARPAES_MEMORY_PAGE_LOCKED,
    device = WARPAES_MEMORY_DEVICE,
    shared = WARPAES_MEMORY_SHARED
};

/// Memory for many messages: page-locked if there is a GPU, on a device, or shared with other processes. It is
/// initially zeroed and is wiped when destroyed. Do not destroy an arena while a batch uses it.
class Arena {
public:
    /// `device` is the device number, for Memory::device. `bytes` is at least 1. Throws Error.
    Arena(const Engine& engine, std::uint64_t bytes, Memory memory = Memory::host, int device = 0)
        : handle_(detail::made<warpaes_arena>(warpaes_arena_create, engine.get(), static_cast<warpaes_memory>(memory),
                                              device, bytes)) {}
    /// Returns the address of the first byte, in this process or on the device.
    [[nodiscard]] std::uint8_t* data() const noexcept {
        return static_cast<std::uint8_t*>(warpaes_arena_data(handle_.get()));
    }
    [[nodiscard]] std::size_t size() const noexcept {
        return static_cast<std::size_t>(warpaes_arena_size(handle_.get()));
    }
    /// Returns, for Memory::shared, a descriptor that can be mapped or sent to another process; do not close the
    /// descriptor. -1 for other kinds of memory.
    [[nodiscard]] int fd() const noexcept { return warpaes_arena_fd(handle_.get()); }
    [[nodiscard]] const warpaes_arena* get() const noexcept { return handle_.get(); }

private:
    detail::Handle<warpaes_arena, warpaes_arena_destroy> handle_;
};

/// The location of one part (such as the input) of each message of an entry. The part of message i is `i * stride`
/// bytes after `pointer`.
struct Elements {
    const void* pointer = nullptr;
    std::uint64_t stride = 0;
};
/// Returns a location in an arena, for batches with Batch::offsets.
inline Elements at_offset(std::uint64_t offset, std::uint64_t stride = 0) {
    return {reinterpret_cast<const void*>(static_cast<std::uintptr_t>(offset)), stride};
}

/// `count` messages of the same shape. Use designated initialisers: {.mode = Mode::gcm, .key = &key, …}.
struct Entry {
    Mode mode{};
    Direction direction{};
    std::uint64_t count = 1;
    std::uint64_t length = 0;  ///< length of each message, in bytes; CFB1: in bits
    const Key* key = nullptr;  ///< the key for all messages; null: `keys`
    const Key* tweak_key = nullptr;
    Elements keys{};  ///< `key_len` bytes for each message
    std::uint32_t key_len = 0;
    Elements input{};
    Elements output{};  ///< equal to the input, or disjoint
    Elements iv{};
    std::uint32_t iv_len = 0;
    Elements aad{};
    std::uint64_t aad_len = 0;
    Elements tag{};  ///< written by encryption, compared by decryption
    std::uint32_t tag_len = 0;
    std::uint64_t data_unit_len = 0;     ///< XTS
    std::uint32_t data_unit_step = 0;    ///< XTS; 0 means 1
    warpaes_status* statuses = nullptr;  ///< one status per message, or null; on the device for enqueue()
};

namespace detail {
inline std::vector<warpaes_batch_entry> to_c(const std::vector<Entry>& entries) {
    std::vector<warpaes_batch_entry> out;
    out.reserve(entries.size());
    for (const Entry& e : entries) {
        const auto elements = [](const Elements& from) {
            warpaes_elements to = {};
            to.at.pointer = const_cast<void*>(from.pointer);  // inputs are only read
            to.stride = from.stride;
            return to;
        };
        warpaes_batch_entry raw = {};
        raw.mode = static_cast<warpaes_mode>(e.mode);
        raw.direction = static_cast<warpaes_direction>(e.direction);
        raw.count = e.count;
        raw.length = e.length;
        raw.input = elements(e.input);
        raw.output = elements(e.output);
        raw.iv = elements(e.iv);
        raw.aad = elements(e.aad);
        raw.tag = elements(e.tag);
        raw.keys = elements(e.keys);
        raw.aad_len = e.aad_len;
        raw.iv_len = e.iv_len;
        raw.tag_len = e.tag_len;
        raw.key_len = e.key_len;
        raw.key = e.key != nullptr ? e.key->get() : nullptr;
        raw.tweak_key = e.tweak_key != nullptr ? e.tweak_key->get() : nullptr;
        raw.data_unit_len = e.data_unit_len;
        raw.data_unit_step = e.data_unit_step;
        raw.statuses = e.statuses;
        out.push_back(raw);
    }
    return out;
}
}  // namespace detail

/// The outcome of a batch.
struct BatchResult {
    std::uint32_t notes = 0;  ///< WARPAES_NOTE_*
    std::uint64_t messages = 0;
    std::uint64_t failed_entries = 0;
    std::uint64_t messages_on_cpu = 0;
    std::uint64_t messages_on_gpu = 0;
    std::string reason{};  ///< why the work is divided as it is
};

/// A submitted batch. The memory that its entries point to must stay valid until the batch is finished; the destructor
/// waits until then.
class Batch {
public:
    enum Flags : std::uint32_t {
        none = 0,
        check_nonces = WARPAES_BATCH_CHECK_NONCES,  ///< refuse GCM and CCM encryptions that repeat an IV under the same
                                                    ///< key
        offsets = WARPAES_BATCH_OFFSETS             ///< elements are offsets in the arena; see at_offset
    };

    /// Starts the work and returns. `arena` is required for offsets; for other batches, it saves CUDA queries for
    /// memory in the arena. Thread-safe.
    Batch(const Engine& engine, const std::vector<Entry>& entries, Flags flags = none, const Arena* arena = nullptr)
        : Batch(engine, std::make_unique<State>(detail::to_c(entries)), flags, arena) {}
    /// Starts the work of the messages of a table: entry i is message i. The call copies the table; the memory of its
    /// extents and `statuses` must stay valid until the batch is finished. Throws Error if the table itself is faulty;
    /// the fault of a single message is only reported as its status. Thread-safe.
    static Batch of_table(const Engine& engine, const warpaes_batch_table& table, Flags flags = none) {
        return {std::make_unique<State>(std::vector<warpaes_batch_entry>{}, table.count), flags, nullptr,
                [&](const warpaes_batch_options& options, const State&, warpaes_batch** batch) {
                    return warpaes_batch_submit_table(engine.get(), &options, &table, batch);
                }};
    }
    /// Starts the work of entries that are given as structs of the C ABI.
    static Batch of_entries(const Engine& engine, std::vector<warpaes_batch_entry> entries, Flags flags = none,
                            const Arena* arena = nullptr) {
        return {engine, std::make_unique<State>(std::move(entries)), flags, arena};
    }
    Batch(Batch&&) noexcept = default;
    Batch& operator=(Batch&&) = delete;  // it would have to wait for the batch that it replaces

    /// Becomes ready when the batch is finished. Call it only once.
    [[nodiscard]] std::future<void> future() { return state_->finished.get_future(); }
    [[nodiscard]] bool finished() const noexcept { return warpaes_batch_poll(handle_.get()) != 0; }
    /// Returns false if the batch is not finished in time. A negative time counts as 0. Failed entries do not cause an
    /// exception.
    bool wait_for(std::chrono::milliseconds time) {
        const auto count = std::max<std::chrono::milliseconds::rep>(time.count(), 0);
        return warpaes_batch_wait(handle_.get(), static_cast<std::uint64_t>(count)) != WARPAES_ERROR_TIMEOUT;
    }
    /// Waits until the batch is finished, and throws the Error of the first failed entry.
    BatchResult get() {
        check(warpaes_batch_wait(handle_.get(), WARPAES_UNKNOWN));
        return result();
    }
    /// Waits until the batch is finished. status(entry) reports whether an entry failed.
    BatchResult wait() {
        (void)warpaes_batch_wait(handle_.get(), WARPAES_UNKNOWN);
        return result();
    }
    /// Drops the work that has not started.
    void cancel() noexcept { warpaes_batch_cancel(handle_.get()); }

    // The functions below require a finished batch.
    [[nodiscard]] warpaes_status status(std::size_t entry) const { return state_->results.at(entry).status; }
    [[nodiscard]] std::string error(std::size_t entry) const { return warpaes_batch_entry_error(handle_.get(), entry); }
    /// Returns the number of messages of the entry that are not authentic.
    [[nodiscard]] std::uint64_t failures(std::size_t entry) const { return state_->results.at(entry).failures; }
    [[nodiscard]] std::uint64_t first_failure(std::size_t entry) const {
        return state_->results.at(entry).first_failure;
    }

private:
    struct State {
        explicit State(std::vector<warpaes_batch_entry> list) : State(std::move(list), list.size()) {}
        State(std::vector<warpaes_batch_entry> list, std::uint64_t count)
            : entries(std::move(list)), results(static_cast<std::size_t>(count)) {}
        std::vector<warpaes_batch_entry> entries;
        std::vector<warpaes_entry_result> results;
        std::promise<void> finished;
    };

    Batch(const Engine& engine, std::unique_ptr<State> state, Flags flags, const Arena* arena)
        : Batch(std::move(state), flags, arena,
                [&](const warpaes_batch_options& options, const State& its, warpaes_batch** batch) {
                    return warpaes_batch_submit(engine.get(), &options, its.entries.data(), its.entries.size(), batch);
                }) {}
    template <typename Submit>
    Batch(std::unique_ptr<State> state, Flags flags, const Arena* arena, const Submit& submit)
        : state_(std::move(state)) {
        warpaes_batch_options options = WARPAES_BATCH_OPTIONS_INIT;
        options.flags = flags;
        options.arena = arena != nullptr ? arena->get() : nullptr;
        options.results = state_->results.data();
        options.finished = [](void* user, warpaes_batch*) { static_cast<State*>(user)->finished.set_value(); };
        options.user = state_.get();
        warpaes_batch* batch = nullptr;
        check(submit(options, *state_, &batch));
        handle_.reset(batch);
    }

    [[nodiscard]] BatchResult result() const {
        warpaes_batch_result raw = {};
        raw.struct_size = sizeof raw;
        check(warpaes_batch_query(handle_.get(), &raw));
        return {raw.notes, raw.messages, raw.failed_entries, raw.messages_on_cpu, raw.messages_on_gpu, raw.reason};
    }

    std::unique_ptr<State> state_;
    detail::Handle<warpaes_batch, warpaes_batch_destroy> handle_;
};

/// Enqueues entries on `stream` (a cudaStream_t; null: the device's default stream) and returns without waiting for
/// them. The data of all entries must be on the stream's device. The memory that the entries point to must stay valid
/// until the stream has completed the work. `arena` is required for Batch::offsets. If an entry is refused, the call
/// throws Error and enqueues nothing. Thread-safe.
inline void enqueue(const Engine& engine, const std::vector<Entry>& entries, void* stream,
                    Batch::Flags flags = Batch::none, const Arena* arena = nullptr) {
    warpaes_batch_options options = WARPAES_BATCH_OPTIONS_INIT;
    options.flags = flags;
    options.arena = arena != nullptr ? arena->get() : nullptr;
    const auto list = detail::to_c(entries);
    check(warpaes_batch_enqueue(engine.get(), &options, list.data(), list.size(), stream));
}
/// Like enqueue() above, for the messages of a table. Each message's status is written on the device, in stream order.
inline void enqueue(const Engine& engine, const warpaes_batch_table& table, void* stream) {
    check(warpaes_batch_enqueue_table(engine.get(), &table, stream));
}

}  // namespace cpp
}  // namespace warpaes

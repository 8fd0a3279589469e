// A batch in flight: its entries are checked and cut into tasks, which workers claim and execute.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/engine.hpp"
#include "message/batch/entries.hpp"
#include "message/batch/key_table.hpp"
#include "message/batch/outcomes.hpp"
#include "message/batch/tasks.hpp"

namespace warpaes {

/// Worker numbers: the CPU's workers come first, followed by the workers of each GPU.
constexpr unsigned gpu_worker(unsigned cpu_workers, unsigned gpu, unsigned lane) {
    return cpu_workers + gpu * most_gpu_lanes + lane;
}

/// The state that a worker keeps between tasks.
struct BatchScratch {
    /// Describes the group at the same position in `groups`.
    struct Origin {
        Slice slice;
        Elements output{};       ///< the caller's output, if the group's output is staged
        std::size_t failed = 0;  ///< position of the group's first flag in `failed`
    };
    /// Groups of whole consecutive entries that have the form of a group in `groups`, the group of the entry before
    /// them.
    struct Alike {
        std::size_t form = 0;  ///< position in `groups`
        std::uint32_t first_entry = 0;
        std::size_t first = 0, count = 0;  ///< in `alike`
        std::size_t failed = 0;            ///< position of the first flag in `BatchScratch::failed`
    };
    std::vector<MessageGroup> groups;
    std::vector<Origin> origins;
    std::vector<AlikeGroup> alike;
    std::vector<Alike> alike_runs;
    std::vector<std::uint8_t> failed;
    bool worked = false;  ///< whether the worker has executed a task since it last waited for work

    /// Returns a lane of `backend`: the previous lane if it fits, otherwise a new lane.
    LaneLease& lane(Engine& engine, Backend& backend, int device, std::size_t staging_bytes);
    /// Drops a lane that has failed.
    void discard_lane() noexcept;
    /// Returns the lane to the engine when there is no work.
    void let_go() noexcept { lane_.reset(); }

private:
    std::optional<LaneLease> lane_;
    const Backend* backend_ = nullptr;
    int device_ = -1;
    std::size_t staging_bytes_ = 0;
};

class Batch {
public:
    Batch(Engine& engine, KeyTable& keys, BatchRequest request);
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;
    ~Batch();

    // ------------------------------------------------------------------------------------- for workers (batch_engine)

    /// Checks the entries and cuts them into tasks. One thread calls this function, before any other. Returns true if
    /// there is no work.
    [[nodiscard]] bool prepare();
    /// Returns the GPUs that may be needed.
    [[nodiscard]] std::vector<int> devices() const;
    [[nodiscard]] const Crew& crew() const noexcept { return crew_; }
    /// Whether there is work for the CPU, provided that no GPU fails.
    [[nodiscard]] bool needs_cpu() const noexcept;
    /// Returns the number of tasks that the workers of a device may claim.
    [[nodiscard]] std::uint64_t wants_of(int device) const;

    enum class Step { nothing, worked, last };
    /// Claims one or more tasks and executes them. Step::nothing means that no task is available at the moment, and
    /// Step::last that all tasks are finished.
    Step work_on_cpu(unsigned worker, BatchScratch& scratch);
    /// `worker` is the worker number, which is set only for a device of the plan.
    Step work_on_gpu(int device, std::optional<unsigned> worker, BatchScratch& scratch);
    /// Whether tasks of a failed GPU have been returned since the last call; if so, other workers must be woken.
    [[nodiscard]] bool take_returned_note() noexcept { return returned_note_.exchange(false); }
    [[nodiscard]] bool returned() const noexcept { return returned_note_; }
    /// Fails all entries because no worker can process the batch. Must be called before the first task.
    void abandon(warpaes_status status, const char* sentence) noexcept;
    /// Calls the client's callback and releases the waiting threads. Called once, after the last step.
    void finish() noexcept;

    // ------------------------------------------------------------------------------------------------ for the client

    void cancel() noexcept { cancelled_ = true; }
    [[nodiscard]] bool finished() const noexcept { return finished_; }
    /// Returns a descriptor that becomes readable when the batch is finished; -1 if no descriptor can be created.
    /// Thread-safe.
    [[nodiscard]] int descriptor() noexcept;
    /// Returns false if the batch is not finished in time.
    bool wait(std::uint64_t milliseconds);
    /// The functions below may be called once all work is done: after the batch has finished, or in its callback.
    [[nodiscard]] bool complete() const noexcept { return complete_; }
    [[nodiscard]] const Outcomes& outcomes() const noexcept { return outcomes_; }
    [[nodiscard]] std::uint64_t entries() const noexcept { return request_.count; }
    [[nodiscard]] const BatchRequest& request() const noexcept { return request_; }
    [[nodiscard]] std::uint64_t messages() const noexcept { return messages_; }
    [[nodiscard]] std::uint64_t messages_on_cpu() const noexcept { return on_cpu_; }
    [[nodiscard]] std::uint64_t messages_on_gpu() const noexcept { return on_gpu_; }
    [[nodiscard]] std::uint32_t notes() const noexcept { return notes_; }
    /// The result is valid as long as this object.
    [[nodiscard]] const char* reason() const;

    static constexpr std::uint64_t forever = std::uint64_t{1} << 40;  ///< at or above this value, there is no timeout

private:
    /// Tasks that are handed out in order.
    struct Queue {
        TaskList list;
        std::atomic<std::uint32_t> next{0};

        [[nodiscard]] bool is_over() const noexcept { return next >= list.size(); }
        /// Claims the next task; empty if no task is left.
        Claim take() noexcept {
            if (is_over()) return {};
            const std::uint32_t task = next++;
            return task < list.size() ? Claim{task, task + 1} : Claim{};
        }
        /// Claims all remaining tasks.
        Claim take_all() noexcept { return {std::min(next.exchange(list.size()), list.size()), list.size()}; }
    };

    /// The facts about an entry that make_tasks() needs. They are recorded during the check, because entries are large:
    /// reading an entry again would cost more than all its other processing.
    struct Shape {
        enum class Work : std::uint8_t { none, parallel, serial, solo };
        std::uint64_t count = 0;
        std::uint64_t cost = 0;       ///< per message, in bytes
        std::uint16_t kind = 0;       ///< class of entries that run best together
        std::int16_t place = unseen;  ///< a device; -1: host memory
        Work work = Work::none;
        bool split : 1 = false;           ///< the entry is partly on a device and partly in host memory
        bool output_on_host : 1 = false;  ///< the output is in host memory
        bool iv_on_host : 1 = false;      ///< the IVs are in host memory, if there are any
        bool alike : 1 = false;           ///< EntryChecker::Checked::alike
    };
    static constexpr std::int16_t refused = -2, unseen = -3;

    struct Group;
    struct Survey;
    struct Piece;
    void check_entries(Survey& survey);
    /// Checks entries [begin, end) for check_entries(). Several threads may call this function at the same time.
    void check_piece(std::uint32_t begin, std::uint32_t end, Piece& piece);
    /// Checks the entries from `begin` that are like the last checked entry. Returns the first other entry.
    [[nodiscard]] std::uint32_t pass_alike(std::uint32_t begin, std::uint32_t end, EntryChecker& checker, Piece& piece);
    void check_nonces();
    void make_tasks(const Survey& survey);
    [[nodiscard]] std::set<int> devices_with_long_chains() const;
    [[nodiscard]] std::vector<std::uint32_t> in_order(const Survey& survey) const;
    void refuse(std::uint32_t entry, const Error& error);
    void refuse(std::uint32_t entry, warpaes_status status, const char* sentence) noexcept;
    [[nodiscard]] MessageGroup group(std::uint32_t entry) const;

    /// Claims up to `most` tasks in host memory: first tasks that a failed GPU returned, then tasks from the shares.
    Claim take_host(unsigned worker, std::uint32_t most);
    /// If the batch was cancelled, sets the status CANCELLED for the entries of the slices and returns true.
    bool leave_out(std::span<const Slice> slices);
    static void count(std::span<const Slice> slices, std::atomic<std::uint64_t>& where) noexcept;
    /// Returns how many messages of a slice to run at a time, so that they contain about `bytes` bytes in total.
    [[nodiscard]] std::uint64_t most_at_once(const Slice& slice, std::uint64_t bytes) const noexcept;
    /// Runs one long message as a separate call, which cuts the message and distributes it over the workers.
    void run_solo(std::uint32_t entry, std::uint64_t message);
    /// Converts slices to groups. In-place groups write to `staging` instead, as far as it has room.
    void gather(std::span<const Slice> slices, std::span<std::uint8_t> staging, bool on_cpu, BatchScratch& scratch);
    static void run_groups(Lane& lane, BatchScratch& scratch);
    /// Called after the groups have run: copies staged outputs to their destinations and reports failed messages.
    void settle(BatchScratch& scratch);
    /// Marks the slices' entries as failed. Decrypted output that is not authenticated must already be wiped.
    void give_up(std::span<const Slice> slices, const Error& error);
    /// Wipes outputs that may contain unauthenticated plaintext. `staged` means that in-place outputs were not written.
    /// `device` is the device that contains the outputs; -1 for host memory.
    void wipe_outputs(std::span<const Slice> slices, bool staged, int device) noexcept;
    [[nodiscard]] std::size_t bytes_in_place(std::span<const Slice> slices) const;
    /// Returns the staging size of a GPU's lane, for messages in place.
    [[nodiscard]] std::size_t staging_bytes() const noexcept;
    /// `bytes` is the number of bytes to run at a time.
    void run_pieces(Pieces pieces, std::uint64_t bytes, Backend& backend, int device, std::atomic<std::uint64_t>& where,
                    BatchScratch& scratch);
    void run_pieces_on_cpu(Pieces pieces, BatchScratch& scratch);
    void run_pieces_on_gpu(int device, Pieces& pieces, bool& some_done, bool staged, BatchScratch& scratch);
    Step run_on_cpu(Claim claim, BatchScratch& scratch);
    Step run_on_gpu(int device, Claim claim, BatchScratch& scratch);
    Step run_on_device(int device, std::span<const Slice> slices, BatchScratch& scratch);
    Step done(std::uint64_t tasks) noexcept { return left_.fetch_sub(tasks) == tasks ? Step::last : Step::worked; }
    /// Called after a failure of `device`, which gets no more tasks of this batch. Other workers process `claim`,
    /// unless it is empty.
    void lose(int device, Claim claim) noexcept;
    [[nodiscard]] bool lost(int device) noexcept;

    Engine& engine_;
    KeyTable& keys_;
    BatchRequest request_;
    std::unique_ptr<warpaes_entry_result[]> own_results_;  ///< used if the caller provided no memory for the results
    Outcomes outcomes_;
    Crew crew_;
    bool replaceable_ = false;

    // Set by prepare():
    std::vector<Shape> shapes_;  ///< one per entry
    std::unordered_map<std::uint32_t, std::shared_ptr<const ExpandedKey>> table_keys_;
    Queue solos_;                        ///< messages that the pipeline cuts and distributes, one at a time
    TaskList host_;                      ///< tasks in host memory
    std::optional<TaskShares> shares_;   ///< tasks of `host_`
    std::map<int, Queue> device_tasks_;  ///< tasks in each device's memory
    std::uint64_t messages_ = 0;
    bool stages_ = false;  ///< whether any message is in place

    std::atomic<std::uint64_t> left_{0};  ///< number of tasks that are not finished yet
    std::atomic<bool> cancelled_{false};
    std::atomic<bool> on_gpus_alone_{false};  ///< true once the batch is prepared and the CPU has no tasks
    std::atomic<std::uint64_t> on_cpu_{0}, on_gpu_{0};
    std::atomic<std::uint32_t> notes_{0};

    mutable std::mutex mutex_;    ///< guards returned tasks, the end of the batch and `reason_`
    mutable std::string reason_;  ///< set once a client has requested it
    int descriptor_ = -1;         ///< an eventfd, created once a client has requested it
    std::vector<Claim> returned_;
    std::vector<int> lost_;  ///< devices that failed
    std::atomic<bool> returned_any_{false}, returned_note_{false};
    std::atomic<bool> cpu_takes_over_{false};

    std::condition_variable finish_condition_;
    std::atomic<bool> complete_{false}, finished_{false};
};

}  // namespace warpaes

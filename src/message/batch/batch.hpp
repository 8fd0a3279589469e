// A batch on its way: its entries checked, cut into tasks, and carried out by whoever takes them.
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
#include "engine/key_table.hpp"
#include "engine/tasks.hpp"
#include "message/batch/entries.hpp"
#include "message/batch/outcomes.hpp"

namespace warpaes {

/// Workers have numbers: first those of the CPU, then those of each GPU.
constexpr unsigned gpu_worker(unsigned cpu_workers, unsigned gpu, unsigned lane) {
    return cpu_workers + gpu * most_gpu_lanes + lane;
}

/// What a worker keeps from task to task.
struct BatchScratch {
    /// Where a group of `groups` comes from.
    struct Origin {
        Slice slice;
        Elements output{};       ///< where it belongs, if it is staged
        std::size_t failed = 0;  ///< position in `failed`
    };
    std::vector<MessageGroup> groups;
    std::vector<Origin> origins;
    std::vector<std::uint8_t> failed;
    bool worked = false;  ///< since it last waited for work

    /// A lane of `backend`, the one before if it will do.
    LaneLease& lane(Engine& engine, Backend& backend, int device, std::size_t staging_bytes);
    /// The lane has failed.
    void discard_lane() noexcept;
    /// When there is nothing to do.
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

    /// Checks the entries and cuts them into tasks. By one thread, before anything else. True if nothing is to be done.
    [[nodiscard]] bool prepare();
    /// GPUs that may be needed.
    [[nodiscard]] std::vector<int> devices() const;
    [[nodiscard]] const Crew& crew() const noexcept { return crew_; }
    /// Whether there is work for the CPU, as long as no GPU fails.
    [[nodiscard]] bool needs_cpu() const noexcept;
    /// Tasks that a device's workers may take.
    [[nodiscard]] std::uint64_t wants_of(int device) const;

    enum class Step { nothing, worked, last };
    /// Takes a task or a few and carries them out. Nothing: there are none, now. Last: all is done.
    Step work_on_cpu(unsigned worker, BatchScratch& scratch);
    /// `worker`: for a device of the plan, else none.
    Step work_on_gpu(int device, std::optional<unsigned> worker, BatchScratch& scratch);
    /// Tasks that came back when a GPU failed, since last asked: somebody else must be woken.
    [[nodiscard]] bool take_returned_note() noexcept { return returned_note_.exchange(false); }
    [[nodiscard]] bool returned() const noexcept { return returned_note_; }
    /// Nobody can carry it out, and nobody has begun.
    void abandon(warpaes_status status, const char* sentence) noexcept;
    /// Calls back and lets go of those who wait. After the last step, once.
    void finish() noexcept;

    // ------------------------------------------------------------------------------------------------ for the client

    void cancel() noexcept { cancelled_ = true; }
    [[nodiscard]] bool finished() const noexcept { return finished_; }
    /// Can be read from once it is finished; -1 if there is none to be had. Thread-safe.
    [[nodiscard]] int descriptor() noexcept;
    /// False if it is not finished in time.
    bool wait(std::uint64_t milliseconds);
    /// What follows is for when all is done: finished, or called back.
    [[nodiscard]] bool complete() const noexcept { return complete_; }
    [[nodiscard]] const Outcomes& outcomes() const noexcept { return outcomes_; }
    [[nodiscard]] std::uint64_t entries() const noexcept { return request_.count; }
    [[nodiscard]] const BatchRequest& request() const noexcept { return request_; }
    [[nodiscard]] std::uint64_t messages() const noexcept { return messages_; }
    [[nodiscard]] std::uint64_t messages_on_cpu() const noexcept { return on_cpu_; }
    [[nodiscard]] std::uint64_t messages_on_gpu() const noexcept { return on_gpu_; }
    [[nodiscard]] std::uint32_t notes() const noexcept { return notes_; }
    [[nodiscard]] const char* reason() const noexcept { return crew_.reason.c_str(); }

    static constexpr std::uint64_t forever = std::uint64_t{1} << 40;  ///< and above: no clock counts further

private:
    /// Tasks that are handed out in their order.
    struct Queue {
        TaskList list;
        std::atomic<std::uint32_t> next{0};

        [[nodiscard]] bool is_over() const noexcept { return next >= list.size(); }
        /// The next one; empty if there is none.
        Claim take() noexcept {
            if (is_over()) return {};
            const std::uint32_t task = next++;
            return task < list.size() ? Claim{task, task + 1} : Claim{};
        }
        /// All that are left.
        Claim take_all() noexcept { return {std::min(next.exchange(list.size()), list.size()), list.size()}; }
    };

    /// What the cutting of tasks asks of an entry, kept from its check: entries are large, and reading one again costs
    /// more than all that is done with it.
    struct Shape {
        enum class Work : std::uint8_t { none, parallel, serial, solo };
        std::uint64_t count = 0;
        std::uint64_t cost = 0;       ///< of a message, in bytes
        std::uint16_t kind = 0;       ///< what is best worked on together
        std::int16_t place = unseen;  ///< -1: in host memory; or a device
        Work work = Work::none;
        bool split = false;           ///< some of it lies on a device, and some in host memory;
        bool output_on_host = false;  ///< its output
    };
    static constexpr std::int16_t refused = -2, unseen = -3;

    struct Survey;
    struct Piece;
    void check_entries(Survey& survey);
    /// Entries [begin, end): its part of check_entries. Several pieces may be checked at the same time.
    void check_piece(std::uint32_t begin, std::uint32_t end, Piece& piece);
    void check_nonces();
    void make_tasks(const Survey& survey);
    [[nodiscard]] std::set<int> devices_with_long_chains() const;
    [[nodiscard]] std::vector<std::uint32_t> in_order(const Survey& survey) const;
    void refuse(std::uint32_t entry, const Error& error);
    void refuse(std::uint32_t entry, warpaes_status status, const char* sentence) noexcept;
    [[nodiscard]] MessageGroup group(std::uint32_t entry) const;

    Claim take_host(unsigned worker, std::uint32_t most);
    /// Says so of the slices, if the batch was cancelled.
    bool leave_out(std::span<const Slice> slices);
    static void count(std::span<const Slice> slices, std::atomic<std::uint64_t>& where) noexcept;
    /// How many messages of a slice to be busy with at a time, where `bytes` are.
    [[nodiscard]] std::uint64_t most_at_once(const Slice& slice, std::uint64_t bytes) const noexcept;
    void run_solo(std::uint32_t entry, std::uint64_t message);
    /// The groups of slices; with `staging` those in place get another output, as far as it goes.
    void gather(std::span<const Slice> slices, std::span<std::uint8_t> staging, BatchScratch& scratch);
    /// After they ran: staged outputs go where they belong, and failures are told.
    void settle(BatchScratch& scratch);
    /// They come to nothing; what decryption may have left behind that nobody has authenticated is wiped by then.
    void give_up(std::span<const Slice> slices, const Error& error);
    /// `staged`: what lies in place was not touched. `device`: where it lies, -1 for host memory.
    void wipe_outputs(std::span<const Slice> slices, bool staged, int device) noexcept;
    [[nodiscard]] std::size_t bytes_in_place(std::span<const Slice> slices) const;
    /// Of a GPU's lane, for what lies in place.
    [[nodiscard]] std::size_t staging_bytes() const noexcept;
    /// `bytes`: what to be busy with at a time.
    void run_pieces(Pieces pieces, std::uint64_t bytes, Backend& backend, int device, std::atomic<std::uint64_t>& where,
                    BatchScratch& scratch);
    void run_pieces_on_cpu(Pieces pieces, BatchScratch& scratch);
    void run_pieces_on_gpu(int device, Pieces& pieces, bool& some_done, bool staged, BatchScratch& scratch);
    Step run_on_cpu(Claim claim, BatchScratch& scratch);
    Step run_on_gpu(int device, Claim claim, BatchScratch& scratch);
    Step run_on_device(int device, std::span<const Slice> slices, BatchScratch& scratch);
    Step done(std::uint64_t tasks) noexcept { return left_.fetch_sub(tasks) == tasks ? Step::last : Step::worked; }
    /// The device takes no more of this batch, and others do what it held: `claim`, if there is one.
    void lose(int device, Claim claim) noexcept;
    [[nodiscard]] bool lost(int device) noexcept;

    Engine& engine_;
    KeyTable& keys_;
    BatchRequest request_;
    std::vector<warpaes_entry_result> own_results_;  ///< where the caller has none
    Outcomes outcomes_;
    Crew crew_;
    bool replaceable_ = false;

    // Made by prepare:
    std::vector<Shape> shapes_;  ///< of each entry
    std::unordered_map<std::uint32_t, std::shared_ptr<const ExpandedKey>> table_keys_;
    Queue solos_;  ///< messages that are cut and spread by themselves
    TaskList host_;
    std::optional<TaskShares> shares_;
    std::map<int, Queue> device_tasks_;
    std::uint64_t messages_ = 0;
    bool stages_ = false;  ///< something lies in place

    std::atomic<std::uint64_t> left_{0};  ///< tasks that are not done
    std::atomic<bool> cancelled_{false};
    std::atomic<bool> on_gpus_alone_{false};  ///< it is prepared, and the CPU has no part in it
    std::atomic<std::uint64_t> on_cpu_{0}, on_gpu_{0};
    std::atomic<std::uint32_t> notes_{0};

    std::mutex mutex_;     ///< of what came back, and of the end
    int descriptor_ = -1;  ///< an eventfd, if somebody has asked for one
    std::vector<Claim> returned_;
    std::vector<int> lost_;  ///< devices that failed
    std::atomic<bool> returned_any_{false}, returned_note_{false};
    std::atomic<bool> cpu_takes_over_{false};

    std::condition_variable finish_condition_;
    std::atomic<bool> complete_{false}, finished_{false};
};

}  // namespace warpaes

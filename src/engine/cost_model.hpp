// What work costs on each backend: a formula of a few parameters for each kind of work, measured by a calibration or,
// before one, reckoned from the backend's name and the device's size.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "backend/cuda_backend.hpp"

namespace warpaes {

/// What a plan is made for: `messages` of one kind. Sizes in bytes, also for CFB1.
struct Work {
    Mode mode = Mode::ctr;
    Direction direction = Direction::encrypt;
    unsigned key_bits = 128;  ///< 128, 192 or 256
    std::uint64_t bytes = 0;  ///< of all messages together
    Memory memory = Memory::pageable;
    std::uint64_t messages = 1;
    std::uint64_t longest = 0;  ///< bytes of the longest message; 0: all are alike
    std::uint64_t keys = 1;     ///< different keys
    bool batch = false;         ///< handed over as a batch, also if it is of one message
    std::uint64_t whole = 0;    ///< bytes that no two threads share, a data unit of XTS; 0: any block may lie between

    [[nodiscard]] std::uint64_t longest_message() const noexcept {
        return longest != 0 ? longest : messages <= 1 ? bytes : bytes / messages;
    }
};

/// Kinds of work that differ in their arithmetic.
enum class WorkClass : std::uint8_t {
    ecb,
    ctr,
    xts,
    gcm_encrypt,
    gcm_decrypt,
    cbc_decrypt,  ///< CBC and CFB decryption
    chained,      ///< CBC and CFB encryption, OFB: block after block
    cmac,
    ccm
};
inline constexpr std::size_t work_classes = 9;
std::string_view name_of(WorkClass work_class) noexcept;
WorkClass class_of(Mode mode, Direction direction) noexcept;

/// How a backend is reached. One lane: the caller's thread alone does the work.
enum class Way : std::uint8_t {
    // CPU
    one_lane,
    all_lanes,  ///< without the seconds that it takes to start them
    batch,
    // GPU, by where the data lies
    pageable,
    page_locked,
    device,
    pageable_batch,
    page_locked_batch,
    device_batch
};
inline constexpr std::size_t ways = 9;
Way gpu_way(Memory memory, bool batch) noexcept;
std::string_view name_of(Way way) noexcept;

/// seconds = fixed + max(serial_byte * longest * rounds, message * messages + key * keys + bytes of each span * its
/// cost)
///
/// The second term is work that a backend shares among all it has; the first what it cannot share: a message that is
/// one chain of blocks keeps a single lane busy however many there are. Copies are in either.
struct Cost {
    /// A byte costs what the size of the whole makes it cost: caches, then memory; launches that fill a GPU more and
    /// more; copies that overlap. Span i ends at ends[i] bytes, the last one nowhere.
    static constexpr std::array<std::uint64_t, 7> ends{4 << 10, 64 << 10, 512 << 10, 2 << 20,
                                                       8 << 20, 64 << 20, 256 << 20};
    static constexpr std::size_t spans = ends.size() + 1;

    double fixed = 0;        ///< seconds a call
    double message = 0;      ///< seconds a message; in a batch only
    double key = 0;          ///< seconds a different key; in a batch only
    double serial_byte = 0;  ///< seconds a byte of the longest message
    /// Bytes of a batch that are at work at once, 0 for all: chains that come later wait for the earlier ones, so that
    /// there are bytes / in_flight rounds of them, one at least. Known, not fitted.
    double in_flight = 0;
    std::array<double, spans> byte{};  ///< seconds a byte of all messages, in each span

    /// What depends on the longest message.
    [[nodiscard]] double of_chains(std::uint64_t bytes, std::uint64_t longest) const noexcept;
    /// What depends on how many bytes there are.
    [[nodiscard]] double of_bytes(std::uint64_t bytes) const noexcept;
    [[nodiscard]] double seconds(std::uint64_t bytes, std::uint64_t messages, std::uint64_t longest,
                                 std::uint64_t keys) const noexcept;
    /// Every parameter is a finite number and not negative.
    [[nodiscard]] bool valid() const noexcept;
    bool operator==(const Cost&) const = default;
};

/// What one backend, or one GPU, would take.
struct Prediction {
    double seconds = 0;
    unsigned lanes = 1;       ///< workers that a CPU backend would use
    bool calibrated = false;  ///< reckoned from measurements of this machine
    double cold_seconds = 0;  ///< besides, if this were the process's first work on a GPU
};

/// The costs of one CPU backend or one kind of GPU.
class CostTable {
public:
    [[nodiscard]] const Cost* find(WorkClass work_class, Way way, unsigned key_bits) const noexcept {
        const Entry& entry = at(work_class, way, key_bits);
        return entry.known ? &entry.cost : nullptr;
    }
    void set(WorkClass work_class, Way way, unsigned key_bits, const Cost& cost) noexcept {
        at(work_class, way, key_bits) = {cost, true};
    }
    /// Calls `visit(class, way, key_bits, cost)` for each cost that is known.
    template <typename Visit>
    void each(const Visit& visit) const {
        for (std::size_t i = 0; i < entries_.size(); ++i) {
            if (!entries_[i].known) continue;
            visit(static_cast<WorkClass>(i / (2 * ways)), static_cast<Way>(i / 2 % ways), i % 2 == 0 ? 128U : 256U,
                  entries_[i].cost);
        }
    }

private:
    struct Entry {
        Cost cost;
        bool known = false;
    };
    static std::size_t index(WorkClass work_class, Way way, unsigned key_bits) noexcept {
        return (static_cast<std::size_t>(work_class) * ways + static_cast<std::size_t>(way)) * 2 + (key_bits > 192);
    }
    Entry& at(WorkClass work_class, Way way, unsigned key_bits) noexcept {
        return entries_[index(work_class, way, key_bits)];
    }
    [[nodiscard]] const Entry& at(WorkClass work_class, Way way, unsigned key_bits) const noexcept {
        return entries_[index(work_class, way, key_bits)];
    }

    std::array<Entry, work_classes * ways * 2> entries_{};
};

/// A GPU's launches, as a tuning has left them (calibration/launches.hpp).
struct TunedLaunches {
    GpuShape gpu;  ///< which it was; its name aside
    LaunchTable table;
};

/// All that is known of a machine.
struct CostModel {
    /// By what it is about: the name of a CPU backend, or "cuda " and the name of the GPU.
    std::map<std::string, CostTable, std::less<>> tables;
    std::map<std::string, TunedLaunches, std::less<>> launches;  ///< by the same names
    double thread = 0;     ///< seconds to start and to end one more worker for a call
    double cold = 0;       ///< seconds until the first call of a process has a GPU ready; 0: not known
    std::string note;      ///< why there are none, if somebody should know
    unsigned threads = 0;  ///< workers that Way::all_lanes and Way::batch were measured with; 0: not measured

    [[nodiscard]] bool calibrated() const noexcept { return !tables.empty(); }
    [[nodiscard]] const CostTable* find(std::string_view name) const noexcept {
        const auto it = tables.find(name);
        return it == tables.end() ? nullptr : &it->second;
    }
    /// Takes over what `older` says of GPUs that this does not know, and of launches.
    void keep_gpus(const CostModel& older);
    /// The name of a backend's or a device's costs.
    static std::string table_name(const BackendInfo& info);
};

/// GPUs take batches from host memory in pieces: so many bytes are on their way at once (see Crew).
inline constexpr double gpu_batch_in_flight = 4 * 16 << 20;

/// Before any calibration (cost_defaults.cpp). `threads`: workers of the machine.
CostTable default_costs(const BackendInfo& info, unsigned threads);
inline constexpr double default_thread_seconds = 15e-6;
inline constexpr double default_cold_seconds = 0.3;

}  // namespace warpaes

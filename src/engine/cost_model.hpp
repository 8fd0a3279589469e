// Predicts the time of work on each backend, using a formula with a few parameters for each kind of work. A calibration
// measures the parameters; before that, they are estimated from the backend's name and the device's size.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "backend/backend.hpp"
#include "backend/gpu_tuning.hpp"

namespace warpaes {

/// The work to plan: `messages` messages of the same kind. Sizes are in bytes, even for CFB1.
struct Work {
    Mode mode = Mode::ctr;
    Direction direction = Direction::encrypt;
    unsigned key_bits = 128;  ///< 128, 192 or 256
    std::uint64_t bytes = 0;  ///< bytes of all messages together
    Memory memory = Memory::pageable;
    std::uint64_t messages = 1;
    std::uint64_t longest = 0;  ///< bytes of the longest message; 0: all messages have the same length
    std::uint64_t keys = 1;     ///< number of distinct keys
    bool batch = false;         ///< submitted as a batch, even if the batch contains only one message
    std::uint64_t whole =
        0;  ///< size of units that must not be cut, such as XTS data units; 0: cuts are allowed between any blocks

    [[nodiscard]] std::uint64_t longest_message() const noexcept {
        return longest != 0 ? longest : messages <= 1 ? bytes : bytes / messages;
    }
};

inline constexpr std::size_t work_classes = 9;
std::string_view name_of(WorkClass work_class) noexcept;
WorkClass class_of(Mode mode, Direction direction) noexcept;
/// Whether each block depends on the previous block.
constexpr bool is_chained(WorkClass work_class) {
    return work_class >= WorkClass::chained;
}

/// How the work is executed. With one lane, only the calling thread works.
enum class Way : std::uint8_t {
    // CPU
    one_lane,
    all_lanes,  ///< without the time to start the workers
    batch,
    // GPU, by the location of the data
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

/// seconds = fixed + max(serial_byte * longest * rounds, message * messages + key * keys + bytes of each span * the
/// span's cost per byte)
///
/// The first argument of max is work that a backend cannot distribute: a message that is a single chain of blocks
/// occupies one lane regardless of the number of lanes. The second is work that the backend distributes over all its
/// resources. Both include copies.
struct Cost {
    /// The cost of a byte depends on the total size: small data fits in caches; larger launches use more of a GPU; and
    /// copies overlap. Span i ends at ends[i] bytes; the last span is unbounded.
    static constexpr std::array<std::uint64_t, 7> ends{4 << 10, 64 << 10, 512 << 10, 2 << 20,
                                                       8 << 20, 64 << 20, 256 << 20};
    static constexpr std::size_t spans = ends.size() + 1;

    double fixed = 0;        ///< seconds per call
    double message = 0;      ///< seconds per message; only for batches
    double key = 0;          ///< seconds per distinct key; only for batches
    double serial_byte = 0;  ///< seconds per byte of the longest message
    /// Bytes of a batch that are in flight at once; 0: all. Later chains wait for earlier chains, so there are bytes /
    /// in_flight rounds of chains, but at least one round. The value is known, so it is not fitted.
    double in_flight = 0;
    std::array<double, spans> byte{};  ///< seconds per byte of all messages, in each span

    /// The part of the time that depends on the longest message.
    [[nodiscard]] double of_chains(std::uint64_t bytes, std::uint64_t longest) const noexcept;
    /// The part of the time that depends on the number of bytes.
    [[nodiscard]] double of_bytes(std::uint64_t bytes) const noexcept;
    [[nodiscard]] double seconds(std::uint64_t bytes, std::uint64_t messages, std::uint64_t longest,
                                 std::uint64_t keys) const noexcept;
    /// Whether every parameter is finite and not negative.
    [[nodiscard]] bool valid() const noexcept;
    bool operator==(const Cost&) const = default;
};

/// The predicted time on one backend or one GPU.
struct Prediction {
    double seconds = 0;
    unsigned lanes = 1;       ///< workers that a CPU backend would use
    bool calibrated = false;  ///< based on measurements of this machine
    double cold_seconds = 0;  ///< additional time if this is the process's first work on a GPU
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
    /// Calls `visit(class, way, key_bits, cost)` for each known cost.
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

/// A GPU's launch table, as stored by a tuning run (calibration/file.hpp).
struct TunedLaunches {
    GpuShape gpu;  ///< the tuned GPU, without its name
    LaunchTable table;
};

/// All known costs of a machine.
struct CostModel {
    /// Keyed by the name of a CPU backend, or by a GPU backend's name, a space and the name of the GPU.
    std::map<std::string, CostTable, std::less<>> tables;
    std::map<std::string, TunedLaunches, std::less<>> launches;  ///< keyed by the same names
    double thread = 0;     ///< seconds to start and end each additional worker for a call
    double cold = 0;       ///< seconds until a process's first call has a usable GPU; 0: unknown
    std::string note;      ///< why there are no costs, if the user should be informed
    unsigned threads = 0;  ///< number of workers with which Way::all_lanes and Way::batch were measured; 0: not
                           ///< measured

    [[nodiscard]] bool calibrated() const noexcept { return !tables.empty(); }
    [[nodiscard]] const CostTable* find(std::string_view name) const noexcept {
        const auto it = tables.find(name);
        return it == tables.end() ? nullptr : &it->second;
    }
    /// Adds the costs and launch tables of GPUs that are only in `older`.
    void keep_gpus(const CostModel& older);
    /// Returns the name of the cost table of a backend or device.
    static std::string table_name(const BackendInfo& info);
};

/// GPUs process batches from host memory in pieces; this is the number of bytes in flight at once (see Crew).
inline constexpr double gpu_batch_in_flight = 4 * 16 << 20;

/// Returns the costs before any calibration (cost_defaults.cpp). `threads` is the number of the machine's workers.
CostTable default_costs(const BackendInfo& info, unsigned threads);
inline constexpr double default_thread_seconds = 15e-6;
inline constexpr double default_cold_seconds = 0.3;

}  // namespace warpaes

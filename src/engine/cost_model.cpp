#include "engine/cost_model.hpp"

#include <algorithm>
#include <cmath>

namespace warpaes {

namespace {

constexpr std::array<std::string_view, work_classes> class_names{
    "ecb", "ctr", "xts", "gcm-encrypt", "gcm-decrypt", "cbc-decrypt", "cbc-encrypt", "cmac", "ccm"};
constexpr std::array<std::string_view, ways> way_names{"one-lane",       "all-lanes",         "batch",
                                                       "pageable",       "page-locked",       "device",
                                                       "pageable-batch", "page-locked-batch", "device-batch"};

}  // namespace

std::string_view name_of(WorkClass work_class) noexcept {
    return class_names[static_cast<std::size_t>(work_class)];
}

std::string_view name_of(Way way) noexcept {
    return way_names[static_cast<std::size_t>(way)];
}

Way gpu_way(Memory memory, bool batch) noexcept {
    constexpr auto of = [](Way first, Memory kind) {
        return static_cast<Way>(static_cast<int>(first) + static_cast<int>(kind));
    };
    static_assert(of(Way::pageable, Memory::page_locked) == Way::page_locked);
    static_assert(of(Way::pageable, Memory::device) == Way::device);
    static_assert(of(Way::pageable_batch, Memory::device) == Way::device_batch);
    return of(batch ? Way::pageable_batch : Way::pageable, traits_of(memory).costs);
}

WorkClass class_of(Mode mode, Direction direction) noexcept {
    const ModeKind& kind = traits_of(mode).kind;
    return direction == Direction::encrypt ? kind.encryption : kind.decryption;
}

double Cost::of_chains(std::uint64_t bytes, std::uint64_t longest) const noexcept {
    const double rounds = in_flight > 0 ? std::max(1.0, static_cast<double>(bytes) / in_flight) : 1;
    return serial_byte * static_cast<double>(longest) * rounds;
}

double Cost::of_bytes(std::uint64_t bytes) const noexcept {
    double sum = 0;
    std::uint64_t begin = 0;
    for (std::size_t i = 0; i < ends.size(); ++i) {
        if (bytes <= ends[i]) return sum + static_cast<double>(bytes - begin) * byte[i];
        sum += static_cast<double>(ends[i] - begin) * byte[i];
        begin = ends[i];
    }
    return sum + static_cast<double>(bytes - begin) * byte[spans - 1];
}

double Cost::seconds(std::uint64_t bytes, std::uint64_t messages, std::uint64_t longest,
                     std::uint64_t keys) const noexcept {
    const double shared = message * static_cast<double>(messages) + key * static_cast<double>(keys) + of_bytes(bytes);
    return fixed + std::max(of_chains(bytes, longest), shared);
}

bool Cost::valid() const noexcept {
    const auto good = [](double value) { return std::isfinite(value) && value >= 0; };
    return good(fixed) && good(message) && good(key) && good(serial_byte) && good(in_flight) &&
           std::all_of(byte.begin(), byte.end(), good);
}

void CostModel::keep_gpus(const CostModel& older) {
    for (const auto& [name, table] : older.tables) {
        if (name.find(' ') != std::string::npos) tables.try_emplace(name, table);
    }
    for (const auto& [name, tuned] : older.launches) launches.try_emplace(name, tuned);
    if (cold == 0) cold = older.cold;
}

std::string CostModel::table_name(const BackendInfo& info) {
    return info.gpu ? info.name + " " + info.description : info.name;
}

}  // namespace warpaes

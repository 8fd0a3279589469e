#include "engine/calibration/file.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "backend/launch_figures.hpp"
#include "base/error.hpp"
#include "base/pool.hpp"
#include "engine/pipeline/file.hpp"

namespace warpaes {

namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t longest_file = 4 << 20;

std::string cpu_model() {
    std::ifstream info("/proc/cpuinfo");
    std::string implementer;
    for (std::string line; std::getline(info, line);) {
        const std::size_t colon = line.find(": ");
        if (colon == std::string::npos) continue;
        const std::string value = line.substr(colon + 2);
        if (line.starts_with("model name")) return value;
        if (line.starts_with("CPU implementer")) implementer = value;  // Arm reports only numbers
        if (line.starts_with("CPU part")) return "implementer " + implementer + ", part " + value;
    }
    return "unknown";
}

/// FNV-1a, 64 bits, for a file name. The result only has to differ between machines.
std::string digest(const std::string& text) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    static constexpr char digits[] = "0123456789abcdef";
    std::string out;
    for (int shift = 60; shift >= 0; shift -= 4) out += digits[hash >> shift & 15];
    return out;
}

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "";
}

/// Reads only regular files, because other files may be endless or block on opening.
std::string read_text(const fs::path& path) {
    std::error_code error;
    if (!fs::is_regular_file(path, error)) throw Error(WARPAES_ERROR_FORMAT, "calibration: is not a regular file");
    const std::uintmax_t bytes = fs::file_size(path, error);
    if (!error && bytes > longest_file) throw Error(WARPAES_ERROR_FORMAT, "calibration: the file is too long");
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file) throw Error(WARPAES_ERROR_FORMAT, "calibration: the file cannot be read");
    return std::move(text).str();
}

/// Whether the file begins like a calibration or is a truncated calibration. Any other file is not overwritten.
bool begins_as_calibration(const fs::path& path) {
    constexpr std::string_view beginning = "{\"schema\":";
    std::ifstream file(path, std::ios::binary);
    if (!file) return false;
    for (const char wanted : beginning) {
        char c = 0;
        if (!(file >> c)) break;  // skips white space
        if (c != wanted) return false;
    }
    return true;
}

[[noreturn]] void refuse_to_write(const fs::path& path, const std::string& why) {
    throw Error(WARPAES_ERROR_WRITE, "calibration: cannot write '" + path.string() + "': " + why);
}

}  // namespace

const Machine& Machine::here() {
    static const Machine machine{cpu_model(), usable_processors(), WARPAES_VERSION};
    return machine;
}

std::string calibration_path(const Machine& machine) {
    if (const std::string given = variable("WARPAES_CALIBRATION"); !given.empty()) return given == "none" ? "" : given;
    std::string folder = variable("XDG_CACHE_HOME");
    if (folder.empty() || folder.front() != '/') {  // by the XDG specification, paths that are not absolute must be
                                                    // ignored
        const std::string home = variable("HOME");
        if (home.empty()) return "";
        folder = home + "/.cache";
    }
    const std::string name = machine.cpu + '\n' + std::to_string(machine.processors) + '\n' + machine.version;
    return folder + "/warpaes/calibration-" + digest(name) + ".json";
}

std::shared_ptr<const CostModel> load_calibration(const std::string& path, const Machine& machine) {
    auto model = std::make_shared<CostModel>();
    std::error_code error;
    if (path.empty() || !fs::exists(path, error)) return model;
    try {
        *model = read_calibration(read_text(path), machine);
    } catch (const Error& e) {
        model->note = "the calibration in '" + path + "' is not used: " + e.what();
    }
    return model;
}

void store_calibration(const CostModel& model, const std::string& path, const Machine& machine) {
    if (path.empty()) {
        throw Error(WARPAES_ERROR_WRITE, "calibration: cannot be stored; set WARPAES_CALIBRATION or HOME");
    }
    CostModel merged = model;
    merged.keep_gpus(*load_calibration(path, machine));
    const fs::path target(path);
    std::error_code error;
    if (fs::exists(target, error)) {
        if (!fs::is_regular_file(target, error)) refuse_to_write(target, "it is not a regular file");
        if (!begins_as_calibration(target)) refuse_to_write(target, "it is not a calibration and is not overwritten");
    }
    if (target.has_parent_path()) fs::create_directories(target.parent_path(), error);
    if (error) refuse_to_write(target, error.message());
    const std::string text = write_calibration(merged, machine);
    try {
        FileSink file(path, true, nullptr);
        file.write(0, bytes_of(text));
        file.commit();
    } catch (const Error& e) {
        throw Error(e.status(), std::string("calibration: ") + e.what());
    }
}

namespace {

constexpr const char* what_to_do = "; the defaults of its architecture are used until `warpaes tune` measures it again";

std::string name_of(const TunedLaunches& tuned) {
    const std::uint32_t capability = tuned.gpu.compute_capability;
    return "compute capability " + std::to_string(capability / 10) + "." + std::to_string(capability % 10) + ", " +
           std::to_string(tuned.gpu.multiprocessors) + " multiprocessors and " +
           std::to_string(tuned.gpu.shared_bytes) + " bytes of shared memory";
}

}  // namespace

StoredLaunches launches_of(const CostModel& model, const GpuShape& gpu) {
    if (!model.note.empty()) return {{}, model.note + what_to_do};
    const auto found = std::find_if(model.launches.begin(), model.launches.end(),
                                    [&](const auto& stored) { return stored.first == plain_name(gpu.name); });
    if (found == model.launches.end()) {
        if (model.launches.empty()) return {};
        return {{}, "the stored launches belong to " + model.launches.begin()->first + what_to_do};
    }
    const TunedLaunches& tuned = found->second;
    if (tuned.gpu.compute_capability != gpu.compute_capability || tuned.gpu.multiprocessors != gpu.multiprocessors ||
        tuned.gpu.shared_bytes != gpu.shared_bytes) {
        return {{}, "the stored launches belong to a GPU of this name with " + name_of(tuned) + what_to_do};
    }
    if (const std::string why = objection(tuned.table, gpu); !why.empty()) {
        return {{}, "the stored launches are impossible on this GPU: " + why + what_to_do};
    }
    return {tuned.table, {}};
}

void store_launches(const GpuLaunches& launches, const std::string& path) {
    CostModel model = *load_calibration(path);
    model.launches[plain_name(launches.gpu.name)] = {launches.gpu, launches.used};
    store_calibration(model, path);
}

StoredLaunches stored_launches(const GpuShape& gpu) {
    return launches_of(*load_calibration(), gpu);
}

}  // namespace warpaes

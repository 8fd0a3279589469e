#include "lab/experiments/file_trials.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <warpaes/warpaes.hpp>

#include "lab/files.hpp"

namespace lab::experiments {

std::vector<Place> places_of(const Context& context, std::vector<std::string>& notes) {
    std::vector<Place> places;
    const auto add = [&](const std::filesystem::path& folder, const char* name, bool on_disk) {
        if (folder.empty()) {
            notes.push_back(fmt::format("There is no folder on a {}, so those figures are left out.", name));
        } else {
            places.push_back({folder, name, on_disk});
        }
    };
    add(context.disk, "disk", true);
    add(context.memory, "tmpfs", false);
    if (places.empty()) throw LeftOut("it needs a folder for files, and there is none");
    return places;
}

std::vector<std::uint64_t> fitting(const Context& context, const std::vector<Place>& places,
                                   std::vector<std::uint64_t> sizes, std::uint64_t files) {
    const auto memory =
        static_cast<std::uint64_t>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE));
    std::uint64_t most = std::min<std::uint64_t>(context.most_bytes, memory / (4 + files));
    for (const Place& place : places) most = std::min(most, free_bytes(place.folder) / (files + 1));
    std::erase_if(sizes, [&](std::uint64_t size) { return size > most; });
    if (sizes.empty()) throw LeftOut(fmt::format("it needs more room for files than {} bytes", most));
    return sizes;
}

std::vector<std::string> backends_of(const Context& context) {
    std::vector<std::string> list;
    for (const auto& info : warpaes::backends()) {
        if (info.name != "cuda" && info.usable) list = {info.name};  // the last backend is the fastest
    }
    if (context.gpu >= 0) list.emplace_back("cuda");
    return list;
}

std::function<double()> verified_once(const Context& context, std::function<double()> work,
                                      std::function<void()> verify) {
    return [&context, work = std::move(work), verify = std::move(verify), verified = false]() mutable {
        context.check();
        const double seconds = work();
        if (!verified) verify();
        verified = true;
        return seconds;
    };
}

}  // namespace lab::experiments

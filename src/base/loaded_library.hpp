// Checks whether this process has loaded a shared library.
#pragma once

#include <link.h>

#include <atomic>
#include <string_view>

namespace warpaes {

/// One library, identified by the beginning of its file name. The check is cheap enough to run before every message.
/// dlopen() with RTLD_NOLOAD would cost more, because it searches the file system each time if the library is not
/// loaded. Thread-safe; `name` must outlive this object.
class LoadedLibrary {
public:
    explicit constexpr LoadedLibrary(std::string_view name) noexcept : name_(name) {}

    /// Once true, the result stays true: the libraries that are queried here are never unloaded.
    [[nodiscard]] bool is_loaded() noexcept {
        if (found_.load(std::memory_order_acquire)) return true;
        Search search{name_, looked_at_.load(std::memory_order_relaxed)};
        dl_iterate_phdr(&look, &search);
        looked_at_.store(search.loads, std::memory_order_relaxed);
        if (search.found) found_.store(true, std::memory_order_release);
        return search.found;
    }

private:
    struct Search {
        std::string_view name;
        unsigned long long looked_at;  ///< number of libraries that had been loaded at the last unsuccessful search
        unsigned long long loads = 0;  ///< number of libraries that have been loaded in total
        bool found = false;
    };
    static int look(dl_phdr_info* info, std::size_t, void* argument) noexcept {
        Search& search = *static_cast<Search*>(argument);
        search.loads = info->dlpi_adds;
        if (search.loads == search.looked_at) return 1;  // no library has been loaded since then
        const std::string_view path = info->dlpi_name;
        search.found = path.substr(path.rfind('/') + 1).starts_with(search.name);
        return search.found ? 1 : 0;
    }

    std::string_view name_;
    std::atomic<unsigned long long> looked_at_{0};
    std::atomic<bool> found_{false};
};

}  // namespace warpaes

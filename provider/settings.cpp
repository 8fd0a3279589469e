#include "provider/settings.hpp"

#include <algorithm>
#include <charconv>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "engine/engine.hpp"
#include "provider/bulk.hpp"
#include "provider/counters.hpp"

namespace warpaes::provider {

namespace {

struct Bad {
    std::string sentence;
};

std::uint64_t number(const char* name, std::string_view text, std::uint64_t most) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    std::uint64_t unit = 1;
    const std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
    if (rest == "K" || rest == "k") {
        unit = 1024;
    } else if (rest == "M" || rest == "m") {
        unit = 1024 * 1024;
    } else if (rest == "G" || rest == "g") {
        unit = 1024 * 1024 * 1024;
    } else if (!rest.empty()) {
        unit = 0;
    }
    if (error != std::errc{} || unit == 0 || value > most / unit) {
        throw Bad{std::string(name) + ": must be a number, optionally followed by K, M or G, and at most " +
                  std::to_string(most) + ", not '" + std::string(text) + "'"};
    }
    return value * unit;
}

bool yes(const char* name, std::string_view text) {
    for (const std::string_view word : {"yes", "on", "true", "1"}) {
        if (text == word) return true;
    }
    for (const std::string_view word : {"no", "off", "false", "0"}) {
        if (text == word) return false;
    }
    throw Bad{std::string(name) + ": must be yes or no, not '" + std::string(text) + "'"};
}

Settings read(const std::function<const char*(const char*)>& get) {
    Settings s;
    s.backend = "auto";
    s.threshold = usual_threshold;
    const auto given = [&](const char* name, const auto& use) {
        if (const char* const text = get(name)) use(std::string_view(text));
    };
    given("backend", [&](std::string_view text) {
        if (text != "auto" && backend_named(text) == nullptr) {
            throw Bad{"backend: must be one of auto, " + names_of_backends() + ", not '" + std::string(text) + "'"};
        }
        s.backend = text;
    });
    given("device", [&](std::string_view text) { s.device = static_cast<int>(number("device", text, 1023)); });
    given("threads", [&](std::string_view text) {
        s.threads = text == "auto" ? 0 : static_cast<unsigned>(number("threads", text, 1024));
    });
    given("threshold", [&](std::string_view text) {
        if (text == "never") return void(s.threshold = ~std::uint64_t{0});
        s.threshold = std::max(least_threshold, number("threshold", text, std::uint64_t{1} << 62));
    });
    given("cbc", [&](std::string_view text) { s.cbc = yes("cbc", text); });
    given("device-memory", [&](std::string_view text) { s.device_memory = yes("device-memory", text); });
    given("counters", [&](std::string_view text) { s.counters = text; });
    return s;
}

bool same(const Settings& a, const Settings& b) {
    return a.backend == b.backend && a.device == b.device && a.threads == b.threads && a.threshold == b.threshold &&
           a.cbc == b.cbc && a.device_memory == b.device_memory && a.counters == b.counters;
}

struct Known {
    std::mutex mutex;
    std::vector<std::unique_ptr<Settings>> all;
};

/// This object is never destroyed, because contexts may be used after all static objects.
Known& known() {
    static auto* const list = new Known;
    return *list;
}

}  // namespace

const Settings& settings_of(const std::function<const char*(const char*)>& get) {
    Settings wanted;
    std::string wrong;
    try {
        wanted = read(get);
    } catch (const Bad& bad) {
        wrong = bad.sentence;
    }
    // The provider offers its ciphers even if the user may not write to the counter file.
    std::string uncounted;
    if (!wanted.counters.empty() && !share_counters(wanted.counters, uncounted)) wanted.uncounted = uncounted;
    Known& list = known();
    const std::lock_guard lock(list.mutex);
    for (const auto& settings : list.all) {
        if (wrong.empty() ? same(*settings, wanted) : settings->reason == wrong) return *settings;
    }
    if (!wrong.empty()) {
        wanted.reason = wrong;
    } else if (wanted.backend == "libcrypto") {
        wanted.reason = "backend = libcrypto leaves all work to OpenSSL";
    } else {
        const Backend* const backend = backend_named(wanted.backend);
        const bool cpu = backend != nullptr && !backend->is_gpu();
        wanted.kernels = cpu::update_kernels(cpu ? wanted.backend : "", wanted.reason);
    }
    auto made = std::make_unique<Settings>(std::move(wanted));
    made->bulk = new Bulk(*made);
    list.all.push_back(std::move(made));
    return *list.all.back();
}

}  // namespace warpaes::provider

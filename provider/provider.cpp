// The module that OpenSSL loads, queries and unloads.
#include "provider/provider.hpp"

#include <openssl/provider.h>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <string>
#include <vector>

#include "provider/algorithm.hpp"
#include "provider/bulk.hpp"

namespace warpaes::provider {

namespace {

struct Providers {
    std::mutex mutex;
    Provider* first = nullptr;
};

/// This object is never destroyed, because contexts may be used and freed after all static objects.
Providers& providers() {
    static auto* const all = new Providers;
    return *all;
}

/// Returns an unused Provider and sets its handle.
Provider* take(const OSSL_CORE_HANDLE* handle) {
    Providers& all = providers();
    const std::lock_guard lock(all.mutex);
    for (Provider* p = all.first; p != nullptr; p = p->next) {
        if (p->handle.load() != nullptr) continue;
        p->handle = handle;
        return p;
    }
    auto* const made = new Provider;
    made->handle = handle;
    made->next = all.first;
    all.first = made;
    return made;
}

using Algorithms = std::vector<OSSL_ALGORITHM>;

/// The properties do not include "fips=yes" or any other property that users might rely on.
constexpr const char* properties = "provider=warpaes";

Algorithms ciphers(bool cbc) {
    Algorithms list;
    const auto add = [&](std::span<const Entry> entries) {
        for (const Entry& e : entries) list.push_back({e.algorithm->names, properties, e.functions, nullptr});
    };
    add(generic_ciphers());
    if (cbc) add(cbc_ciphers());
    for (const auto entries : {xts_ciphers, gcm_ciphers, ccm_ciphers, siv_ciphers, gcm_siv_ciphers, wrap_ciphers}) {
        add(entries());
    }
    list.push_back({nullptr, nullptr, nullptr, nullptr});
    return list;
}

const OSSL_ALGORITHM* query(void* context, int operation, int* no_cache) noexcept {
    *no_cache = 0;
    const auto* const p = static_cast<const Provider*>(context);
    if (p->settings()->kernels == nullptr) return nullptr;
    try {
        if (operation == OSSL_OP_CIPHER) {
            static const Algorithms without_cbc = ciphers(false), with_cbc = ciphers(true);
            return (p->settings()->cbc ? with_cbc : without_cbc).data();
        }
        if (operation == OSSL_OP_MAC) {
            static const OSSL_ALGORITHM macs[] = {{"CMAC", properties, cmac_functions(), nullptr},
                                                  {"GMAC:1.0.9797.3.4", properties, gmac_functions(), nullptr},
                                                  {nullptr, nullptr, nullptr, nullptr}};
            return macs;
        }
    } catch (...) {
    }
    return nullptr;
}

/// Parameter names such as "warpaes-gcm-kernels-bytes", which `warpaes provider-stats` also uses.
struct CounterNames {
    static constexpr std::size_t count = kinds * wheres * 2;
    std::array<std::string, count> names;
    std::array<OSSL_PARAM, count + 6> params{};

    CounterNames() {
        std::size_t n = 0;
        params[n++] = OSSL_PARAM_utf8_ptr(OSSL_PROV_PARAM_NAME, nullptr, 0);
        params[n++] = OSSL_PARAM_utf8_ptr(OSSL_PROV_PARAM_VERSION, nullptr, 0);
        params[n++] = OSSL_PARAM_utf8_ptr(OSSL_PROV_PARAM_BUILDINFO, nullptr, 0);
        params[n++] = OSSL_PARAM_int(OSSL_PROV_PARAM_STATUS, nullptr);
        params[n++] = OSSL_PARAM_uint64("warpaes-loads", nullptr);
        for (std::size_t i = 0; i < count; ++i) {
            names[i] = "warpaes-";
            for (const char* at = kind_names[i / 2 / wheres]; *at != '\0'; ++at) {
                names[i] += static_cast<char>(*at >= 'A' && *at <= 'Z' ? *at + 32 : *at);
            }
            names[i] += std::string("-") + where_names[i / 2 % wheres] + (i % 2 == 0 ? "-calls" : "-bytes");
            params[n++] = OSSL_PARAM{names[i].c_str(), OSSL_PARAM_UNSIGNED_INTEGER, nullptr, sizeof(std::uint64_t),
                                     OSSL_PARAM_UNMODIFIED};
        }
    }
};

const CounterNames& counter_names() {
    static const auto* const list = new CounterNames;
    return *list;
}

const OSSL_PARAM* gettable_provider_params(void* /*context*/) noexcept {
    try {
        return counter_names().params.data();
    } catch (...) {
        return nullptr;
    }
}

/// Returns a description of the kernels in use, or the reason why the provider offers no algorithms.
const char* about(const Settings& s) {
    static thread_local std::string text;
    text = "warpaes " WARPAES_VERSION ", ";
    text += s.kernels != nullptr ? s.kernels->description : "offers nothing: " + s.reason;
    if (!s.uncounted.empty()) text += "; " + s.uncounted;
    return text.c_str();
}

int get_provider_params(void* context, OSSL_PARAM params[]) noexcept {
    const auto* const p = static_cast<const Provider*>(context);
    try {
        const auto text = [&](const char* name, const char* value) {
            OSSL_PARAM* const to = OSSL_PARAM_locate(params, name);
            return to == nullptr || OSSL_PARAM_set_utf8_ptr(to, value) == 1;
        };
        OSSL_PARAM* const status = OSSL_PARAM_locate(params, OSSL_PROV_PARAM_STATUS);
        if (!text(OSSL_PROV_PARAM_NAME, "warpaes") || !text(OSSL_PROV_PARAM_VERSION, WARPAES_VERSION) ||
            !text(OSSL_PROV_PARAM_BUILDINFO, about(*p->settings())) ||
            (status != nullptr && OSSL_PARAM_set_int(status, p->settings()->kernels != nullptr ? 1 : 0) != 1)) {
            return 0;
        }
        const Counters& counters = process_counters();
        for (OSSL_PARAM* at = params; at->key != nullptr; ++at) {
            if (std::strncmp(at->key, "warpaes-", 8) != 0) continue;
            if (std::strcmp(at->key, "warpaes-loads") == 0) {
                if (OSSL_PARAM_set_uint64(at, counters.loads.load()) != 1) return 0;
                continue;
            }
            const CounterNames& all = counter_names();
            for (std::size_t i = 0; i < CounterNames::count; ++i) {
                if (all.names[i] != at->key) continue;
                const Counters::Cell& cell = counters.cells[i / 2 / wheres][i / 2 % wheres];
                if (OSSL_PARAM_set_uint64(at, (i % 2 == 0 ? cell.calls : cell.bytes).load()) != 1) return 0;
            }
        }
        return 1;
    } catch (...) {
        return 0;
    }
}

void teardown(void* context) noexcept {
    static_cast<Provider*>(context)->handle = nullptr;
}

}  // namespace

namespace {

/// Passes variable arguments as a va_list, which the core function requires.
void set_error(OSSL_FUNC_core_vset_error_fn* set, const OSSL_CORE_HANDLE* to, std::uint32_t code, const char* format,
               ...) noexcept {
    va_list arguments;
    va_start(arguments, format);
    set(to, code, format, arguments);
    va_end(arguments);
}

}  // namespace

void Provider::raise(std::uint32_t code, const char* file, int line, const char* function) const noexcept {
    const OSSL_CORE_HANDLE* const to = handle.load();
    if (to == nullptr || new_error == nullptr || set_error_debug == nullptr || vset_error == nullptr) return;
    new_error(to);
    set_error_debug(to, file, line, function);
    set_error(vset_error, to, code, nullptr);
}

}  // namespace warpaes::provider

extern "C" [[gnu::visibility("default")]] int OSSL_provider_init(const OSSL_CORE_HANDLE* handle,
                                                                 const OSSL_DISPATCH* in, const OSSL_DISPATCH** out,
                                                                 void** context) {
    using namespace warpaes::provider;
    static const OSSL_DISPATCH functions[] = {
        {OSSL_FUNC_PROVIDER_TEARDOWN, dispatched(teardown)},
        {OSSL_FUNC_PROVIDER_GETTABLE_PARAMS, dispatched(gettable_provider_params)},
        {OSSL_FUNC_PROVIDER_GET_PARAMS, dispatched(get_provider_params)},
        {OSSL_FUNC_PROVIDER_QUERY_OPERATION, dispatched(query)},
        {0, nullptr}};
    try {
        Provider* const p = take(handle);
        OSSL_FUNC_core_get_params_fn* get_params = nullptr;
        for (; in->function_id != 0; ++in) {
            switch (in->function_id) {
            case OSSL_FUNC_CORE_GET_PARAMS:
                get_params = OSSL_FUNC_core_get_params(in);
                break;
            case OSSL_FUNC_CORE_NEW_ERROR:
                p->new_error = OSSL_FUNC_core_new_error(in);
                break;
            case OSSL_FUNC_CORE_SET_ERROR_DEBUG:
                p->set_error_debug = OSSL_FUNC_core_set_error_debug(in);
                break;
            case OSSL_FUNC_CORE_VSET_ERROR:
                p->vset_error = OSSL_FUNC_core_vset_error(in);
                break;
            default:
                break;
            }
        }
        const auto get = [&](const char* name) -> const char* {
            char* text = nullptr;
            OSSL_PARAM params[] = {OSSL_PARAM_utf8_ptr(name, &text, 0), OSSL_PARAM_END};
            if (get_params == nullptr || get_params(handle, params) != 1) return nullptr;
            return text;
        };
        unsigned major = 3, minor = 0;
        if (const char* const version = get(OSSL_PROV_PARAM_CORE_VERSION)) {
            (void)std::sscanf(version, "%u.%u", &major, &minor);
        }
        p->openssl = 100 * major + minor;
        p->chosen = &settings_of(get);
        count_load();
        *out = functions;
        *context = p;
        return 1;
    } catch (...) {
        return 0;
    }
}

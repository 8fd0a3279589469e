#include "handles.hpp"

#include "engines.hpp"

namespace fuzz {

std::vector<Engine> make_engines() {
    std::vector<Engine> engines;
    for (const char* backend : {"libcrypto", "aesni", "vaes", "armv8"}) {
        warpaes_engine_options options = WARPAES_ENGINE_OPTIONS_INIT;
        options.backend = backend;
        options.threads = 1;
        options.chunk_bytes = 4096;
        warpaes_engine* engine = nullptr;
        if (warpaes_engine_create(&options, &engine) == WARPAES_OK) engines.emplace_back(engine);
    }
    return engines;
}

warpaes_engine* any_engine(Input& input) {
    static const std::vector<Engine> engines = make_engines();
    return engines[input.below(engines.size())].get();
}

const warpaes::Engine& engine_of(Input& input) {
    static const std::vector<warpaes::Engine> engines = [] {
        std::vector<warpaes::Engine> all;
        for (const warpaes::BackendInfo& info : warpaes::backends()) {
            if (info.usable && info.device < 0)
                all.emplace_back(warpaes::EngineOptions{.backend = info.name, .threads = 1});
        }
        return all;
    }();
    return engines[input.below(engines.size())];
}

Key make_key(const Bytes& bytes) {
    warpaes_key* key = nullptr;
    (void)warpaes_key_create(bytes.data(), bytes.size(), &key);
    return Key(key);
}

void expect_ok(warpaes_status status, const char* what) {
    if (status != WARPAES_OK) {
        fail(std::string(what) + ": " + warpaes_status_message(status) + ": " + warpaes_last_error());
    }
}

}  // namespace fuzz

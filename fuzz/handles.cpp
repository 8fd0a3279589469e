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

void seal(warpaes_engine* engine, const Key& key, const Bytes& aad, std::uint8_t type, int ordinal, const Bytes& text,
          Bytes& to) {
    Bytes its_aad = aad, nonce(12, type), out(text.size()), tag(16);
    its_aad.insert(its_aad.end(), {type, 0, 0, 0, 0});
    for (int shift = 0; ordinal >= 0 && shift < 16; shift += 8) {
        its_aad.push_back(static_cast<std::uint8_t>(ordinal >> shift));
    }
    warpaes_message message = WARPAES_MESSAGE_INIT;
    message.mode = WARPAES_GCM;
    message.direction = WARPAES_ENCRYPT;
    message.key = key.get();
    message.iv = nonce.data();
    message.iv_len = nonce.size();
    message.input = text.data();
    message.input_len = text.size();
    message.output = out.data();
    message.output_capacity = out.size();
    message.aad = its_aad.data();
    message.aad_len = its_aad.size();
    message.tag = tag.data();
    message.tag_len = tag.size();
    expect_ok(warpaes_crypt(engine, &message, nullptr), "crypt");
    const auto length = static_cast<std::uint32_t>(28 + text.size());
    for (unsigned shift = 0; shift < 32; shift += 8) to.push_back(static_cast<std::uint8_t>(length >> shift));
    for (const Bytes* part : {&nonce, &out, &tag}) to.insert(to.end(), part->begin(), part->end());
}

}  // namespace fuzz

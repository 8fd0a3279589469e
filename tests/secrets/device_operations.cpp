// Runs operations on data in GPU memory. The memory belongs to the caller and is freed before the search.
#include <string>

#include "operations.hpp"

namespace secrets {

void World::on_device(warpaes_mode mode, warpaes_direction direction, const std::string& way) {
    constexpr std::size_t length = 4096, aad_bytes = 48;
    const bool encrypts = direction == WARPAES_ENCRYPT;
    const bool tagged = mode == WARPAES_GCM || mode == WARPAES_CCM || mode == WARPAES_GCM_SIV;
    void* memory = nullptr;
    expect(warpaes_alloc(engine_, WARPAES_MEMORY_DEVICE, 0, length + aad_bytes + 32, &memory), "device_alloc");
    auto* const data = static_cast<std::uint8_t*>(memory);
    std::uint8_t *const aad = data + length, *const tag = aad + aad_bytes, *const iv = tag + 16;
    expect(warpaes_copy(engine_, data, encrypts ? plain_ : cipher_, length), "copy");
    expect(warpaes_copy(engine_, aad, ivs_, aad_bytes), "copy");
    expect(warpaes_copy(engine_, tag, tags_, 16), "copy");
    expect(warpaes_copy(engine_, iv, iv_, 16), "copy");
    warpaes_key* const k = key(32);
    const std::uint64_t iv_bytes = tagged ? 12 : 16;
    if (way == "batch") {
        warpaes_batch_entry e = {};
        e.mode = mode;
        e.direction = direction;
        e.count = 1;
        e.length = length;
        e.input = e.output = {{data}, length};
        e.iv = {{iv}, 16};
        e.iv_len = static_cast<std::uint32_t>(iv_bytes);
        e.key = k;
        if (tagged) {
            e.aad = {{aad}, aad_bytes};
            e.aad_len = aad_bytes;
            e.tag = {{tag}, 16};
            e.tag_len = 16;
        }
        warpaes_batch* b = nullptr;
        expect(warpaes_batch_submit(engine_, nullptr, &e, 1, &b), "batch_submit");
        expect(warpaes_batch_wait(b, WARPAES_UNKNOWN), "batch_wait");
        warpaes_batch_destroy(b);
    } else {
        warpaes_message m = WARPAES_MESSAGE_INIT;
        m.mode = mode;
        m.direction = direction;
        m.key = k;
        m.iv = iv_;
        m.iv_len = iv_bytes;
        m.input = m.output = data;
        m.input_len = m.output_capacity = length;
        if (tagged) {
            m.aad = aad;
            m.aad_len = aad_bytes;
            m.tag = tag;
            m.tag_len = 16;
        }
        const bool async = way == "crypt_async";
        expect(async ? warpaes_crypt_async(engine_, &m, nullptr, nullptr) : warpaes_crypt(engine_, &m, nullptr),
               way.c_str());
    }
    expect(warpaes_copy(engine_, encrypts ? cipher_ : out_, data, length), "copy");
    if (encrypts) expect(warpaes_copy(engine_, tags_, tag, 16), "copy");
    warpaes_free(engine_, memory);
    warpaes_key_destroy(k);
}

void World::devices_into(std::vector<Operation>& all) {
    if (!on_gpu_) return;
    for (const auto mode : {WARPAES_CTR, WARPAES_CBC, WARPAES_GCM, WARPAES_CCM, WARPAES_GCM_SIV}) {
        for (const char* const way : {"crypt", "crypt_async", "batch"}) {
            for (const auto direction : {WARPAES_ENCRYPT, WARPAES_DECRYPT}) {
                const bool tagged = mode == WARPAES_GCM || mode == WARPAES_CCM;
                const bool siv = mode == WARPAES_GCM_SIV;
                if (siv && way != std::string("crypt")) continue;
                if (way == std::string("crypt_async") && tagged &&
                    (mode == WARPAES_CCM || direction == WARPAES_DECRYPT)) {
                    continue;
                }
                all.push_back({"on the device: " + std::string(way) + ", mode " + std::to_string(mode) +
                                   ", direction " + std::to_string(direction),
                               [=, this] { on_device(mode, direction, way); },
                               [=, this] {
                                   if (siv) look_for_gcm_siv_keys(32);
                                   if (!siv && direction == WARPAES_DECRYPT) look_for_tag(mode, iv_, 4096, 32);
                               }});
            }
        }
    }
}

}  // namespace secrets

#include "message/tagged.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "engine/engine.hpp"
#include "engine/pipeline/memory.hpp"
#include "message/checks.hpp"
#include "message/executor.hpp"

namespace warpaes {

namespace {

/// Up to this length the calling thread hashes block by block, because a lane costs more.
constexpr std::uint64_t hashed_here = 2 * block_bytes;

[[nodiscard]] bool lies_on_device(const void* pointer) {
    return cuda_backend().place(pointer).kind == Memory::device;
}

/// The device of a message on a caller's stream: of its text, or of what the call writes if there is no text. Throws
/// Error{ARGUMENT} unless everything that has to be in device memory lies there.
int device_for_stream(const MessageRequest& r) {
    const bool data = r.input_length != 0, encrypt = r.direction == Direction::encrypt;
    const void* const written = encrypt ? static_cast<const void*>(r.tag) : r.device_status;
    const int device = device_of(cuda_backend().place(data ? static_cast<const void*>(r.input) : written));
    const auto lies_there = [device](const void* pointer) {
        return device >= 0 && pointer != nullptr && device_of(cuda_backend().place(pointer)) == device;
    };
    if (data && (!lies_there(r.input) || (r.mode != Mode::cmac && !lies_there(r.output)))) {
        throw Error(WARPAES_ERROR_ARGUMENT,
                    "input, output: an asynchronous call takes buffers in the memory of one device");
    }
    if (r.mode != Mode::cmac && overlap(r.aad, r.aad_length, r.output, r.input_length)) {
        throw Error(WARPAES_ERROR_OVERLAP, "aad: lies in the output, which an asynchronous call may write before");
    }
    if (encrypt && !lies_there(r.tag)) {
        throw Error(WARPAES_ERROR_ARGUMENT,
                    data ? "tag: an asynchronous call writes it to the memory of the buffers' device"
                         : "tag: an asynchronous call writes it to device memory");
    }
    if (!encrypt && !lies_there(r.device_status)) {
        throw Error(WARPAES_ERROR_ARGUMENT, std::string("device_status: asynchronous decryption says in ") +
                                                (data ? "the memory of the buffers' device" : "device memory") +
                                                " whether the tag is right");
    }
    return device;
}

/// A GCM message that a stream can run without the memory that a batch needs: its associated data is such that the host
/// can hash it, and the tag that encryption writes has 16 bytes, in memory that the device can write.
bool is_simple(const MessageRequest& r) {
    if (r.mode != Mode::gcm) return false;
    if (r.direction == Direction::decrypt) {
        return r.input_length != 0 && (r.aad_length == 0 || !lies_on_device(r.aad));
    }
    if (r.tag_length != block_bytes) return false;
    // Without text, the tag may be the only part that lies on a device.
    if (r.input_length == 0 && (!lies_on_device(r.input) || !lies_on_device(r.output))) return false;
    if (r.aad_length != 0 && lies_on_device(r.aad)) return false;
    return cuda_backend().place(r.tag).kind != Memory::pageable;
}

MessageGroup tagged_group(const MessageRequest& r) {
    return {.mode = r.mode,
            .direction = r.direction,
            .length = r.input_length,
            .input = Elements::of(r.input),
            .output = {r.mode == Mode::cmac ? nullptr : r.output, 0},
            .iv = Elements::of(r.iv.data()),
            .iv_length = static_cast<std::uint32_t>(r.iv.size()),
            .aad_length = r.aad_length,
            .aad = Elements::of(r.aad),
            .tag = {r.tag, 0},
            .tag_length = static_cast<std::uint32_t>(r.tag_length),
            .key = r.key,
            .keys = {}};
}

}  // namespace

Block pre_counter(Engine& engine, const ExpandedKey& key, std::span<const std::uint8_t> iv) {
    check_iv_length(Mode::gcm, iv.size(), "iv");
    if (iv.size() == gcm_nonce_bytes) return pre_counter(iv.first<gcm_nonce_bytes>());
    const FieldElement digest = gcm_digest(engine, key, iv.data(), iv.size());
    return store_element(multiply(digest ^ length_block(0, iv.size()), key.hash_key().powers[0]));
}

FieldElement gcm_digest(Engine& engine, const ExpandedKey& key, const std::uint8_t* data, std::uint64_t bytes,
                        Outcome* ran) {
    if (bytes == 0) return {};
    Executor executor(engine, data, data, std::nullopt);
    if (bytes <= hashed_here && !executor.on_device()) {
        FieldElement digest;
        hash_blocks(key.hash_key().powers[0], data, bytes, digest);
        return digest;
    }
    Block digest;
    executor.run({.mode = Mode::gcm,
                  .direction = Direction::encrypt,
                  .length = bytes,
                  .input = Elements::of(data),
                  .output = {},
                  .iv = {},
                  .aad = {},
                  .tag = {},
                  .key = &key,
                  .keys = {},
                  .digest = &digest});
    if (ran != nullptr) *ran = executor.ran();
    return load_element(digest);
}

void crypt_tagged(Engine& engine, const MessageRequest& r, MessageResult& result, std::optional<CallerStream> stream) {
    const bool decrypt = r.direction == Direction::decrypt, gcm = r.mode == Mode::gcm, empty = r.input_length == 0;
    MessageGroup message = tagged_group(r);
    message.statuses = r.device_status;
    const bool simple = stream && is_simple(r);
    int input_device = r.input_device;
    if (stream && (decrypt || !simple)) {
        const int device = input_device = device_for_stream(r);
        if (!simple) {
            engine.require_gpu();
            cuda_backend().enqueue({&message, 1}, device, stream->stream);
            return result.add({cuda_backend().name(), device});
        }
    }
    if (empty && !stream) message.input = message.output = {};
    std::uint8_t* const output = message.output.first;
    Executor executor(engine, message.input.first, r.mode == Mode::cmac ? message.input.first : output, stream,
                      input_device);
    message.iv = {};
    // Small inputs and inputs that a CPU reads are copied to host memory. The copies also protect them from the output,
    // which may be written before they have been read.
    const MemoryPlace aad_place = r.aad_length != 0 ? cuda_backend().place(r.aad) : MemoryPlace{};
    std::optional<SecretBuffer> copied_aad;
    Block iv{};  // of GCM: J0, which begins with the IV if that has 12 bytes
    Secret<Block> aad_digest;
    Outcome hashed;
    if (gcm) {
        *aad_digest = store_element(gcm_digest(engine, *r.key, r.aad, r.aad_length, &hashed));
        result.notes |= hashed.notes;
        message.aad_digest = &*aad_digest;
        iv = pre_counter(engine, *r.key, r.iv);
        if (r.iv.size() != gcm_nonce_bytes) message.j0 = &iv;
    } else {
        std::copy(r.iv.begin(), r.iv.end(), iv.begin());
        if (aad_place.kind == Memory::device || overlap(r.aad, r.aad_length, output, r.input_length)) {
            copied_aad.emplace(static_cast<std::size_t>(r.aad_length));
            copy_memory(copied_aad->data(), r.aad, copied_aad->size(), device_of(aad_place));
            message.aad = {copied_aad->data(), 0};
        }
    }
    message.iv = Elements::of(iv.data());
    const auto note_run = [&] {
        executor.run(message);
        result.add(executor.ran());
    };
    if (stream) return note_run();
    const auto tag_bytes = static_cast<std::size_t>(r.tag_length);
    const int tag_device = device_of(cuda_backend().place(r.tag));
    Secret<Block> tag;
    message.tag = {tag->data(), 0};
    std::uint8_t failed = 0;
    message.failed = &failed;
    try {
        if (decrypt) copy_memory(tag->data(), r.tag, tag_bytes, tag_device);
        if (gcm && empty && hashed.device >= 0) {
            // The GPU has hashed the associated data. Another call for a single block would cost more than most of that
            // work.
            settle_tag(message, 0, *Secret<Block>(gcm_tag(*r.key, iv, *aad_digest, r.aad_length, {}, 0)));
            result.add(hashed);
        } else {
            note_run();
        }
    } catch (...) {
        if (decrypt && output != nullptr) executor.clear(output, r.input_length);
        throw;
    }
    if (failed != 0) result.refusal = wrong_tag;
    if (!decrypt) copy_memory(r.tag, tag->data(), tag_bytes, tag_device);
}

}  // namespace warpaes

#include "message/tagged.hpp"

#include <openssl/crypto.h>

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "cuda/cuda_backend.hpp"
#include "message/checks.hpp"
#include "message/executor.hpp"
#include "pipeline/memory.hpp"

namespace warpaes {

namespace {

/// What is at most so long is hashed block by block where we are: a lane costs more.
constexpr std::uint64_t hashed_here = 2 * block_bytes;

/// What a call that does not wait cannot do.
void check_asynchronous(const MessageRequest& r, int device) {
    if (r.direction == Direction::decrypt) {
        throw Error(WARPAES_ERROR_ARGUMENT,
                    "direction: an asynchronous call of GCM encrypts only; nobody would hear that a tag is wrong");
    }
    if (r.tag_length != block_bytes) {
        throw Error(WARPAES_ERROR_ARGUMENT, "tag_len: an asynchronous call writes 16 bytes");
    }
    const MemoryPlace place = cuda_backend().place(r.tag);
    if (place.kind == Memory::pageable || (place.kind == Memory::device && place.device != device)) {
        throw Error(WARPAES_ERROR_ARGUMENT,
                    "tag: an asynchronous call takes page-locked memory or memory of the buffers' device");
    }
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
    if (ran != nullptr) *ran = {executor.backend(), executor.device(), executor.notes()};
    return load_element(digest);
}

Error wrong_tag() {
    return {WARPAES_ERROR_AUTHENTICATION,
            "tag: is wrong: wrong key, wrong IV, wrong associated data, or data that was altered"};
}

void compare_tags(const Block& tag, std::span<const std::uint8_t> expected) {
    if (CRYPTO_memcmp(tag.data(), expected.data(), expected.size()) != 0) throw wrong_tag();
}

void crypt_tagged(Engine& engine, const MessageRequest& r, MessageResult& result, std::optional<CallerStream> stream) {
    const bool decrypt = r.direction == Direction::decrypt, gcm = r.mode == Mode::gcm, empty = r.input_length == 0;
    const std::uint8_t* const input = empty && !stream ? nullptr : r.input;
    std::uint8_t* const output = r.mode == Mode::cmac || (empty && !stream) ? nullptr : r.output;
    Executor executor(engine, input, r.mode == Mode::cmac ? input : output, stream);
    if (stream) check_asynchronous(r, executor.data_device());

    MessageGroup message{.mode = r.mode,
                         .direction = r.direction,
                         .length = r.input_length,
                         .input = Elements::of(input),
                         .output = {output, 0},
                         .iv = {},
                         .iv_length = static_cast<std::uint32_t>(r.iv.size()),
                         .aad_length = r.aad_length,
                         .aad = Elements::of(r.aad),
                         .tag = {},
                         .tag_length = static_cast<std::uint32_t>(r.tag_length),
                         .key = r.key,
                         .keys = {}};
    // What is small, and what a CPU reads, comes to host memory, and away from the output, which may be written before
    // all of it has been read.
    const MemoryPlace aad_place = r.aad_length != 0 ? cuda_backend().place(r.aad) : MemoryPlace{};
    std::optional<SecretBuffer> copied_aad;
    Block iv{};  // of GCM J0, which begins with it if it has 12 bytes
    Secret<Block> aad_digest;
    Outcome hashed;
    if (gcm) {
        // On a caller's stream, too, the associated data is hashed at once.
        if (stream && aad_place.kind == Memory::device) {
            cuda_backend().synchronize(aad_place.device, stream->stream);
        }
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
    const auto tag_bytes = static_cast<std::size_t>(r.tag_length);
    const int tag_device = device_of(cuda_backend().place(r.tag));
    Secret<Block> tag;
    message.tag = {stream ? r.tag : tag->data(), 0};
    std::uint8_t failed = 0;
    message.failed = &failed;
    try {
        if (decrypt) copy_memory(tag->data(), r.tag, tag_bytes, tag_device);
        if (gcm && empty && hashed.device >= 0 && !stream) {
            // The GPU has done its part, and calling it again for a block would cost more than most of that.
            settle_tag(message, 0, *Secret<Block>(gcm_tag(*r.key, iv, *aad_digest, r.aad_length, {}, 0)));
            result.backend = hashed.backend;
            result.device = hashed.device;
        } else {
            executor.run(message);
            result.backend = executor.backend();
            result.device = executor.device();
            result.notes |= executor.notes();
        }
        if (failed != 0) throw wrong_tag();
    } catch (...) {
        if (decrypt && output != nullptr) {
            clear_after_failure(output, static_cast<std::size_t>(r.input_length), executor.output_device());
        }
        throw;
    }
    if (!decrypt && !stream) copy_memory(r.tag, tag->data(), tag_bytes, tag_device);
}

}  // namespace warpaes

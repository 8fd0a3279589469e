#include "message/gcm.hpp"

#include <openssl/crypto.h>

#include <string>

#include "base/error.hpp"
#include "cuda/cuda_backend.hpp"
#include "message/checks.hpp"
#include "message/executor.hpp"
#include "pipeline/memory.hpp"

namespace warpaes {

namespace {

/// What is at most so long is hashed block by block where we are: a lane costs more.
constexpr std::uint64_t hashed_here = 2 * block_bytes;

void check_aad(const MessageRequest& r) {
    if (r.aad == nullptr && r.aad_length != 0) throw Error(WARPAES_ERROR_ARGUMENT, "aad: is null");
}

void check_tag(const MessageRequest& r) {
    if (r.tag == nullptr) throw Error(WARPAES_ERROR_ARGUMENT, "tag: is null");
    if (overlap(r.tag, r.tag_length, r.output, r.input_length)) {
        throw Error(WARPAES_ERROR_OVERLAP, "tag: lies in the output");
    }
}

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
    executor.run_gcm({.direction = Direction::encrypt,
                      .key = &key,
                      .input = data,
                      .output = nullptr,
                      .segment_bytes = bytes,
                      .last_bytes = bytes,
                      .input_stride = bytes,
                      .results = &digest});
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

void crypt_gcm(Engine& engine, const MessageRequest& r, MessageResult& result, std::optional<CallerStream> stream) {
    check_aad(r);
    check_tag(r);
    const bool empty = r.input_length == 0;
    const bool decrypt = r.direction == Direction::decrypt;
    Executor executor(engine, empty && !stream ? nullptr : r.input, empty && !stream ? nullptr : r.output, stream);
    if (stream) {
        check_asynchronous(r, executor.data_device());
        // The associated data is hashed at once.
        const MemoryPlace place = cuda_backend().place(r.aad);
        if (place.kind == Memory::device) cuda_backend().synchronize(place.device, stream->stream);
    }

    const Block j0 = pre_counter(engine, *r.key, r.iv);
    Outcome hashed;
    const Secret<FieldElement> aad(gcm_digest(engine, *r.key, r.aad, r.aad_length, &hashed));
    result.notes |= hashed.notes;
    Secret<Block> tag, expected;
    if (decrypt) copy_anywhere(expected->data(), r.tag, static_cast<std::size_t>(r.tag_length));

    const GcmRun run{.direction = r.direction,
                     .key = r.key,
                     .input = r.input,
                     .output = r.output,
                     .segment_bytes = r.input_length,
                     .last_bytes = r.input_length,
                     .input_stride = r.input_length,
                     .output_stride = r.input_length,
                     .j0 = &j0,
                     .public_counters = r.iv.size() == gcm_nonce_bytes,
                     .result = GcmRun::Result::tag,
                     .aad_digest = store_element(*aad),
                     .aad_bytes = r.aad_length,
                     .results = stream ? reinterpret_cast<Block*>(r.tag) : &*tag};
    try {
        if (empty && hashed.device >= 0 && !stream) {
            // The GPU has done its part, and calling it again for a block would cost more than most of that.
            *tag = store_element(gcm_tag(run, FieldElement{}));
            result.backend = hashed.backend;
            result.device = hashed.device;
        } else {
            executor.run_gcm(run);
            result.backend = executor.backend();
            result.device = executor.device();
            result.notes |= executor.notes();
        }
        if (decrypt) compare_tags(*tag, std::span(*expected).first(static_cast<std::size_t>(r.tag_length)));
    } catch (...) {
        if (decrypt) {
            clear_after_failure(r.output, static_cast<std::size_t>(r.input_length), executor.output_device());
        }
        throw;
    }
    if (!decrypt && !stream) copy_anywhere(r.tag, tag->data(), static_cast<std::size_t>(r.tag_length));
}

}  // namespace warpaes

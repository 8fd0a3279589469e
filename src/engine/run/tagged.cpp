#include "engine/run/tagged.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "engine/pipeline/memory.hpp"

namespace warpaes {

namespace {

/// Up to this length the calling thread hashes block by block, because a lane costs more.
constexpr std::uint64_t hashed_here = 2 * block_bytes;

/// The device of a message on a caller's stream: of its text, or of what the call writes if there is no text. Throws
/// Error{ARGUMENT} unless everything that has to be in device memory lies there.
int device_for_stream(const MessageGroup& m) {
    const bool data = m.length != 0, encrypt = m.direction == Direction::encrypt;
    const void* const written = encrypt ? static_cast<const void*>(m.tag.first) : m.statuses;
    const void* const first = data ? static_cast<const void*>(m.input.first) : written;
    const int device = device_of(first);
    const auto lies_there = [&](const void* pointer) {
        return device >= 0 && pointer != nullptr && (pointer == first || device_of(pointer) == device);
    };
    if (data && (!lies_there(m.input.first) || (m.mode != Mode::cmac && !lies_there(m.output.first)))) {
        throw Error(WARPAES_ERROR_ARGUMENT,
                    "input, output: an asynchronous call takes buffers in the memory of one device");
    }
    if (m.mode != Mode::cmac && overlap(m.aad.first, m.aad_length, m.output.first, m.length)) {
        throw Error(WARPAES_ERROR_OVERLAP, "aad: is inside the output, which an asynchronous call may write first");
    }
    if (encrypt && !lies_there(m.tag.first)) {
        throw Error(WARPAES_ERROR_ARGUMENT,
                    data ? "tag: an asynchronous call writes it to the memory of the buffers' device"
                         : "tag: an asynchronous call writes it to device memory");
    }
    if (!encrypt && !lies_there(m.statuses)) {
        throw Error(WARPAES_ERROR_ARGUMENT, std::string("device_status: asynchronous decryption reports in ") +
                                                (data ? "the memory of the buffers' device" : "device memory") +
                                                " whether the tag is correct");
    }
    return device;
}

/// A GCM message that a stream can run without the memory that a batch needs: its associated data is such that the host
/// can hash it, and the tag that encryption writes has 16 bytes, in memory that the device can write.
bool is_simple(const MessageGroup& m, int aad_device) {
    if (m.mode != Mode::gcm || aad_device >= 0) return false;
    if (m.direction == Direction::decrypt) return m.length != 0;
    if (m.tag_length != block_bytes) return false;
    // Without text, the tag may be the only part that lies on a device.
    if (m.length == 0 && (device_of(m.input.first) < 0 || device_of(m.output.first) < 0)) return false;
    return place_of(m.tag.first).kind != Memory::pageable;
}

FieldElement digest_here(const ExpandedKey& key, const std::uint8_t* data, std::uint64_t bytes) {
    FieldElement digest;
    hash_blocks(key.hash_key().powers[0], data, bytes, digest);
    return digest;
}

}  // namespace

Block pre_counter(Engine& engine, const ExpandedKey& key, std::span<const std::uint8_t> iv) {
    if (iv.size() == gcm_nonce_bytes) return pre_counter(iv.first<gcm_nonce_bytes>());
    const FieldElement digest = gcm_digest(engine, key, iv.data(), iv.size());
    return store_element(multiply(digest ^ length_block(0, iv.size()), key.hash_key().powers[0]));
}

FieldElement gcm_digest(Engine& engine, const ExpandedKey& key, const std::uint8_t* data, std::uint64_t bytes,
                        Outcome* ran) {
    if (bytes == 0) return {};
    Executor executor(engine, data, data);
    if (bytes <= hashed_here && !executor.on_device()) return digest_here(key, data, bytes);
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

TaggedOutcome run_tagged(Engine& engine, const MessageGroup& m, std::optional<CallerStream> stream, int input_device) {
    TaggedOutcome result;
    const bool decrypt = m.direction == Direction::decrypt, gcm = m.mode == Mode::gcm, empty = m.length == 0;
    const std::span<const std::uint8_t> given_iv(m.iv.first, static_cast<std::size_t>(m.iv_length));
    MessageGroup message = m;
    if (m.mode == Mode::cmac) message.output = {};
    const int aad_device = m.aad_length != 0 ? device_of(m.aad.first) : -1;
    const bool simple = stream && is_simple(m, aad_device);
    int output_device = -1;
    if (stream && (decrypt || !simple)) {
        input_device = output_device = device_for_stream(m);
        if (!simple) {
            engine.require_gpu();
            engine.gpu().enqueue({&message, 1}, input_device, stream->stream);
            result.add({engine.gpu().name(), input_device});
            return result;
        }
    }
    if (empty && !stream) message.input = message.output = {};
    std::uint8_t* const output = message.output.first;
    Executor executor(engine, message.input.first, m.mode == Mode::cmac ? message.input.first : output, stream,
                      input_device, output_device);
    message.iv = {};
    // Small inputs and inputs that a CPU reads are copied to host memory. The copies also protect them from the output,
    // which may be written before they have been read.
    std::optional<SecretBuffer> copied_aad;
    Block iv{};  // of GCM: J0, which begins with the IV if that has 12 bytes
    Secret<Block> aad_digest;
    Outcome hashed;
    if (gcm) {
        const bool here = aad_device < 0 && m.aad_length != 0 && m.aad_length <= hashed_here;
        const FieldElement of_aad = here ? digest_here(*m.key, m.aad.first, m.aad_length)
                                         : gcm_digest(engine, *m.key, m.aad.first, m.aad_length, &hashed);
        iv = pre_counter(engine, *m.key, given_iv);
        *aad_digest = store_element(of_aad);
        message.aad_digest = &*aad_digest;
        result.notes |= hashed.notes;
        if (given_iv.size() != gcm_nonce_bytes) message.j0 = &iv;
    } else {
        std::copy(given_iv.begin(), given_iv.end(), iv.begin());
        if (aad_device >= 0 || overlap(m.aad.first, m.aad_length, output, m.length)) {
            copied_aad.emplace(static_cast<std::size_t>(m.aad_length));
            copy_memory(copied_aad->data(), m.aad.first, copied_aad->size(), aad_device);
            message.aad = {copied_aad->data(), 0};
        }
    }
    message.iv = Elements::of(iv.data());
    const auto note_run = [&] {
        executor.run(message);
        result.add(executor.ran());
    };
    if (stream) {
        note_run();
        return result;
    }
    const auto tag_bytes = static_cast<std::size_t>(m.tag_length);
    const int tag_device = device_of(m.tag.first);
    Secret<Block> tag;
    message.tag = {tag->data(), 0};
    std::uint8_t failed = 0;
    message.failed = &failed;
    try {
        if (decrypt) copy_memory(tag->data(), m.tag.first, tag_bytes, tag_device);
        if (gcm && empty && hashed.device >= 0) {
            // The GPU has hashed the associated data. Another call for a single block would cost more than most of that
            // work.
            const Secret<Block> right(gcm_tag(*m.key, iv, *aad_digest, m.aad_length, {}, 0));
            settle_tag(message, *right, [](auto) {});
            result.add(hashed);
        } else {
            note_run();
        }
    } catch (...) {
        if (decrypt && output != nullptr) executor.clear(output, m.length);
        throw;
    }
    result.authentic = failed == 0;
    if (!decrypt) copy_memory(m.tag.first, tag->data(), tag_bytes, tag_device);
    return result;
}

}  // namespace warpaes

#include <algorithm>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "engine/run/executor.hpp"
#include "engine/run/group.hpp"

namespace warpaes {

namespace {

/// Returns the device of a message on a caller's stream: the device of its text or, without text, of the memory that
/// the call writes. Throws Error{ARGUMENT} unless everything that must be in device memory is there.
int device_for_stream(const MessageGroup& m, const Places& places) {
    const bool data = m.length != 0, encrypt = m.direction == Direction::encrypt;
    const int device = (data ? places.input : encrypt ? places.tag : places.statuses).device;
    const auto lies_there = [device](const MemoryPlace& place) { return device >= 0 && place.device == device; };
    if (data && (!lies_there(places.input) || (has_output(m.mode) && !lies_there(places.output)))) {
        throw Error(WARPAES_ERROR_ARGUMENT,
                    "input, output: an asynchronous call requires buffers in the memory of one device");
    }
    if (encrypt && !lies_there(places.tag)) {
        throw Error(WARPAES_ERROR_ARGUMENT,
                    data ? "tag: an asynchronous call writes it to the memory of the buffers' device"
                         : "tag: an asynchronous call writes it to device memory");
    }
    if (!encrypt && !lies_there(places.statuses)) {
        throw Error(WARPAES_ERROR_ARGUMENT, std::string("device_status: asynchronous decryption reports in ") +
                                                (data ? "the memory of the buffers' device" : "device memory") +
                                                " whether the tag is correct");
    }
    return device;
}

/// Whether a GCM message can run on a stream without the device memory that a batch requires: the host can hash its
/// associated data, and the tag that encryption writes has 16 bytes and is in memory that the device can write to.
bool is_simple(const MessageGroup& m, const Places& places) {
    if (m.mode != Mode::gcm || places.aad.device >= 0) return false;
    if (m.direction == Direction::decrypt) return m.length != 0;
    // Without text, possibly only the tag is on a device.
    if (m.length == 0 && (places.input.device < 0 || places.output.device < 0)) return false;
    return m.tag_length == block_bytes && is_direct(places.tag.kind);
}

}  // namespace

TaggedOutcome run_tagged(Engine& engine, const MessageGroup& m, const Places& places,
                         std::optional<CallerStream> stream) {
    TaggedOutcome result;
    const bool decrypt = m.direction == Direction::decrypt, gcm = m.mode == Mode::gcm, empty = m.length == 0;
    const bool simple = stream && is_simple(m, places);
    const bool checks_places = stream && (decrypt || !simple);
    const int device = checks_places ? device_for_stream(m, places) : -1;
    const bool aad_in_output = overlap(m.aad.first, m.aad_length, m.output.first, m.length);
    if (checks_places && aad_in_output) {
        throw Error(WARPAES_ERROR_OVERLAP, "aad: is inside the output, which an asynchronous call may write first");
    }
    // Wiping the output would otherwise overwrite the status with WARPAES_OK.
    if (stream && decrypt && has_output(m.mode) &&
        overlap(reinterpret_cast<std::uint8_t*>(m.statuses), sizeof(warpaes_status), m.output.first, m.length)) {
        throw Error(WARPAES_ERROR_OVERLAP, "device_status: overlaps the output");
    }
    MessageGroup message = m;
    if (!has_output(m.mode)) message.output = {};
    if (stream && !simple) {
        engine.require_gpu();
        engine.gpu().enqueue({&message, 1}, device, stream->stream);
        result.merge({engine.gpu().name(), device});
        return result;
    }
    Places text = places;
    if (!has_output(m.mode)) text.output = text.input;
    if (empty && !stream) {
        message.input = message.output = {};
        text = {};
    }
    Executor executor(engine, text, stream);
    // Small inputs and inputs that a CPU reads are copied to host memory. The copies also protect them from the output,
    // which may be written before the inputs have been read.
    std::optional<SecretBuffer> copied_aad;
    Block iv{};  // GCM: J0, which begins with the IV if the IV has 12 bytes
    Secret<Block> aad_digest;
    Outcome hashed;
    if (gcm) {
        iv = first_counter(engine, *m.key, {m.iv.first, static_cast<std::size_t>(m.iv_length)});
        if (m.iv_length != gcm_nonce_bytes) message.j0 = &iv;
        *aad_digest = gcm_digest(engine, *m.key, m.aad.first, m.aad_length, places.aad, &hashed);
        message.aad_digest = &*aad_digest;
        result.notes |= hashed.notes;
    } else {
        std::copy_n(m.iv.first, m.iv_length, iv.begin());
        if (aad_in_output || places.aad.device >= 0) {
            copied_aad.emplace(static_cast<std::size_t>(m.aad_length));
            copy_memory(copied_aad->data(), m.aad.first, copied_aad->size(), places.aad.device);
            message.aad = {copied_aad->data(), 0};
        }
    }
    message.iv = Elements::of(iv.data());
    const auto note_run = [&] {
        executor.run(message);
        result.merge(executor.ran());
    };
    if (stream) {
        note_run();
        return result;
    }
    const auto tag_bytes = static_cast<std::size_t>(m.tag_length);
    const int tag_device = places.tag.device;
    Secret<Block> tag;
    message.tag = {tag->data(), 0};
    std::uint8_t failed = 0;
    message.failed = &failed;
    try {
        if (decrypt) copy_memory(tag->data(), m.tag.first, tag_bytes, tag_device);
        note_run();
    } catch (...) {
        if (decrypt && message.output.first != nullptr) executor.clear(message.output.first, m.length);
        throw;
    }
    if (empty && hashed.device >= 0) result.merge(hashed);  // a message without text can run on any backend
    result.authentic = failed == 0;
    if (!decrypt) copy_memory(m.tag.first, tag->data(), tag_bytes, tag_device);
    return result;
}

}  // namespace warpaes

#include "format/key_trial.hpp"

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "engine/pipeline/worker_lane.hpp"
#include "format/segment_stage.hpp"

namespace warpaes {

namespace {

/// Returns the file's first segment. If the length is unknown and the file continues past `source`, the segment is
/// full.
SegmentRange first_segment(const SegmentLayout& layout, const RewoundSource& source) {
    const bool known = source.size() != Engine::unknown_length;
    if (!known && !source.is_whole()) return {0, 1, 0, false};  // beginning_needed() exceeds the first segment
    return layout.range(0, 1, layout.text_bytes(known ? source.size() : source.beginning().size()));
}

OpenedFile try_key(Engine& engine, const StreamKey& key, std::span<const std::uint8_t> aad, const RewoundSource& source,
                   bool first_segment_too) {
    OpenedFile file{&key, open_segment_cipher(key, aad, source.beginning())};
    const SegmentLayout& layout = file.cipher->layout();
    if (source.size() != Engine::unknown_length) (void)layout.text_bytes(source.size());
    if (first_segment_too && !key.parameters.format->commits) {
        authenticate(engine, *file.cipher, first_segment(layout, source),
                     source.beginning().subspan(static_cast<std::size_t>(layout.header_bytes)));
    }
    return file;
}

}  // namespace

void authenticate(Engine& engine, const SegmentCipher& cipher, const SegmentRange& range,
                  std::span<const std::uint8_t> sealed) {
    SecretVector text;
    text.resize(static_cast<std::size_t>(text_bytes(cipher.layout(), range)));
    const Plan plan = engine.plan(Mode::gcm, Direction::decrypt, 0);
    auto* input = const_cast<std::uint8_t*>(sealed.data());  // process() only reads it
    WorkerLane(engine, plan, 0, 0).run([&](Lane& lane) {
        cipher.process(lane, Direction::decrypt, range, text.data(), input);
    });
}

std::size_t beginning_needed(std::span<const StreamKey* const> keys, KeyTrial trial) {
    const bool more = keys.size() > 1 || trial == KeyTrial::first_segment;
    std::uint64_t bytes = 0;
    for (const StreamKey* key : keys) {
        const SegmentLayout layout = layout_of(key->parameters);
        const std::uint64_t first = more ? layout.first_text + layout.tag + 1 : 0;
        bytes = std::max(bytes, layout.header_bytes + first);
    }
    return static_cast<std::size_t>(bytes);
}

void try_keys(std::span<const StreamKey* const> keys, const std::function<void(const StreamKey&)>& attempt) {
    if (keys.empty()) throw Error(WARPAES_ERROR_KEYSET, "keyset: has no enabled key");
    // An authentication failure is more informative than a format error, because it shows that the header and the
    // length were plausible.
    std::optional<Error> failure;
    for (const StreamKey* key : keys) {
        try {
            attempt(*key);
            return;
        } catch (const Error& e) {
            if (e.status() != WARPAES_ERROR_FORMAT && e.status() != WARPAES_ERROR_AUTHENTICATION) throw;
            if (!failure || failure->status() == WARPAES_ERROR_FORMAT) failure.emplace(e);
        }
    }
    if (keys.size() > 1 && failure->status() == WARPAES_ERROR_AUTHENTICATION) {
        throw Error(WARPAES_ERROR_AUTHENTICATION,
                    "input: no key of the keyset opens it; the keyset or the associated data is wrong, or it was "
                    "altered or truncated");
    }
    throw Error(*failure);
}

OpenedFile open_file(Engine& engine, std::span<const StreamKey* const> keys, std::span<const std::uint8_t> aad,
                     const RewoundSource& source, KeyTrial trial) {
    OpenedFile file;
    const bool first_segment_too = keys.size() > 1 || trial == KeyTrial::first_segment;
    try_keys(keys, [&](const StreamKey& key) { file = try_key(engine, key, aad, source, first_segment_too); });
    return file;
}

}  // namespace warpaes

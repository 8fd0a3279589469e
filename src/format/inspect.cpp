#include "format/inspect.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "engine/pipeline/file.hpp"
#include "format/enc.hpp"
#include "format/segment_cipher.hpp"

namespace warpaes {

namespace {

[[noreturn]] void refuse(const std::string& why) {
    throw Error(WARPAES_ERROR_FORMAT, "input: " + why);
}

constexpr std::uint64_t least_tag = 10;

void read_segments(FileFacts& facts, std::span<const std::uint8_t> begin) {
    const StreamTemplate& t = *facts.stream_template;
    const SegmentLayout layout = layout_of(t.parameters);
    if (t.parameters.format->marked && (begin.empty() || begin[0] != layout.header_bytes)) {
        refuse("does not begin like a file in the format " + std::string(t.name));
    }
    facts.format = t.parameters.format->name;
    facts.header_bytes = layout.header_bytes;
    facts.plaintext_bytes = layout.text_bytes(facts.file_bytes);
    facts.segments = layout.segments_of(facts.plaintext_bytes);
    facts.segment_bytes = t.parameters.segment_bytes;
    facts.key_bits = static_cast<std::uint32_t>(8 * t.parameters.aes_key_bytes);
}

void recognise(FileFacts& facts, std::span<const std::uint8_t> begin) {
    if (begin.size() == 16 && std::equal(enc_magic.begin(), enc_magic.end(), begin.begin())) {
        facts.type = WARPAES_FORMAT_OPENSSL_ENC;
        facts.format = "openssl enc, with a passphrase";
        facts.header_bytes = begin.size();
        return;
    }
    std::vector<std::string_view> unmarked;
    for (std::size_t i = 0; const StreamTemplate* const t = template_at(i); ++i) {
        const SegmentFormat& format = *t->parameters.format;
        if (!format.marked) {
            if (unmarked.empty() || unmarked.back() != format.name) unmarked.push_back(format.name);
            continue;
        }
        const std::uint64_t header = layout_of(t->parameters).header_bytes;
        if (!begin.empty() && begin[0] == header && facts.file_bytes >= header + least_tag) {
            facts.format = format.name;
            facts.header_bytes = header;
            facts.key_bits = static_cast<std::uint32_t>(8 * t->parameters.aes_key_bytes);
            return;
        }
    }
    std::string names;
    for (const std::string_view name : unmarked) names.append(names.empty() ? "" : ", ").append(name);
    refuse("begins neither like Tink's streaming AEAD nor like `openssl enc`. Files of " + names +
           " have no mark: give their template");
}

}  // namespace

FileFacts inspect_file(const std::string& path, const StreamTemplate* stream_template) {
    FileSource source(path);
    // The file's status is used, because size() is unknown for an empty file.
    if (!S_ISREG(source.status().st_mode)) refuse(source.name() + " has no length; give a regular file");
    FileFacts facts;
    facts.stream_template = stream_template;
    facts.file_bytes = static_cast<std::uint64_t>(source.status().st_size);
    std::array<std::uint8_t, 16> buffer{};
    const auto begin = std::span<const std::uint8_t>(buffer).first(source.read(0, buffer));
    if (stream_template != nullptr) {
        read_segments(facts, begin);
    } else {
        recognise(facts, begin);
    }
    return facts;
}

}  // namespace warpaes

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "base/secret.hpp"
#include "engine/pipeline/worker_lane.hpp"
#include "format/segment_stage.hpp"
#include "format/segments.hpp"
#include "format/streaming_aead.hpp"

namespace warpaes {

namespace {

/// Segments are read in groups of about this many bytes.
constexpr std::uint64_t group_bytes = std::uint64_t{4} << 20;

/// The positions of segments in a file of this length, regardless of its content. Unlike SegmentLayout::text_bytes,
/// this class accepts any length.
class Places {
public:
    Places(const SegmentLayout& layout, std::uint64_t file_bytes) : layout_(layout), file_bytes_(file_bytes) {
        if (file_bytes <= layout.header_bytes) return;
        const std::uint64_t behind = file_bytes - layout.header_bytes, first = layout.first_text + layout.tag;
        const std::uint64_t each = layout.text + layout.tag, rest = behind - std::min(behind, first);
        count_ = std::min(1 + rest / each + (rest % each != 0 ? 1 : 0), layout.most_segments);
    }
    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
    [[nodiscard]] bool is_last(std::uint64_t segment) const noexcept { return segment + 1 == count_; }
    /// Returns the end of the segment in the file.
    [[nodiscard]] std::uint64_t end(std::uint64_t segment) const noexcept {
        return std::min(layout_.file_offset(segment + 1), file_bytes_);
    }
    [[nodiscard]] std::uint64_t sealed(std::uint64_t first, std::uint64_t count) const noexcept {
        return end(first + count - 1) - layout_.file_offset(first);
    }
    /// Returns the plaintext size that the segment would have.
    [[nodiscard]] std::uint64_t text(std::uint64_t segment) const noexcept {
        const std::uint64_t bytes = sealed(segment, 1);
        return bytes - std::min(bytes, layout_.tag);
    }
    [[nodiscard]] bool is_full(std::uint64_t segment) const noexcept {
        return end(segment) == layout_.file_offset(segment + 1);
    }

private:
    const SegmentLayout layout_;
    const std::uint64_t file_bytes_;
    std::uint64_t count_ = 0;
};

class SalvageFormat final : public FileFormat {
public:
    SalvageFormat(const FileJob& job, const AeadOptions& options)
        : job_(job), aad_(options.aad), keys_(options.keyset->usable()) {
        if (keys_.empty()) throw Error(WARPAES_ERROR_KEYSET, "keyset: has no enabled key");
        if (job.direction == Direction::encrypt || job.verify || job.range || job.sha256_input) {
            throw Error(WARPAES_ERROR_ARGUMENT,
                        "flags: SALVAGE applies only to decryption, without RANGE, VERIFY and SHA256_INPUT");
        }
    }

    Opening open(Engine& engine, Source*& input) override {
        if (input->is_sequential() || input->size() == Engine::unknown_length) {
            throw Error(WARPAES_ERROR_ARGUMENT, "flags: SALVAGE needs an input that can seek; a pipe cannot");
        }
        find_key(engine, *input);
        Opening opening;
        opening.begin = opening.header_bytes = cipher_->layout().header_bytes;
        opening.key_id = key_->id;
        return opening;
    }

    Totals run(Engine& engine, Source& content, Sink& sink) override {
        const SegmentLayout& layout = cipher_->layout();
        const Places places(layout, layout.header_bytes + content.size());
        const std::uint64_t together = std::max<std::uint64_t>(1, group_bytes / (layout.text + layout.tag));
        std::vector<std::uint8_t> sealed;
        SecretVector text;
        bool ends = false;
        for (std::uint64_t i = 0, n = 0; i < places.count(); i += n) {
            n = std::min(together, places.count() - i);
            read(content, layout.file_offset(i) - layout.header_bytes, places.sealed(i, n), sealed);
            text.resize(static_cast<std::size_t>(layout.text_offset(i + n) - layout.text_offset(i)));
            ends = salvage(engine, places, i, n, sealed, text);
            const std::uint64_t bytes = layout.text_offset(i + n - 1) + places.text(i + n - 1) - layout.text_offset(i);
            sink.write(layout.text_offset(i), std::span(text).first(static_cast<std::size_t>(bytes)));
            written_ = layout.text_offset(i) + bytes;
            if (job_.progress && !job_.progress(places.end(i + n - 1), layout.header_bytes + content.size())) {
                throw Error(WARPAES_ERROR_CANCELLED, "cancelled by the caller");
            }
        }
        if (!ends) note_hole(end_of_text_, Engine::unknown_length);
        tell_of_hole();
        sink.finish();
        const Plan plan = engine.plan(Mode::gcm, Direction::decrypt, 0);
        return {{plan.backend->name(), plan.devices.front(), 0}, content.size(), written_};
    }

private:
    static void read(Source& source, std::uint64_t offset, std::uint64_t bytes, std::vector<std::uint8_t>& buffer) {
        buffer.resize(static_cast<std::size_t>(bytes));
        if (source.read(offset, buffer) != buffer.size()) {
            throw Error(WARPAES_ERROR_READ, "input: became shorter while it was read");
        }
    }

    /// Opens all segments of `range` with `cipher`, or none of them.
    static bool opens(Engine& engine, const SegmentCipher& cipher, const SegmentRange& range,
                      std::span<const std::uint8_t> sealed, std::uint8_t* text) {
        const Plan plan = engine.plan(Mode::gcm, Direction::decrypt, 0);
        try {
            WorkerLane(engine, plan, 0, 0).run([&](Lane& lane) {
                auto* input = const_cast<std::uint8_t*>(sealed.data());  // process() only reads it
                cipher.process(lane, Direction::decrypt, range, text, input);
            });
            return true;
        } catch (const SegmentRefused&) {
            return false;
        }
    }

    enum class Found { nothing, segment, end };

    /// Opens one segment. If a file was truncated, a segment that is not marked as the last may still be at its end.
    static Found open_one(Engine& engine, const SegmentCipher& cipher, const Places& places, std::uint64_t i,
                          std::span<const std::uint8_t> sealed, std::uint8_t* text) {
        const SegmentLayout& layout = cipher.layout();
        const bool may_end =
            places.is_last(i) && sealed.size() >= layout.tag && !(layout.last_is_shorter && places.is_full(i));
        if (may_end && opens(engine, cipher, {i, 1, places.text(i), true}, sealed, text)) return Found::end;
        if (places.is_full(i) && opens(engine, cipher, {i, 1, 0, false}, sealed, text)) return Found::segment;
        return Found::nothing;
    }

    /// Chooses the first key that opens any segment. All keys are tried on one segment before the next, so the file is
    /// read only once, and usually only one of its segments is read.
    void find_key(Engine& engine, Source& input) {
        struct Candidate {
            const StreamKey* key;
            std::unique_ptr<SegmentCipher> cipher;
            Places places;
        };
        std::uint64_t longest = 0;
        for (const StreamKey* key : keys_) longest = std::max(longest, layout_of(key->parameters).header_bytes);
        std::vector<std::uint8_t> sealed;
        read(input, 0, std::min(longest, input.size()), sealed);
        std::vector<Candidate> candidates;
        std::uint64_t most = 0;
        for (const StreamKey* key : keys_) {
            try {
                std::unique_ptr<SegmentCipher> cipher = open_segment_cipher(*key, aad_, sealed);
                const Places places(cipher->layout(), input.size());
                most = std::max(most, places.count());
                candidates.push_back({key, std::move(cipher), places});
            } catch (const Error& error) {  // a key of a different format, or a damaged header
                if (error.status() != WARPAES_ERROR_FORMAT && error.status() != WARPAES_ERROR_AUTHENTICATION) throw;
            }
        }
        SecretVector text;
        for (std::uint64_t i = 0; i < most; ++i) {
            for (Candidate& each : candidates) {
                if (i >= each.places.count()) continue;
                const SegmentLayout& layout = each.cipher->layout();
                read(input, layout.file_offset(i), each.places.sealed(i, 1), sealed);
                text.resize(static_cast<std::size_t>(std::max(layout.first_text, layout.text)));
                if (open_one(engine, *each.cipher, each.places, i, sealed, text.data()) == Found::nothing) continue;
                key_ = each.key;
                cipher_ = std::move(each.cipher);
                return;
            }
            if (job_.progress && !job_.progress(0, input.size())) {
                throw Error(WARPAES_ERROR_CANCELLED, "cancelled by the caller");
            }
        }
        throw Error(WARPAES_ERROR_AUTHENTICATION,
                    "input: no key opens any segment; the keyset or the associated data is wrong, or the "
                    "beginning of the file, which every segment needs, is damaged");
    }

    /// Writes the plaintext of `n` segments to `text`, with zeros for segments that are not authentic. Returns whether
    /// the last segment ends the file.
    bool salvage(Engine& engine, const Places& places, std::uint64_t first, std::uint64_t n,
                 std::span<const std::uint8_t> sealed, std::span<std::uint8_t> text) {
        const SegmentLayout& layout = cipher_->layout();
        const bool whole = places.is_full(first + n - 1) && !places.is_last(first + n - 1);
        if (whole && opens(engine, *cipher_, {first, n, 0, false}, sealed, text.data())) {
            end_of_text_ = layout.text_offset(first + n);
            return false;
        }
        bool ends = false;
        for (std::uint64_t i = first; i < first + n; ++i) {
            const std::uint64_t at = layout.file_offset(i) - layout.file_offset(first);
            const auto piece =
                sealed.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(places.sealed(i, 1)));
            const std::uint64_t offset = layout.text_offset(i), bytes = places.text(i);
            const auto output = text.subspan(static_cast<std::size_t>(offset - layout.text_offset(first)),
                                             static_cast<std::size_t>(bytes));
            const Found found = open_one(engine, *cipher_, places, i, piece, output.data());
            ends = found == Found::end;
            if (found == Found::nothing) {
                std::fill(output.begin(), output.end(), std::uint8_t{0});
                note_hole(offset, bytes);
            } else {
                end_of_text_ = offset + bytes;
            }
        }
        return ends;
    }

    /// Records a range of zeros; adjacent ranges are merged.
    void note_hole(std::uint64_t first, std::uint64_t length) {
        const bool touches = hole_length_ != 0 && first <= hole_first_ + hole_length_;
        if (!touches) {
            tell_of_hole();
            hole_first_ = first;
        }
        hole_length_ = length == Engine::unknown_length ? length : first + length - hole_first_;
    }
    void tell_of_hole() {
        if (hole_length_ != 0 && job_.hole) job_.hole(hole_first_, hole_length_);
        hole_length_ = 0;
    }

    const FileJob& job_;
    const std::span<const std::uint8_t> aad_;
    const std::vector<const StreamKey*> keys_;
    const StreamKey* key_ = nullptr;
    std::unique_ptr<SegmentCipher> cipher_;
    std::uint64_t hole_first_ = 0, hole_length_ = 0;
    std::uint64_t end_of_text_ = 0;  ///< the end of the last authentic segment
    std::uint64_t written_ = 0;
};

}  // namespace

std::unique_ptr<FileFormat> salvage_format(const FileJob& job, const AeadOptions& options) {
    return std::make_unique<SalvageFormat>(job, options);
}

}  // namespace warpaes

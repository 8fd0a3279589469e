#include "format/streaming_aead.hpp"

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "format/key_trial.hpp"
#include "format/segment_stage.hpp"
#include "format/segments.hpp"

namespace warpaes {

namespace {

void check(const FileJob& job, const AeadOptions& options) {
    const bool encrypt = job.direction == Direction::encrypt;
    if (options.keyset == nullptr) throw Error(WARPAES_ERROR_ARGUMENT, "keyset: is missing");
    if (job.verify && (encrypt || job.range)) {
        throw Error(WARPAES_ERROR_ARGUMENT, "flags: VERIFY applies only to decryption of complete files");
    }
    if (!job.range) return;
    if (encrypt) throw Error(WARPAES_ERROR_RANGE, "range: applies only to decryption of authenticated segments");
    check_range(*job.range);
}

/// Authenticates segment `number` of a plaintext of `size` bytes.
void authenticate_one(Engine& engine, const SegmentCipher& cipher, std::uint64_t size, std::uint64_t number,
                      Source& source) {
    const SegmentLayout& layout = cipher.layout();
    const SegmentRange range = layout.range(number, 1, size);
    std::vector<std::uint8_t> sealed(static_cast<std::size_t>(sealed_bytes(layout, range)));
    if (source.read(layout.file_offset(number), sealed) != sealed.size()) {
        throw Error(WARPAES_ERROR_READ, "input: became shorter while it was read");
    }
    authenticate(engine, cipher, range, sealed);
}

/// Whether the first segment opens. If it does, the key is right, and a later failure means damage.
bool begins_authentic(Engine& engine, const SegmentCipher& cipher, Source& source) {
    if (source.is_sequential() || source.size() == Engine::unknown_length) return false;
    try {
        authenticate_one(engine, cipher, cipher.layout().text_bytes(source.size()), 0, source);
        return true;
    } catch (const Error&) {
        return false;
    }
}

class AeadFormat final : public FileFormat {
public:
    AeadFormat(const FileJob& job, const AeadOptions& options) : job_(job), aad_(options.aad) {
        check(job, options);
        keys_ = encrypts() ? std::vector{&options.keyset->primary()} : options.keyset->usable();
    }

    Opening open(Engine& engine, Source*& input) override {
        Opening opening;
        if (encrypts()) {
            opened_ = {keys_.front(), make_segment_cipher(*keys_.front(), aad_)};
            if (input->size() != Engine::unknown_length) (void)layout().file_bytes(input->size());
            const auto header = opened_.cipher->header();
            opening.header.assign(header.begin(), header.end());
        } else {
            input = &rewound_.emplace(*input, beginning_needed(keys_));
            opened_ = open_file(engine, keys_, aad_, *rewound_);
            opening.begin = opening.header_bytes = layout().header_bytes;
            // Prevents gaps in output to a pipe or descriptor if a segment turns out not to be authentic.
            opening.in_order = true;
            if (job_.range) find_window(engine, *job_.range, opening);
        }
        opening.key_id = opened_.key->id;
        return opening;
    }

    Totals run(Engine& engine, Source& content, Sink& sink) override {
        const SegmentFormat& format = *opened_.key->parameters.format;
        const Plan plan =
            fitted(engine, plan_segments(engine, format, job_.direction, content.size()), job_, content.size(), sink);
        SegmentStage stage(
            *opened_.cipher, job_.direction,
            {.chunk_bytes = plan.chunk_bytes, .first = first_, .ends = ends_, .input_bytes = content.size()});
        try {
            return run_segments(engine, plan, stage, content, sink, job_.progress);
        } catch (const SegmentRefused& refused) {
            if (refused.segment() == 0 || !begins_authentic(engine, *opened_.cipher, *rewound_)) throw;
            throw SegmentRefused(layout(), refused.segment(), true);
        }
    }

private:
    [[nodiscard]] bool encrypts() const noexcept { return job_.direction == Direction::encrypt; }
    [[nodiscard]] const SegmentLayout& layout() const noexcept { return opened_.cipher->layout(); }

    /// Determines the segments that contain a range.
    void find_window(Engine& engine, const ByteRange& range, Opening& opening) {
        if (rewound_->size() == Engine::unknown_length) {
            throw Error(WARPAES_ERROR_RANGE, "range: needs an input that can seek; a pipe or an empty file cannot");
        }
        const std::uint64_t size = layout().text_bytes(rewound_->size()), segments = layout().segments_of(size);
        const bool to_the_end = range.last == Engine::unknown_length;
        // The error for a range beyond the end is thrown only after the last segment has proved the file's length.
        if (range.first >= size || (!to_the_end && range.last >= size)) {
            authenticate_one(engine, *opened_.cipher, size, segments - 1, *rewound_);
        }
        const std::uint64_t last = last_byte(range, size), last_segment = layout().segment_at(last);
        first_ = layout().segment_at(range.first);
        // An empty segment may follow the segment with the last byte; it proves that the file ends there.
        ends_ = last_segment + 1 == segments || (to_the_end && last_segment + 2 == segments);
        opening.begin = layout().file_offset(first_);
        opening.size = (ends_ ? rewound_->size() : layout().file_offset(last_segment + 1)) - opening.begin;
        opening.skip = range.first - layout().text_offset(first_);
        opening.keep = last - range.first + 1;
    }

    const FileJob& job_;
    const std::span<const std::uint8_t> aad_;
    std::vector<const StreamKey*> keys_;  ///< keys that may open the file
    std::optional<RewoundSource> rewound_;
    OpenedFile opened_;
    std::uint64_t first_ = 0;  ///< first segment to process
    bool ends_ = true;
};

}  // namespace

std::unique_ptr<FileFormat> aead_format(const FileJob& job, const AeadOptions& options) {
    return std::make_unique<AeadFormat>(job, options);
}

}  // namespace warpaes

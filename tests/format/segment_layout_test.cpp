// Compares segment positions with positions counted from the start of the file.
#include <gtest/gtest.h>

#include <limits>
#include <optional>

#include "base/error.hpp"
#include "format/segment_cipher.hpp"
#include "segment_cases.hpp"

namespace warpaes::test {
namespace {

struct Walked {
    std::uint64_t segments = 0, file_bytes = 0;
};

/// Computes the layout of a plaintext segment by segment.
Walked walk(const StreamParameters& p, std::uint64_t text) {
    const Rules rules = rules_of(p);
    Walked w;
    w.file_bytes = rules.header_bytes;
    for (;;) {
        const std::uint64_t room =
            p.segment_bytes - p.tag_bytes - (w.segments == 0 && rules.header_counts ? rules.header_bytes : 0);
        const bool last = rules.last_is_shorter ? text < room : text <= room;
        ++w.segments;
        w.file_bytes += (last ? text : room) + p.tag_bytes;
        if (last) return w;
        text -= room;
    }
}

std::optional<std::uint64_t> text_bytes_of(const SegmentLayout& layout, std::uint64_t file_bytes) {
    try {
        return layout.text_bytes(file_bytes);
    } catch (const Error& e) {
        EXPECT_EQ(e.status(), WARPAES_ERROR_FORMAT);
        return std::nullopt;
    }
}

TEST(SegmentLayout, EveryLengthOverSomeSegments) {
    for (const SegmentCase& c : segment_cases) {
        const SegmentLayout layout = layout_of(c.parameters);
        const std::uint64_t most = 3 * layout.text + layout.first_text + 20;
        std::uint64_t next_file = 0;
        for (std::uint64_t text = 0; text <= most; ++text) {
            const Walked walked = walk(c.parameters, text);
            ASSERT_EQ(layout.segments_of(text), walked.segments) << c.name << " " << text;
            ASSERT_EQ(layout.file_bytes(text), walked.file_bytes) << c.name << " " << text;
            ASSERT_EQ(text_bytes_of(layout, walked.file_bytes), text) << c.name << " " << text;
            // File lengths between these two are invalid, because no plaintext has such a file.
            for (; next_file < walked.file_bytes; ++next_file) {
                ASSERT_EQ(text_bytes_of(layout, next_file), std::nullopt) << c.name << " " << next_file;
            }
            next_file = walked.file_bytes + 1;
        }
    }
}

// A key is invalid unless its first segment has room for at least one byte after the header.
TEST(SegmentLayout, TheFirstSegmentHasRoomForText) {
    for (const SegmentCase& c : segment_cases) {
        StreamParameters p = c.parameters;
        if (p.format->tink_type.empty()) continue;  // its segments have a fixed size
        const std::uint64_t least = rules_of(p).header_bytes + p.tag_bytes + 1;
        for (p.segment_bytes = 0; p.segment_bytes < least; ++p.segment_bytes) {
            try {
                (void)layout_of(p);
                ADD_FAILURE() << c.name << " " << p.segment_bytes;
            } catch (const Error& e) {
                EXPECT_EQ(e.status(), WARPAES_ERROR_KEYSET);
                EXPECT_NE(std::string(e.what()).find(std::to_string(p.segment_bytes)), std::string::npos) << e.what();
            }
        }
        EXPECT_EQ(layout_of(p).first_text, 1u) << c.name;
    }
}

TEST(SegmentLayout, WhereEachByteLies) {
    for (const SegmentCase& c : segment_cases) {
        const SegmentLayout layout = layout_of(c.parameters);
        std::uint64_t segment = 0, begin = 0, file = layout.header_bytes, room = layout.first_text;
        for (std::uint64_t at = 0; at < layout.first_text + 3 * layout.text; ++at) {
            if (at == begin + room) {
                begin = at;
                file += room + layout.tag;
                room = layout.text;
                ++segment;
            }
            ASSERT_EQ(layout.segment_at(at), segment) << c.name << " " << at;
            ASSERT_EQ(layout.text_offset(segment), begin) << c.name;
            ASSERT_EQ(layout.file_offset(segment), file) << c.name;
        }
        if (const Rules rules = rules_of(c.parameters); rules.header_counts) {
            EXPECT_EQ(layout.file_offset(3), 3ull * c.parameters.segment_bytes)
                << "as the format's own rule defines it";
            EXPECT_EQ(layout.text_offset(3),
                      3ull * (c.parameters.segment_bytes - c.parameters.tag_bytes) - layout.header_bytes);
        } else {
            EXPECT_EQ(layout.file_offset(3), rules.header_bytes + 3ull * c.parameters.segment_bytes);
        }
    }
}

TEST(SegmentLayout, TheLastSegmentThatAFormatHas) {
    for (const SegmentCase& c : segment_cases) {
        const SegmentLayout layout = layout_of(c.parameters);
        const Rules rules = rules_of(c.parameters);
        const std::uint64_t segments = rules.most_segments;
        const std::uint64_t most = layout.text_offset(segments - 1) + layout.text - (rules.last_is_shorter ? 1 : 0);
        EXPECT_EQ(layout.segments_of(most), segments) << c.name;
        EXPECT_EQ(layout.text_bytes(layout.file_bytes(most)), most) << c.name;
        for (const std::uint64_t beyond : {most + 1, most + (1u << 20), std::numeric_limits<std::uint64_t>::max()}) {
            EXPECT_THROW((void)layout.segments_of(beyond), Error) << c.name;
            EXPECT_THROW((void)layout.file_bytes(beyond), Error) << c.name;
        }
        for (const std::uint64_t file : {layout.file_bytes(most) + layout.tag + 1, layout.file_bytes(most) + 1,
                                         std::numeric_limits<std::uint64_t>::max()}) {
            EXPECT_THROW((void)layout.text_bytes(file), Error) << c.name;
        }
    }
}

TEST(SegmentLayout, TheLargestSegmentsOverflowNothing) {
    const SegmentLayout layout = layout_of({&gcm_hkdf, 32, 0xffffffffu, Hash::sha256, Hash::sha256, 16});
    EXPECT_EQ(layout.segments_of(~std::uint64_t{0} >> 1), (~std::uint64_t{0} >> 1) / (0xffffffffu - 16) + 1);
    EXPECT_THROW((void)layout.file_bytes(~std::uint64_t{0}), Error);
    EXPECT_THROW((void)layout_of({&gcm_hkdf, 32, 56, Hash::sha256, Hash::sha256, 16}), Error);
}

}  // namespace
}  // namespace warpaes::test

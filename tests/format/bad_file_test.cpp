// Tests that every function that opens files refuses altered files and returns no unauthenticated byte.
#include <fcntl.h>

#include <algorithm>

#include "file_job.hpp"
#include "format/segment_cipher.hpp"

namespace warpaes::test {
namespace {

struct Sealed {
    Bytes header;
    std::vector<Bytes> segments;

    [[nodiscard]] Bytes join() const {
        Bytes file = header;
        for (const Bytes& s : segments) file.insert(file.end(), s.begin(), s.end());
        return file;
    }
};

class BadFile : public FileJobTest, public testing::WithParamInterface<SegmentCase> {
protected:
    BadFile() : key_(key_of(GetParam())), keyset_(keyset_of({key_})), layout_(layout_of(GetParam().parameters)) {
        // The text has several chunks. The last chunk is partial.
        const std::uint64_t segments = 2 * std::max<std::uint64_t>(1, 4096 / (layout_.text + layout_.tag)) + 3;
        plaintext_ = pseudorandom(static_cast<std::size_t>(layout_.text_offset(segments) + layout_.text / 2), 20);
    }

    /// Encrypts the plaintext and returns the file. Salts are random, so the result is different each time.
    Sealed seal_file(const StreamKey& key) const {
        const Bytes file = seal(key, aad_, make_segment_cipher(key, aad_)->header(), plaintext_);
        const auto at = [&](std::uint64_t segment) {
            const std::uint64_t offset = std::min<std::uint64_t>(layout_.file_offset(segment), file.size());
            return file.begin() + static_cast<std::ptrdiff_t>(offset);
        };
        Sealed sealed{Bytes(file.begin(), at(0)), {}};
        for (std::uint64_t i = 0; i < layout_.segments_of(plaintext_.size()); ++i) {
            sealed.segments.emplace_back(at(i), at(i + 1));
        }
        return sealed;
    }

    /// Returns every position in a short file, or the positions near boundaries in a long file.
    [[nodiscard]] std::vector<std::size_t> positions(std::size_t bytes) const {
        std::vector<std::size_t> positions;
        for (std::size_t at = 0; at < bytes; ++at) {
            if (at < layout_.header_bytes || at + 20 > bytes) {
                positions.push_back(at);
                continue;
            }
            const std::uint64_t full = layout_.text + layout_.tag;
            const std::uint64_t within = (at - layout_.header_bytes + (layout_.text - layout_.first_text)) % full;
            if (bytes < 1000 || within < 2 || within + 18 > full || at % 509 == 0) positions.push_back(at);
        }
        // Limits the number of positions to bound the test's time.
        const std::size_t step = positions.size() / 400 + 1;
        std::vector<std::size_t> some;
        for (std::size_t i = 0; i < positions.size(); i += step) some.push_back(positions[i]);
        return some;
    }

    /// `authentic` is the number of plaintext bytes that reach a pipe, if it is known.
    void expect_refused(const Bytes& file, const Keyset& keyset, const Bytes& aad,
                        std::optional<std::uint64_t> authentic = std::nullopt) {
        write_file("bad", file);
        AeadJob open_job = job(Direction::decrypt, keyset, "bad", "opened");
        open_job.aad = aad;
        const auto refused = [](warpaes_status status) {
            return status == WARPAES_ERROR_AUTHENTICATION || status == WARPAES_ERROR_FORMAT;
        };
        const Failure failure = failure_of([&] { run_aead(engine_, open_job); });
        ASSERT_TRUE(refused(failure.status)) << failure.status << ": " << failure.sentence;
        ASSERT_EQ(failure.sentence.substr(0, 7), "input: ");
        ASSERT_EQ(entries(), 1u) << "a file remains in the directory";

        for (const Bytes* input : {static_cast<const Bytes*>(nullptr), &file}) {
            const Piped piped = run_piped(open_job, input);
            ASSERT_TRUE(refused(piped.status)) << piped.status;
            ASSERT_LT(piped.output.size(), plaintext_.size());
            ASSERT_TRUE(std::equal(piped.output.begin(), piped.output.end(), plaintext_.begin()));
            if (authentic) {
                ASSERT_EQ(piped.output.size(), *authentic);
            }
            const std::uint64_t segment = layout_.segment_at(piped.output.size());
            ASSERT_EQ(piped.output.size(), layout_.text_offset(segment)) << "not whole segments";
        }
        open_job.verify = true;
        ASSERT_TRUE(refused(failure_of([&] { run_aead(engine_, open_job); }).status));
    }
    void expect_refused(const Bytes& file) { expect_refused(file, keyset_, aad_); }

    const StreamKey key_;
    const Keyset keyset_;
    const SegmentLayout layout_;
    const Bytes aad_{'a', 'a', 'd'};
    Bytes plaintext_;
};

TEST_P(BadFile, ABitFlippedAnywhere) {
    const Bytes file = seal_file(key_).join();
    for (const std::size_t at : positions(file.size())) {
        SCOPED_TRACE(at);
        Bytes bad = file;
        bad[at] = static_cast<std::uint8_t>(bad[at] ^ (1u << (at % 8)));
        std::uint64_t authentic = 0;
        if (at >= layout_.header_bytes) {
            // A chunk has 4 KiB, or one segment if a segment is larger. All chunks before the altered byte are
            // authentic.
            const std::uint64_t full = layout_.text + layout_.tag, a_chunk = std::max<std::uint64_t>(1, 4096 / full);
            const std::uint64_t segment = (at - layout_.header_bytes + (layout_.text - layout_.first_text)) / full;
            authentic = layout_.text_offset(segment / a_chunk * a_chunk);
        }
        ASSERT_NO_FATAL_FAILURE(expect_refused(bad, keyset_, aad_, authentic));
    }
}

TEST_P(BadFile, CutOffAnywhere) {
    const Bytes file = seal_file(key_).join();
    for (const std::size_t n : positions(file.size())) {
        SCOPED_TRACE(n);
        ASSERT_NO_FATAL_FAILURE(expect_refused(Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(n))));
    }
}

TEST_P(BadFile, BytesBehindTheEnd) {
    const Bytes file = seal_file(key_).join();
    const auto full = static_cast<std::size_t>(layout_.text + layout_.tag);
    for (const std::size_t n :
         {std::size_t{1}, std::size_t{15}, std::size_t{16}, std::size_t{17}, full - 1, full, full + 1, 3 * full}) {
        for (const auto byte : Bytes{0x00, 0xff}) {
            SCOPED_TRACE(n);
            Bytes longer = file;
            longer.resize(file.size() + n, byte);
            ASSERT_NO_FATAL_FAILURE(expect_refused(longer));
        }
    }
}

TEST_P(BadFile, SegmentsDroppedDoubledSwapped) {
    const Sealed file = seal_file(key_);
    const std::size_t n = file.segments.size();
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}, n / 2, n - 2, n - 1}) {
        SCOPED_TRACE(i);
        Sealed dropped = file, doubled = file, moved = file;
        const auto at = static_cast<std::ptrdiff_t>(i);
        dropped.segments.erase(dropped.segments.begin() + at);
        ASSERT_NO_FATAL_FAILURE(expect_refused(dropped.join()));
        doubled.segments.insert(doubled.segments.begin() + at, file.segments[i]);
        ASSERT_NO_FATAL_FAILURE(expect_refused(doubled.join()));
        if (i + 1 < n) {
            std::swap(moved.segments[i], moved.segments[i + 1]);
            ASSERT_NO_FATAL_FAILURE(expect_refused(moved.join()));
        }
        // The file is truncated after this segment.
        Sealed shorter = file;
        shorter.segments.resize(i + 1);
        if (i + 1 < n) {
            ASSERT_NO_FATAL_FAILURE(expect_refused(shorter.join()));
        }
    }
}

TEST_P(BadFile, PartsOfAnotherFile) {
    const Sealed file = seal_file(key_), other = seal_file(key_);
    const std::size_t n = file.segments.size();
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}, n / 2, n - 1}) {
        SCOPED_TRACE(i);
        Sealed mixed = file;
        mixed.segments[i] = other.segments[i];
        ASSERT_NO_FATAL_FAILURE(expect_refused(mixed.join()));
    }
    Sealed mixed = file;
    mixed.header = other.header;
    ASSERT_NO_FATAL_FAILURE(expect_refused(mixed.join()));
}

TEST_P(BadFile, AnotherKeyOtherAssociatedDataAnotherFormat) {
    const Bytes file = seal_file(key_).join();
    ASSERT_NO_FATAL_FAILURE(expect_refused(file, keyset_of({key_of(GetParam(), 2)}), aad_));
    for (const Bytes& aad : {Bytes{}, Bytes{'a', 'a'}, Bytes{'a', 'a', 'd', 0}}) {
        ASSERT_NO_FATAL_FAILURE(expect_refused(file, keyset_, aad));
    }
    for (const SegmentCase& c : segment_cases) {
        if (c.parameters == GetParam().parameters) continue;
        SCOPED_TRACE(c.name);
        const StreamKey other{c.parameters, key_.key, 9};
        ASSERT_NO_FATAL_FAILURE(
            expect_refused(seal(other, aad_, make_segment_cipher(other, aad_)->header(), plaintext_)));
    }
}

TEST_P(BadFile, NoFileAtAll) {
    for (const std::size_t n : {0u, 1u, 16u, 100u, 5000u}) {
        SCOPED_TRACE(n);
        ASSERT_NO_FATAL_FAILURE(expect_refused(Bytes(n, 0)));
        ASSERT_NO_FATAL_FAILURE(expect_refused(pseudorandom(n, 21)));
        Bytes salted = pseudorandom(n + 8, 22);
        std::copy_n("Salted__", 8, salted.begin());
        ASSERT_NO_FATAL_FAILURE(expect_refused(salted));
    }
}

TEST_P(BadFile, ADescriptorOfAFileHoldsAnAuthenticBeginning) {
    Sealed file = seal_file(key_);
    file.segments[file.segments.size() - 2][0] ^= 1;
    write_file("bad", file.join());
    const Descriptor out(::open(path("out").c_str(), O_RDWR | O_CREAT, 0600), true);
    AeadJob open_job = job(Direction::decrypt, keyset_, "bad", "");
    open_job.output = {"", out.get()};
    open_job.aad = aad_;
    EXPECT_EQ(failure_of([&] { run_aead(engine_, open_job); }).status, WARPAES_ERROR_AUTHENTICATION);
    const Bytes written = read_file("out");
    EXPECT_LT(written.size(), plaintext_.size());
    EXPECT_TRUE(std::equal(written.begin(), written.end(), plaintext_.begin()));
}

INSTANTIATE_TEST_SUITE_P(Formats, BadFile, testing::ValuesIn(segment_cases),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace warpaes::test

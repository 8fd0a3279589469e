// Tests that salvage recovers the authentic segments of damaged files: files with altered segments, files truncated
// anywhere, and files with appended bytes.
#include <unistd.h>

#include <random>

#include "file_job.hpp"
#include "format/segment_cipher.hpp"
#include "format/streaming_aead.hpp"

namespace warpaes::test {
namespace {

constexpr std::uint64_t missing = Engine::unknown_length;

struct Range {
    std::uint64_t first, length;
    bool operator==(const Range&) const = default;
};

void PrintTo(const Range& range, std::ostream* out) {
    *out << range.first << " + " << range.length;
}

struct Salvaged {
    Failure failure;
    Bytes text;
    std::vector<Range> holes;
    std::uint32_t key_id = 0;
};

class Salvage : public FileJobTest {
protected:
    Salvaged salvage(const Keyset& keyset, const Bytes& file) {
        write_file("damaged", file);
        Salvaged found;
        AeadJob j = job(Direction::decrypt, keyset, "damaged", "salvaged");
        j.salvage = true;
        j.hole = [&](std::uint64_t first, std::uint64_t length) { found.holes.push_back({first, length}); };
        found.failure = failure_of([&] { found.key_id = run_file(engine_, j, *salvage_format(j, j)).key_id; });
        EXPECT_EQ(exists("salvaged"), found.failure.status == WARPAES_OK);
        if (found.failure.status == WARPAES_OK) {
            found.text = read_file("salvaged");
            std::filesystem::remove(path("salvaged"));
        }
        return found;
    }

    Bytes sealed(const Keyset& keyset, const Bytes& plain) {
        write_file("plain", plain);
        AeadJob j = job(Direction::encrypt, keyset, "plain", "sealed");
        j.overwrite = true;
        run_aead(engine_, j);
        return read_file("sealed");
    }
};

/// Joins adjacent ranges. The last range has no end if the file's end is not authentic.
std::vector<Range> joined(const std::vector<Range>& ranges) {
    std::vector<Range> all;
    for (const Range& range : ranges) {
        if (!all.empty() && all.back().first + all.back().length == range.first) {
            all.back().length = range.length == missing ? missing : all.back().length + range.length;
        } else {
            all.push_back(range);
        }
    }
    return all;
}

TEST_F(Salvage, AnySegmentsThatWereAltered) {
    std::mt19937_64 random(7);
    for (const SegmentCase& c : segment_cases) {
        const StreamKey key = key_of(c);
        const Keyset keyset = keyset_of({key});
        const SegmentLayout layout = layout_of(c.parameters);
        for (const std::uint64_t more : {std::uint64_t{0}, std::uint64_t{1}, layout.text - 1}) {
            const std::uint64_t length = layout.text_offset(5) + more, n = layout.segments_of(length);
            const Bytes plain = pseudorandom(static_cast<std::size_t>(length), 3), file = sealed(keyset, plain);
            for (int attempt = 0; attempt < 12; ++attempt) {
                const std::uint64_t mask = attempt == 0 ? 0 : attempt == 1 ? ~std::uint64_t{0} : random();
                SCOPED_TRACE(std::string(c.name) + ", " + std::to_string(length) + " bytes, mask " +
                             std::to_string(mask % (std::uint64_t{1} << n)));
                Bytes damaged = file, left = plain;
                std::vector<Range> holes;
                std::uint64_t kept = 0;
                for (std::uint64_t i = 0; i < n; ++i) {
                    const std::uint64_t end = i + 1 == n ? length : layout.text_offset(i + 1);
                    if ((mask >> i & 1) == 0) {
                        ++kept;
                        continue;
                    }
                    const std::uint64_t from = layout.file_offset(i);
                    const std::uint64_t to = i + 1 == n ? file.size() : layout.file_offset(i + 1);
                    damaged[static_cast<std::size_t>(from + random() % (to - from))] ^= 0x20;
                    for (std::uint64_t at = layout.text_offset(i); at < end; ++at)
                        left[static_cast<std::size_t>(at)] = 0;
                    holes.push_back({layout.text_offset(i), i + 1 == n ? missing : end - layout.text_offset(i)});
                }
                const Salvaged found = salvage(keyset, damaged);
                if (kept == 0) {
                    EXPECT_EQ(found.failure.status, WARPAES_ERROR_AUTHENTICATION);
                    EXPECT_EQ(found.failure.sentence.find("input: no key opens any segment"), 0U);
                    continue;
                }
                ASSERT_EQ(found.failure.status, WARPAES_OK) << found.failure.sentence;
                EXPECT_EQ(found.text, left);
                EXPECT_EQ(found.holes, joined(holes));
            }
        }
    }
}

TEST_F(Salvage, FilesThatWereCutOffAnywhere) {
    for (const SegmentCase& c : segment_cases) {
        const Keyset keyset = keyset_of({key_of(c)});
        const SegmentLayout layout = layout_of(c.parameters);
        const std::uint64_t length = layout.text_offset(3) + 5;
        const Bytes plain = pseudorandom(static_cast<std::size_t>(length), 4), file = sealed(keyset, plain);
        for (std::uint64_t i = 0; i < 4; ++i) {
            for (const std::int64_t by : {-1, 0, 1, 7, 20}) {
                const std::uint64_t size = layout.file_offset(i) + static_cast<std::uint64_t>(by);
                if (size >= file.size()) continue;
                SCOPED_TRACE(std::string(c.name) + ", cut to " + std::to_string(size));
                Bytes damaged(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
                const Salvaged found = salvage(keyset, damaged);
                std::uint64_t whole = 0;  // number of complete segments
                while (layout.file_offset(whole + 1) <= size) ++whole;
                if (whole == 0 || size < layout.file_offset(1)) {
                    EXPECT_EQ(found.failure.status, WARPAES_ERROR_AUTHENTICATION);
                    continue;
                }
                ASSERT_EQ(found.failure.status, WARPAES_OK) << found.failure.sentence;
                const std::uint64_t good = layout.text_offset(whole), rest = size - layout.file_offset(whole);
                Bytes left(plain.begin(), plain.begin() + static_cast<std::ptrdiff_t>(good));
                left.resize(left.size() + static_cast<std::size_t>(rest - std::min(rest, layout.tag)));
                EXPECT_EQ(found.text, left);
                EXPECT_EQ(found.holes, (std::vector<Range>{{good, missing}}));
            }
        }
    }
}

TEST_F(Salvage, WholeFilesAndFilesWithBytesAppended) {
    for (const SegmentCase& c : segment_cases) {
        SCOPED_TRACE(c.name);
        const Keyset keyset = keyset_of({key_of(c)});
        const SegmentLayout layout = layout_of(c.parameters);
        for (const std::uint64_t length : {std::uint64_t{0}, std::uint64_t{1}, layout.text_offset(1),
                                           layout.text_offset(2), layout.text_offset(2) + 9}) {
            const Bytes plain = pseudorandom(static_cast<std::size_t>(length), 5);
            Bytes file = sealed(keyset, plain);
            Salvaged found = salvage(keyset, file);
            ASSERT_EQ(found.failure.status, WARPAES_OK) << found.failure.sentence;
            EXPECT_EQ(found.text, plain);
            EXPECT_TRUE(found.holes.empty());
            file.push_back(0);
            found = salvage(keyset, file);
            const std::uint64_t last = layout.segments_of(length) - 1;
            if (last == 0) {
                EXPECT_EQ(found.failure.status, WARPAES_ERROR_AUTHENTICATION);
                continue;
            }
            ASSERT_EQ(found.failure.status, WARPAES_OK) << found.failure.sentence;
            EXPECT_EQ(found.holes, (std::vector<Range>{{layout.text_offset(last), missing}}));
        }
    }
}

TEST_F(Salvage, AnyKeyOfTheKeyset) {
    std::vector<StreamKey> keys;
    std::uint32_t id = 1;
    for (const SegmentCase& c : segment_cases) {
        if (c.parameters.format->tink_type.empty()) continue;
        keys.push_back(key_of(c));
        keys.back().id = id++;
    }
    const Keyset all = keyset_of(keys);
    for (const StreamKey& key : keys) {
        const SegmentLayout layout = layout_of(key.parameters);
        const Bytes plain = pseudorandom(static_cast<std::size_t>(layout.text_offset(3)), 6);
        Bytes file = sealed(keyset_of({key}), plain);
        file[static_cast<std::size_t>(layout.file_offset(0))] ^= 1;
        const Salvaged found = salvage(all, file);
        ASSERT_EQ(found.failure.status, WARPAES_OK) << found.failure.sentence;
        EXPECT_EQ(found.key_id, key.id);
        EXPECT_EQ(found.holes, (std::vector<Range>{{0, layout.first_text}}));
        const auto first = static_cast<std::ptrdiff_t>(layout.first_text);
        EXPECT_TRUE(std::equal(plain.begin() + first, plain.end(), found.text.begin() + first));
    }
}

TEST_F(Salvage, PipesAndRangesAreRefused) {
    const Keyset keyset = keyset_of({key_of(segment_cases[0])});
    const Bytes file = sealed(keyset, pseudorandom(100, 8));
    AeadJob j = job(Direction::decrypt, keyset, "sealed", "salvaged");
    j.range = ByteRange{0, 1};
    EXPECT_EQ(failure_of([&] { salvage_format(j, j); }).status, WARPAES_ERROR_ARGUMENT);
    j.range.reset();
    j.direction = Direction::encrypt;
    EXPECT_EQ(failure_of([&] { salvage_format(j, j); }).status, WARPAES_ERROR_ARGUMENT);
    j.direction = Direction::decrypt;
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    j.input = {"", ends[0]};
    const Failure failure = failure_of([&] { run_file(engine_, j, *salvage_format(j, j)); });
    EXPECT_EQ(failure.status, WARPAES_ERROR_ARGUMENT);
    EXPECT_EQ(failure.sentence, "flags: SALVAGE needs an input that can seek; a pipe cannot");
    ::close(ends[0]);
    ::close(ends[1]);
    EXPECT_FALSE(exists("salvaged"));
}

}  // namespace
}  // namespace warpaes::test

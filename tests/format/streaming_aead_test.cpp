// Tests whole files of authenticated segments: round trips on every path, ranges, and several keys.
#include "format/streaming_aead.hpp"

#include <fcntl.h>
#include <unistd.h>

#include "file_job.hpp"
#include "format/segment_cipher.hpp"

namespace warpaes::test {
namespace {

class StreamingAead : public FileJobTest {};

/// A source whose file has become shorter than its reported size.
class Shortened final : public Source {
public:
    Shortened(Bytes bytes, std::size_t rest) : bytes_(std::move(bytes)), rest_(rest) {}
    [[nodiscard]] std::uint64_t size() const noexcept override { return bytes_.size(); }
    [[nodiscard]] bool is_sequential() const noexcept override { return false; }
    std::size_t read(std::uint64_t offset, std::span<std::uint8_t> buffer) override {
        if (offset >= rest_) return 0;
        const std::size_t n = std::min(buffer.size(), rest_ - static_cast<std::size_t>(offset));
        std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), n, buffer.begin());
        return n;
    }

private:
    Bytes bytes_;
    std::size_t rest_;
};

std::span<const std::uint8_t> header_of(const StreamKey& key, const Bytes& file) {
    return std::span(file).first(static_cast<std::size_t>(layout_of(key.parameters).header_bytes));
}

/// Returns lengths around every boundary of the first segments, and of chunks of 4 KiB.
std::vector<std::size_t> lengths_round_segments_and_chunks(const SegmentLayout& layout) {
    std::vector<std::size_t> lengths{0, 1};
    const std::uint64_t a_chunk = std::max<std::uint64_t>(1, 4096 / (layout.text + layout.tag));
    for (const std::uint64_t segments :
         {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3}, a_chunk, a_chunk + 1, 2 * a_chunk, 5 * a_chunk}) {
        for (const int difference : {-1, 0, 1}) {
            lengths.push_back(
                static_cast<std::size_t>(static_cast<std::int64_t>(layout.text_offset(segments)) + difference));
        }
    }
    return lengths;
}

TEST_F(StreamingAead, AFileThatBecameShorterIsNotCalledAltered) {
    for (const SegmentCase& c : segment_cases) {
        SCOPED_TRACE(c.name);
        const StreamKey key = key_of(c);
        const Keyset keyset = keyset_of({key});
        const SegmentLayout layout = layout_of(c.parameters);
        const auto length = static_cast<std::size_t>(layout.text_offset(2) + 1);
        write_file("plain", pseudorandom(length, 11));
        AeadJob seal_job = job(Direction::encrypt, keyset, "plain", "sealed");
        seal_job.overwrite = true;
        run_aead(engine_, seal_job);
        AeadJob range_job = job(Direction::decrypt, keyset, "sealed", "opened");
        range_job.range = ByteRange{length, length};  // past the end, which only the last segment can show
        const Bytes sealed = read_file("sealed");
        for (const std::size_t missing : {std::size_t{0}, std::size_t{1}, std::size_t{10}}) {
            Shortened source(sealed, sealed.size() - missing);
            Source* input = &source;
            const Failure failure = failure_of([&] { aead_format(range_job, range_job)->open(engine_, input); });
            EXPECT_EQ(failure.status, missing == 0 ? WARPAES_ERROR_RANGE : WARPAES_ERROR_READ);
            if (missing != 0) {
                EXPECT_EQ(failure.sentence, "input: became shorter while it was read");
            }
        }
    }
}

TEST_F(StreamingAead, ThereAndBackByFilesAndPipes) {
    for (const SegmentCase& c : segment_cases) {
        const StreamKey key = key_of(c);
        const Keyset keyset = keyset_of({key});
        const Bytes aad = pseudorandom(9, 10);
        for (const std::size_t length : lengths_round_segments_and_chunks(layout_of(c.parameters))) {
            SCOPED_TRACE(std::string(c.name) + " " + std::to_string(length));
            const Bytes plaintext = pseudorandom(length, 11);
            write_file("plain", plaintext);
            AeadJob seal_job = job(Direction::encrypt, keyset, "plain", "sealed"),
                    open_job = job(Direction::decrypt, keyset, "sealed", "opened");
            seal_job.aad = open_job.aad = aad;
            seal_job.overwrite = open_job.overwrite = true;

            const FileResult sealed = run_aead(engine_, seal_job);
            const Bytes file = read_file("sealed");
            ASSERT_EQ(file, seal(key, aad, header_of(key, file), plaintext));
            ASSERT_EQ(sealed.bytes_read, length);
            ASSERT_EQ(sealed.bytes_written, file.size());
            ASSERT_EQ(sealed.key_id, keyset.primary().id);

            const FileResult opened = run_aead(engine_, open_job);
            ASSERT_EQ(read_file("opened"), plaintext);
            ASSERT_EQ(opened.bytes_read, file.size());
            ASSERT_EQ(opened.bytes_written, length);
            ASSERT_EQ(opened.key_id, keyset.primary().id);

            const Piped piped = run_piped(seal_job, &plaintext);
            ASSERT_EQ(piped.status, WARPAES_OK);
            ASSERT_EQ(piped.output, seal(key, aad, header_of(key, piped.output), plaintext));
            const Piped back = run_piped(open_job, &piped.output);
            ASSERT_EQ(back.status, WARPAES_OK);
            ASSERT_EQ(back.output, plaintext);
            ASSERT_EQ(back.result.bytes_read, piped.output.size());
            ASSERT_EQ(back.result.bytes_written, length);

            AeadJob verify = open_job;
            verify.verify = true;
            verify.output = {};
            const FileResult verified = run_aead(engine_, verify);
            ASSERT_EQ(verified.bytes_read, file.size());
            ASSERT_EQ(verified.bytes_written, 0u);
        }
    }
}

TEST_F(StreamingAead, RangesReadOnlyWhatTheyNeed) {
    for (const SegmentCase& c : segment_cases) {
        const StreamKey key = key_of(c);
        const Keyset keyset = keyset_of({key});
        const SegmentLayout layout = layout_of(c.parameters);
        const auto length = static_cast<std::size_t>(layout.text_offset(5) + layout.text / 2);
        const Bytes plaintext = pseudorandom(length, 12);
        write_file("plain", plaintext);
        run_aead(engine_, job(Direction::encrypt, keyset, "plain", "sealed"));
        std::vector<std::uint64_t> edges{0, length - 1};
        for (const std::uint64_t segment : {1u, 2u, 5u}) {
            for (const int d : {-1, 0, 1}) edges.push_back(layout.text_offset(segment) + static_cast<std::uint64_t>(d));
        }
        for (const std::uint64_t first : edges) {
            for (const std::uint64_t last : edges) {
                if (first > last || last >= length) continue;
                AeadJob part = job(Direction::decrypt, keyset, "sealed", "part");
                part.range = {first, last};
                const Piped piped = run_piped(part);
                const FileResult& result = piped.result;
                ASSERT_EQ(piped.output, Bytes(plaintext.begin() + static_cast<std::ptrdiff_t>(first),
                                              plaintext.begin() + static_cast<std::ptrdiff_t>(last) + 1))
                    << c.name << " " << first << "-" << last;
                const std::uint64_t segments = layout.segment_at(last) - layout.segment_at(first) + 1;
                ASSERT_LE(result.bytes_read, layout.header_bytes + segments * (layout.text + layout.tag));
                ASSERT_EQ(result.bytes_written, last - first + 1);
            }
            AeadJob rest = job(Direction::decrypt, keyset, "sealed", "part");
            rest.range = ByteRange{first};
            ASSERT_EQ(run_piped(rest).output,
                      Bytes(plaintext.begin() + static_cast<std::ptrdiff_t>(first), plaintext.end()));
        }
        for (const ByteRange& wrong : {ByteRange{length}, ByteRange{0, length}, ByteRange{5, 4}}) {
            AeadJob part = job(Direction::decrypt, keyset, "sealed", "none");
            part.range = wrong;
            EXPECT_EQ(failure_of([&] { run_aead(engine_, part); }).status, WARPAES_ERROR_RANGE);
            EXPECT_FALSE(exists("none"));
        }
        std::filesystem::remove(path("sealed"));
    }
}

TEST_F(StreamingAead, ARangeCaresForNothingButItsSegments) {
    for (const SegmentCase& c : segment_cases) {
        const StreamKey key = key_of(c);
        const Keyset keyset = keyset_of({key});
        const SegmentLayout layout = layout_of(c.parameters);
        const Bytes plaintext = pseudorandom(static_cast<std::size_t>(layout.text_offset(5)), 13);
        const auto fresh = make_segment_cipher(key, {});
        const Bytes file = seal(key, {}, fresh->header(), plaintext);
        const ByteRange in_segment_2{layout.text_offset(2), layout.text_offset(3) - 1};
        // C2SP files may have one more segment, which is empty.
        const std::uint64_t segments = layout.segments_of(plaintext.size());
        for (std::uint64_t segment = 0; segment < segments; ++segment) {
            Bytes altered = file;
            altered[static_cast<std::size_t>(layout.file_offset(segment))] ^= 1;
            write_file("sealed", altered);
            AeadJob part = job(Direction::decrypt, keyset, "sealed", "part");
            part.overwrite = true;
            part.range = in_segment_2;
            EXPECT_EQ(failure_of([&] { run_aead(engine_, part); }).status,
                      segment == 2 ? WARPAES_ERROR_AUTHENTICATION : WARPAES_OK);
            // A range that extends to the end authenticates the end.
            part.range = ByteRange{layout.text_offset(4)};
            EXPECT_EQ(failure_of([&] { run_aead(engine_, part); }).status,
                      segment >= 4 ? WARPAES_ERROR_AUTHENTICATION : WARPAES_OK);
        }
        // If the file is truncated after a segment, a range to the end must fail.
        write_file("sealed", Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(layout.file_offset(4))));
        AeadJob part = job(Direction::decrypt, keyset, "sealed", "none");
        part.range = ByteRange{layout.text_offset(3)};
        EXPECT_NE(failure_of([&] { run_aead(engine_, part); }).status, WARPAES_OK) << c.name;
        // A range that begins at the truncation must also fail, but not as a range past the end of the file.
        part.range = ByteRange{layout.text_offset(4)};
        EXPECT_EQ(failure_of([&] { run_aead(engine_, part); }).status,
                  rules_of(c.parameters).last_is_shorter ? WARPAES_ERROR_FORMAT : WARPAES_ERROR_AUTHENTICATION);
        EXPECT_FALSE(exists("none"));
    }
}

TEST_F(StreamingAead, AnyEnabledKeyOpensAndThePrimarySeals) {
    std::vector<StreamKey> keys;
    for (unsigned i = 0; i < 7; ++i) {
        keys.push_back(key_of(segment_cases[i], 100 + i));
    }
    keys.push_back(key_of(segment_cases[1], 200));
    Keyset keyset = keyset_of(keys);
    for (const StreamKey& key : keys) {
        for (const std::size_t length : {0u, 1u, 30u, 5000u}) {
            SCOPED_TRACE(std::to_string(key.id) + " " + std::to_string(length));
            keyset.promote(key.id);
            const Bytes plaintext = pseudorandom(length, 14);
            write_file("plain", plaintext);
            AeadJob seal_job = job(Direction::encrypt, keyset, "plain", "sealed");
            seal_job.overwrite = true;
            ASSERT_EQ(run_aead(engine_, seal_job).key_id, key.id);
            const Bytes file = read_file("sealed");
            keyset.promote(keys.front().id);
            AeadJob open_job = job(Direction::decrypt, keyset, "sealed", "opened");
            open_job.overwrite = true;
            ASSERT_EQ(run_aead(engine_, open_job).key_id, key.id);
            ASSERT_EQ(read_file("opened"), plaintext);
            const Piped piped = run_piped(open_job, &file);
            ASSERT_EQ(piped.status, WARPAES_OK);
            ASSERT_EQ(piped.output, plaintext);
            ASSERT_EQ(piped.result.key_id, key.id);
            if (key.id == keys.front().id) continue;
            keyset.set_state(key.id, KeyState::disabled);
            const warpaes_status status = failure_of([&] { run_aead(engine_, open_job); }).status;
            ASSERT_TRUE(status == WARPAES_ERROR_AUTHENTICATION || status == WARPAES_ERROR_FORMAT) << status;
            ASSERT_EQ(run_piped(open_job, &file).output, Bytes());
            keyset.set_state(key.id, KeyState::enabled);
        }
    }
}

/// If the header matches a key of the keyset, the error is AUTHENTICATION, in any order of keys. Otherwise, it is
/// FORMAT.
TEST_F(StreamingAead, WhereAKeyCouldBeItsTheContentIsWrong) {
    const SegmentCase &its = segment_cases[0], &longer = segment_cases[1];
    const StreamKey key = key_of(its, 1), another = key_of(its, 2), other_header = key_of(longer, 3);
    write_file("plain", pseudorandom(100, 16));
    run_aead(engine_, job(Direction::encrypt, keyset_of({key}), "plain", "sealed"));
    for (const auto& keys : {std::vector{another, other_header}, std::vector{other_header, another}}) {
        const Keyset keyset = keyset_of(keys);
        const Failure failure =
            failure_of([&] { run_aead(engine_, job(Direction::decrypt, keyset, "sealed", "opened")); });
        EXPECT_EQ(failure.status, WARPAES_ERROR_AUTHENTICATION);
        EXPECT_NE(failure.sentence.find("no key of the keyset opens it"), std::string::npos) << failure.sentence;
    }
    const Keyset keyset = keyset_of({other_header});
    EXPECT_EQ(failure_of([&] { run_aead(engine_, job(Direction::decrypt, keyset, "sealed", "opened")); }).status,
              WARPAES_ERROR_FORMAT);
    EXPECT_FALSE(exists("opened"));
}

TEST_F(StreamingAead, ADescriptorOfAFileIsWrittenFromWhereItStands) {
    const StreamKey key = key_of(segment_cases[1]);
    const Keyset keyset = keyset_of({key});
    const Bytes plaintext = pseudorandom(20000, 15);
    write_file("plain", plaintext);
    run_aead(engine_, job(Direction::encrypt, keyset, "plain", "sealed"));
    const Descriptor out(::open(path("out").c_str(), O_RDWR | O_CREAT, 0600), true);
    ASSERT_EQ(::write(out.get(), "head", 4), 4);
    AeadJob open_job = job(Direction::decrypt, keyset, "sealed", "");
    open_job.output = {"", out.get()};
    run_aead(engine_, open_job);
    Bytes expected{'h', 'e', 'a', 'd'};
    expected.insert(expected.end(), plaintext.begin(), plaintext.end());
    EXPECT_EQ(read_file("out"), expected);
}

TEST_F(StreamingAead, WhatCannotBeAskedFor) {
    const StreamKey key = key_of(segment_cases[1]);
    const Keyset keyset = keyset_of({key}), none;
    write_file("plain", pseudorandom(100, 16));
    const auto status = [&](const std::function<void(AeadJob&)>& change) {
        AeadJob wrong = job(Direction::encrypt, keyset, "plain", "out");
        change(wrong);
        const warpaes_status result = failure_of([&] { run_aead(engine_, wrong); }).status;
        EXPECT_EQ(entries(), 1u);
        return result;
    };
    EXPECT_EQ(status([](AeadJob& j) { j.keyset = nullptr; }), WARPAES_ERROR_ARGUMENT);
    EXPECT_EQ(status([&](AeadJob& j) { j.keyset = &none; }), WARPAES_ERROR_KEYSET);
    EXPECT_EQ(status([](AeadJob& j) { j.range = ByteRange{}; }), WARPAES_ERROR_RANGE);
    EXPECT_EQ(status([](AeadJob& j) { j.verify = true; }), WARPAES_ERROR_ARGUMENT);
    EXPECT_EQ(status([](AeadJob& j) {
                  j.direction = Direction::decrypt;
                  j.verify = true;
                  j.range = ByteRange{};
              }),
              WARPAES_ERROR_ARGUMENT);
    EXPECT_EQ(status([&](AeadJob& j) {
                  j.direction = Direction::decrypt;
                  j.keyset = &none;
              }),
              WARPAES_ERROR_KEYSET);
    EXPECT_EQ(status([](AeadJob& j) { j.output = j.input; }), WARPAES_ERROR_SAME_FILE);
    EXPECT_EQ(status([](AeadJob& j) { j.progress = [](std::uint64_t, std::uint64_t) { return false; }; }),
              WARPAES_ERROR_CANCELLED);
}

TEST_F(StreamingAead, APartOfAPipe) {
    const Keyset keyset = keyset_of({key_of(segment_cases[1])});
    const Bytes plaintext = pseudorandom(100, 19);
    const Piped sealed = run_piped(job(Direction::encrypt, keyset, "", ""), &plaintext);
    AeadJob part = job(Direction::decrypt, keyset, "", "");
    part.range = ByteRange{0, 1};
    const Piped opened = run_piped(part, &sealed.output);
    EXPECT_EQ(opened.status, WARPAES_ERROR_RANGE);
    EXPECT_NE(opened.sentence.find("needs an input that can seek"), std::string::npos) << opened.sentence;
    EXPECT_TRUE(opened.output.empty());
}

TEST_F(StreamingAead, LargeSegmentsAreTakenByFewWorkers) {
    const StreamKey key{{&gcm_hkdf, 32, 48u << 20, Hash::sha256, Hash::sha256, 16}, secret(pseudorandom(32, 17)), 5};
    const Keyset keyset = keyset_of({key});
    const Bytes plaintext = pseudorandom(1000, 18);
    const Piped sealed = run_piped(job(Direction::encrypt, keyset, "", ""), &plaintext);
    ASSERT_EQ(sealed.status, WARPAES_OK);
    EXPECT_EQ(run_piped(job(Direction::decrypt, keyset, "", ""), &sealed.output).output, plaintext);
}

struct Plans : FileFormat {
    using FileFormat::fitted;
};

/// A sink that accepts pieces of up to 1 MiB.
class Pieces final : public Sink {
public:
    bool is_sequential() const noexcept override { return false; }
    std::uint64_t prepare_for(unsigned writers) override {
        writers_ = writers;
        return 1 << 20;
    }
    void write(std::uint64_t /*offset*/, std::span<const std::uint8_t> /*bytes*/) override {}
    [[nodiscard]] unsigned writers() const { return writers_; }

private:
    unsigned writers_ = 0;
};

TEST(FileJobs, HaveTheWorkersOfThePlanUnlessTheyAreToHaveFewer) {
    const Engine engine({});
    Pieces sink;
    const int cpu = -1;
    const Plan plan{.devices = {&cpu, 1}, .lanes = 7, .chunk_bytes = 4096, .reason = {}};
    FileJob job;
    EXPECT_EQ(Plans::fitted(engine, plan, job, Engine::unknown_length, sink).lanes, 7U);
    job.threads = 3;
    EXPECT_EQ(Plans::fitted(engine, plan, job, Engine::unknown_length, sink).lanes, 3U);
}

TEST(FileJobs, HaveChunksThatTheOutputTakesWell) {
    const Engine engine({}), asked({.backend = {}, .chunk_bytes = 8192});
    const int cpu = -1, gpu = 0;
    const FileJob job;
    constexpr std::uint64_t long_file = 1 << 30, piece = 1 << 20;
    const auto chunk = [&](const Engine& e, const int& device, unsigned lanes, std::uint64_t own, std::uint64_t bytes) {
        Pieces sink;
        const Plan plan{.devices = {&device, 1}, .lanes = lanes, .chunk_bytes = own, .reason = {}};
        const std::uint64_t chosen = Plans::fitted(e, plan, job, bytes, sink).chunk_bytes;
        EXPECT_LE(sink.writers(), lanes);
        return chosen;
    };
    EXPECT_EQ(chunk(engine, cpu, 2, 4096, long_file), piece);
    EXPECT_EQ(chunk(engine, cpu, 2, 8 * piece, long_file), 8 * piece) << "longer than wanted";
    EXPECT_EQ(chunk(engine, cpu, 2, 4096, 8 * piece), piece) << "four for each worker";
    EXPECT_EQ(chunk(engine, cpu, 2, 4096, 8 * piece - 1), 4096U) << "some workers would be idle";
    EXPECT_EQ(chunk(engine, cpu, 2, 4096, Engine::unknown_length), 4096U);
    EXPECT_EQ(chunk(engine, gpu, 2, 4096, long_file), 4096U);
    EXPECT_EQ(chunk(asked, cpu, 2, 4096, long_file), 4096U) << "the caller's wish";
}

}  // namespace
}  // namespace warpaes::test

// Tests that the C++ headers pass on arguments unchanged, own their handles, and turn statuses into exceptions.
#include <gtest/gtest.h>
#include <warpaes/planning.h>

#include <array>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <tuple>
#include <vector>
#include <warpaes/batch.hpp>
#include <warpaes/drbg.hpp>
#include <warpaes/gcm.hpp>
#include <warpaes/warpaes.hpp>

#include "evp_oracle.hpp"
#include "folder.hpp"
#include "pattern.hpp"

warpaes::Key make_key_elsewhere(warpaes::ConstBytes bytes);

namespace {

using oracle::Bytes;
using warpaes::Direction;
using warpaes::Mode;

// The compiler rejects string literals (because of their NUL), read-only memory as output, and temporaries.
static_assert(warpaes::ByteRange<std::string_view> && !warpaes::ByteRange<const char (&)[4]>);
static_assert(!warpaes::ByteRange<std::vector<int>>);
static_assert(!std::is_constructible_v<warpaes::Bytes, const Bytes&>);
static_assert(!std::is_constructible_v<warpaes::Bytes, Bytes&&>);

const Bytes key_bytes = pattern(32);
const Bytes iv = pattern(16);

/// Returns the status and message of the exception that `call` throws.
template <typename Call>
std::pair<warpaes_status, std::string> failure_of(Call call) {
    try {
        call();
    } catch (const warpaes::Error& e) {
        return {e.status(), e.what()};
    }
    return {WARPAES_OK, "nothing was thrown"};
}

class Hpp : public testing::Test {
protected:
    warpaes::Engine engine;
    warpaes::Key key{key_bytes};
};

TEST_F(Hpp, EncryptsAndDecryptsAsLibcrypto) {
    struct Case {
        Mode mode;
        const char* name;
        bool pkcs7;
    };
    for (const Case& c :
         {Case{Mode::ecb, "ECB", true}, Case{Mode::cbc, "CBC", true}, Case{Mode::cfb128, "CFB128", false},
          Case{Mode::cfb8, "CFB8", false}, Case{Mode::ofb, "OFB", false}, Case{Mode::ctr, "CTR", false}}) {
        SCOPED_TRACE(c.name);
        const Bytes plain = pattern(1000);
        const Bytes no_iv;
        const Bytes& used_iv = c.mode == Mode::ecb ? no_iv : iv;
        const Bytes cipher = warpaes::encrypt(engine, c.mode, key, used_iv, plain, c.pkcs7);
        EXPECT_EQ(cipher, oracle::evp(c.name, true, key_bytes, used_iv, plain, c.pkcs7));
        EXPECT_EQ(warpaes::decrypt(engine, c.mode, key, used_iv, cipher, c.pkcs7), plain);
    }
}

TEST_F(Hpp, CountsBitsOfCfb1) {
    const Bytes plain = pattern(3);
    Bytes output(3, 0xa5);
    const auto result = engine.crypt({.mode = Mode::cfb1,
                                      .direction = Direction::encrypt,
                                      .key = &key,
                                      .iv = iv,
                                      .input = plain,
                                      .output = output,
                                      .input_bits = 19});
    EXPECT_EQ(result.output_len, 19u);
    Bytes expected = *oracle::evp("CFB1", true, key_bytes, iv, plain, false, 24);
    expected.back() &= 0xe0;
    EXPECT_EQ(output, expected);
    EXPECT_EQ(failure_of([&] {
                  engine.crypt({.mode = Mode::cfb1,
                                .direction = Direction::encrypt,
                                .key = &key,
                                .iv = iv,
                                .input = plain,
                                .output = output,
                                .input_bits = 25});
              }),
              std::pair(WARPAES_ERROR_ARGUMENT, std::string("input_bits: more than the bits of input")));
    EXPECT_EQ(failure_of([&] { engine.copy(warpaes::Bytes(output.data(), 2), plain); }),
              std::pair(WARPAES_ERROR_BUFFER_TOO_SMALL, std::string("to: is shorter than from")));
}

TEST_F(Hpp, DecryptsARangeAlone) {
    const Bytes plain = pattern(5000);
    const Bytes cipher = *oracle::evp("CBC", true, key_bytes, iv, Bytes(plain.begin(), plain.begin() + 4992), false);
    std::array<std::uint8_t, 77> part{};
    const auto result = engine.crypt({.mode = Mode::cbc,
                                      .direction = Direction::decrypt,
                                      .key = &key,
                                      .iv = iv,
                                      .input = cipher,
                                      .output = part,
                                      .range = warpaes::Range{1003, part.size()}});
    EXPECT_EQ(result.output_len, part.size());
    EXPECT_EQ(Bytes(part.begin(), part.end()), Bytes(plain.begin() + 1003, plain.begin() + 1003 + part.size()));
}

TEST_F(Hpp, SaysWhichBackendRan) {
    const warpaes::Engine forced({.backend = "libcrypto"});
    Bytes data = pattern(64);
    const auto result = forced.crypt(
        {.mode = Mode::ctr, .direction = Direction::encrypt, .key = &key, .iv = iv, .input = data, .output = data});
    EXPECT_EQ(result.backend, "libcrypto");
    EXPECT_EQ(result.device, -1);
    EXPECT_EQ(data, oracle::evp("CTR", true, key_bytes, iv, pattern(64)));
}

TEST_F(Hpp, ThrowsStatusesWithTheirSentences) {
    const auto [status, sentence] = failure_of([] { warpaes::Key(Bytes(17)); });
    EXPECT_EQ(status, WARPAES_ERROR_KEY_LENGTH);
    EXPECT_NE(sentence.find("17"), std::string::npos) << sentence;
    EXPECT_EQ(failure_of([] { warpaes::Engine({.backend = "abacus"}); }).first, WARPAES_ERROR_BACKEND);
    EXPECT_EQ(failure_of([&] { warpaes::encrypt(engine, Mode::ctr, key, Bytes(3), pattern(5)); }).first,
              WARPAES_ERROR_IV_LENGTH);
    Bytes cipher = warpaes::encrypt(engine, Mode::cbc, key, iv, pattern(40), true);
    cipher[31] ^= 0xff;  // changes the last byte of padding
    EXPECT_EQ(failure_of([&] { warpaes::decrypt(engine, Mode::cbc, key, iv, cipher, true); }).first,
              WARPAES_ERROR_PADDING);
    Bytes small(8);
    EXPECT_EQ(failure_of([&] { engine.copy(small, pattern(9)); }).first, WARPAES_ERROR_BUFFER_TOO_SMALL);
}

TEST_F(Hpp, MakesKeysThatWorkFromOtherThreadsAndUnits) {
    const warpaes::Key elsewhere = make_key_elsewhere(key_bytes);
    const Bytes expected = *oracle::evp("CTR", true, key_bytes, iv, pattern(100));
    std::vector<Bytes> results(4);
    {
        std::vector<std::jthread> threads;
        for (Bytes& result : results) {
            threads.emplace_back([&] { result = warpaes::encrypt(engine, Mode::ctr, elsewhere, iv, pattern(100)); });
        }
    }
    for (const Bytes& result : results) EXPECT_EQ(result, expected);
}

TEST_F(Hpp, StreamsInPieces) {
    const Bytes plain = pattern(777);
    warpaes::Context context(engine);
    context.init(Mode::cbc, Direction::encrypt, key, iv, true);
    Bytes cipher(plain.size() + 16);
    std::size_t done = 0;
    for (std::size_t at = 0, piece = 1; at < plain.size(); at += piece, piece = piece * 2 + 1) {
        piece = std::min(piece, plain.size() - at);
        done += context.update({plain.data() + at, piece}, {cipher.data() + done, cipher.size() - done});
    }
    done += context.final({cipher.data() + done, cipher.size() - done});
    cipher.resize(done);
    EXPECT_EQ(cipher, oracle::evp("CBC", true, key_bytes, iv, plain, true));
    EXPECT_EQ(failure_of([&] { context.update(plain, cipher); }).first, WARPAES_ERROR_STATE);
    context.set_iv(iv);
    EXPECT_EQ(context.final(cipher), 16u);
}

TEST_F(Hpp, CopiesContextsThatGoOnApart) {
    const Bytes plain = pattern(100), expected = *oracle::evp("CTR", true, key_bytes, iv, plain);
    warpaes::Context context(engine);
    context.init(Mode::ctr, Direction::encrypt, key, iv);
    Bytes first(40), rest(60), again(60), sought(10);
    context.update({plain.data(), 40}, first);
    warpaes::Context copy = context;
    copy.update({plain.data() + 40, 60}, rest);
    warpaes::Context moved = std::move(context);
    moved.update({plain.data() + 40, 60}, again);
    EXPECT_EQ(rest, again);
    EXPECT_EQ(rest, Bytes(expected.begin() + 40, expected.end()));
    warpaes::Context assigned(engine);
    assigned = moved;
    assigned.seek(33);
    assigned.update({plain.data() + 33, 10}, sought);
    EXPECT_EQ(sought, Bytes(expected.begin() + 33, expected.begin() + 43));
    moved.seek(90);
    moved.update({plain.data() + 90, 10}, sought);
    EXPECT_EQ(sought, Bytes(expected.begin() + 90, expected.end()));
}

TEST_F(Hpp, ContextsTakeKeysAndIvsApart) {
    const Bytes plain = pattern(96), other_bytes = pattern(16);
    const warpaes::Key other(other_bytes);
    warpaes::Context context(engine);
    context.init(Mode::cbc, Direction::encrypt, key, {});
    Bytes out(96);
    EXPECT_EQ(failure_of([&] { context.update(plain, out); }).first, WARPAES_ERROR_STATE);
    context.set_iv(iv);
    EXPECT_EQ(context.iv(), iv);
    EXPECT_EQ(context.update({plain.data(), 48}, out), 48u);
    // Another context continues from this state.
    warpaes::Context next(engine);
    next.init(Mode::cbc, Direction::encrypt, key, context.iv());
    EXPECT_EQ(next.update({plain.data() + 48, 48}, {out.data() + 48, 48}), 48u);
    EXPECT_EQ(out, oracle::evp("CBC", true, key_bytes, iv, plain));
    context.set_key(other);
    EXPECT_EQ(failure_of([&] { (void)context.iv(); }).first, WARPAES_ERROR_STATE);
    context.set_iv(iv);
    EXPECT_EQ(context.update(plain, out), 96u);
    EXPECT_EQ(out, oracle::evp("CBC", true, other_bytes, iv, plain));
}

TEST_F(Hpp, DataUnitsOfMessages) {
    const Bytes tweak_bytes = Bytes(32, 8), plain = pattern(120);
    const warpaes::Key tweak_key(tweak_bytes);
    for (const std::uint64_t step : {0U, 1U, 5U}) {
        Bytes out(plain.size()), expected;
        engine.crypt({.mode = Mode::xts,
                      .direction = Direction::encrypt,
                      .key = &key,
                      .iv = iv,
                      .input = plain,
                      .output = out,
                      .tweak_key = &tweak_key,
                      .data_unit_len = 40,
                      .data_unit_step = step});
        Bytes number = iv;  // little-endian
        for (std::ptrdiff_t unit = 0; unit < 3; ++unit) {
            const Bytes text(plain.begin() + 40 * unit, plain.begin() + 40 * (unit + 1));
            const Bytes sealed = oracle::xts(true, key_bytes, tweak_bytes, number, 40, text);
            expected.insert(expected.end(), sealed.begin(), sealed.end());
            number[0] = static_cast<std::uint8_t>(number[0] + (step == 0 ? 1 : step));
        }
        EXPECT_EQ(out, expected) << step;
    }
}

TEST_F(Hpp, ContextsOfXtsAndCcm) {
    const Bytes plain = pattern(100), tweak_bytes = pattern(33);
    const warpaes::Key tweak(warpaes::ConstBytes{tweak_bytes.data() + 1, 32});
    warpaes_context_options options = WARPAES_CONTEXT_OPTIONS_INIT;
    options.mode = WARPAES_XTS;
    options.direction = WARPAES_ENCRYPT;
    options.data_unit_len = 40;
    warpaes::Context context(engine);
    context.init(options);
    context.set_key(key, &tweak);
    context.set_iv(iv);
    Bytes out(100);
    std::size_t done = context.update({plain.data(), 50}, out);
    EXPECT_EQ(done, 40u);
    done += context.update({plain.data() + 50, 50}, {out.data() + done, 60});
    EXPECT_EQ(done, 80u);
    EXPECT_EQ(context.final({out.data() + done, 20}), 20u);
    EXPECT_EQ(out, oracle::xts(true, key_bytes, Bytes(tweak_bytes.begin() + 1, tweak_bytes.end()), iv, 40, plain));

    options = WARPAES_CONTEXT_OPTIONS_INIT;
    options.mode = WARPAES_CCM;
    options.direction = WARPAES_ENCRYPT;
    options.key = key.get();
    options.iv = iv.data();
    options.iv_len = 12;
    options.text_len = 100;
    options.aad_len = 16;
    options.tag_len = 12;
    context.init(options);
    context.aad(iv);
    EXPECT_EQ(context.update(plain, out), 100u);
    EXPECT_EQ(context.final({}), 0u);
    Bytes tag(12);
    context.get_tag(tag);
    out.insert(out.end(), tag.begin(), tag.end());
    EXPECT_EQ(out, oracle::evp_ccm(key_bytes, Bytes(iv.begin(), iv.begin() + 12), plain, iv, 12));
}

TEST_F(Hpp, GivesHostMemory) {
    warpaes::HostBuffer buffer(engine, 4096);
    const Bytes plain = pattern(buffer.size());
    engine.copy(buffer, plain);
    engine.crypt(
        {.mode = Mode::ctr, .direction = Direction::encrypt, .key = &key, .iv = iv, .input = buffer, .output = buffer});
    EXPECT_EQ(Bytes(buffer.begin(), buffer.end()), oracle::evp("CTR", true, key_bytes, iv, plain));
}

TEST_F(Hpp, ListsBackends) {
    const auto list = warpaes::backends();
    ASSERT_EQ(list.size(), warpaes_backend_count());
    EXPECT_EQ(list.front().name, "libcrypto");
    for (std::size_t i = 0; i < list.size(); ++i) {
        const auto& info = list[i];
        EXPECT_EQ(info.usable, info.reason.empty()) << info.name;
        warpaes_backend_info raw{};
        raw.struct_size = sizeof raw;
        ASSERT_EQ(warpaes_backend_query(i, &raw), WARPAES_OK);
        EXPECT_EQ(std::tuple(info.name, info.description, info.reason, info.usable ? 1U : 0U),
                  std::tuple(raw.name, raw.description, raw.reason, static_cast<unsigned>(raw.usable)));
        EXPECT_EQ(std::tuple(info.device, info.multiprocessors, info.memory_bytes),
                  std::tuple(raw.device, raw.multiprocessors, raw.memory_bytes));
    }
}

TEST_F(Hpp, EnginesTakeEveryOption) {
    const auto plan_of = [](const warpaes::EngineOptions& options) {
        const warpaes::Engine made(options);
        warpaes_work work = WARPAES_WORK_INIT;
        work.mode = WARPAES_CTR;
        work.direction = WARPAES_ENCRYPT;
        work.message_len = std::uint64_t{1} << 30;
        warpaes_plan plan = {};
        plan.struct_size = sizeof plan;
        EXPECT_EQ(warpaes_engine_plan(made.get(), &work, &plan), WARPAES_OK) << warpaes_last_error();
        return plan;
    };
    EXPECT_STREQ(plan_of({.backend = "libcrypto"}).backend, "libcrypto");
    EXPECT_EQ(plan_of({.backend = "libcrypto", .threads = 1}).lanes, 1U);
    EXPECT_EQ(plan_of({.backend = "libcrypto", .threads = 3}).lanes, 3U);
    EXPECT_EQ(plan_of({.backend = "libcrypto", .threads = 4, .depth = 2}).lanes, 2U);
    EXPECT_EQ(plan_of({.backend = "libcrypto", .chunk_bytes = 8192}).chunk_bytes, 8192U);
    const auto refused = failure_of([] { warpaes::Engine{{.device = 99}}; });
    EXPECT_EQ(refused.first, WARPAES_ERROR_BACKEND);
    EXPECT_NE(refused.second.find("99"), std::string::npos) << refused.second;
}

TEST_F(Hpp, CopiesNoMoreThanThereIsRoomFor) {
    const Bytes from = pattern(20);
    Bytes to(20);
    engine.copy(to, from);
    EXPECT_EQ(to, from);
    const auto refused = failure_of([&] { engine.copy(warpaes::Bytes(to.data(), 19), from); });
    EXPECT_EQ(refused, std::pair(WARPAES_ERROR_BUFFER_TOO_SMALL, std::string("to: is shorter than from")));
}

TEST_F(Hpp, ThrowsWithoutADevice) {
    for (const auto& info : warpaes::backends()) {
        if (info.name == "cuda" && info.usable)
            GTEST_SKIP() << "needs a machine without a GPU; such machines run this test";
    }
    EXPECT_NE(failure_of([&] { warpaes::DeviceBuffer(engine, 0, 4096); }).first, WARPAES_OK);
}

class HppFile : public Hpp {
protected:
    void SetUp() override {
        std::ofstream(in(), std::ios::binary).write(reinterpret_cast<const char*>(plain.data()), plain.size());
    }
    [[nodiscard]] std::string in() const { return folder / "in"; }
    [[nodiscard]] std::string out() const { return folder / "out"; }
    [[nodiscard]] static Bytes content(const std::string& path) {
        std::ifstream file(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    oracle::Folder folder;
    Bytes plain = pattern(3'000'001);
};

TEST_F(HppFile, EncryptsWithAKey) {
    std::uint64_t last = 0;
    const auto result = warpaes::run_file(engine, {.mode = Mode::ctr,
                                                   .direction = Direction::encrypt,
                                                   .input = in(),
                                                   .output = out(),
                                                   .key = &key,
                                                   .iv = iv,
                                                   .progress = [&](std::uint64_t done, std::uint64_t total) {
                                                       EXPECT_EQ(total, plain.size());
                                                       last = done;
                                                       return true;
                                                   }});
    EXPECT_EQ(result.bytes_written, plain.size());
    EXPECT_EQ(last, plain.size());
    EXPECT_EQ(content(out()), oracle::evp("CTR", true, key_bytes, iv, plain));
}

TEST_F(HppFile, ComesBackFromAPassphraseAndARange) {
    const std::string encrypted = folder / "encrypted";
    warpaes::run_file(engine, {.direction = Direction::encrypt,
                               .input = in(),
                               .output = encrypted,
                               .passphrase = "correct horse",
                               .iterations = 1000});
    warpaes::run_file(engine, {.direction = Direction::decrypt,
                               .input = encrypted,
                               .output = out(),
                               .passphrase = "correct horse",
                               .iterations = 1000,
                               .range = warpaes::Range{1'000'000, 5}});
    EXPECT_EQ(content(out()), Bytes(plain.begin() + 1'000'000, plain.begin() + 1'000'005));
}

TEST_F(HppFile, TakesEveryOptionAndTellsWhatItDid) {
    const warpaes::Engine libcrypto({.backend = "libcrypto"});
    const Bytes last_counter(16, 0xff);
    warpaes::FileJob job{.direction = Direction::encrypt,
                         .input = in(),
                         .output = out(),
                         .key = &key,
                         .iv = last_counter,
                         .progress = {}};
    const auto wrapped = warpaes::run_file(libcrypto, job);
    EXPECT_EQ(std::tuple(wrapped.bytes_read, wrapped.bytes_written, wrapped.notes, wrapped.backend, wrapped.device),
              std::tuple(plain.size(), plain.size(), WARPAES_NOTE_COUNTER_WRAPPED, "libcrypto", -1));
    EXPECT_EQ(failure_of([&] { warpaes::run_file(libcrypto, job); }).first, WARPAES_ERROR_EXISTS);
    job.overwrite = true;
    job.iv = iv;
    EXPECT_EQ(warpaes::run_file(libcrypto, job).notes, 0U);
    job.mode = Mode::cbc;
    EXPECT_EQ(failure_of([&] { warpaes::run_file(libcrypto, job); }).first, WARPAES_ERROR_DATA_LENGTH);
    job.pkcs7 = true;
    EXPECT_EQ(warpaes::run_file(libcrypto, job).bytes_written, plain.size() / 16 * 16 + 16);
    EXPECT_EQ(content(out()), oracle::evp("CBC", true, key_bytes, iv, plain, true));
    job.direction = Direction::decrypt;
    std::swap(job.input, job.output);
    for (const std::uint64_t offset : {0U, 16U}) {
        job.range = warpaes::Range{offset, 0};
        EXPECT_EQ(failure_of([&] { warpaes::run_file(libcrypto, job); }),
                  std::pair(WARPAES_ERROR_RANGE, std::string("range: is empty")));
    }

    // The bytes derived from a passphrase depend on each of these parameters.
    const auto crypt = [&](Direction direction, const std::string& from, const std::string& to, unsigned key_bits,
                           std::uint32_t iterations, std::string_view passphrase) {
        warpaes::run_file(libcrypto, {.direction = direction,
                                      .input = from,
                                      .output = to,
                                      .passphrase = passphrase,
                                      .key_bits = key_bits,
                                      .iterations = iterations,
                                      .overwrite = true,
                                      .progress = {}});
        return content(to);
    };
    const std::string sealed = folder / "sealed";
    (void)crypt(Direction::encrypt, in(), sealed, 128, 20, "horse");
    EXPECT_EQ(crypt(Direction::decrypt, sealed, out(), 128, 20, "horse"), plain);
    EXPECT_NE(crypt(Direction::decrypt, sealed, out(), 256, 20, "horse"), plain);
    EXPECT_NE(crypt(Direction::decrypt, sealed, out(), 128, 21, "horse"), plain);
    EXPECT_NE(crypt(Direction::decrypt, sealed, out(), 128, 20, "horses"), plain);
}

TEST_F(HppFile, IsCancelledByProgressWithoutATrace) {
    warpaes::FileJob job{
        .direction = Direction::encrypt, .input = in(), .output = out(), .key = &key, .iv = iv, .progress = {}};
    for (const bool before_all : {true, false}) {
        job.progress = [before_all](std::uint64_t done, std::uint64_t) { return !before_all && done == 0; };
        EXPECT_EQ(failure_of([&] { warpaes::run_file(engine, job); }),
                  std::pair(WARPAES_ERROR_CANCELLED, std::string("cancelled by the caller")));
    }
    job.progress = [](std::uint64_t, std::uint64_t) -> bool { throw std::out_of_range("mine"); };
    EXPECT_THROW(warpaes::run_file(engine, job), std::out_of_range);
    EXPECT_EQ(folder.names(), std::vector<std::string>{"in"});
}

template <typename Range>
bool is_empty(const Range& bytes) {
    return bytes.data() == nullptr && bytes.size() == 0;
}

/// Checks the default values of request fields that a designated initializer omits.
TEST(HppDefaults, OfWhatIsAskedFor) {
    const warpaes::Message message{};
    EXPECT_EQ(static_cast<int>(message.mode) | static_cast<int>(message.direction), 0);
    EXPECT_TRUE(message.key == nullptr && message.tweak_key == nullptr && message.mac_key == nullptr);
    EXPECT_TRUE(is_empty(message.iv) && is_empty(message.input) && is_empty(message.output));
    EXPECT_TRUE(is_empty(message.aad) && is_empty(message.tag) && is_empty(message.aad_list));
    EXPECT_TRUE(!message.pkcs7 && !message.range && !message.input_bits);
    EXPECT_EQ(message.data_unit_len | message.data_unit_step, 0U);
    const warpaes::Range range{};
    EXPECT_EQ(range.offset | range.length, 0U);
    const warpaes::EngineOptions options{};
    EXPECT_EQ(options.backend, "");
    EXPECT_EQ(options.device, -1);
    EXPECT_EQ(options.threads | options.depth | options.chunk_bytes, 0U);
    const warpaes::Elements elements{};
    EXPECT_TRUE(elements.pointer == nullptr && elements.stride == 0);
    const warpaes::Entry entry{};
    EXPECT_EQ(static_cast<int>(entry.mode) | static_cast<int>(entry.direction), 0);
    EXPECT_EQ(entry.count, 1U);
    EXPECT_TRUE(entry.key == nullptr && entry.tweak_key == nullptr);
    for (const warpaes::Elements& e : {entry.keys, entry.input, entry.output, entry.iv, entry.aad, entry.tag}) {
        EXPECT_TRUE(e.pointer == nullptr && e.stride == 0);
    }
    EXPECT_EQ(entry.length | entry.aad_len | entry.data_unit_len, 0U);
    EXPECT_EQ(entry.key_len | entry.iv_len | entry.tag_len | entry.data_unit_step, 0U);
    const warpaes::Segments segments{};
    EXPECT_EQ(static_cast<int>(segments.direction), 0);
    EXPECT_EQ(segments.key, nullptr);
    EXPECT_TRUE(is_empty(segments.nonces) && is_empty(segments.aad) && is_empty(segments.input));
    EXPECT_TRUE(is_empty(segments.output) && is_empty(segments.tags));
    EXPECT_EQ(segments.segment_len | segments.last_len | segments.plaintext_stride | segments.ciphertext_stride, 0U);
    const warpaes::DrbgOptions drbg{};
    EXPECT_EQ(drbg.key_bits, 256U);
    EXPECT_TRUE(drbg.derivation_function);
    EXPECT_TRUE(is_empty(drbg.entropy) && is_empty(drbg.nonce) && is_empty(drbg.personalization));
    EXPECT_TRUE(is_empty(warpaes::Bytes()) && is_empty(warpaes::ConstBytes()));
}

/// Checks the default values of result fields.
TEST(HppDefaults, OfWhatIsAnswered) {
    const warpaes::Result result{};
    EXPECT_EQ(result.output_len | result.notes, 0U);
    EXPECT_EQ(result.backend, "");
    EXPECT_EQ(result.device, -1);
    const warpaes::BatchResult batch{};
    EXPECT_EQ(batch.notes | batch.messages | batch.failed_entries | batch.messages_on_cpu | batch.messages_on_gpu, 0U);
    EXPECT_EQ(batch.reason, "");
    const warpaes::BackendInfo info{};
    EXPECT_EQ(info.name + info.description + info.reason, "");
    EXPECT_FALSE(info.usable);
    EXPECT_EQ(info.device, -1);
    EXPECT_EQ(info.multiprocessors, 0);
    EXPECT_EQ(info.memory_bytes, 0U);
}

}  // namespace

#include "cases.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <stdexcept>

#include "evp_oracle.hpp"

namespace faults {

namespace {

constexpr std::size_t text_bytes = 4 * 4096 + 1234;
constexpr char passphrase[] = "correct horse";

bool begins_with(const Bytes& whole, const Bytes& part) {
    return part.size() <= whole.size() && std::equal(part.begin(), part.end(), whole.begin());
}

warpaes_file_job job_between(const Ends& ends) {
    warpaes_file_job job = WARPAES_FILE_JOB_INIT;
    job.input_path = ends.input_path;
    job.output_path = ends.output_path;
    job.input_fd = ends.input_fd;
    job.output_fd = ends.output_fd;
    if (ends.replace) job.flags |= WARPAES_FILE_OVERWRITE;
    job.progress = [](void*, std::uint64_t, std::uint64_t) { return 0; };
    return job;
}

using Configure = std::function<void(warpaes_file_job&)>;

/// Runs a job from memory to memory, no call of which fails.
Bytes clean_run(const Bytes& input, const Configure& configure) {
    static const Engine engine = make_engine("libcrypto", 1);
    const int in = ::memfd_create("in", 0);
    const int out = ::memfd_create("out", 0);
    if (::pwrite(in, input.data(), input.size(), 0) != static_cast<ssize_t>(input.size())) {
        throw std::runtime_error("memfd");
    }
    warpaes_file_job job = job_between({.input_fd = in, .output_fd = out});
    configure(job);
    (void)warpaes_file_run(engine.get(), &job);
    Bytes output(static_cast<std::size_t>(::lseek(out, 0, SEEK_END)));
    if (::pread(out, output.data(), output.size(), 0) < 0) output.clear();
    ::close(in);
    ::close(out);
    return output;
}

Case file_case(std::string name, Bytes input, Bytes exact, Configure configure) {
    Case c;
    c.name = std::move(name);
    c.input = std::move(input);
    c.exact = std::move(exact);
    c.run = [configure](warpaes_engine* engine, const Ends& ends) {
        warpaes_file_job job = job_between(ends);
        configure(job);
        return warpaes_file_run(engine, &job);
    };
    c.is_whole = [exact = c.exact](const Bytes& output) { return output == exact; };
    c.is_beginning = [exact = c.exact](const Bytes& output) { return begins_with(exact, output); };
    return c;
}

/// An encryption whose bytes are different every time: what it wrote is judged by what `decrypt` makes of it.
Case random_case(std::string name, const Bytes& text, Configure encrypt, const Configure& decrypt) {
    Case c = file_case(std::move(name), text, {}, std::move(encrypt));
    c.is_whole = [text, decrypt](const Bytes& output) { return clean_run(output, decrypt) == text; };
    c.is_beginning = [text, decrypt](const Bytes& output) { return begins_with(text, clean_run(output, decrypt)); };
    return c;
}

struct Keys {
    Bytes bytes = some_bytes(32, 1);
    Bytes iv = some_bytes(16, 2);
    Key key;
    Keys() {
        warpaes_key* made = nullptr;
        (void)warpaes_key_create(bytes.data(), bytes.size(), &made);
        key.reset(made);
    }
};

void add_enc_cases(std::vector<Case>& all) {
    static const Keys keys;
    const Bytes text = some_bytes(text_bytes, 3);
    const Bytes ctr = *oracle::evp("CTR", true, keys.bytes, keys.iv, text, false);
    const Bytes cbc = *oracle::evp("CBC", true, keys.bytes, keys.iv, text, true);

    const auto raw = [](warpaes_mode mode, warpaes_direction direction, std::uint32_t flags) {
        return [=](warpaes_file_job& job) {
            job.mode = mode;
            job.direction = direction;
            job.flags |= flags;
            job.key = keys.key.get();
            job.iv = keys.iv.data();
            job.iv_len = keys.iv.size();
        };
    };
    all.push_back(file_case("ctr_encrypt", text, ctr, raw(WARPAES_CTR, WARPAES_ENCRYPT, 0)));
    all.push_back(file_case("cbc_encrypt", text, cbc, raw(WARPAES_CBC, WARPAES_ENCRYPT, WARPAES_FILE_PKCS7)));
    all.push_back(file_case("cbc_decrypt", cbc, text, raw(WARPAES_CBC, WARPAES_DECRYPT, WARPAES_FILE_PKCS7)));
    const Configure whole = raw(WARPAES_CBC, WARPAES_DECRYPT, WARPAES_FILE_PKCS7 | WARPAES_FILE_RANGE);
    all.push_back(file_case("cbc_range", cbc, Bytes(text.begin() + 5000, text.begin() + 13001), [=](auto& job) {
        whole(job);
        job.range_first = 5000;
        job.range_last = 13000;
    }));
    all.back().seeks = true;

    const auto enc = [](warpaes_mode mode, warpaes_direction direction, std::uint32_t flags) {
        return [=](warpaes_file_job& job) {
            job.mode = mode;
            job.direction = direction;
            job.format = WARPAES_FORMAT_OPENSSL_ENC;
            job.flags |= flags;
            job.key_bits = 256;
            job.iterations = 1;
            job.passphrase = passphrase;
            job.passphrase_len = sizeof passphrase - 1;
        };
    };
    const Configure salted = enc(WARPAES_CTR, WARPAES_ENCRYPT, 0);
    const Configure base64 = enc(WARPAES_CBC, WARPAES_ENCRYPT, WARPAES_FILE_PKCS7 | WARPAES_FILE_BASE64);
    const Configure from_base64 = enc(WARPAES_CBC, WARPAES_DECRYPT, WARPAES_FILE_PKCS7 | WARPAES_FILE_BASE64);
    all.push_back(random_case("enc_encrypt", text, salted, enc(WARPAES_CTR, WARPAES_DECRYPT, 0)));
    all.push_back(random_case("enc_encrypt_base64", text, base64, from_base64));
    all.push_back(file_case("enc_decrypt_base64", clean_run(text, base64), text, from_base64));
}

}  // namespace

Engine make_engine(const char* backend, std::uint32_t threads) {
    warpaes_engine_options options = WARPAES_ENGINE_OPTIONS_INIT;
    options.backend = backend;
    options.threads = threads;
    options.chunk_bytes = 4096;
    warpaes_engine* engine = nullptr;
    if (warpaes_engine_create(&options, &engine) != WARPAES_OK) return nullptr;
    return Engine(engine);
}

Bytes some_bytes(std::size_t n, unsigned seed) {
    std::mt19937 generator(seed);
    Bytes bytes(n);
    std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<std::uint8_t>(generator()); });
    return bytes;
}

const std::vector<Case>& cases() {
    static const std::vector<Case> all = [] {
        std::vector<Case> made;
        add_enc_cases(made);
        return made;
    }();
    return all;
}

}  // namespace faults

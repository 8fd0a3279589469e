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

/// Runs a job from memory to memory without a failing call and returns its output.
Bytes clean_run(const Bytes& input, const Configure& configure) {
    static const Engine engine = make_engine("libcrypto", 1);
    const int in = ::memfd_create("in", 0);
    const int out = ::memfd_create("out", 0);
    if (::pwrite(in, input.data(), input.size(), 0) != static_cast<ssize_t>(input.size())) {
        throw std::runtime_error("memfd");
    }
    warpaes_file_job job = job_between({.input_fd = in, .output_fd = out});
    configure(job);
    (void)warpaes_file_run(engine.get(), &job, nullptr);
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
    c.run = [configure](warpaes_engine* engine, const Ends& ends, std::uint32_t& notes) {
        warpaes_file_job job = job_between(ends);
        configure(job);
        warpaes_file_result result = WARPAES_FILE_RESULT_INIT;
        const warpaes_status status = warpaes_file_run(engine, &job, &result);
        notes = result.notes;
        return status;
    };
    c.is_whole = [exact = c.exact](const Bytes& output) { return output == exact; };
    c.is_beginning = [exact = c.exact](const Bytes& output) { return begins_with(exact, output); };
    return c;
}

/// Returns an encryption whose output is different each time. `decrypt` checks the output.
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

Keyset make_keyset(const char* template_name) {
    const Bytes raw = some_bytes(32, 9);
    warpaes_keyset* made = nullptr;
    if (warpaes_keyset_from_raw(template_name, raw.data(), raw.size(), &made) != WARPAES_OK) {
        throw std::runtime_error(warpaes_last_error());
    }
    return Keyset(made);
}

constexpr char aad[] = "associated";

/// Reads a file whose length is not known, piece by piece. After a failure, wipes the authentic bytes of earlier
/// pieces, because the tests expect zeros.
warpaes_status read_forward(warpaes_reader* reader, Bytes& memory) {
    memory.clear();
    Bytes piece(1000);
    for (std::uint64_t n = 1; n != 0;) {
        const warpaes_status status = warpaes_reader_read(reader, memory.size(), piece.data(), piece.size(), &n);
        if (status != WARPAES_OK) {
            std::fill(memory.begin(), memory.end(), std::uint8_t{0});
            return status;
        }
        memory.insert(memory.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(n));
    }
    return WARPAES_OK;
}

/// Reads the file in three pieces, the last piece first. The library wipes only the output of the call that fails, so
/// this function also wipes the pieces of earlier calls.
warpaes_status read_all(warpaes_engine* engine, const warpaes_keyset* keyset, const Ends& ends) {
    warpaes_source source{};
    source.struct_size = sizeof source;
    source.path = ends.input_path;
    warpaes_reader* opened = nullptr;
    warpaes_status status = warpaes_reader_open(engine, &source, keyset, aad, sizeof aad, &opened);
    const Reader reader(opened);
    if (status != WARPAES_OK) return status;
    const std::uint64_t size = warpaes_reader_size(opened);
    Bytes& memory = *ends.memory;
    if (size == WARPAES_UNKNOWN) return read_forward(opened, memory);  // lseek() failed
    memory.resize(size);
    for (const auto& [from, to] : {std::pair{size / 2, size}, {size / 3, size / 2}, {std::uint64_t{0}, size / 3}}) {
        std::uint64_t n = 0;
        status = warpaes_reader_read(opened, from, memory.data() + from, to - from, &n);
        if (status == WARPAES_OK && n == to - from) continue;
        std::fill(memory.begin() + static_cast<std::ptrdiff_t>(to), memory.end(), std::uint8_t{0});
        return status;
    }
    return WARPAES_OK;
}

warpaes_status write_all(warpaes_engine* engine, const warpaes_keyset* keyset, const Bytes& text, const Ends& ends) {
    warpaes_sink sink{};
    sink.struct_size = sizeof sink;
    sink.flags = ends.replace ? std::uint32_t{WARPAES_FILE_OVERWRITE} : 0U;
    sink.path = ends.output_path;
    warpaes_writer* opened = nullptr;
    warpaes_status status = warpaes_writer_open(engine, &sink, keyset, aad, sizeof aad, &opened);
    const Writer writer(opened);
    for (std::size_t at = 0; status == WARPAES_OK && at < text.size(); at += 3000) {
        status = warpaes_writer_write(opened, text.data() + at, std::min<std::size_t>(3000, text.size() - at));
    }
    return status == WARPAES_OK ? warpaes_writer_finish(opened) : status;
}

void add_segment_cases(std::vector<Case>& all, const char* template_name, const std::string& name) {
    const std::shared_ptr<warpaes_keyset> keyset = make_keyset(template_name);
    const Bytes text = some_bytes(text_bytes, 4);
    const auto configure = [keyset](warpaes_direction direction, std::uint32_t flags) -> Configure {
        return [=](warpaes_file_job& job) {
            job.direction = direction;
            job.format = WARPAES_FORMAT_STREAMING_AEAD;
            job.flags |= flags;
            job.keyset = keyset.get();
            job.aad = aad;
            job.aad_len = sizeof aad;
        };
    };
    const Configure encrypt = configure(WARPAES_ENCRYPT, 0), decrypt = configure(WARPAES_DECRYPT, 0);
    const Bytes sealed = clean_run(text, encrypt);
    all.push_back(random_case(name + "_encrypt", text, encrypt, decrypt));
    all.push_back(file_case(name + "_decrypt", sealed, text, decrypt));

    const Configure ranged = configure(WARPAES_DECRYPT, WARPAES_FILE_RANGE);
    all.push_back(file_case(name + "_range", sealed, Bytes(text.begin() + 5000, text.begin() + 17001), [=](auto& job) {
        ranged(job);
        job.range_first = 5000;
        job.range_last = 17000;
    }));
    all.back().seeks = true;

    Case verify = file_case(name + "_verify", sealed, {}, configure(WARPAES_DECRYPT, WARPAES_FILE_VERIFY));
    verify.ends = {EndKind::memory};
    all.push_back(verify);

    Case reader = file_case(name + "_reader", sealed, text, {});
    reader.ends = {EndKind::memory};
    reader.run = [keyset](auto* engine, const Ends& ends, auto&) { return read_all(engine, keyset.get(), ends); };
    all.push_back(reader);

    Case writer = random_case(name + "_writer", text, {}, decrypt);
    writer.ends = {EndKind::file, EndKind::replacement};
    writer.run = [keyset, text](auto* engine, const Ends& ends, auto&) {
        return write_all(engine, keyset.get(), text, ends);
    };
    all.push_back(writer);
}

}  // namespace

const char* name_of(EndKind ends) {
    switch (ends) {
    case EndKind::file:
        return "file";
    case EndKind::replacement:
        return "replacement";
    case EndKind::descriptor:
        return "descriptor";
    case EndKind::pipe:
        return "pipe";
    case EndKind::memory:
        return "memory";
    }
    return "";
}

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
        add_segment_cases(made, "AES128_GCM_HKDF_4KB", "gcm_hkdf");
        add_segment_cases(made, "AES256_CTR_HMAC_SHA256_4KB", "ctr_hmac");
        add_segment_cases(made, "C2SP_CHUNKED_256", "c2sp");
        return made;
    }();
    return all;
}

}  // namespace faults

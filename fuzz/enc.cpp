// Tests files in the format of `openssl enc`. The files are arbitrary bytes, or files that the library wrote and that
// are damaged, truncated or on failing storage.
#include "file_job.hpp"

namespace {

using namespace fuzz;

/// Options for both directions.
struct Options {
    explicit Options(Input& in) : engine(any_engine(in)), mode(&in.pick(plain_modes)) {
        static constexpr std::size_t key_lengths[] = {16, 24, 32};
        static constexpr const char* digests[] = {nullptr, "sha1", "md5", "sha512", "none"};
        static constexpr std::uint32_t key_bits[] = {128, 192, 256, 100};
        key = make_key(in.bytes(in.pick(key_lengths)));
        iv = in.bytes(16);
        salt = in.bytes(8);
        const std::uint8_t bits = in.byte();
        job.format = (bits & 1) != 0 ? WARPAES_FORMAT_OPENSSL_ENC : WARPAES_FORMAT_RAW;
        job.mode = mode->mode;
        if (job.format == WARPAES_FORMAT_RAW || (bits & 2) != 0) {
            job.key = key.get();
            job.iv = iv.data();
            job.iv_len = mode->mode == WARPAES_ECB ? 0 : 16;
        }
        if ((bits & 4) != 0) job.flags |= WARPAES_FILE_BASE64;
        if ((bits & 8) != 0) job.flags |= WARPAES_FILE_BASE64_ONE_LINE;
        if (mode->whole_blocks && (bits & 16) == 0) job.flags |= WARPAES_FILE_PKCS7;
        if ((bits & 32) != 0) job.flags |= WARPAES_FILE_NO_SALT;
        if ((bits & 64) != 0) {
            job.salt = salt.data();
            job.salt_len = salt.size();
        }
        job.kdf = (bits & 128) != 0 ? WARPAES_KDF_PBKDF2 : WARPAES_KDF_EVP_BYTESTOKEY;
        job.iterations = 1;
        job.key_bits = in.pick(key_bits);
        job.digest = in.pick(digests);
        job.passphrase = "pass";
        job.passphrase_len = 4;
    }

    warpaes_file_job towards(warpaes_direction direction) const {
        warpaes_file_job made = job;
        made.direction = direction;
        return made;
    }

    warpaes_engine* engine;
    const ModeTraits* mode;
    Key key;
    Bytes iv, salt;
    warpaes_file_job job = WARPAES_FILE_JOB_INIT;
};

void any_file(Input& in, const Options& options) {
    warpaes_file_job job = options.towards(in.flag() ? WARPAES_ENCRYPT : WARPAES_DECRYPT);
    if (in.below(4) == 0) {
        job.flags |= WARPAES_FILE_RANGE;
        job.range_first = in.below(300);
        job.range_last = in.flag() ? in.below(300) : WARPAES_UNKNOWN;
    }
    const Circumstances how = Circumstances::any(in);
    const Bytes file = in.rest();
    const JobResult result = run_job(options.engine, job, file, how);
    if (result.status == WARPAES_OK && job.direction == WARPAES_DECRYPT) {
        require(result.output.size() <= file.size(), "more plaintext than ciphertext");
    }
}

void round_trip(Input& in, const Options& options) {
    const Circumstances writing = Circumstances::any(in), reading = Circumstances::any(in);
    const bool damaged = in.below(4) == 0;
    const std::size_t at = in.below(65536);
    const std::uint8_t change = in.byte();
    const Bytes text = in.bytes(in.below(in.below(8) == 0 ? 9000 : 600));
    const warpaes_file_job encryption = options.towards(WARPAES_ENCRYPT);
    JobResult sealed = run_job(options.engine, encryption, text, writing);
    if (sealed.status != WARPAES_OK && sealed.disturbed) {
        sealed = run_job(options.engine, encryption, text, Circumstances::calm());
    }
    if (sealed.status != WARPAES_OK) return;  // options that contradict each other
    if (damaged && !sealed.output.empty()) {
        if (change == 0) {
            sealed.output.resize(at % sealed.output.size());
        } else {
            sealed.output[at % sealed.output.size()] ^= change;
        }
    }
    const JobResult opened = run_job(options.engine, options.towards(WARPAES_DECRYPT), sealed.output, reading);
    if (damaged) return;
    if (opened.status == WARPAES_OK) {
        require(opened.output == text, "the round trip changes the text");
    } else {
        require(opened.disturbed, "our own file is refused");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Input in(data, size);
    const bool own = in.flag();
    const Options options(in);
    own ? round_trip(in, options) : any_file(in, options);
    return 0;
}

#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "format/enc.hpp"
#include "format/streaming_aead.hpp"
#include "message/checks.hpp"
#include "message/message.hpp"

namespace {

using namespace warpaes;
using namespace warpaes::capi;

std::span<const std::uint8_t> checked_bytes(const void* bytes, std::uint64_t length, const char* name) {
    if (length != 0) require(bytes, name);
    if (length > (1u << 20)) throw Error(WARPAES_ERROR_ARGUMENT, std::string(name) + ": is longer than 1 MiB");
    return {static_cast<const std::uint8_t*>(bytes), static_cast<std::size_t>(length)};
}

PassphraseSecret to_passphrase(const warpaes_file_job& j) {
    PassphraseSecret secret;
    if (j.kdf != WARPAES_KDF_PBKDF2 && j.kdf != WARPAES_KDF_EVP_BYTESTOKEY) {
        throw Error(WARPAES_ERROR_ARGUMENT, "kdf: there is no derivation " + std::to_string(static_cast<int>(j.kdf)));
    }
    require(j.passphrase, "passphrase");
    secret.how.kdf = static_cast<Kdf>(j.kdf);
    secret.how.key_bits = j.key_bits;
    if (j.iterations > INT32_MAX) throw Error(WARPAES_ERROR_ARGUMENT, "iterations: must be below 2^31");
    if (j.iterations != 0) secret.how.iterations = j.iterations;
    if (j.digest != nullptr) secret.how.digest = j.digest;
    secret.text = checked_bytes(j.passphrase, j.passphrase_len, "passphrase");
    secret.salted = (j.flags & WARPAES_FILE_NO_SALT) == 0;
    secret.salt = checked_bytes(j.salt, j.salt_len, "salt");
    if (!secret.salted && !secret.salt.empty()) {
        throw Error(WARPAES_ERROR_ARGUMENT, "salt: contradicts WARPAES_FILE_NO_SALT");
    }
    return secret;
}

Place to_place(const char* path, int fd, const char* name) {
    if (path == nullptr && fd < 0)
        throw Error(WARPAES_ERROR_ARGUMENT, std::string(name) + ": no path and no descriptor");
    if (path != nullptr && *path == '\0')
        throw Error(WARPAES_ERROR_ARGUMENT, std::string(name) + ": the path is empty");
    return {path != nullptr ? path : "", fd};
}

Progress to_progress(const warpaes_file_job& j) {
    if (j.progress == nullptr) return {};
    return [call = j.progress, user = j.progress_user](std::uint64_t done, std::uint64_t total) {
        return call_back([&] { return call(user, done, total); }) == 0;
    };
}

/// What all formats have, but for the output, which not all jobs have. What a message may be is checked in the end.
void read_common(const warpaes_file_job& j, FileJob& job) {
    job.overwrite = (j.flags & WARPAES_FILE_OVERWRITE) != 0;
    job.durable = (j.flags & WARPAES_FILE_NO_SYNC) == 0;
    if ((j.flags & WARPAES_FILE_RANGE) != 0) job.range = ByteRange{j.range_first, j.range_last};
    job.input = to_place(j.input_path, j.input_fd, "input");
    job.progress = to_progress(j);
}

EncJob to_enc_job(const warpaes_file_job& j) {
    constexpr std::uint32_t known = WARPAES_FILE_PKCS7 | WARPAES_FILE_BASE64 | WARPAES_FILE_BASE64_ONE_LINE |
                                    WARPAES_FILE_OVERWRITE | WARPAES_FILE_NO_SALT | WARPAES_FILE_RANGE |
                                    WARPAES_FILE_NO_SYNC;
    refuse_unknown_flags(j.flags, known);
    EncJob job;
    if (j.key != nullptr) job.key = &j.key->impl;
    if (j.format == WARPAES_FORMAT_OPENSSL_ENC) {
        job.passphrase = to_passphrase(j);
    } else if (j.format != WARPAES_FORMAT_RAW) {
        throw Error(WARPAES_ERROR_ARGUMENT, "format: there is no format " + std::to_string(static_cast<int>(j.format)));
    } else {
        require(j.key, "key");
    }
    const bool has_iv = j.iv != nullptr || j.format == WARPAES_FORMAT_RAW;
    const auto iv = has_iv ? checked_bytes(j.iv, j.iv_len, "iv") : std::span<const std::uint8_t>();
    job.pkcs7 = (j.flags & WARPAES_FILE_PKCS7) != 0;
    job.base64 = (j.flags & WARPAES_FILE_BASE64) != 0;
    job.one_line = (j.flags & WARPAES_FILE_BASE64_ONE_LINE) != 0;
    read_common(j, job);
    job.output = to_place(j.output_path, j.output_fd, "output");

    job.mode = checked_mode(j.mode);
    job.direction = checked_direction(j.direction);
    if (uses_tag(job.mode)) {
        throw Error(WARPAES_ERROR_ARGUMENT,
                    "mode: a raw file has no place for a tag; WARPAES_FORMAT_STREAMING_AEAD has");
    }
    if (job.mode == Mode::xts) {
        throw Error(WARPAES_ERROR_ARGUMENT, "mode: XTS is for data units of storage, not for files as a whole");
    }
    if (has_iv) job.iv = checked_iv(job.mode, iv);
    return job;
}

AeadJob to_aead_job(const warpaes_file_job& j) {
    constexpr std::uint32_t known =
        WARPAES_FILE_OVERWRITE | WARPAES_FILE_RANGE | WARPAES_FILE_VERIFY | WARPAES_FILE_NO_SYNC;
    if ((j.flags & ~known) != 0) {
        throw Error(WARPAES_ERROR_ARGUMENT, "flags: STREAMING_AEAD has OVERWRITE, RANGE, VERIFY and NO_SYNC");
    }
    require(j.keyset, "keyset");
    AeadJob job;
    job.keyset = &j.keyset->impl;
    job.aad = checked_bytes(j.aad, j.aad_len, "aad");
    job.verify = (j.flags & WARPAES_FILE_VERIFY) != 0;
    read_common(j, job);
    if (!job.verify) job.output = to_place(j.output_path, j.output_fd, "output");
    job.direction = checked_direction(j.direction);
    return job;
}

/// Fills in what the call writes.
void note_result(warpaes_file_result& to, const FileResult& result) {
    to.bytes_read = result.bytes_read;
    to.bytes_written = result.bytes_written;
    to.notes = result.notes;
    to.device = result.device;
    to.backend = result.backend.data();
    to.key_id = result.key_id;
}

}  // namespace

extern "C" {

warpaes_status warpaes_file_run(warpaes_engine* engine, const warpaes_file_job* job, warpaes_file_result* result) {
    warpaes_file_result made = WARPAES_FILE_RESULT_INIT;
    made.backend = "";
    made.status = guarded([&] {
        note_stack_depth(files_stack);
        require(engine, "engine");
        if (result != nullptr) check_size(*result, "result");
        const warpaes_file_job j = read_struct(job, "job");
        if (j.format == WARPAES_FORMAT_STREAMING_AEAD) {
            const AeadJob aead = to_aead_job(j);
            note_result(made, run_aead(engine->impl, aead));
        } else {
            const EncJob enc = to_enc_job(j);
            note_result(made, run_enc(engine->impl, enc));
        }
    });
    write_error(made.status, made.error);
    write_result(made, result);
    return made.status;
}

}  // extern "C"

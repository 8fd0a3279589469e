#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "format/enc.hpp"
#include "format/inspect.hpp"
#include "format/keyset.hpp"
#include "format/segments.hpp"
#include "format/streaming_aead.hpp"
#include "message/checks.hpp"

namespace {

using namespace warpaes;
using namespace warpaes::capi;

/// A job's enumerators and byte strings, which are checked before the other fields. Fields that the format does not use
/// are empty.
struct Fields {
    std::span<const std::uint8_t> prefix, passphrase, salt, aad, iv;
    Direction direction{};
    warpaes_format type{};
    Mode mode{};
};

warpaes_format checked_format(warpaes_format format) {
    switch (format) {
    case WARPAES_FORMAT_RAW:
    case WARPAES_FORMAT_OPENSSL_ENC:
    case WARPAES_FORMAT_STREAMING_AEAD:
        return format;
    }
    throw Error(WARPAES_ERROR_ARGUMENT, "format: there is no format " + std::to_string(static_cast<int>(format)));
}

PassphraseSecret to_passphrase(const warpaes_file_job& j, const Fields& fields) {
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
    secret.text = fields.passphrase;
    secret.salted = (j.flags & WARPAES_FILE_NO_SALT) == 0;
    secret.salt = fields.salt;
    if (!secret.salted && !secret.salt.empty()) {
        throw Error(WARPAES_ERROR_ARGUMENT, "salt: cannot be combined with WARPAES_FILE_NO_SALT");
    }
    return secret;
}

FilePlace to_place(const char* path, int fd, const char* name) {
    if (path == nullptr && fd < 0)
        throw Error(WARPAES_ERROR_ARGUMENT, std::string(name) + ": has neither a path nor a descriptor");
    if (path != nullptr && *path == '\0')
        throw Error(WARPAES_ERROR_ARGUMENT, std::string(name) + ": the path is empty");
    return {path != nullptr ? path : "", fd};
}

void check_flags(const warpaes_file_job& j, warpaes_format type) {
    constexpr std::uint32_t aead = WARPAES_FILE_OVERWRITE | WARPAES_FILE_RANGE | WARPAES_FILE_VERIFY |
                                   WARPAES_FILE_NO_SYNC | WARPAES_FILE_SHA256 | WARPAES_FILE_SHA256_INPUT |
                                   WARPAES_FILE_KEEP_ATTRIBUTES | WARPAES_FILE_SALVAGE;
    constexpr std::uint32_t enc = WARPAES_FILE_PKCS7 | WARPAES_FILE_BASE64 | WARPAES_FILE_BASE64_ONE_LINE |
                                  WARPAES_FILE_OVERWRITE | WARPAES_FILE_NO_SALT | WARPAES_FILE_RANGE |
                                  WARPAES_FILE_NO_SYNC | WARPAES_FILE_SHA256 | WARPAES_FILE_KEEP_ATTRIBUTES;
    if (type != WARPAES_FORMAT_STREAMING_AEAD) return refuse_unknown_flags(j.flags, enc);
    if ((j.flags & ~aead) == 0) return;
    throw Error(WARPAES_ERROR_ARGUMENT,
                "flags: STREAMING_AEAD accepts only OVERWRITE, RANGE, VERIFY, NO_SYNC, SHA256, SHA256_INPUT, "
                "KEEP_ATTRIBUTES and SALVAGE");
}

/// Returns a job with the options that all formats share.
FileJob to_job(const warpaes_file_job& j, const Fields& fields) {
    check_flags(j, fields.type);
    const auto has = [&](std::uint32_t flag) { return (j.flags & flag) != 0; };
    FileJob job;
    job.overwrite = has(WARPAES_FILE_OVERWRITE);
    job.durable = !has(WARPAES_FILE_NO_SYNC);
    job.base64 = has(WARPAES_FILE_BASE64);
    job.one_line = has(WARPAES_FILE_BASE64_ONE_LINE);
    job.verify = has(WARPAES_FILE_VERIFY);
    job.sha256 = has(WARPAES_FILE_SHA256);
    job.keep_attributes = has(WARPAES_FILE_KEEP_ATTRIBUTES);
    job.salvage = has(WARPAES_FILE_SALVAGE);
    job.sha256_input = has(WARPAES_FILE_SHA256_INPUT);
    if (job.verify && job.sha256)
        throw Error(WARPAES_ERROR_ARGUMENT,
                    "flags: VERIFY cannot be combined with SHA256, because it writes no output");
    if (job.sha256_input && (j.direction != WARPAES_DECRYPT || has(WARPAES_FILE_RANGE) || job.sha256))
        throw Error(WARPAES_ERROR_ARGUMENT, "flags: SHA256_INPUT applies only to decryption, without SHA256 and RANGE");
    if (job.verify && job.keep_attributes) {
        throw Error(WARPAES_ERROR_ARGUMENT,
                    "flags: VERIFY cannot be combined with KEEP_ATTRIBUTES, because it writes no output");
    }
    if (j.reserved != 0) throw Error(WARPAES_ERROR_ARGUMENT, "reserved: must be 0");
    if (j.threads != 0) job.threads = j.threads;
    if (has(WARPAES_FILE_RANGE)) job.range = ByteRange{j.range_first, j.range_last};
    job.input = to_place(j.input_path, j.input_fd, "input");
    if (!job.verify) job.output = to_place(j.output_path, j.output_fd, "output");
    job.direction = fields.direction;
    job.prefix = fields.prefix;
    if (!job.prefix.empty() && (fields.type != WARPAES_FORMAT_STREAMING_AEAD || j.direction != WARPAES_ENCRYPT)) {
        throw Error(WARPAES_ERROR_ARGUMENT, "prefix: applies only to encryption with STREAMING_AEAD");
    }
    if (job.prefix.size() > std::size_t{1} << 20) throw Error(WARPAES_ERROR_ARGUMENT, "prefix: is longer than 1 MiB");
    if (j.hole != nullptr && !job.salvage) throw Error(WARPAES_ERROR_ARGUMENT, "hole: applies only to SALVAGE");
    return job;
}

EncOptions to_enc_options(const warpaes_file_job& j, const Fields& fields) {
    EncOptions options;
    if (j.key != nullptr) options.key = &j.key->impl;
    const bool raw = fields.type == WARPAES_FORMAT_RAW;
    if (raw) {
        require(j.key, "key");
    } else {
        options.passphrase = to_passphrase(j, fields);
    }
    if (j.iv != nullptr || raw) options.iv = fields.iv;
    options.pkcs7 = (j.flags & WARPAES_FILE_PKCS7) != 0;
    options.mode = fields.mode;
    return options;
}

std::unique_ptr<FileFormat> to_format(const warpaes_file_job& j, const Fields& fields, const FileJob& job) {
    switch (fields.type) {
    case WARPAES_FORMAT_RAW:
    case WARPAES_FORMAT_OPENSSL_ENC:
        break;
    case WARPAES_FORMAT_STREAMING_AEAD: {
        require(j.keyset, "keyset");
        const AeadOptions options{&j.keyset->impl, fields.aad};
        return job.salvage ? salvage_format(job, options) : aead_format(job, options);
    }
    }
    return enc_format(job, to_enc_options(j, fields));
}

/// Sets the caller's functions that the job calls while it runs. `holes` counts the calls of `hole`.
void set_callbacks(FileJob& job, const warpaes_file_job& j, std::uint64_t& holes) {
    if (j.progress != nullptr) {
        job.progress = [call = j.progress, user = j.progress_user](std::uint64_t done, std::uint64_t total) {
            return call_back([&] { return call(user, done, total); }) == 0;
        };
    }
    job.hole = [&holes, call = j.hole, user = j.hole_user](std::uint64_t first, std::uint64_t length) {
        ++holes;
        if (call != nullptr) call_back([&] { return call(user, first, length), 0; });
    };
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
        const bool raw = j.format == WARPAES_FORMAT_RAW, enc = j.format == WARPAES_FORMAT_OPENSSL_ENC;
        const auto bytes = [](bool used, const auto* pointer, std::uint64_t length, const char* name) {
            return used ? checked_bytes(pointer, length, name) : std::span<const std::uint8_t>();
        };
        const Fields fields{
            .prefix = bytes(true, j.prefix, j.prefix_len, "prefix"),
            .passphrase = bytes(enc && j.passphrase != nullptr, j.passphrase, j.passphrase_len, "passphrase"),
            .salt = bytes(enc, j.salt, j.salt_len, "salt"),
            .aad = bytes(!raw && !enc, j.aad, j.aad_len, "aad"),
            .iv = bytes(raw || j.iv != nullptr, j.iv, j.iv_len, "iv"),
            .direction = checked_direction(j.direction),
            .type = checked_format(j.format),
            .mode = raw || enc ? checked_mode(j.mode) : Mode{}};
        FileJob common = to_job(j, fields);
        const std::unique_ptr<FileFormat> format = to_format(j, fields, common);
        std::uint64_t holes = 0;
        set_callbacks(common, j, holes);
        const FileResult done = [&] {
            try {
                return run_file(engine->impl, common, *format);
            } catch (const SegmentRefused& refused) {
                if (refused.key_is_right()) made.notes |= WARPAES_NOTE_KEY_OPENS;
                throw;
            }
        }();
        made.bytes_read = done.bytes_read;
        made.bytes_written = done.bytes_written;
        made.notes = done.notes;
        made.device = done.device;
        made.backend = done.backend.data();
        made.key_id = done.key_id;
        std::copy(done.sha256.begin(), done.sha256.end(), made.sha256);
        if (holes != 0) {
            throw Error(WARPAES_ERROR_HOLES, "input: is not authentic in " + std::to_string(holes) +
                                                 (holes == 1 ? " place" : " places") +
                                                 "; there, the output contains zeros or ends");
        }
    });
    write_error(made.status, made.error);
    write_result(made, result);
    return made.status;
}

warpaes_status warpaes_file_inspect(const char* path, const char* template_name, warpaes_file_info* info) {
    return guarded([&] {
        require(path, "path");
        warpaes_file_info i = read_struct(info, "info");
        const FileFacts facts = inspect_file(path, template_name != nullptr ? &find_template(template_name) : nullptr);
        i.format = facts.type;
        i.template_name = facts.stream_template != nullptr ? facts.stream_template->name.data() : "";
        i.format_name = facts.format.data();
        i.file_bytes = facts.file_bytes;
        i.header_bytes = facts.header_bytes;
        i.segment_bytes = facts.segment_bytes;
        i.segments = facts.segments;
        i.plaintext_bytes = facts.plaintext_bytes;
        i.key_bits = facts.key_bits;
        write_struct(i, info, i.struct_size);
    });
}

}  // extern "C"

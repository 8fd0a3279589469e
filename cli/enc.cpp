// `warpaes enc`: works like `openssl enc`, with the same flags and file format.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "command.hpp"
#include "enc_options.hpp"
#include "foreign_file.hpp"
#include "interrupt.hpp"
#include "output_notes.hpp"
#include "progress.hpp"
#include "record.hpp"
#include "secrets.hpp"

namespace cli {

namespace {

using nlohmann::json;

/// The objects that a running file job refers to.
struct JobSecrets {
    Key key;
    std::optional<SecretBytes> passphrase;
    std::vector<unsigned char> iv;
    std::vector<unsigned char> salt;
};

std::optional<SecretBytes> find_passphrase(const EncOptions& o) {
    if (o.passphrase_file) return read_passphrase_file("-kfile", *o.passphrase_file);
    if (o.passphrase != nullptr) {
        return take_argument("-k", o.passphrase,
                             "use -pass env:NAME, file:PATH, fd:N or stdin, or omit -k for a prompt");
    }
    if (o.pass != nullptr) return read_passphrase("-pass", o.pass);
    if (o.key != nullptr) return std::nullopt;
    auto answer = prompt(o.decrypt ? "Passphrase" : "New passphrase", !o.decrypt);
    if (!answer) {
        throw UsageError(
            "no key, and no terminal for a prompt; give -K and -iv, or a passphrase with -pass, -kfile or "
            "-k");
    }
    return answer;
}

/// Refuses key and IV options that would have no effect, because users would rely on them.
void refuse_idle_options(const EncOptions& o) {
    const auto refuse = [](const std::string& option, const std::string& why) {
        throw UsageError(fmt::format("{}: {}; omit it", option, why));
    };
    std::vector<std::string> passphrases;
    if (o.passphrase_file) passphrases.emplace_back("-kfile");
    if (o.passphrase != nullptr) passphrases.emplace_back("-k");
    if (o.pass != nullptr) passphrases.emplace_back("-pass");
    if (passphrases.size() > 1) refuse(passphrases[1], passphrases[0] + " already provides the passphrase");
    if (o.iv && o.mode == WARPAES_ECB) refuse("-iv", "ECB has no IV");
    if (o.salt && o.no_salt) refuse("-S", "cannot be combined with -nosalt");
    if (o.raw && o.key == nullptr) refuse("--raw", "requires -K");
    if (o.key == nullptr) return;
    // A file that openssl wrote with these options has a salt, which decryption with the same options skips.
    if (!passphrases.empty() && !o.decrypt && (o.iv || o.mode == WARPAES_ECB)) {
        refuse(passphrases[0], "has no effect, because -K is the key itself and the IV is given");
    }
    if (!passphrases.empty()) return;
    const std::string why = "applies only to passphrases, but -K is the key itself";
    if (o.pbkdf2) refuse("-pbkdf2", why);
    if (o.iterations) refuse("-iter", why);
    if (o.digest) refuse("-md", why);
    if (o.salt) refuse("-S", why);
}

void set_keys(const EncOptions& o, JobSecrets& secrets, warpaes_file_job& job) {
    if (o.key != nullptr) {
        const SecretBytes bytes = read_key("-K", o.key, o.key_bits / 8, o.raw);
        secrets.key = create_key(bytes.bytes(), bytes.size());
        job.key = secrets.key.get();
    }
    if (o.iv) {
        secrets.iv = parse_hex("-iv", *o.iv, 16, WARPAES_ERROR_IV_LENGTH);
        job.iv = secrets.iv.data();
        job.iv_len = secrets.iv.size();
    }
    secrets.passphrase = find_passphrase(o);
    if (!secrets.passphrase) {
        job.format = WARPAES_FORMAT_RAW;
        if (job.iv == nullptr && o.mode != WARPAES_ECB) {
            throw Failure(WARPAES_ERROR_IV_LENGTH,
                          "-iv: missing; with -K, this mode requires an IV of 32 hexadecimal digits");
        }
        return;
    }
    job.format = WARPAES_FORMAT_OPENSSL_ENC;
    job.kdf = o.pbkdf2 || o.iterations ? WARPAES_KDF_PBKDF2 : WARPAES_KDF_EVP_BYTESTOKEY;
    if (job.kdf == WARPAES_KDF_EVP_BYTESTOKEY && job.key == nullptr) {
        warn("this key derivation is weak (one round of a hash); use -pbkdf2 or -iter if both sides support PBKDF2");
    }
    job.key_bits = o.key_bits;
    job.iterations = o.iterations.value_or(0);
    job.passphrase = secrets.passphrase->data();
    job.passphrase_len = secrets.passphrase->size();
    if (o.digest) job.digest = o.digest->c_str();
    if (o.no_salt) {
        job.flags |= WARPAES_FILE_NO_SALT;
    } else if (o.salt) {
        secrets.salt = parse_hex("-S", *o.salt, 8, WARPAES_ERROR_ARGUMENT);
        job.salt = secrets.salt.data();
        job.salt_len = secrets.salt.size();
    }
}

void set_data(const EncOptions& o, warpaes_file_job& job) {
    job.mode = o.mode;
    job.direction = o.decrypt ? WARPAES_DECRYPT : WARPAES_ENCRYPT;
    job.input_fd = STDIN_FILENO;
    job.output_fd = STDOUT_FILENO;
    if (!o.input.empty()) job.input_path = o.input.c_str();
    if (!o.output.empty()) job.output_path = o.output.c_str();
    if (!o.no_padding && (o.mode == WARPAES_ECB || o.mode == WARPAES_CBC)) job.flags |= WARPAES_FILE_PKCS7;
    if (o.base64) job.flags |= WARPAES_FILE_BASE64;
    if (o.one_line) job.flags |= WARPAES_FILE_BASE64_ONE_LINE;
    if (o.force) job.flags |= WARPAES_FILE_OVERWRITE;
    if (o.range) {
        const FirstLast range = parse_range(*o.range);
        job.flags |= WARPAES_FILE_RANGE;
        job.range_first = range.first;
        job.range_last = range.last;
        // A range consists of complete blocks and gets no padding; only the end of the complete file has padding.
        if (!o.decrypt) job.flags &= ~static_cast<unsigned>(WARPAES_FILE_PKCS7);
    }
}

Engine engine_for(const EncOptions& o) {
    warpaes_engine_options options = WARPAES_ENGINE_OPTIONS_INIT;
    if (o.backend) options.backend = o.backend->c_str();
    if (o.device) options.device = static_cast<std::int32_t>(*o.device);
    options.threads = o.threads;
    options.depth = o.depth;
    options.chunk_bytes = o.chunk;
    return create_engine(options);
}

int on_line_progress(void* user, std::uint64_t done, std::uint64_t total) {
    static_cast<ProgressLine*>(user)->update(done, total);
    return caught_signal();
}

json record_of(const warpaes_file_result& result, double seconds) {
    return {{"status", WARPAES_OK},
            {"backend", result.backend},
            {"device", result.device},
            {"bytes_read", result.bytes_read},
            {"bytes_written", result.bytes_written},
            {"seconds", seconds},
            {"bytes_per_second", static_cast<double>(result.bytes_read) / seconds},
            {"counter_wrapped", (result.notes & WARPAES_NOTE_COUNTER_WRAPPED) != 0}};
}

/// Returns the failure of a job. Copies the library's sentence before another call overwrites it.
Failure failure_of(warpaes_status status, const EncOptions& o) {
    std::string sentence = warpaes_last_error();
    if (status == WARPAES_ERROR_EXISTS) sentence += " with -f";
    if (status == WARPAES_ERROR_FORMAT && !o.input.empty() && looks_like_ours(o.input)) {
        sentence += "; it looks like a file written by `warpaes encrypt`; use `warpaes decrypt`";
    }
    return {status, sentence};
}

void run_job(const EncOptions& o) {
    if (o.key_bits == 0) throw UsageError("no cipher; give one, for example -aes-256-ctr");
    if (o.output.empty() && !o.decrypt && !o.base64 && !o.force && ::isatty(STDOUT_FILENO) != 0) {
        throw UsageError(
            "ciphertext is not written to a terminal; give -out FILE, write to a pipe, or add -a (base64) or -f");
    }
    refuse_idle_options(o);
    warpaes_file_job job = WARPAES_FILE_JOB_INIT;
    JobSecrets secrets;
    set_data(o, job);
    const Engine engine = engine_for(o);
    set_keys(o, secrets, job);
    refuse_needed_file(o.output);

    ProgressLine line(o.progress.value_or(::isatty(STDERR_FILENO) != 0));
    job.progress = on_line_progress;
    job.progress_user = &line;
    warpaes_file_result result = WARPAES_FILE_RESULT_INIT;
    const warpaes_status status = warpaes_file_run(engine.get(), &job, &result);
    if (status != WARPAES_OK) throw failure_of(status, o);
    const double seconds = line.seconds();
    line.clear();
    OutputNotes notes;
    notes.add(result.notes, o.output);
    notes.tell();
    if ((result.notes & WARPAES_NOTE_INPUT_GREW) != 0) warn_of_growth(o.input, result.bytes_read);
    if ((result.notes & WARPAES_NOTE_COUNTER_WRAPPED) != 0) {
        warn(
            "the counter passed 2^128 - 1 and continued at 0. The output is correct, but the counters from 0 on must "
            "not be used again with this key");
    }
    if (o.summary || o.progress.value_or(false)) {
        say(fmt::format("{} in {:.2f} s: {:.2f} GB/s on {}\n", human_bytes(static_cast<double>(result.bytes_read)),
                        seconds, static_cast<double>(result.bytes_read) / seconds / 1e9, result.backend));
    }
    if (o.json) print_json(record_of(result, seconds), -1, o.output.empty() ? stderr : stdout);
}

}  // namespace

int run_enc(int argc, char** argv) {
    const EncOptions options = parse_enc_options(argc, argv);
    if (options.help) {
        fmt::print("{}", enc_help());
        return 0;
    }
    try {
        run_job(options);
    } catch (const Failure& failure) {
        if (options.json) {
            const json record = {{"status", failure.status()}, {"error", failure.what()}};
            print_json(record, -1, options.output.empty() ? stderr : stdout);
        }
        throw;
    }
    return 0;
}

}  // namespace cli

// Code shared by all subcommands: failures, messages, engines, keys, and the entry points of the commands.
#pragma once

#include <warpaes/files.h>

#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "arguments.hpp"

namespace CLI {
class App;
}

namespace cli {

/// Ends the command with a message for standard error and an exit status, which is a warpaes_status.
class Failure : public std::runtime_error {
public:
    Failure(warpaes_status status, const std::string& sentence)
        : std::runtime_error(one_line(without_keys(sentence))), status_(status) {}
    [[nodiscard]] warpaes_status status() const noexcept { return status_; }

private:
    warpaes_status status_;
};

/// An invalid command line.
class UsageError : public Failure {
public:
    explicit UsageError(const std::string& sentence) : Failure(WARPAES_ERROR_ARGUMENT, sentence) {}
};

/// Throws Failure with the library's own message.
inline void check(warpaes_status status) {
    if (status != WARPAES_OK) throw Failure(status, warpaes_last_error());
}

struct EngineDelete {
    void operator()(warpaes_engine* engine) const { warpaes_engine_destroy(engine); }
};
struct KeyDelete {
    void operator()(warpaes_key* key) const { warpaes_key_destroy(key); }
};
struct KeysetDelete {
    void operator()(warpaes_keyset* keyset) const { warpaes_keyset_destroy(keyset); }
};
struct ReaderClose {
    void operator()(warpaes_reader* reader) const { warpaes_reader_close(reader); }
};
using Engine = std::unique_ptr<warpaes_engine, EngineDelete>;
using Key = std::unique_ptr<warpaes_key, KeyDelete>;
using Keyset = std::unique_ptr<warpaes_keyset, KeysetDelete>;
using Reader = std::unique_ptr<warpaes_reader, ReaderClose>;

inline Engine create_engine(const warpaes_engine_options& options) {
    warpaes_engine* engine = nullptr;
    check(warpaes_engine_create(&options, &engine));
    return Engine(engine);
}

inline Key create_key(const unsigned char* bytes, std::size_t length) {
    warpaes_key* key = nullptr;
    check(warpaes_key_create(bytes, length, &key));
    return Key(key);
}

inline Engine create_engine(const std::string& backend, int device, unsigned threads = 0) {
    warpaes_engine_options options = WARPAES_ENGINE_OPTIONS_INIT;
    options.backend = backend.c_str();
    options.device = device;
    options.threads = threads;
    return create_engine(options);
}

/// Writes to standard error. A failed write is ignored, because it cannot be reported.
void say(const std::string& text) noexcept;

/// Flushes standard output. Returns the error number of the first failed flush, or 0 if none has failed. A later flush
/// succeeds, because a failed flush discards its data.
int flush_output() noexcept;
/// Prints a table row immediately, because measuring the next row takes a while. Throws std::system_error if the row
/// cannot be written, so that the command stops measuring when nothing reads the result.
void show_row();

/// Returns `text`, in bold and in colour if standard error is a terminal that supports colours and NO_COLOR is not set.
enum class Colour { red = 31, yellow = 33 };
std::string painted(Colour colour, const std::string& text);

/// Suppresses all later notes and warnings. Errors are still written.
void be_quiet() noexcept;
/// Writes to standard error, unless the command is quiet.
void note(const std::string& text) noexcept;

/// Writes a warning to standard error, unless the command is quiet.
void warn(const std::string& sentence);

/// Warns that the input grew (WARPAES_NOTE_INPUT_GREW). An empty `input` means standard input.
void warn_of_growth(const std::string& input, std::uint64_t bytes);

/// Returns the entries of warpaes_backend_query.
std::vector<warpaes_backend_info> list_backends();
/// Returns the name of the backend that computes on GPUs.
const char* gpu_backend();
inline bool is_gpu(const std::string& backend) {
    return warpaes_backend_is_gpu(backend.c_str()) != 0;
}

/// Returns "; did you mean 'X'?" with the known word closest to `text`, or nothing if no word is close.
std::string did_you_mean(std::string_view text, std::span<const std::string> known);

/// The texts of `--help`, which fits on one screen, and of `--help-all`, the source of the man page.
struct Help {
    std::string brief;
    std::string full;
};

/// Like did_you_mean(), for a missing file: suggests the closest name in its directory.
std::string did_you_mean_file(const std::string& path);

/// Parses the options. If the user requested help, prints `help`, or CLI11's list of options if `help` is null, and
/// returns false. Throws UsageError.
bool parse_options(CLI::App& app, int argc, char** argv, const char* help = nullptr);
bool parse_options(CLI::App& app, int argc, char** argv, const Help& help);

/// For subcommands whose only option is --json. Returns whether --json was given, or nothing if the help was printed.
std::optional<bool> parse_json_option(int argc, char** argv, const char* help);

struct Command {
    const char* name;
    const char* summary;
    /// Runs the subcommand. argv[0] is its name. Returns the exit code or throws.
    int (*run)(int argc, char** argv);
    bool has_more_help = false;  ///< whether --help-all prints more than --help
};

/// Prints the text of `warpaes --version`.
void print_version();

int run_encrypt(int argc, char** argv);
int run_decrypt(int argc, char** argv);
int run_verify(int argc, char** argv);
int run_cat(int argc, char** argv);
int run_reencrypt(int argc, char** argv);
int run_list(int argc, char** argv);
int run_inspect(int argc, char** argv);
int run_keygen(int argc, char** argv);
int run_keys(int argc, char** argv);
int run_enc(int argc, char** argv);
int run_bench(int argc, char** argv);
int run_calibrate(int argc, char** argv);
int run_tune(int argc, char** argv);
int run_plan(int argc, char** argv);
int run_provider(int argc, char** argv);
int run_devices(int argc, char** argv);
int run_lab(int argc, char** argv);
int run_selftest(int argc, char** argv);

/// Implements main(). `run` receives the arguments of main(), and returns the exit status or throws.
int run_program(int argc, char** argv, int (*run)(int argc, char** argv));

}  // namespace cli

#include "command.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>
#include <numeric>
#include <system_error>

#include "arguments.hpp"
#include "interrupt.hpp"

namespace cli {

void say(const std::string& text) noexcept {
    (void)std::fwrite(text.data(), 1, text.size(), stderr);
    (void)std::fflush(stderr);
}

int flush_output() noexcept {
    static int first_error = 0;
    const bool flushed = std::fflush(stdout) == 0;
    if (!flushed && first_error == 0) first_error = errno;
    return first_error;
}

void show_row() {
    if (const int error = flush_output(); error != 0) {
        throw std::system_error(error, std::generic_category(), "cannot write to standard output");
    }
}

std::string painted(Colour colour, const std::string& text) {
    const char* off = std::getenv("NO_COLOR");
    const char* terminal = std::getenv("TERM");
    const bool wanted = (off == nullptr || *off == '\0') && terminal != nullptr && std::strcmp(terminal, "dumb") != 0 &&
                        ::isatty(STDERR_FILENO) != 0;
    return wanted ? fmt::format("\033[1;{}m{}\033[0m", static_cast<int>(colour), text) : text;
}

namespace {
std::atomic<bool> quiet{false};
}

void be_quiet() noexcept {
    quiet = true;
}

void note(const std::string& text) noexcept {
    if (!quiet) say(text);
}

void warn(const std::string& sentence) {
    note(fmt::format("{} {}\n", painted(Colour::yellow, "warpaes: warning:"), one_line(sentence)));
}

void warn_of_growth(const std::string& input, std::uint64_t bytes) {
    warn(fmt::format("{} grew during the run; only its first {} bytes were processed",
                     input.empty() ? "standard input" : "'" + input + "'", bytes));
}

std::vector<warpaes_backend_info> list_backends() {
    std::vector<warpaes_backend_info> list(warpaes_backend_count());
    for (std::size_t i = 0; i < list.size(); ++i) {
        list[i].struct_size = sizeof list[i];
        check(warpaes_backend_query(i, &list[i]));
    }
    return list;
}

const char* gpu_backend() {
    for (std::size_t i = 0; const char* const name = warpaes_backend_name(i); ++i) {
        if (warpaes_backend_is_gpu(name) != 0) return name;
    }
    return "";
}

/// CLI11 parses "[a,b]" as a list if an option may be repeated, but a file may have such a name.
bool is_bracketed(const std::string& text) {
    const std::size_t begin = text.find_first_not_of('\1');
    return begin != std::string::npos && text[begin] == '[' && text.back() == ']';
}

namespace {

/// Returns the edit distance: the minimum number of characters to add, remove, replace or swap with a neighbour.
std::size_t difference(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before, last(b.size() + 1), now(b.size() + 1);
    std::iota(last.begin(), last.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        now[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
            const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped) now[j] = std::min(now[j], before[j - 2] + 1);
        }
        before = last;
        last.swap(now);
    }
    return last[b.size()];
}

/// Returns a suggestion for the first unknown long option.
std::string hint_for_options(const CLI::App& app, int argc, char** argv) {
    std::vector<std::string> names{"--help", "--help-all"};
    for (const CLI::Option* option : app.get_options()) {
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
        for (const std::string& name : option->get_fnames()) names.push_back("--" + name);
    }
    for (int i = 1; i < argc; ++i) {
        const std::string_view name = std::string_view(argv[i]).substr(0, std::string_view(argv[i]).find('='));
        if (name == "--") break;
        if (!name.starts_with("--") || std::find(names.begin(), names.end(), name) != names.end()) continue;
        return did_you_mean(name, names);
    }
    return {};
}

}  // namespace

std::string did_you_mean(std::string_view text, std::span<const std::string> known) {
    const std::string* nearest = nullptr;
    std::size_t least = std::max<std::size_t>(1, text.size() / 3);
    for (const std::string& name : known) {
        if (const std::size_t n = difference(text, name); n < least || (n == least && nearest == nullptr)) {
            nearest = &name;
            least = n;
        }
    }
    return nearest != nullptr ? fmt::format("; did you mean '{}'?", *nearest) : std::string();
}

std::string did_you_mean_file(const std::string& path) {
    namespace fs = std::filesystem;
    constexpr std::size_t most = 1000;
    const fs::path folder = fs::path(path).parent_path();
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator at(folder.empty() ? "." : folder, error), end; !error && at != end;
         at.increment(error)) {
        if (names.size() == most) break;
        names.push_back((folder / at->path().filename()).string());
    }
    std::sort(names.begin(), names.end());
    const fs::path wanted(path);
    for (const std::string& name : names) {  // the user may have omitted the suffix
        if (fs::path(name).stem() == wanted.filename() || name == path + ".warpaes") {
            return fmt::format("; did you mean '{}'?", name);
        }
    }
    return did_you_mean(path, names);
}

bool parse_options(CLI::App& app, int argc, char** argv, const char* help) {
    const auto restore = [](std::string text) {
        return text.starts_with('\1') && is_bracketed(text) ? text.substr(1) : text;
    };
    std::vector<CLI::App*> apps = app.get_subcommands({});
    apps.push_back(&app);
    try {
        std::vector<std::string> backwards;
        for (int i = argc; i-- > 1;) backwards.push_back(is_bracketed(argv[i]) ? std::string("\1") + argv[i] : argv[i]);
        for (CLI::App* each : apps) {
            for (CLI::Option* option : each->get_options()) option->transform(restore);
        }
        app.parse(std::move(backwards));
        return true;
    } catch (const CLI::CallForHelp& call) {
        if (help != nullptr) {
            fmt::print("{}", help);
        } else {
            app.exit(call);
        }
        return false;
    } catch (const CLI::ExtrasError&) {
        std::vector<std::string> extra;
        for (CLI::App* each : apps) {
            for (const std::string& word : each->remaining()) extra.push_back(restore(word));
        }
        const std::string word = extra.empty() ? "" : extra.front();
        const std::string hint = hint_for_options(app, argc, argv);
        if (word.starts_with('-')) {
            throw UsageError(fmt::format("'{}': unknown option{} see `{} --help`", word.substr(0, word.find('=')),
                                         hint.empty() ? ";" : hint, app.get_name()));
        }
        const bool has_output = app.get_option_no_throw("--output") != nullptr;
        throw UsageError(fmt::format("'{}': unexpected argument{} see `{} --help`", word,
                                     has_output ? fmt::format("; did you mean -o {}?", word) : ";", app.get_name()));
    } catch (const CLI::ParseError& error) {
        const std::string hint = hint_for_options(app, argc, argv);
        throw UsageError(fmt::format("{}{} see `{} --help`", error.what(), hint.empty() ? ";" : hint, app.get_name()));
    }
}

bool parse_options(CLI::App& app, int argc, char** argv, const Help& help) {
    for (int i = 1; i < argc && std::strcmp(argv[i], "--") != 0; ++i) {
        if (std::strcmp(argv[i], "--help-all") != 0) continue;
        fmt::print("{}", help.full);
        return false;
    }
    return parse_options(app, argc, argv, help.brief.c_str());
}

std::optional<bool> parse_json_option(int argc, char** argv, const char* help) {
    bool as_json = false;
    for (int i = 1; i < argc; ++i) {
        if (std::strcmp(argv[i], "--json") == 0) {
            as_json = true;
        } else if (std::strcmp(argv[i], "--help") == 0 || std::strcmp(argv[i], "-h") == 0) {
            fmt::print("{}", help);
            return std::nullopt;
        } else {
            throw UsageError(fmt::format("'{}': unexpected argument; see `warpaes {} --help`", argv[i], argv[0]));
        }
    }
    return as_json;
}

namespace {

void occupy_standard_descriptors() {
    constexpr int flags[] = {O_WRONLY, O_RDONLY, O_WRONLY};
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
        if (::fcntl(fd, F_GETFD) != -1 || errno != EBADF) continue;
        // open() returns the lowest free number, which is `fd`. Without /dev, the root directory is opened instead,
        // which can be neither read nor written as a file.
        const int opened = ::open("/dev/null", flags[fd]);
        if (opened != fd && ::open("/", O_RDONLY | O_DIRECTORY) != fd) std::_Exit(EXIT_FAILURE);
    }
}

/// Opens closed standard descriptors, so that no other file gets their numbers. Using standard input or output is still
/// an error, and text for standard error is discarded. Also prevents core dumps, and stops other processes of the same
/// user from reading this process's memory, which holds keys.
void secure_process() {
    occupy_standard_descriptors();
    // The limit applies to core files; a core_pattern that pipes dumps to a program obeys PR_SET_DUMPABLE.
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    ::prctl(PR_SET_DUMPABLE, 0);
}

void tell(const std::string& sentence) {
    say(fmt::format("{} {}\n", painted(Colour::red, "warpaes:"), sentence));
}

}  // namespace

int run_program(int argc, char** argv, int (*run)(int argc, char** argv)) {
    secure_process();
    remember_arguments(argc, argv);
    catch_signals();
    int code = WARPAES_ERROR_INTERNAL;
    try {
        code = run(argc, argv);
    } catch (const Failure& failure) {
        code = failure.status();
        // The library reports that the caller cancelled; for a signal, "interrupted" is clearer.
        const bool interrupted = code == WARPAES_ERROR_CANCELLED && caught_signal() != 0;
        tell(interrupted ? "interrupted" : failure.what());
    } catch (const std::system_error& error) {
        // A reader such as `head` has read enough: end as if SIGPIPE had not been ignored.
        if (std::ferror(stdout) != 0 && error.code() == std::errc::broken_pipe) end_by(SIGPIPE);
        if (std::ferror(stdout) != 0) {
            code = WARPAES_ERROR_WRITE;
            tell(fmt::format("cannot write to standard output: {}", error.code().message()));
        } else {
            tell(one_line(error.what()));
        }
    } catch (const std::bad_alloc&) {
        code = WARPAES_ERROR_OUT_OF_MEMORY;
        tell("out of memory");
    } catch (const std::exception& error) {
        if (std::ferror(stdout) != 0) code = WARPAES_ERROR_WRITE;
        tell(one_line(error.what()));
    }
    // The code below also reports an earlier write error, whose data is no longer in the buffer.
    const int error = flush_output();
    if (code == 0 && error == EPIPE && caught_signal() == 0) end_by(SIGPIPE);
    if (code == 0 && (error != 0 || std::ferror(stdout) != 0)) {
        tell(fmt::format("cannot write to standard output: {}",
                         error == 0 ? "the output is incomplete" : std::strerror(error)));
        code = WARPAES_ERROR_WRITE;
    }
    if (caught_signal() != 0) end_by(caught_signal());
    return code;
}

}  // namespace cli

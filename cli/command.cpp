#include "command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <system_error>

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
    const char* last = "";
    for (std::size_t i = 0; const char* const name = warpaes_backend_name(i); ++i) last = name;
    return last;
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

}  // namespace cli

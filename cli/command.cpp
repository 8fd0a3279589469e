#include "command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>

namespace cli {

void say(const std::string& text) noexcept {
    (void)std::fwrite(text.data(), 1, text.size(), stderr);
    (void)std::fflush(stderr);
}

void warn(const std::string& sentence) {
    say(fmt::format("warpaes: warning: {}\n", one_line(sentence)));
}

void warn_of_growth(const std::string& input, std::uint64_t bytes) {
    warn(fmt::format("{} grew meanwhile: the {} bytes that were there at first are done, and nothing behind them",
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

/// CLI11 takes "[a,b]" for a list where an option may be given several times; a file may be called so.
bool is_bracketed(const std::string& text) {
    const std::size_t begin = text.find_first_not_of('\1');
    return begin != std::string::npos && text[begin] == '[' && text.back() == ']';
}

bool parse_options(CLI::App& app, int argc, char** argv, const char* help) {
    try {
        std::vector<std::string> backwards;
        for (int i = argc; i-- > 1;) backwards.push_back(is_bracketed(argv[i]) ? std::string("\1") + argv[i] : argv[i]);
        const auto restore = [](std::string text) {
            return text.starts_with('\1') && is_bracketed(text) ? text.substr(1) : text;
        };
        std::vector<CLI::App*> apps = app.get_subcommands({});
        apps.push_back(&app);
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
    } catch (const CLI::ParseError& error) {
        throw UsageError(fmt::format("{}; see `{} --help`", error.what(), app.get_name()));
    }
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
            throw UsageError(fmt::format("'{}': unexpected; see `warpaes {} --help`", argv[i], argv[0]));
        }
    }
    return as_json;
}

}  // namespace cli

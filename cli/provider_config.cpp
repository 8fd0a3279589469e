#include "provider_config.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "command.hpp"
#include "secrets.hpp"

namespace cli {

namespace {

constexpr const char* block_begins = "# >>> warpaes: `warpaes provider remove` takes this block out again\n";
constexpr const char* block_ends = "# <<< warpaes\n";

/// Returns the value without a comment and without surrounding quotes.
std::string plain_value(const std::string& text) {
    std::string value(trimmed(text.substr(0, text.find('#'))));
    const bool quoted = value.size() >= 2 && (value[0] == '"' || value[0] == '\'') && value.back() == value[0];
    return quoted ? value.substr(1, value.size() - 2) : value;
}

std::string contents(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

}  // namespace

OpensslConfig::OpensslConfig(const std::string& text, const std::string& path) {
    std::string section = "default";
    read(text, path, section, 0);
}

void OpensslConfig::read(const std::string& text, const std::string& path, std::string& section, int depth) {
    constexpr int deepest = 16;
    if (depth > deepest) throw Failure(WARPAES_ERROR_FORMAT, fmt::format("'{}': .include is nested too deeply", path));
    std::istringstream lines(text);
    for (std::string line, more; std::getline(lines, line);) {
        while (!line.empty() && line.back() == '\\' && std::getline(lines, more)) {
            line.pop_back();
            line += more;
        }
        line = trimmed(line);
        if (line.empty() || line[0] == '#' || line[0] == ';') continue;
        if (line[0] == '[') {
            section = trimmed(line.substr(1, line.find(']') - 1));
            continue;
        }
        if (line.starts_with(".include")) {
            std::string name(trimmed(line.substr(8)));
            if (name.starts_with("=")) name = trimmed(name.substr(1));
            const std::filesystem::path file = std::filesystem::path(path).parent_path() / plain_value(name);
            std::error_code unknown;
            std::vector<std::filesystem::path> files;
            if (std::filesystem::is_directory(file, unknown)) {
                for (const auto& entry : std::filesystem::directory_iterator(file, unknown)) {
                    const auto extension = entry.path().extension();
                    if (extension == ".cnf" || extension == ".conf") files.push_back(entry.path());
                }
            } else {
                files.push_back(file);
            }
            for (const auto& included : files) read(contents(included), included, section, depth + 1);
            continue;
        }
        const auto equals = line.find('=');
        if (equals == std::string::npos) continue;
        std::string in = section, name(trimmed(line.substr(0, equals)));
        if (const auto colons = name.find("::"); colons != std::string::npos) {
            in = name.substr(0, colons);
            name = name.substr(colons + 2);
        }
        values_.push_back({{in, name}, plain_value(line.substr(equals + 1))});
    }
}

std::string OpensslConfig::value(const std::string& section, const std::string& name) const {
    const auto found = std::find_if(values_.rbegin(), values_.rend(),
                                    [&](const auto& v) { return v.first.first == section && v.first.second == name; });
    return found == values_.rend() ? "" : found->second;
}

std::vector<std::string> OpensslConfig::names(const std::string& section) const {
    std::vector<std::string> list;
    for (const auto& [where, text] : values_) {
        if (where.first == section && std::find(list.begin(), list.end(), where.second) == list.end()) {
            list.push_back(where.second);
        }
    }
    return list;
}

std::string OpensslConfig::section_of_provider() const {
    const std::string found = value(value(value("default", "openssl_conf"), "providers"), "warpaes");
    return found.empty() ? provider_section : found;
}

std::string without_provider(const std::string& text) {
    const auto first = text.find(block_begins);
    if (first == std::string::npos) return text;
    const auto last = text.find(block_ends, first);
    if (last == std::string::npos) {
        throw Failure(WARPAES_ERROR_FORMAT,
                      "the warpaes block has no end line '# <<< warpaes'; remove the block by hand");
    }
    return text.substr(0, first) + text.substr(last + std::string(block_ends).size());
}

std::string with_provider(const std::string& text, const std::string& path, const std::string& module,
                          const std::vector<std::pair<std::string, std::string>>& parameters) {
    std::string made = without_provider(text);
    const OpensslConfig config(made, path);
    std::string block;
    const auto add = [&](const std::string& section, const std::string& name, const std::string& value) {
        block += fmt::format("[{}]\n{} = {}\n", section, name, value);
    };
    // The block reopens existing sections by name, so their contents are kept.
    const auto section_at = [&](const std::string& section, const char* name, const char* otherwise) {
        std::string found = config.value(section, name);
        if (found.empty()) add(section, name, found = otherwise);
        return found;
    };
    const std::string init = section_at("default", "openssl_conf", "warpaes_init");
    const std::string providers = section_at(init, "providers", "warpaes_providers");
    const std::string standard = section_at(providers, "default", "warpaes_default_provider");
    if (!config.value(providers, "warpaes").empty()) {
        throw Failure(
            WARPAES_ERROR_EXISTS,
            fmt::format("'{}' already names warpaes in section [{}], which this command did not write; remove it first",
                        path, providers));
    }
    // OpenSSL activates the default provider implicitly only if the configuration names no provider, so the block also
    // names it.
    if (config.value(standard, "activate") != "1") add(standard, "activate", "1");
    const std::string algorithms = section_at(init, "alg_section", "warpaes_algorithms");
    const std::string preferred = config.value(algorithms, "default_properties");
    if (preferred.find("fips") != std::string::npos) {
        throw Failure(WARPAES_ERROR_STATE, fmt::format("'{}' requires FIPS (default_properties = {}), but warpaes is "
                                                       "not FIPS-validated; use another configuration file",
                                                       path, preferred));
    }
    if (preferred.find("provider") != std::string::npos) {
        throw Failure(WARPAES_ERROR_STATE,
                      fmt::format("'{}' already prefers a provider (default_properties = {}); remove that line first",
                                  path, preferred));
    }
    add(algorithms, "default_properties", (preferred.empty() ? "" : preferred + ",") + "?provider=warpaes");
    add(providers, "warpaes", provider_section);
    add(provider_section, "module", module);
    for (const auto& [name, value] : parameters) block += fmt::format("{} = {}\n", name, value);
    block += "activate = 1\n";
    // The block must begin on a new line, and all other bytes must remain unchanged.
    if (!made.empty() && made.back() != '\n') {
        throw Failure(WARPAES_ERROR_FORMAT,
                      fmt::format("the last line of '{}' does not end with a line break; add one", path));
    }
    return made + block_begins + block + block_ends;
}

std::optional<std::string> objection_to_root_only(const std::string& path) {
    std::filesystem::path way;
    for (const auto& step : std::filesystem::path(path)) {
        way /= step;
        struct stat status {};
        if (::lstat(way.c_str(), &status) != 0) {
            return fmt::format("'{}' cannot be examined: {}", way.string(), std::strerror(errno));
        }
        if (S_ISLNK(status.st_mode)) return fmt::format("'{}' is a symbolic link", way.string());
        if (status.st_uid != 0) return fmt::format("'{}' belongs to user {}", way.string(), status.st_uid);
        if ((status.st_mode & 022) != 0) {
            return fmt::format("'{}' is writable by other users (mode {:04o})", way.string(), status.st_mode & 07777);
        }
    }
    return std::nullopt;
}

}  // namespace cli

// An openssl.cnf with the provider in it, or without: text in, text out.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace cli {

/// What a section of openssl.cnf says of a name. Sections of the same name are one; of two values the later one counts.
class OpensslConfig {
public:
    /// `path`: of the text, whose `.include`s are read where they stand. Throws Failure.
    OpensslConfig(const std::string& text, const std::string& path);
    /// Empty: nothing. Names before the first section are in "default".
    [[nodiscard]] std::string value(const std::string& section, const std::string& name) const;
    /// Of a section, each once.
    [[nodiscard]] std::vector<std::string> names(const std::string& section) const;
    /// The section that the provider is given, whatever it is called.
    [[nodiscard]] std::string section_of_provider() const;

private:
    void read(const std::string& text, const std::string& path, std::string& section, int depth);

    std::vector<std::pair<std::pair<std::string, std::string>, std::string>> values_;
};

/// The name of the provider's section where this command has written it.
inline constexpr const char* provider_section = "warpaes_provider";

/// `text` with a block behind it that activates the default provider and, preferred, warpaes; without the one that may
/// be there already. `parameters`: of the provider's section. Throws Failure if what is there contradicts it.
std::string with_provider(const std::string& text, const std::string& path, const std::string& module,
                          const std::vector<std::pair<std::string, std::string>>& parameters);

/// `text` as it was before; itself, if there is no block.
std::string without_provider(const std::string& text);

}  // namespace cli

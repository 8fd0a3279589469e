// Adds the provider to an openssl.cnf, or removes it: text in, text out.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace cli {

/// The values of names in the sections of openssl.cnf. Sections of the same name are merged; the later of two values
/// wins.
class OpensslConfig {
public:
    /// `path`: the path of the text, whose `.include`s are read where they occur. Throws Failure.
    OpensslConfig(const std::string& text, const std::string& path);
    /// Empty if the name has no value. Names before the first section are in "default".
    [[nodiscard]] std::string value(const std::string& section, const std::string& name) const;
    /// The names in a section, each once.
    [[nodiscard]] std::vector<std::string> names(const std::string& section) const;
    /// The name of the provider's section.
    [[nodiscard]] std::string section_of_provider() const;

private:
    void read(const std::string& text, const std::string& path, std::string& section, int depth);

    std::vector<std::pair<std::pair<std::string, std::string>, std::string>> values_;
};

/// The name that this command gives to the provider's section.
inline constexpr const char* provider_section = "warpaes_provider";

/// `text` plus a block that activates the default provider and warpaes, and prefers warpaes. An existing block is
/// replaced. `parameters`: lines for the provider's section. Throws Failure if the other text contradicts the block.
std::string with_provider(const std::string& text, const std::string& path, const std::string& module,
                          const std::vector<std::pair<std::string, std::string>>& parameters);

/// `text` without the block; unchanged if there is none.
std::string without_provider(const std::string& text);

}  // namespace cli

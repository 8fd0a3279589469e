// Adds the provider to the text of an openssl.cnf or removes it, and checks that only root can change a file.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cli {

/// The values in the sections of openssl.cnf. Sections with the same name are merged. If a name has two values, the
/// later value counts.
class OpensslConfig {
public:
    /// `path` is the path of the text. Files named by `.include` are read where they are included. Throws Failure.
    OpensslConfig(const std::string& text, const std::string& path);
    /// Returns the value of `name`, or an empty string. Names before the first section are in the section "default".
    [[nodiscard]] std::string value(const std::string& section, const std::string& name) const;
    /// Returns the names in a section without duplicates.
    [[nodiscard]] std::vector<std::string> names(const std::string& section) const;
    /// Returns the name of the provider's section.
    [[nodiscard]] std::string section_of_provider() const;

private:
    void read(const std::string& text, const std::string& path, std::string& section, int depth);

    std::vector<std::pair<std::pair<std::string, std::string>, std::string>> values_;
};

/// The name that this command gives to the provider's section.
inline constexpr const char* provider_section = "warpaes_provider";

/// Returns `text` plus a block that activates the default provider and warpaes, and prefers warpaes. Replaces an
/// existing block. `parameters` are names and values for the provider's section. Throws Failure if the rest of the text
/// contradicts the block.
std::string with_provider(const std::string& text, const std::string& path, const std::string& module,
                          const std::vector<std::pair<std::string, std::string>>& parameters);

/// Returns `text` without the block, or unchanged if it contains no block.
std::string without_provider(const std::string& text);

/// Returns the reason why a user other than root may be able to change or replace the file, or nothing if only root
/// can. The reason is the owner or the permissions of the file or of a parent folder (including a sticky folder such as
/// /tmp), or a symbolic link in `path`, which must be absolute.
std::optional<std::string> objection_to_root_only(const std::string& path);

}  // namespace cli

// The formats of authenticated files, which are identified by the names of their templates.
#pragma once

#include <warpaes/files.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"

namespace cli {

/// The default template.
inline const char* default_template() {
    return warpaes_template_name(0);
}

/// A file format and the prefix that its templates' names share.
struct NamedFormat {
    std::string_view prefix;
    const char* name;
    bool raw_only;  ///< it supports raw keys but not keysets
};
inline const NamedFormat& format_of_template(std::string_view name) {
    static constexpr NamedFormat c2sp{"C2SP", "C2SP chunked encryption", true}, tink{"", "Tink streaming AEAD", false};
    return name.starts_with(c2sp.prefix) ? c2sp : tink;
}

inline bool is_raw_only(const std::string& name) {
    return format_of_template(name).raw_only;
}

/// Throws UsageError, which suggests the closest name, if no template has this name.
inline void refuse_unknown_template(const std::string& name) {
    std::vector<std::string> known;
    for (std::size_t i = 0; i < warpaes_template_count(); ++i) known.emplace_back(warpaes_template_name(i));
    if (std::find(known.begin(), known.end(), name) != known.end()) return;
    const auto longer =
        std::find_if(known.begin(), known.end(), [&](const std::string& k) { return k.starts_with(name); });
    const std::string hint =
        !name.empty() && longer != known.end() ? "; did you mean '" + *longer + "'?" : did_you_mean(name, known);
    throw UsageError("--template: unknown template '" + name + "'" + (hint.empty() ? ";" : hint) +
                     " `warpaes keygen --help` lists the templates");
}

/// Returns the list of templates for the end of a help text.
inline std::string template_list() {
    std::string text = "Templates\n";
    for (std::size_t i = 0; i < warpaes_template_count(); ++i) {
        text += "  " + std::string(warpaes_template_name(i)) + "\n";
    }
    return text;
}

}  // namespace cli

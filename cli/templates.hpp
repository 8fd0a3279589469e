// The formats of authenticated files, which are identified by the names of their templates.
#pragma once

#include <warpaes/files.h>

#include <algorithm>
#include <string>
#include <vector>

#include "command.hpp"

namespace cli {

/// The default template.
inline const char* default_template() {
    return warpaes_template_name(0);
}

/// Returns all zeros for an unknown name.
inline warpaes_template_info template_info(const std::string& name) {
    warpaes_template_info info = WARPAES_TEMPLATE_INFO_INIT;
    (void)warpaes_template_query(name.c_str(), &info);
    return info;
}

/// Whether the template's keys are raw keys, without a keyset.
inline bool is_raw_only(const std::string& name) {
    return template_info(name).raw_only != 0;
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

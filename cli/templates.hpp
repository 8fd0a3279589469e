// The formats of authenticated files, by the names of their templates.
#pragma once

#include <warpaes/files.h>

#include <string>

namespace cli {

/// The one that is used where none is named.
inline const char* default_template() {
    return warpaes_template_name(0);
}

/// C2SP's have raw keys and no keyset.
inline bool is_raw_only(const std::string& name) {
    return name.compare(0, 4, "C2SP") == 0;
}

/// For the end of a help text.
inline std::string template_list() {
    std::string text = "Templates\n";
    for (std::size_t i = 0; i < warpaes_template_count(); ++i) {
        text += "  " + std::string(warpaes_template_name(i)) + "\n";
    }
    return text;
}

}  // namespace cli

#include "format/segment_formats.hpp"

#include <string>

#include "base/error.hpp"
#include "format/tink_key.hpp"

namespace warpaes {

const StreamTemplate* template_at(std::size_t index) noexcept {
    for (const SegmentFormat* format : segment_formats) {
        if (index < format->templates.size()) return &format->templates[index];
        index -= format->templates.size();
    }
    return nullptr;
}

const StreamTemplate& find_template(std::string_view name) {
    std::string choices;
    for (std::size_t i = 0; const StreamTemplate* const t = template_at(i); ++i) {
        if (t->name == name) return *t;
        choices += (choices.empty() ? "" : ", ") + std::string(t->name);
    }
    throw Error(WARPAES_ERROR_ARGUMENT, "template: unknown template '" + std::string(name) + "'; choose " + choices);
}

std::string_view template_name_of(const StreamParameters& parameters) {
    if (parameters.format == nullptr) return "";
    for (const StreamTemplate& t : parameters.format->templates) {
        if (t.parameters == parameters) return t.name;
    }
    return "";
}

const SegmentFormat* format_of_tink_type(std::string_view type_url) noexcept {
    for (const SegmentFormat* format : segment_formats) {
        if (!type_url.empty() && type_url == format->tink_type) return format;
    }
    return nullptr;
}

}  // namespace warpaes

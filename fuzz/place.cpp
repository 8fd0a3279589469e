// Tests keyset places. A text must be refused with a message, or joining its parts must produce the same place. Also
// uses any text as a raw key, a passphrase or a secret.
#include "places/place.hpp"

#include <optional>
#include <string>

#include "base/error.hpp"
#include "handles.hpp"
#include "places/content.hpp"
#include "places/key_text.hpp"
#include "places/location.hpp"

namespace {

using namespace fuzz;
using namespace warpaes::places;

std::optional<KeysetPlace> parse(const std::string& text) {
    try {
        return parse_keyset_place("place", text);
    } catch (const warpaes::Error& error) {
        require(error.status() == WARPAES_ERROR_ARGUMENT, "a status other than ARGUMENT");
        require(std::string_view(error.what()).starts_with("place: "), "a message that does not name the argument");
        return std::nullopt;
    }
}

std::string opener(const char* name, const std::optional<std::string>& value) {
    if (!value) return "";
    std::string text = name;
    for (const char c : *value) text += c == ';' ? ";;" : std::string(1, c);
    return text + ";";
}

void check(const std::string& text) {
    const std::optional<KeysetPlace> place = parse(text);
    if (!place) return;
    require(!place->location.empty(), "an empty location");
    require(!place->passphrase || !place->passphrase->empty(), "an empty passphrase=");
    require(!place->kek || !place->kek->empty(), "an empty kek=");
    require(place->asks + place->clear + place->passphrase.has_value() + place->kek.has_value() <= 1, "two openers");
    require(!place->kek_aad || place->kek, "kek-aad= without kek=");
    require(opener_of(*place).empty() != place->opens(), "another opener");
    const std::string again = opener("passphrase=", place->passphrase) + opener("kek=", place->kek) +
                              opener("kek-aad=", place->kek_aad) + (place->asks ? "passphrase:" : "") +
                              (place->clear ? "clear:" : "") + place->location;
    const std::optional<KeysetPlace> same = parse(again);
    require(same && same->location == place->location && same->passphrase == place->passphrase &&
                same->kek == place->kek && same->kek_aad == place->kek_aad && same->asks == place->asks &&
                same->clear == place->clear,
            "the joined parts are a different place");
}

template <typename Call>
void expect_sentence(const Call& call) {
    try {
        call();
    } catch (const warpaes::Error& error) {
        require(std::string_view(error.what()).starts_with("place: "), "a message that does not name the argument");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    check(text);
    for (const std::string& name : variables_named_by(text)) {
        require(text.find("env:" + name) != std::string::npos, "a variable that does not exist");
    }
    const RawKey raw = raw_key_in(text, warpaes_template_name);
    require(raw.key.empty() || raw.key.size() == 16 || raw.key.size() == 32, "a raw key of an invalid length");
    (void)looks_like_key(text);
    expect_sentence([&] { refuse_unknown_kind("place", text); });
    expect_sentence([&] { (void)passphrase_in("place", text); });
    expect_sentence([&] { (void)parse_fd("place", text); });
    return 0;
}

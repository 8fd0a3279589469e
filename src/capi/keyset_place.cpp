#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <string>

#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "engine/pipeline/file.hpp"
#include "format/key_text.hpp"
#include "format/keyset_wrap.hpp"
#include "places/content.hpp"
#include "places/location.hpp"
#include "places/place.hpp"

namespace {

using namespace warpaes;
using namespace warpaes::capi;
using places::KeysetPlace;

using Bytes = std::span<const std::uint8_t>;

/// The Host for places that the library's caller names. Warnings are passed to the caller's function.
class CallerHost final : public places::Host {
public:
    CallerHost(const char* place, const warpaes_place_options& options)
        : variables_(places::variables_named_by(place)), options_(options) {}
    void warn(const std::string& sentence) override {
        if (options_.warning != nullptr) call_back([&] { options_.warning(options_.user, sentence.c_str()); });
    }
    std::vector<std::string> secret_variables() override { return variables_; }

private:
    std::vector<std::string> variables_;
    const warpaes_place_options& options_;
};

/// A passphrase, wiped on destruction.
struct Passphrase {
    std::unique_ptr<places::PlacedKey> placed{};
    std::unique_ptr<SecretBuffer> answered{};
    Bytes bytes{};
};

/// Calls the caller's function, which may write any value to `length`.
void ask(Passphrase& passphrase, const std::string& question, const warpaes_place_options& options) {
    if (options.ask == nullptr) {
        throw Error(WARPAES_ERROR_ARGUMENT, question +
                                                ": the function ask in the options is NULL: set it, or write "
                                                "passphrase=PLACE; before the place of the keyset");
    }
    passphrase.answered = std::make_unique<SecretBuffer>(places::most_passphrase);
    SecretBuffer& buffer = *passphrase.answered;
    std::size_t length = 0;
    const int result = call_back([&] {
        return options.ask(options.user, question.c_str(), reinterpret_cast<char*>(buffer.data()), buffer.size(),
                           &length);
    });
    if (result != 0) {
        throw Error(WARPAES_ERROR_CANCELLED, question + ": the function ask returned " + std::to_string(result));
    }
    if (length > buffer.size()) {
        throw Error(WARPAES_ERROR_ARGUMENT, question + ": the function ask reports " + std::to_string(length) +
                                                " bytes, but its buffer has " + std::to_string(buffer.size()));
    }
    passphrase.bytes =
        bytes_of(places::passphrase_in("passphrase", {reinterpret_cast<const char*>(buffer.data()), length}));
}

Passphrase passphrase_of(const KeysetPlace& place, const std::string& question, places::Host& host,
                         const warpaes_place_options& options) {
    Passphrase passphrase;
    if (!place.passphrase) {
        ask(passphrase, question, options);
        return passphrase;
    }
    passphrase.placed =
        std::make_unique<places::PlacedKey>(places::read_passphrase_at("passphrase=", *place.passphrase, host));
    const places::PlacedKey& key = *passphrase.placed;
    passphrase.bytes = bytes_of(places::passphrase_in(key.name, key.text.view()));
    return passphrase;
}

/// Runs `call`; the message of an Error then begins with `name`, the name of a place.
template <typename Call>
auto naming(const std::string& name, const Call& call) {
    try {
        return call();
    } catch (const Error& error) {
        throw Error(error.status(), name + ": " + error.what());
    }
}

Keyset unwrapped(const std::string& name, std::string_view text, const KeysetPlace& place, places::Host& host,
                 const warpaes_place_options& options) {
    // Text that is not an encrypted keyset, and a cost beyond the limits, are refused before any prompt.
    const bool has_passphrase = naming(name, [&] { return peek_keyset(text).cost.n != 0; });
    if (has_passphrase && !place.asks && !place.passphrase) {
        throw Error(WARPAES_ERROR_KEYSET, name + ": is encrypted under a passphrase" +
                                              (place.kek ? ", not under the key of kek=" : "") +
                                              ": write passphrase: before its place to be asked for it, or "
                                              "passphrase=PLACE;");
    }
    if (!has_passphrase && !place.kek) {
        throw Error(WARPAES_ERROR_KEYSET, name +
                                              ": is encrypted under a key: write kek=PLACE; before its place, or "
                                              "exec:'warpaes keysources open URL FILE' for a key manager's key");
    }
    if (has_passphrase) {
        const Passphrase passphrase = passphrase_of(place, "Passphrase of " + name, host, options);
        return naming(name, [&] { return unwrap_keyset(text, passphrase.bytes); });
    }
    const places::PlacedKey kek = places::read_location("kek=", *place.kek, host);
    return naming(name + " under " + kek.name, [&] {
        return unwrap_keyset_under(text, bytes_of(kek.text.view()), bytes_of(place.kek_aad.value_or("")));
    });
}

Keyset interpreted(const std::string& name, std::string_view text, const KeysetPlace& place, places::Host& host,
                   const warpaes_place_options& options) {
    places::Expected expected{.clear = place.clear, .opener = places::opener_of(place)};
    if (options.template_name != nullptr) expected.template_name = options.template_name;
    const places::Content content =
        places::content_of(name, text, expected, {warpaes_template_name, warpaes_template_query});
    if (content.kind == places::Content::Kind::raw) {
        return naming(name, [&] {
            if (!content.key.is_text) refuse_text(content.key.key, "key:");
            return Keyset::from_raw(content.template_name, content.key.key);
        });
    }
    places::refuse_template(name, expected);
    if (content.kind == places::Content::Kind::encrypted) return unwrapped(name, text, place, host, options);
    return naming(name, [&] { return Keyset::parse(text); });
}

warpaes_place_options checked_options(const warpaes_place_options* options) {
    constexpr warpaes_place_options none = WARPAES_PLACE_OPTIONS_INIT;
    return options != nullptr ? read_struct(options, "options") : none;
}

KeysetPlace checked_place(const char* place) {
    require(place, "place");
    note_stack_depth(files_stack);
    KeysetPlace parsed = places::parse_keyset_place("place", place);
    if (parsed.is_own()) {
        throw Error(WARPAES_ERROR_ARGUMENT,
                    "place: own: means the keyset at the start of an encrypted file, and this call has no file");
    }
    return parsed;
}

Keyset load(const char* place, const warpaes_place_options& options) {
    const KeysetPlace parsed = checked_place(place);
    CallerHost host(place, options);
    const places::PlacedKey key = places::read_location("place", parsed.location, host);
    return interpreted(key.name, key.text.view(), parsed, host, options);
}

Scrypt cost_of(const warpaes_place_options& options) {
    if (options.cost == nullptr) return choose_scrypt(1);
    const warpaes_scrypt given = read_struct(options.cost, "cost");
    return {given.n, given.r, given.p};
}

SecretVector text_of(const Keyset& keyset, const KeysetPlace& place, const std::string& name, places::Host& host,
                     const warpaes_place_options& options) {
    if (place.kek) {
        const places::PlacedKey kek = places::read_location("kek=", *place.kek, host);
        return naming(kek.name, [&] {
            return wrap_keyset_under(keyset, bytes_of(kek.text.view()), bytes_of(place.kek_aad.value_or("")));
        });
    }
    if (!place.opens()) return keyset.to_json();
    const Passphrase passphrase = passphrase_of(place, "New passphrase of " + name, host, options);
    return wrap_keyset(keyset, passphrase.bytes, cost_of(options), places::SecretText::capacity);
}

void save(const Keyset& keyset, const char* place, const warpaes_place_options& options) {
    const KeysetPlace parsed = checked_place(place);
    const std::optional<std::string> path = parsed.path();
    if (!path) throw Error(WARPAES_ERROR_ARGUMENT, "place: a keyset can be saved only in a file: PATH or file:PATH");
    if (path->empty()) throw Error(WARPAES_ERROR_ARGUMENT, "place: the path of the file is empty");
    // The path of an existing folder shows that the text is a path and not a base64 key.
    const std::size_t slash = path->rfind('/');
    const bool has_folder =
        slash != std::string::npos && slash != 0 && ::access(path->substr(0, slash).c_str(), F_OK) == 0;
    if (!has_folder) places::refuse_key("place", path->c_str());
    if (parsed.location == *path && path->find('/') == std::string::npos) places::refuse_unknown_kind("place", *path);
    const std::string name = "'" + *path + "'";
    struct stat status {};
    if (::lstat(path->c_str(), &status) == 0) {  // before any prompt
        throw Error(WARPAES_ERROR_EXISTS, "place: " + name + " exists, and keys are never overwritten");
    }
    CallerHost host(place, options);
    const SecretVector text = text_of(keyset, parsed, name, host, options);
    FileSink file(*path, false, nullptr);
    status.st_mode = S_IRUSR | S_IWUSR;
    status.st_atim = status.st_mtim = {0, UTIME_NOW};
    file.keep_attributes(status);
    file.write(0, text);
    file.commit();
}

}  // namespace

extern "C" {

warpaes_status warpaes_keyset_load(const char* place, const warpaes_place_options* options, warpaes_keyset** keyset) {
    return created(keyset, "keyset", [&] { return new warpaes_keyset{load(place, checked_options(options))}; });
}

warpaes_status warpaes_keyset_save(const warpaes_keyset* keyset, const char* place,
                                   const warpaes_place_options* options) {
    return guarded([&] {
        require(keyset, "keyset");
        save(keyset->impl, place, checked_options(options));
    });
}

}  // extern "C"

#include "keyset_source.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "places/content.hpp"
#include "secrets.hpp"

namespace cli {

namespace {

using warpaes::places::Content;
using warpaes::places::Expected;

Keys from_raw(const std::string& what, const Content& raw) {
    const auto& key = raw.key.key;
    warpaes_keyset* keyset = nullptr;
    const warpaes_status status = warpaes_keyset_from_raw(raw.template_name.c_str(), key.data(), key.size(), &keyset);
    if (status != WARPAES_OK) throw Failure(status, fmt::format("{}: {}", what, warpaes_last_error()));
    return {Keyset(keyset), true, raw.template_name};
}

Keyset from_json(const std::string& what, std::string_view text) {
    warpaes_keyset* keyset = nullptr;
    const warpaes_status status = warpaes_keyset_parse(text.data(), text.size(), &keyset);
    if (status == WARPAES_ERROR_KEYSET && trimmed(text).substr(0, 1) != "{") {
        // UTF-16 and UTF-32 contain zero bytes; the library's message names these encodings.
        const bool has_zeros = text.find('\0') != std::string_view::npos;
        throw Failure(status,
                      fmt::format("{}: neither a keyset in Tink's JSON format nor a key of 16 or 32 bytes, or of 32 or "
                                  "64 hexadecimal digits{}; `warpaes keygen` creates keysets",
                                  what, has_zeros ? fmt::format(" ({})", warpaes_last_error()) : std::string()));
    }
    if (status != WARPAES_OK) {
        throw Failure(status, fmt::format("{}: {}; `warpaes keygen` creates keysets", what, warpaes_last_error()));
    }
    return Keyset(keyset);
}

void check_of(const std::string& what, warpaes_status status) {
    if (status != WARPAES_OK) throw Failure(status, fmt::format("{}: {}", what, warpaes_last_error()));
}

Keyset unwrap_under(const std::string& what, std::string_view text, const KekOptions& options, Lock& lock) {
    if (!options.place) {
        throw UsageError(
            fmt::format("{}: encrypted under a key; give --kek with FILE, env:NAME, fd:N or exec:COMMAND. If the key "
                        "is in a key manager, give -k exec:'warpaes keysources open URL FILE' instead",
                        what));
    }
    lock.kek = options.take();
    const auto& [key, aad] = *lock.kek;
    const std::string_view kek = key.text.view();
    warpaes_keyset* keyset = nullptr;
    check_of(
        fmt::format("{} under {}", what, key.name),
        warpaes_keyset_unwrap_under(text.data(), text.size(), kek.data(), kek.size(), aad.data(), aad.size(), &keyset));
    return Keyset(keyset);
}

/// Throws if the keyset is encrypted under a passphrase but the options contain only a key-encryption key.
void require_option_of(const std::string& what, const Lock& lock, const KeyOptions& options) {
    if (!lock.has_passphrase() || options.passphrase_from || !options.kek.place) return;
    throw Failure(WARPAES_ERROR_KEYSET, fmt::format("{}: encrypted under a passphrase, not under the key of {}; also "
                                                    "give --passphrase-from if this is intended, or restore the keyset",
                                                    what, options.kek.option));
}

}  // namespace

Keys unwrap_keyset(const std::string& what, std::string_view text, const KeyOptions& options) {
    Keys keys;
    Lock& lock = keys.lock.emplace();
    // Refuses text that is not an encrypted keyset, and a cost that exceeds the limits, before the passphrase prompt.
    warpaes_keyset* keyset = nullptr;
    check_of(what, warpaes_keyset_peek(text.data(), text.size(), &lock.cost, &keyset));
    keys.keyset.reset(keyset);
    require_option_of(what, lock, options);
    keys.peeked = options.peek &&
                  !(lock.has_passphrase() ? options.passphrase_from || options.asks : options.kek.place.has_value());
    if (keys.peeked) return keys;
    if (!lock.has_passphrase()) {
        keys.keyset = unwrap_under(what, text, options.kek, lock);
        return keys;
    }
    if (auto& given = *options.passphrase; given || options.passphrase_from) {
        if (!given) given = take_passphrase(options.passphrase_option, options.passphrase_from, "", false);
        lock.passphrase = *given;
    } else {
        lock.passphrase = take_passphrase("--passphrase-from", std::nullopt, "Passphrase of " + what, false);
    }
    check_of(what,
             warpaes_keyset_unwrap(text.data(), text.size(), lock.passphrase.data(), lock.passphrase.size(), &keyset));
    keys.keyset.reset(keyset);
    return keys;
}

KeyOptions options_at(const KeysetPlace& place, const KeyOptions& options) {
    KeyOptions own = options;
    if (!place.opens()) return own;
    own.asks = place.asks;
    own.passphrase_from = place.passphrase;
    own.passphrase_option = "passphrase=";
    own.passphrase = std::make_shared<std::optional<SecretBytes>>();
    own.kek = KekOptions{};
    own.kek.option = "kek=";
    own.kek.place = place.kek;
    own.kek.aad = place.kek_aad;
    return own;
}

namespace {

Expected expected_at(bool marked, const KeyOptions& options) {
    const std::string opener = options.asks              ? "passphrase:"
                               : options.kek.place       ? options.kek.option
                               : options.passphrase_from ? options.passphrase_option
                                                         : "";
    return {.clear = marked,
            .opener = opener,
            .template_option = "--template",
            .template_name = options.template_name,
            .any_bytes = options.raw};
}

Keys interpret(const std::string& what, std::string_view text, const Expected& expected, const KeyOptions& options) {
    const Content content = as_command([&] {
        return warpaes::places::content_of(what, text, expected, {warpaes_template_name, warpaes_template_query});
    });
    if (content.kind == Content::Kind::raw) {
        if (!content.key.is_text) refuse_text(what, text);
        return from_raw(what, content);
    }
    const auto refuse_template = [&] {
        if (options.keys.size() > 1) return;  // the template may be for another key
        as_command([&] { warpaes::places::refuse_template(what, expected); });
    };
    if (content.kind == Content::Kind::encrypted) {
        refuse_template();
        return unwrap_keyset(what, text, options);
    }
    Keyset keyset = from_json(what, text);
    refuse_template();
    return {std::move(keyset), false};
}

Keys load_place(const std::string& option, const std::string& text, const KeyOptions& options) {
    const KeysetPlace place = parse_keyset_place(option, text);
    if (place.is_own()) {
        throw UsageError(option +
                         ": own: means the keyset at the start of an encrypted file; only `warpaes encrypt`, "
                         "`decrypt`, `cat` and `verify` accept it");
    }
    const KeyOptions own = options_at(place, options);
    const PlacedKey key = read_key_place(option, place.location);
    return interpret(key.name, key.text.view(), expected_at(place.clear, own), own);
}

}  // namespace

void add_key_options(CLI::App& app, KeyOptions& options) {
    app.add_option("-k,--keys", options.keys)->allow_extra_args(false);
    app.add_option("-t,--template,--format", options.template_name);
    app.add_option("--passphrase-from", options.passphrase_from);
    app.add_flag("--raw", options.raw);
    options.kek.add(app);
}

Keys load_keyset_file(const KeysetPlace& place, int fd, const KeyOptions& options) {
    const std::string what = fmt::format("'{}'", place.path().value_or(""));
    const KeyOptions own = options_at(place, options);
    SecretText text;
    read_text(text, what, fd);
    const Expected expected = expected_at(place.clear, own);
    as_command([&] { warpaes::places::check_mark(what, text.view(), expected.clear, expected.opener); });
    if (warpaes::places::is_encrypted(text.view())) return unwrap_keyset(what, text.view(), own);
    return {from_json(what, text.view()), false};
}

void refuse_unused_locks(const KeyOptions& options) {
    if (options.kek.place && !*options.kek.read) {
        throw UsageError("--kek: none of the keysets is encrypted under a key; omit --kek");
    }
    if (options.passphrase_from && !*options.passphrase) {
        throw UsageError("--passphrase-from: none of the keysets is encrypted under a passphrase; omit this option");
    }
}

void refuse_keys_in_arguments(int argc, char** argv) {
    for (int i = 1; i < argc && std::strcmp(argv[i], "--") != 0; ++i) {
        char* place = nullptr;
        const char* option = nullptr;
        for (const char* name : {"-k", "--keys", "--to", "--kek"}) {
            const char* rest = after(argv[i], name);
            if (rest == nullptr) continue;
            const bool is_long = name[1] == '-';
            if (*rest == '\0') {
                if (i + 1 < argc) place = argv[i + 1];
            } else if (*rest == '=' || !is_long) {
                place = argv[i] + std::strlen(name) + (*rest == '=' ? 1 : 0);
            }
            option = name;
        }
        if (place == nullptr) continue;
        try {
            if (std::strcmp(option, "--kek") == 0) {
                refuse_key(option, place);
                continue;
            }
            const KeysetPlace parsed = parse_keyset_place(option, place);
            refuse_key(option, parsed.location.c_str());
            if (parsed.kek) refuse_key("kek=", parsed.kek->c_str());
        } catch (const UsageError&) {
            conceal(place);
            throw;
        }
    }
}

std::vector<Keys> load_each(const KeyOptions& options) {
    const char* variable = std::getenv("WARPAES_KEYSET");
    if (options.keys.empty() && (variable == nullptr || *variable == '\0')) {
        throw UsageError(
            "no keys; give -k KEYSET, or set WARPAES_KEYSET; `warpaes keygen -o keyset.json` creates a keyset, and "
            "`warpaes encrypt --passphrase FILE` needs no keyset");
    }
    std::vector<Keys> all;
    if (options.keys.empty()) all.push_back(load_place("WARPAES_KEYSET", variable, options));
    for (const std::string& place : options.keys) all.push_back(load_place("-k", place, options));
    if (std::none_of(all.begin(), all.end(), [](const Keys& keys) { return keys.raw; })) {
        if (options.template_name)
            throw UsageError("--template: applies only to raw keys, and no -k is a raw key; omit it");
        if (options.raw) throw UsageError("--raw: no key has 16 or 32 bytes; omit it");
    }
    return all;
}

Keys load_keys(const KeyOptions& options) {
    std::vector<Keys> all = load_each(options);
    Keys keys = std::move(all.front());
    for (std::size_t i = 1; i < all.size(); ++i) {
        check(warpaes_keyset_append(keys.keyset.get(), all[i].keyset.get()));
        keys.other_raw |= keys.raw || all[i].raw;
        keys.raw &= all[i].raw;
    }
    return keys;
}

Keyset primary_of(const Keys& keys) {
    Keyset alone = from_json("the keyset", keyset_text(keys.keyset.get()).view());
    for (std::size_t i = 0; i < warpaes_keyset_count(alone.get()); ++i) {
        warpaes_key_info info = WARPAES_KEY_INFO_INIT;
        check(warpaes_keyset_query(alone.get(), i, &info));
        if (info.primary == 0 && info.state == WARPAES_KEY_ENABLED) {
            check(warpaes_keyset_set_state(alone.get(), info.key_id, WARPAES_KEY_DISABLED));
        }
    }
    return alone;
}

std::optional<std::uint32_t> disabled_key_of(warpaes_engine* engine, const warpaes_keyset* keyset,
                                             const std::string& path, const std::string& aad) {
    warpaes_source source = WARPAES_SOURCE_INIT;
    source.path = path.c_str();
    const auto opens = [&](const warpaes_keyset* keys) {
        warpaes_reader* reader = nullptr;
        const warpaes_status status = warpaes_reader_open(engine, &source, keys, aad.data(), aad.size(), &reader);
        warpaes_reader_close(reader);
        return status == WARPAES_OK;
    };
    if (opens(keyset)) return std::nullopt;  // an enabled key opens the file, so the damage is further on
    for (std::size_t i = 0; i < warpaes_keyset_count(keyset); ++i) {
        warpaes_key_info info = WARPAES_KEY_INFO_INIT;
        check(warpaes_keyset_query(keyset, i, &info));
        if (info.state != WARPAES_KEY_DISABLED || info.key_bits == 0) continue;
        const SecretText text = keyset_text(keyset);
        const Keyset with_it = from_json("the keyset", text.view());
        check(warpaes_keyset_set_state(with_it.get(), info.key_id, WARPAES_KEY_ENABLED));
        if (opens(with_it.get())) return info.key_id;
    }
    return std::nullopt;
}

SecretText keyset_text(const warpaes_keyset* keyset, const std::optional<Lock>& lock) {
    SecretText text;
    text.fill([&](char* room) {
        std::size_t length = 0;
        if (lock && lock->kek) {
            const auto& [key, aad] = *lock->kek;
            const std::string_view kek = key.text.view();
            check_of(key.name, warpaes_keyset_wrap_under(keyset, kek.data(), kek.size(), aad.data(), aad.size(), room,
                                                         SecretText::capacity, &length));
        } else if (lock) {
            const SecretBytes& passphrase = lock->passphrase;
            check(warpaes_keyset_wrap(keyset, passphrase.data(), passphrase.size(), &lock->cost, room,
                                      SecretText::capacity, &length));
        } else {
            check(warpaes_keyset_write(keyset, room, SecretText::capacity, &length));
        }
        return length;
    });
    return text;
}

}  // namespace cli

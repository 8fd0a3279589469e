// `warpaes keys`: lists the keys of a keyset, and rotates them.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <functional>

#include "command.hpp"
#include "keyset_file.hpp"
#include "keyset_source.hpp"
#include "own_keyset.hpp"
#include "record.hpp"
#include "secrets.hpp"
#include "templates.hpp"

namespace cli {

namespace {

using nlohmann::json;

std::vector<warpaes_key_info> keys_of(const warpaes_keyset* keyset) {
    std::vector<warpaes_key_info> list(warpaes_keyset_count(keyset));
    for (std::size_t i = 0; i < list.size(); ++i) {
        list[i].struct_size = sizeof list[i];
        check(warpaes_keyset_query(keyset, i, &list[i]));
    }
    return list;
}

const char* state_name(warpaes_key_state state) {
    return state == WARPAES_KEY_ENABLED ? "enabled" : state == WARPAES_KEY_DISABLED ? "disabled" : "destroyed";
}

void list_keys(KeyOptions options, bool as_json) {
    options.peek = true;
    const Keys keys = load_keys(options);
    refuse_unused_locks(options);
    if (keys.raw) throw UsageError("KEYSET: a raw key is not a keyset; `warpaes keygen` creates a keyset");
    json list = json::array();
    if (!as_json) fmt::print("{:<10}  {:<9}  {:<7}  {}\n", "key", "state", "primary", "template");
    for (const warpaes_key_info& key : keys_of(keys.keyset.get())) {
        std::string what = key.template_name;
        if (what.empty() && key.key_bits != 0) {
            what = fmt::format("AES-{}, segments of {} bytes", key.key_bits, key.segment_bytes);
        } else if (what.empty() && key.state != WARPAES_KEY_DESTROYED) {
            what = !keys.peeked                  ? "(not for files)"
                   : keys.lock->has_passphrase() ? "(under the passphrase)"
                                                 : "(under the key)";
        }
        list.push_back({{"key_id", key.key_id},
                        {"state", state_name(key.state)},
                        {"primary", key.primary != 0},
                        {"template", key.template_name},
                        {"key_bits", key.key_bits},
                        {"segment_bytes", key.segment_bytes}});
        if (!as_json) {
            fmt::print("{:<10}  {:<9}  {:<7}  {}\n", key.key_id, state_name(key.state), key.primary ? "yes" : "", what);
        }
    }
    if (as_json) print_json(list, 2);
    if (keys.lock && !as_json) {
        flush_output();
        say(fmt::format("Encrypted under a {}{}\n",
                        keys.lock->has_passphrase() ? "passphrase; a guess requires " + cost_text(keys.lock->cost)
                                                    : "key-encryption key",
                        keys.peeked ? "; without it, this list is not authenticated" : ""));
    }
}

constexpr const char* keys_help = R"(Usage: warpaes keys list [--json] KEYSET
       warpaes keys add [-t TEMPLATE] [--primary] KEYSET
       warpaes keys promote|disable|enable|destroy|remove KEYSET ID
       warpaes keys passphrase [--remove] KEYSET|FILE.warpaes

Lists and changes the keys of a keyset. Encryption uses the primary key;
decryption tries every enabled key. A changed file has mode 0600.

  list                   list the keys, not their secrets; needs no passphrase
  add                    add a new key and print its ID; --primary: also make
                         it the primary key
  promote                make this key the primary key
  disable, enable        keep a key but stop using it; use it again
  destroy, remove        delete the key; destroy keeps its ID in the list
  passphrase             encrypt the keyset under a new passphrase; --remove:
                         store it unencrypted. In FILE.warpaes, only the keyset
                         at the start changes; --kek adds a key that opens it

  -k, --keys PLACE       the keyset, instead of KEYSET or $WARPAES_KEYSET
  --passphrase-from PLACE
                         the passphrase of a keyset that has one: a file,
                         env:NAME, fd:N or exec:COMMAND. Default: ask
  --kek PLACE, --kek-aad TEXT
                         the key-encryption key of an encrypted keyset, in a
                         place as above, and its associated data. With this
                         option or --passphrase-from, the keyset must be
                         encrypted
  --new-passphrase-from PLACE, --passphrase-seconds S
                         for `passphrase`: the place of the new passphrase, and
                         the time of one guess in seconds

Example: switch to a new key. Existing files can still be read.
  warpaes keys add --primary keyset.json

)";

/// Removes and parses the last word, which is a key's ID.
std::uint32_t take_id(std::vector<std::string>& words) {
    if (words.empty()) throw UsageError("ID: missing; give the ID of a key, which `warpaes keys list` shows");
    const std::string text = std::exchange(words.back(), {});
    words.pop_back();
    std::uint32_t id = 0;
    const char* end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, id);
    if (error != std::errc() || at != end) {
        throw UsageError(fmt::format("ID: '{}' is not the ID of a key; `warpaes keys list` shows the IDs", text));
    }
    return id;
}

void refuse_unknown_key(const warpaes_keyset* keyset, std::uint32_t id) {
    for (const warpaes_key_info& key : keys_of(keyset)) {
        if (key.key_id == id) return;
    }
    throw UsageError(fmt::format("ID: key {} is not in the keyset; `warpaes keys list` shows its keys", id));
}

/// Refuses an unknown subcommand, with a suggestion.
void refuse_unknown_verb(int argc, char** argv) {
    const std::vector<std::string> verbs = {"list",   "add",     "promote", "disable",
                                            "enable", "destroy", "remove",  "passphrase"};
    const std::string verb = argc > 1 ? argv[1] : "";
    if (std::find(verbs.begin(), verbs.end(), verb) != verbs.end() || verb.starts_with('-')) return;
    if (verb == "rotate") throw UsageError("'rotate': use `warpaes keys add --primary KEYSET`");
    std::string all;
    for (const std::string& name : verbs) all += (all.empty() ? "" : ", ") + name;
    if (verb.empty()) throw UsageError(fmt::format("no action; give one of {}, or see `warpaes keys --help`", all));
    const std::string hint = did_you_mean(verb, verbs);
    throw UsageError(fmt::format("'{}': unknown action{} give one of {}", verb, hint.empty() ? ";" : hint, all));
}

using Step = std::function<void(KeysetFile&)>;

/// Returns the place of the file to change.
KeysetPlace place_of_file(const KeyOptions& options) {
    const char* variable = std::getenv("WARPAES_KEYSET");
    if (options.keys.empty() && (variable == nullptr || *variable == '\0')) {
        throw UsageError("KEYSET: missing; see `warpaes keys --help`");
    }
    KeysetPlace place = parse_keyset_place("KEYSET", options.keys.empty() ? variable : options.keys[0]);
    if (!place.path()) throw UsageError("KEYSET: must be a file, because this command modifies it");
    return place;
}

/// Returns the path of the file to change.
std::string file_of(const KeyOptions& options) {
    return place_of_file(options).path().value_or("");
}

void change(const KeyOptions& options, const Step& step) {
    KeysetFile file(place_of_file(options), options);
    step(file);
    file.save();
}

}  // namespace

int run_keys(int argc, char** argv) {
    CLI::App app{"", "warpaes keys"};
    app.require_subcommand(1);
    KeyOptions options;
    std::string format = default_template();
    NewPassphrase passphrase("--new-passphrase-from");
    std::uint32_t id = 0;
    bool as_json = false, primary = false, remove = false;
    std::vector<std::string> words;  // KEYSET, if there is no -k, and ID
    const auto command = [&](const char* name, const std::function<void()>& run, bool has_id = false) {
        auto* made = app.add_subcommand(name);
        made->add_option("KEYSET", words);
        made->add_option("-k,--keys", options.keys)->allow_extra_args(false);
        made->add_option("--passphrase-from", options.passphrase_from);
        options.kek.add(*made);
        made->callback([&, run, has_id] {
            if (has_id) id = take_id(words);
            options.keys.insert(options.keys.end(), words.begin(), words.end());
            if (options.keys.size() > 1) throw UsageError("KEYSET: given twice; give it once");
            run();
        });
        return made;
    };

    command("list", [&] { list_keys(options, as_json); })->add_flag("--json", as_json);

    auto* add = command("add", [&] {
        refuse_unknown_template(format);
        if (is_raw_only(format))
            throw UsageError(fmt::format("--template: {} uses raw keys, which keysets cannot contain", format));
        change(options, [&](KeysetFile& file) {
            check(warpaes_keyset_add(file.keyset(), format.c_str(), &id));
            if (primary) check(warpaes_keyset_promote(file.keyset(), id));
        });
        fmt::print("{}\n", id);
    });
    add->add_option("-t,--template", format);
    add->add_flag("--primary", primary);

    auto* lock = command("passphrase", [&] {
        if (remove && passphrase.is_given())
            throw UsageError("--remove: cannot be combined with --new-passphrase-from");
        if (remove) passphrase.refuse_cost();
        const KeysetPlace place = place_of_file(options);
        if (has_own_keyset(*place.path())) {
            if (remove) throw UsageError("--remove: a keyset inside an encrypted file is always encrypted");
            change_own_passphrase(*place.path(), options_at(place, options), passphrase);
            say("The file now has the new passphrase. Earlier copies of the file still have the old passphrase\n");
            return;
        }
        bool under_kek = false;
        change(options, [&](KeysetFile& file) {
            under_kek = file.lock() && file.lock()->kek;
            if (remove && !file.lock()) throw UsageError(fmt::format("'{}' has no passphrase", file_of(options)));
            if (remove) {
                file.lock().reset();
            } else {
                file.lock() = passphrase.take("'" + file_of(options) + "'");
            }
        });
        say(remove ? "The keyset is now unencrypted\n"
                   : fmt::format("The keyset is now encrypted under the new passphrase{}. Earlier copies of the file "
                                 "are unchanged\n",
                                 under_kek ? " instead of the key-encryption key" : ""));
    });
    lock->add_flag("--remove", remove);
    passphrase.add_options(*lock);

    const auto on_key = [&](const char* name, auto step) {
        command(
            name,
            [&options, &id, step] {
                change(options, [&](KeysetFile& file) {
                    refuse_unknown_key(file.keyset(), id);
                    check(step(file.keyset(), id));
                });
            },
            true);
    };
    const auto to_state = [](warpaes_key_state state) {
        return
            [state](warpaes_keyset* keyset, std::uint32_t key) { return warpaes_keyset_set_state(keyset, key, state); };
    };
    on_key("promote", warpaes_keyset_promote);
    on_key("disable", to_state(WARPAES_KEY_DISABLED));
    on_key("enable", to_state(WARPAES_KEY_ENABLED));
    on_key("destroy", to_state(WARPAES_KEY_DESTROYED));
    on_key("remove", warpaes_keyset_remove);
    refuse_keys_in_arguments(argc, argv);
    refuse_unknown_verb(argc, argv);
    parse_options(app, argc, argv, (std::string(keys_help) + template_list()).c_str());
    return 0;
}

}  // namespace cli

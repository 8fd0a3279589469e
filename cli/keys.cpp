// `warpaes keys`: what a keyset holds, and its rotation.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>

#include "command.hpp"
#include "keyset_file.hpp"
#include "keyset_source.hpp"
#include "record.hpp"
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

void list_keys(const std::string& path, bool as_json) {
    const Keys keys = load_keys(path, std::nullopt, 0, nullptr);
    if (keys.raw) throw UsageError(fmt::format("'{}' is a raw key, not a keyset", path));
    json list = json::array();
    if (!as_json) fmt::print("{:<10}  {:<9}  {:<7}  {}\n", "key", "state", "primary", "template");
    for (const warpaes_key_info& key : keys_of(keys.keyset.get())) {
        std::string what = key.template_name;
        if (what.empty() && key.key_bits != 0) {
            what = fmt::format("AES-{}, segments of {} bytes", key.key_bits, key.segment_bytes);
        } else if (what.empty() && key.state != WARPAES_KEY_DESTROYED) {
            what = "(not for files)";
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
}

constexpr const char* help = R"(Usage: warpaes keys list [--json] KEYSET
       warpaes keys add [-t TEMPLATE] [--primary] KEYSET
       warpaes keys promote|disable|enable|destroy|remove KEYSET ID

What a keyset holds, and the rotation of its keys. Encryption uses the primary key, decryption every
enabled one. The file is replaced whole, with mode 0600.

  list                   the keys, without their secrets
  add                    a new key, whose number is printed; --primary: which is used from now on
  promote                makes this key the primary
  disable, enable        keeps a key, unused; uses it again
  destroy                forgets the key for ever; its number stays
  remove                 forgets the key and its number

A rotation: what is written from now on is encrypted with a new key, what was written can be read.
  warpaes keys add --primary keyset.json

)";

void change(const std::string& path, const std::function<void(warpaes_keyset*)>& step) {
    KeysetFile file(path);
    step(file.keyset());
    file.save();
}

}  // namespace

int run_keys(int argc, char** argv) {
    CLI::App app{"", "warpaes keys"};
    app.require_subcommand(1);
    std::string path, format = default_template();
    std::uint32_t id = 0;
    bool as_json = false, primary = false;

    auto* list = app.add_subcommand("list");
    list->add_option("KEYSET", path)->required();
    list->add_flag("--json", as_json);
    list->callback([&] { list_keys(path, as_json); });

    auto* add = app.add_subcommand("add");
    add->add_option("KEYSET", path)->required();
    add->add_option("-t,--template", format);
    add->add_flag("--primary", primary);
    add->callback([&] {
        if (is_raw_only(format)) throw UsageError(fmt::format("--template: {} has raw keys and no keyset", format));
        change(path, [&](warpaes_keyset* keyset) {
            check(warpaes_keyset_add(keyset, format.c_str(), &id));
            if (primary) check(warpaes_keyset_promote(keyset, id));
        });
        fmt::print("{}\n", id);
    });

    const auto on_key = [&](const char* name, auto step) {
        auto* command = app.add_subcommand(name);
        command->add_option("KEYSET", path)->required();
        command->add_option("ID", id)->required();
        command->callback(
            [&path, &id, step] { change(path, [&](warpaes_keyset* keyset) { check(step(keyset, id)); }); });
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
    parse_options(app, argc, argv, (std::string(help) + template_list()).c_str());
    return 0;
}

}  // namespace cli

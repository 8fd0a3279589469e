// `warpaes devices`: lists the available backends, and the reasons why the others are not available.
#include <fmt/format.h>

#include <cstdio>

#include "command.hpp"
#include "progress.hpp"
#include "record.hpp"

namespace cli {

namespace {

using nlohmann::json;

constexpr const char* devices_help = R"(Usage: warpaes devices [--json]

Lists the backends, and shows whether each can run on this machine and, if not,
the reason. --backend and the environment variable WARPAES_BACKEND accept the
names in the first column; --device accepts the numbers in brackets.

  --json   print a JSON record
)";

json to_json(const warpaes_backend_info& info) {
    return {{"name", info.name},
            {"usable", info.usable != 0},
            {"description", info.description},
            {"reason", info.reason},
            {"device", info.device},
            {"multiprocessors", info.multiprocessors},
            {"memory_bytes", info.memory_bytes}};
}

void print_backend(const warpaes_backend_info& info) {
    std::string name = info.name;
    if (info.device >= 0) name += fmt::format("[{}]", info.device);
    fmt::print("{:<10}  {:<6}  {}", name, info.usable != 0 ? "yes" : "no", info.description);
    if (info.multiprocessors != 0) fmt::print(", {} multiprocessors", info.multiprocessors);
    if (info.memory_bytes != 0) fmt::print(", {}", human_bytes(static_cast<double>(info.memory_bytes)));
    if (info.usable == 0) fmt::print(": {}", info.reason);
    fmt::print("\n");
}

/// Locks a page, as the first batch does, because the library notices only then that the driver refuses to lock pages.
/// The backend's description then mentions the refusal. Other failures are ignored.
void try_page_locking() {
    warpaes_engine_options options = WARPAES_ENGINE_OPTIONS_INIT;
    options.backend = gpu_backend();
    warpaes_engine* engine = nullptr;
    if (warpaes_engine_create(&options, &engine) != WARPAES_OK) return;
    void* memory = nullptr;
    if (warpaes_alloc(engine, WARPAES_MEMORY_PAGE_LOCKED, 0, 1, &memory) == WARPAES_OK) warpaes_free(engine, memory);
    warpaes_engine_destroy(engine);
}

}  // namespace

int run_devices(int argc, char** argv) {
    const auto as_json = parse_json_option(argc, argv, devices_help);
    if (!as_json) return 0;
    try_page_locking();
    json list = json::array();
    if (!*as_json) fmt::print("{:<10}  {:<6}  {}\n", "backend", "usable", "description");
    for (const warpaes_backend_info& info : list_backends()) {
        if (*as_json) {
            list.push_back(to_json(info));
        } else {
            print_backend(info);
        }
    }
    if (*as_json) print_json(list, 2);
    return 0;
}

}  // namespace cli

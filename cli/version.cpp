// `warpaes --version`: the version and the build's compiler and libraries.
#include <fmt/format.h>

#include <string>
#include <vector>
#include <warpaes_commit.hpp>

#include "command.hpp"

namespace cli {

namespace {

/// Lists only the CPU backends, which come first, because looking for GPUs takes a second.
std::vector<warpaes_backend_info> cpu_backends() {
    std::vector<warpaes_backend_info> list;
    for (std::size_t i = 0; i < 4; ++i) {
        list.push_back(WARPAES_BACKEND_INFO_INIT);
        check(warpaes_backend_query(i, &list.back()));
    }
    return list;
}

}  // namespace

void print_version() {
    const std::string commit = WARPAES_COMMIT_OF_TREE;
    const auto backends = cpu_backends();
    fmt::print("warpaes {}\n", warpaes_version());
    if (!commit.empty()) {
        fmt::print("commit {}{}\n", commit.substr(0, 12), commit.back() == '+' ? ", changed" : "");
    }
    fmt::print("with {}, {}\n", backends[0].description,
               *WARPAES_CUDA_VERSION == '\0' ? "without CUDA" : "CUDA " WARPAES_CUDA_VERSION);
    std::string can;
    for (std::size_t i = 1; i < backends.size(); ++i) {
        if (backends[i].usable != 0) can += fmt::format("{}{}", can.empty() ? "" : "; ", backends[i].description);
    }
    fmt::print("usable on this machine: {}; see `warpaes devices`\n", can.empty() ? "only libcrypto" : can);
}

}  // namespace cli

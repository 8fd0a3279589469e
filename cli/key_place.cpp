#include "key_place.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <vector>

#include "interrupt.hpp"
#include "secrets.hpp"

namespace cli {

namespace {

/// Whether text that was given as a path may be a passphrase: it contains spaces, or characters that are unusual in
/// file names. Messages do not repeat such text.
bool looks_like_passphrase(std::string_view text) {
    return text.find('/') == std::string_view::npos &&
           text.find_first_of(" \t!\"#$%&'()*;<=>?@[\\]^`{|}") < text.size();
}

class CommandHost final : public warpaes::places::Host {
public:
    ssize_t read(int fd, void* buffer, std::size_t bytes) override { return read_or_interrupted(fd, buffer, bytes); }
    pid_t wait(pid_t process, int* status) override { return wait_or_interrupted(process, status); }
    bool is_interrupted() noexcept override { return true; }
    void warn(const std::string& sentence) override { cli::warn(sentence); }
    void note_file(const std::string& name, int fd) override { note_key_file(name, fd); }
    std::vector<std::string> secret_variables() override { return variables_in_arguments(); }
    [[noreturn]] void refuse_file(const std::string& option, const std::string& path, int error) override {
        if (error == ENOENT) refuse_passphrase(option, path);
        throw Failure(WARPAES_ERROR_NOT_FOUND, fmt::format("{}: cannot open '{}': {}{}", option, path,
                                                           std::strerror(error), did_you_mean_file(path)));
    }
};

}  // namespace

void refuse_passphrase(const std::string& option, const std::string& place) {
    if (!looks_like_passphrase(place) || ::access(place.c_str(), F_OK) == 0) return;
    throw Failure(
        WARPAES_ERROR_NOT_FOUND,
        fmt::format(
            "{}: no file has this name, which is not repeated here because it may be a passphrase. Give a key file; "
            "the command prompts for the passphrase of a keyset that `warpaes keygen --passphrase -o keyset.json` "
            "created",
            option));
}

void refuse_key(const std::string& option, const char* place) {
    as_command([&] { warpaes::places::refuse_key(option, place); });
}

void read_text(SecretText& text, const std::string& what, int fd) {
    CommandHost host;
    as_command([&] { text.read(what, fd, host); });
}

PlacedKey read_key_place(const std::string& option, const std::string& place) {
    CommandHost host;
    return as_command([&] { return warpaes::places::read_location(option, place, host); });
}

SecretBytes read_passphrase_place(const std::string& option, const std::string& place) {
    CommandHost host;
    return as_command([&] {
        const PlacedKey key = warpaes::places::read_passphrase_at(option, place, host);
        SecretBytes passphrase;
        static_assert(warpaes::places::most_passphrase <= SecretBytes::capacity);
        for (const char c : warpaes::places::passphrase_in(key.name, key.text.view())) passphrase.push_back(c);
        return passphrase;
    });
}

void KekOptions::add(CLI::App& app) {
    CLI::Option* kek = app.add_option("--kek", place);
    app.add_option("--kek-aad", aad)->needs(kek);
}

std::shared_ptr<const Kek> KekOptions::take() const {
    if (!*read) *read = std::make_shared<const Kek>(Kek{read_key_place(option, *place), aad.value_or("")});
    return *read;
}

}  // namespace cli

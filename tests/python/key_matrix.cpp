// The C++ part of test_key_matrix.py: like key_matrix.c, with a writer and a reader.
#include <warpaes/names.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <warpaes/streams.hpp>

namespace {

std::size_t answer(const std::string& /*question*/, std::span<char> passphrase) {
    const std::string word = std::getenv("MATRIX_WORD");
    return word.copy(passphrase.data(), passphrase.size());
}

/// A file and its associated data.
struct Place {
    std::string path, bound;
};

/// Returns FOLDER/NAME in a tree whose names are encrypted, and creates the folder.
Place named(const warpaes::Engine& engine, const warpaes::Keyset& keyset, char** names) {
    warpaes_names* raw = nullptr;
    warpaes::check(warpaes_names_create(engine.get(), keyset.get(), &raw));
    const std::unique_ptr<warpaes_names, void (*)(warpaes_names*)> keys(raw, warpaes_names_destroy);
    const auto stored = [&](const std::string& folder, const std::string& name) {
        std::string text(WARPAES_STORED_NAME_BYTES, '\0');
        std::size_t length = 0;
        warpaes::check(warpaes_names_encrypt(keys.get(), 0, folder.data(), folder.size(), name.data(), name.size(),
                                             text.data(), text.size(), &length));
        return text.substr(0, length);
    };
    const std::string folder = std::string(names[0]) + "/" + stored("", names[1]);
    std::filesystem::create_directories(folder);
    const std::string nul(1, '\0');
    return {folder + "/" + stored(names[1], names[2]),
            "warpaes-names-1" + nul + std::string(names[1]) + "/" + names[2] + nul};
}

void run(const std::string& action, const warpaes::Keyset& keyset, char** names) {
    const warpaes::Engine engine;
    const bool writes = action.starts_with("write");
    const Place place = action.ends_with("-named") ? named(engine, keyset, names + writes) : Place{names[writes], ""};
    if (writes) {
        std::ifstream file(names[0], std::ios::binary);
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        auto writer = warpaes::Writer::to_file(engine, keyset, place.path, place.bound);
        writer.write(text);
        writer.finish();
    } else {
        const auto reader = warpaes::Reader::of_file(engine, keyset, place.path, place.bound);
        std::string text(reader.size(), '\0');
        reader.read(0, text);
        std::cout << text << std::flush;
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::string action = argc > 1 ? argv[1] : "";
    if (argc != (action.starts_with("write") ? 5 : 4) + (action.ends_with("-named") ? 2 : 0)) return 2;
    try {
        warpaes::PlaceOptions options;
        options.ask = answer;
        run(action, warpaes::Keyset::load(argv[2], options), argv + 3);
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}

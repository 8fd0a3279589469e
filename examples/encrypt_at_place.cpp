// Encrypts a file under the keyset at a place, and creates the keyset if it does not exist, in C++.
//
//     encrypt_at_place PLACE INPUT OUTPUT
//
// A place is a string such as keyset.json, env:KEYSET or passphrase:keyset.json (docs/keys.md). The command and the
// Python package can decrypt OUTPUT with the same place. The terminal is used to prompt for a passphrase.
#include <unistd.h>

#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>
#include <warpaes/streams.hpp>

namespace {

std::size_t ask(const std::string& question, std::span<char> passphrase) {
    const std::string answer = ::getpass((question + ": ").c_str());
    return answer.copy(passphrase.data(), passphrase.size());
}

warpaes::Keyset load_or_make(const std::string& place) {
    warpaes::PlaceOptions options;
    options.ask = ask;
    options.warning = [](const std::string& sentence) { std::cerr << "warning: " << sentence << '\n'; };
    try {
        return warpaes::Keyset::load(place, options);
    } catch (const warpaes::Error& error) {
        if (error.status() != WARPAES_ERROR_NOT_FOUND) throw;
    }
    warpaes::Keyset keyset;
    keyset.add("AES256_GCM_HKDF_1MB");
    keyset.save(place, options);  // only the user can read the new file
    return keyset;
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc != 4) throw std::runtime_error("usage: encrypt_at_place PLACE INPUT OUTPUT");
    std::ifstream input(argv[2], std::ios::binary);
    if (!input) throw std::runtime_error(std::string(argv[2]) + ": cannot be opened");
    const warpaes::Engine engine;
    auto writer = warpaes::Writer::to_file(engine, load_or_make(argv[1]), argv[3]);
    std::vector<char> piece(1 << 20);
    while (input.read(piece.data(), static_cast<std::streamsize>(piece.size())) || input.gcount() > 0) {
        writer.write(std::span(piece).first(static_cast<std::size_t>(input.gcount())));
    }
    writer.finish();  // OUTPUT does not appear before this call
    return 0;
} catch (const std::exception& e) {
    std::cerr << "encrypt_at_place: " << e.what() << '\n';
    return 1;
}

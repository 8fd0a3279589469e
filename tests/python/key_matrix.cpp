// The C++ part of test_key_matrix.py: like key_matrix.c, with a writer and a reader.
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <warpaes/streams.hpp>

namespace {

std::size_t answer(const std::string& /*question*/, std::span<char> passphrase) {
    const std::string word = std::getenv("MATRIX_WORD");
    return word.copy(passphrase.data(), passphrase.size());
}

void run(const std::string& action, const warpaes::Keyset& keyset, char** names) {
    const warpaes::Engine engine;
    if (action == "write") {
        std::ifstream file(names[0], std::ios::binary);
        const std::string text{std::istreambuf_iterator<char>(file), {}};
        auto writer = warpaes::Writer::to_file(engine, keyset, names[1]);
        writer.write(text);
        writer.finish();
    } else {
        const auto reader = warpaes::Reader::of_file(engine, keyset, names[0]);
        std::string text(reader.size(), '\0');
        reader.read(0, text);
        std::cout << text << std::flush;
    }
}

}  // namespace

int main(int argc, char** argv) {
    const std::string action = argc > 1 ? argv[1] : "";
    if (argc != (action == "write" ? 5 : 4)) return 2;
    try {
        warpaes::PlaceOptions options;
        options.ask = answer;
        run(action, warpaes::Keyset::load(argv[2], options), argv + 3);
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
}

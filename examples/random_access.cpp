// Prints a range of a file written by encrypt_file, and reads only that range, in C++.
//
//     random_access KEY_FILE FILE OFFSET LENGTH
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>
#include <warpaes/warpaes.hpp>

namespace {

std::vector<char> read(const std::string& path, std::uint64_t offset, std::size_t length) {
    std::ifstream file(path, std::ios::binary);
    std::vector<char> bytes(length);
    file.seekg(static_cast<std::streamoff>(offset)).read(bytes.data(), static_cast<std::streamsize>(length));
    if (file.gcount() != static_cast<std::streamsize>(length)) throw std::runtime_error(path + ": too short");
    return bytes;
}

}  // namespace

int main(int argc, char** argv) try {
    if (argc != 5) throw std::runtime_error("usage: random_access KEY_FILE FILE OFFSET LENGTH");
    const std::uint64_t offset = std::stoull(argv[3]);
    const std::size_t length = std::stoul(argv[4]);

    const warpaes::Engine engine;
    const warpaes::Key key(read(argv[1], 0, 32));
    const std::vector<char> counter = read(argv[2], 0, 16);
    std::vector<char> bytes = read(argv[2], counter.size() + offset, length);

    warpaes::Context context(engine);
    context.init(warpaes::Mode::ctr, warpaes::Direction::decrypt, key, counter);
    context.seek(offset);
    context.update(bytes, bytes);  // in place
    std::cout.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return std::cout.flush() ? 0 : 1;
} catch (const std::exception& e) {
    std::cerr << "random_access: " << e.what() << '\n';
    return 1;
}

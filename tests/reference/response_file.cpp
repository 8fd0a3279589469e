#include "response_file.hpp"

#include <fstream>
#include <stdexcept>

namespace vectors {

Bytes from_hex(const std::string& hex) {
    if (hex.size() % 2 != 0) throw std::runtime_error("an odd number of hexadecimal digits: " + hex);
    Bytes out;
    for (std::size_t i = 0; i < hex.size(); i += 2) {
        out.push_back(static_cast<std::uint8_t>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    }
    return out;
}

Bytes from_bits(const std::string& bits) {
    Bytes out((bits.size() + 7) / 8);
    for (std::size_t i = 0; i < bits.size(); ++i) {
        if (bits[i] == '1') out[i / 8] = static_cast<std::uint8_t>(out[i / 8] | 0x80 >> i % 8);
    }
    return out;
}

Bytes Record::bytes(const std::string& name) const {
    const auto field = fields.find(name);
    return field == fields.end() ? Bytes{} : from_hex(field->second);
}

std::vector<Record> read_response_file(const std::string& path) {
    std::ifstream file(path.starts_with('/') ? path : std::string(WARPAES_VECTORS) + "/" + path);
    if (!file) throw std::runtime_error("cannot open test vectors " + path);
    std::vector<Record> records;
    bool encrypt = true;
    std::string line;
    while (std::getline(file, line)) {
        if (line.empty() || line[0] == '#') continue;
        if (line[0] == '[') {
            encrypt = line == "[ENCRYPT]";
            continue;
        }
        if (line == "FAIL" && !records.empty()) {
            records.back().fields["FAIL"] = "";
            continue;
        }
        const std::size_t equals = line.find(" = ");
        if (equals == std::string::npos) throw std::runtime_error(path + ": not a field: " + line);
        const std::string name = line.substr(0, equals);
        if (name == "COUNT" || name == "Count") records.push_back({encrypt, {}});
        if (records.empty()) throw std::runtime_error(path + ": a field before the first COUNT");
        records.back().fields[name] = line.substr(equals + 3);
    }
    return records;
}

}  // namespace vectors

#include "record.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <map>
#include <utility>

namespace faults {

namespace {

using Counts = std::array<unsigned, 4>;

std::map<std::pair<std::string, std::string>, Counts>& table() {
    static std::map<std::pair<std::string, std::string>, Counts> counts;
    return counts;
}

class WriteRecord final : public testing::Environment {
public:
    void TearDown() override {
        const char* path = std::getenv("WARPAES_FAULTS_RECORD");
        if (path == nullptr) return;
        std::ofstream file(path);
        const char* separator = "[\n";
        for (const auto& [key, counts] : table()) {
            file << std::exchange(separator, ",\n") << R"({"work": ")" << key.first << R"(", "call": ")" << key.second
                 << R"(", "completed": )" << counts[0] << R"(, "refused": )" << counts[1] << R"(, "missed": )"
                 << counts[2] << R"(, "wrong": )" << counts[3] << "}";
        }
        file << "\n]\n";
    }
};

const auto* const environment = testing::AddGlobalTestEnvironment(new WriteRecord);

}  // namespace

void count(const std::string& work, const std::string& call, Outcome outcome) {
    ++table()[{work, call}][static_cast<std::size_t>(outcome)];
}

}  // namespace faults

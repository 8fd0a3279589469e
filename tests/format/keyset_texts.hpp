// What tests of keysets share: texts, bytes, and that a keyset is refused.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/secret.hpp"

namespace warpaes::test {

/// With `to` for the first `from`, which is there.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

inline std::span<const std::uint8_t> bytes(std::string_view text) {
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

inline std::string text(const SecretVector& v) {
    return {v.begin(), v.end()};
}

/// `body` throws an error with this status, whose sentence has these words.
inline void refused(warpaes_status status, const std::string& words, const std::function<void()>& body) {
    try {
        body();
        FAIL() << "taken, where this was expected: " << words;
    } catch (const Error& e) {
        EXPECT_EQ(e.status(), status) << e.what();
        EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
    }
}

}  // namespace warpaes::test

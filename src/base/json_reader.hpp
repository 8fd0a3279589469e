// Strict JSON (RFC 8259) for documents that hold secrets and whose members are known beforehand: read in place, value
// after value, so that no tree of copies has to be wiped.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/secret.hpp"

namespace warpaes {

/// Throws Error{status} with the position and what was expected there, nothing of the text; `subject` is what it is.
class JsonReader {
public:
    JsonReader(std::string_view text, warpaes_status status, const char* subject)
        : text_(text), status_(status), subject_(subject) {}

    /// Calls `member(name)` for each, which reads the value. Names do not repeat.
    template <typename Member>
    void object(Member member) {
        std::vector<std::string> seen;
        open('{');
        for (bool first = true; next('}', first); first = false) {
            std::string name(as_text(string()));
            if (std::find(seen.begin(), seen.end(), name) != seen.end()) refuse("a name that is not there already");
            expect(':');
            member(std::string_view(name));
            seen.push_back(std::move(name));
        }
    }
    /// Calls `element()` for each, which reads it.
    template <typename Element>
    void array(Element element) {
        open('[');
        for (bool first = true; next(']', first); first = false) element();
    }
    /// ASCII, which is all that such documents have.
    SecretVector string();
    /// A number without sign, fraction and exponent, or as protobuf allows a string of its digits.
    std::uint32_t number();
    /// Any number.
    double real();
    /// Nothing but white space follows.
    void end();

    /// For a value that is well-formed and yet not what it has to be.
    [[noreturn]] void refuse(const std::string& expected) const;

    static std::string_view as_text(const SecretVector& bytes) {
        return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    }

private:
    char peek();
    void open(char bracket) { expect(bracket); }
    bool next(char close, bool first);
    void expect(char c);
    std::uint8_t escaped();

    std::string_view text_;
    warpaes_status status_;
    const char* subject_;
    std::size_t at_ = 0;
};

}  // namespace warpaes

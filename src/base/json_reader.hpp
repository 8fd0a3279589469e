// Strict JSON (RFC 8259) for documents that contain secrets and whose members are known in advance. The text is parsed
// in place, value by value, so no tree of copies has to be wiped.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/secret.hpp"

namespace warpaes {

/// A JSON parser. Its functions throw Error{status} with the position and the expected syntax, but no part of the text.
/// `subject` is the name of the document in messages.
class JsonReader {
public:
    JsonReader(std::string_view text, warpaes_status status, const char* subject)
        : text_(text), status_(status), subject_(subject) {}

    /// Calls `member(name)` for each member, which must read its value. Refuses repeated names.
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
    /// Calls `element()` for each element, which must read it.
    template <typename Element>
    void array(Element element) {
        open('[');
        for (bool first = true; next(']', first); first = false) element();
    }
    /// Reads a string of ASCII characters; these documents contain no other characters.
    SecretVector string();
    /// Reads a number without a sign, fraction or exponent, or a string of its digits, as protobuf allows.
    std::uint32_t number();
    /// Reads any JSON number.
    double real();
    /// Throws if the rest of the text contains anything other than white space.
    void end();

    /// Throws because a value is well-formed but not valid here.
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

// Key-encryption keys of keysets, given by --kek.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "key_place.hpp"

namespace CLI {
class App;
}

namespace cli {

/// Tink's keyset of AES-GCM keys or a raw key, and the associated data of its keysets.
struct Kek {
    PlacedKey key;
    std::string aad;
};

struct KekOptions {
    std::string option = "--kek";  ///< the option that gave the place, for messages
    std::optional<std::string> place, aad;
    /// The key, once it has been read, because a descriptor can be read only once.
    std::shared_ptr<std::shared_ptr<const Kek>> read = std::make_shared<std::shared_ptr<const Kek>>();

    void add(CLI::App& app);
    /// Returns the key at `place`, which must be given. Throws Failure.
    [[nodiscard]] std::shared_ptr<const Kek> take() const;
};

}  // namespace cli

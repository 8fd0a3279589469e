// Finds two GCM or CCM encryptions with the same key and IV, which would expose both messages.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "message/batch/entries.hpp"

namespace warpaes {

class NonceCheck {
public:
    /// Adds the messages of an entry; ignores other modes and decryption. `group` is the result of group_of(). `device`
    /// is the device that contains the entry's data.
    void add(std::uint32_t entry, const MessageGroup& group, int device);
    /// Calls `reused` for every entry that contains a message with the same key and IV as another message, in the same
    /// entry or in a different entry. `again(entry)` returns an entry's group.
    void find(const std::function<MessageGroup(std::uint32_t entry)>& again,
              const std::function<void(std::uint32_t entry)>& reused);

private:
    struct Use {
        std::uint64_t hash;
        std::uint64_t message;
        std::uint32_t entry;
        int device;
    };
    std::vector<Use> uses_;
};

}  // namespace warpaes

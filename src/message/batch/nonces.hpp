// Finds two encryptions of GCM or CCM with the same key and IV, which would expose both messages.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "message/batch/entries.hpp"

namespace warpaes {

class NonceCheck {
public:
    /// Adds the messages of an entry; ignores other modes and decryption. `group`: from group_of(). `device`: where the
    /// entry lies.
    void add(std::uint32_t entry, const MessageGroup& group, int device);
    /// Calls `reused` for every entry with a message whose key and IV another message has, in the same entry or
    /// another. `again(entry)` returns an entry's group.
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

// Two encryptions of GCM or CCM with one key and one IV, which would lay both messages open.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "message/batch/entries.hpp"

namespace warpaes {

class NonceCheck {
public:
    /// What group_of makes of the entry; one of another mode or direction is passed over. `device`: where it lies.
    void add(std::uint32_t entry, const MessageGroup& group, int device);
    /// Calls `reused` for every entry that shares a key and an IV with another message, its own or another entry's.
    /// `again(entry)`: its group.
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

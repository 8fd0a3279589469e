// Serial modes of many messages: CBC, CFB128 and OFB encryption, OFB decryption, CMAC and CCM. They process as many
// messages at once as the vectors have lanes. A lane whose message ends takes the next one.
#pragma once

#include <span>

#include "backend/group.hpp"
#include "cpu/simd.hpp"

namespace warpaes::cpu {

/// Whether run_serial() processes messages of this kind.
[[nodiscard]] bool is_stream(Mode mode, Direction direction);

/// Processes all messages of groups for which is_stream() is true.
void run_serial(const SimdBatchKernels& kernels, std::span<const MessageGroup* const> groups);

}  // namespace warpaes::cpu

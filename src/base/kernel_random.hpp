// Random bytes for keys, salts and seeds.
#pragma once

#include <cstdint>
#include <span>

namespace warpaes {

/// Fills `bytes` from the kernel's generator (getrandom), whose state is not part of a process or its snapshots.
/// Children of fork() get other bytes than their parent. Each resumption of a virtual machine's snapshot also gets
/// other bytes if the kernel detects the resumption. On kernels without this call, uses libcrypto's generator for
/// secret values. Throws Error{INTERNAL} if both fail; `what` begins the sentence.
void fill_from_kernel(std::span<std::uint8_t> bytes, const char* what);

}  // namespace warpaes

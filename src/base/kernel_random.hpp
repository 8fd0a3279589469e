// Random bytes for keys, salts and seeds.
#pragma once

#include <cstdint>
#include <span>

namespace warpaes {

/// Fills `bytes` from the kernel's generator (getrandom), which is in no process and in no snapshot of one: children of
/// fork() get other bytes than their parent and, where the kernel sees that a virtual machine was resumed, so does each
/// resumption of one snapshot. Kernels without that call: libcrypto's generator for secret values. Throws
/// Error{INTERNAL} if neither has any; `what` begins the sentence.
void fill_from_kernel(std::span<std::uint8_t> bytes, const char* what);

}  // namespace warpaes

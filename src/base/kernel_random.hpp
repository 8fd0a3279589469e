// Random bytes for keys, salts and seeds.
#pragma once

#include <cstdint>
#include <span>

namespace warpaes {

/// Fills `bytes` from the kernel's generator (getrandom), whose state is not part of a process or its snapshots.
/// Children of fork() get different bytes than their parent. If the kernel detects that a virtual machine was resumed
/// from a snapshot, each resumed machine also gets different bytes. On kernels without getrandom, libcrypto's generator
/// for secret values is used. Throws Error{INTERNAL} if both fail; the error message begins with `what`.
void fill_from_kernel(std::span<std::uint8_t> bytes, const char* what);

}  // namespace warpaes

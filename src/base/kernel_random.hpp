// Random bytes for keys, salts and seeds.
#pragma once

#include <cstdint>
#include <span>

namespace warpaes {

/// Fills `bytes` from the kernel's generator (getrandom), whose state is not part of a process or its snapshots.
/// Children of fork() get different bytes from their parent's. If the kernel detects that a virtual machine was resumed
/// from a snapshot, each resumed machine also gets different bytes. On kernels without this call, uses libcrypto's
/// generator for secret values. Throws Error{INTERNAL} if both fail; `what` begins the sentence.
void fill_from_kernel(std::span<std::uint8_t> bytes, const char* what);

}  // namespace warpaes

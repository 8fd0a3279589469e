// Distributed point functions for two parties, based on a GGM tree (Boyle, Gilboa, Ishai, CCS 2016), and their use in
// private information retrieval. Each party XORs the table entries for which its share of the selection bit is 1. The
// XOR of both answers is the requested entry.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace lab {

/// The generator that derives two children from a seed.
enum class Prg : std::uint8_t {
    aes,    ///< AES-128 with the seed as key: the encryptions of the numbers 0 and 1
    chacha  ///< ChaCha20 with the seed and 16 zero bytes as key, and with counter and nonce 0: bytes 0 to 31
};

/// A node, as four words in memory order: a seed whose lowest bit is the node's control bit.
using DpfNode = std::array<std::uint32_t, 4>;

/// A party's key: its root, and for each level the corrections that are XORed into the left and right child if the
/// parent's control bit is 1.
struct DpfKey {
    DpfNode root{};
    std::vector<std::array<DpfNode, 2>> corrections;
};

/// Computes both children of a node with libcrypto.
std::array<DpfNode, 2> children_of(Prg prg, const DpfNode& node);
/// Creates the keys of both parties for entry `index` of 2^depth entries. `seed` determines the random roots.
std::pair<DpfKey, DpfKey> make_dpf(Prg prg, std::uint64_t index, unsigned depth, std::uint64_t seed);
/// Computes a party's node for one entry with libcrypto.
DpfNode evaluate(Prg prg, const DpfKey& key, std::uint64_t index);

}  // namespace lab

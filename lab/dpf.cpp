#include "lab/dpf.hpp"

#include <openssl/evp.h>

#include <cstring>
#include <memory>
#include <stdexcept>

#include "lab/reference.hpp"

namespace lab {

namespace {

constexpr std::uint32_t control = 1;

DpfNode operator^(const DpfNode& a, const DpfNode& b) {
    return {a[0] ^ b[0], a[1] ^ b[1], a[2] ^ b[2], a[3] ^ b[3]};
}

DpfNode seed_of(DpfNode node) {
    node[0] &= ~control;
    return node;
}

std::array<DpfNode, 2> chacha(const DpfNode& seed) {
    std::array<std::uint8_t, 32> key{};
    const std::array<std::uint8_t, 16> counter_and_nonce{};
    const std::array<std::uint8_t, 32> zeros{};
    std::array<std::uint8_t, 32> stream{};
    std::memcpy(key.data(), seed.data(), 16);
    const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context(EVP_CIPHER_CTX_new(),
                                                                                  EVP_CIPHER_CTX_free);
    int written = 0;
    if (context == nullptr ||
        EVP_EncryptInit_ex(context.get(), EVP_chacha20(), nullptr, key.data(), counter_and_nonce.data()) != 1 ||
        EVP_EncryptUpdate(context.get(), stream.data(), &written, zeros.data(), zeros.size()) != 1) {
        throw std::runtime_error("libcrypto has no ChaCha20");
    }
    std::array<DpfNode, 2> children{};
    std::memcpy(children.data(), stream.data(), sizeof(children));
    return children;
}

}  // namespace

std::array<DpfNode, 2> children_of(Prg prg, const DpfNode& node) {
    const DpfNode seed = seed_of(node);
    if (prg == Prg::chacha) return chacha(seed);
    std::array<std::uint8_t, 16> key{};
    std::array<std::uint8_t, 32> blocks{};
    std::memcpy(key.data(), seed.data(), 16);
    blocks[31] = 1;
    Reference(Mode::ecb, Direction::encrypt, key).run({}, blocks, blocks);
    std::array<DpfNode, 2> children{};
    std::memcpy(children.data(), blocks.data(), sizeof(children));
    return children;
}

std::pair<DpfKey, DpfKey> make_dpf(Prg prg, std::uint64_t index, unsigned depth, std::uint64_t seed) {
    if (depth == 0 || depth > 40 || index >> depth != 0) throw std::invalid_argument("index: below 2^depth");
    std::array<DpfKey, 2> keys;
    std::array<DpfNode, 2> nodes{};
    const std::vector<std::uint8_t> random = random_bytes(32, seed);
    for (std::size_t party = 0; party < 2; ++party) {
        std::memcpy(nodes[party].data(), random.data() + 16 * party, 16);
        nodes[party][0] = (nodes[party][0] & ~control) | static_cast<std::uint32_t>(party);
        keys[party].root = nodes[party];
    }
    for (unsigned level = 0; level < depth; ++level) {
        const std::size_t keep = index >> (depth - 1 - level) & 1;
        const std::array<DpfNode, 2> a = children_of(prg, nodes[0]), b = children_of(prg, nodes[1]);
        const DpfNode lost = seed_of(a[1 - keep] ^ b[1 - keep]);
        std::array<DpfNode, 2> correction{lost, lost};
        for (std::size_t side = 0; side < 2; ++side) {
            correction[side][0] |= (a[side][0] ^ b[side][0] ^ (side == keep ? 1u : 0u)) & control;
        }
        for (std::size_t party = 0; party < 2; ++party) {
            const DpfNode& child = (party == 0 ? a : b)[keep];
            nodes[party] = (nodes[party][0] & control) != 0 ? child ^ correction[keep] : child;
            keys[party].corrections.push_back(correction);
        }
    }
    return {keys[0], keys[1]};
}

DpfNode evaluate(Prg prg, const DpfKey& key, std::uint64_t index) {
    DpfNode node = key.root;
    const std::size_t depth = key.corrections.size();
    for (std::size_t level = 0; level < depth; ++level) {
        const std::size_t side = index >> (depth - 1 - level) & 1;
        const DpfNode child = children_of(prg, node)[side];
        node = (node[0] & control) != 0 ? child ^ key.corrections[level][side] : child;
    }
    return node;
}

}  // namespace lab

#include "engine/pipeline/cipher_stage.hpp"

#include <algorithm>
#include <span>
#include <string>

#include "aes/counter.hpp"
#include "aes/pkcs7.hpp"
#include "base/error.hpp"
#include "engine/chain.hpp"

namespace warpaes {

namespace {

StageNeeds needs_of(const Cipher& cipher, std::uint64_t chunk_bytes) {
    StageNeeds needs;
    needs.staging_bytes = static_cast<std::size_t>(chunk_bytes) + block_bytes;  // room for the padding
    needs.direct = !cipher.pkcs7;
    needs.in_turn = !is_parallel(cipher.mode, cipher.direction);
    if (chains_on_ciphertext(cipher.mode, cipher.direction)) {
        needs.before = cipher.in_place ? Before::saved : Before::read;
    }
    return needs;
}

/// Pads the last block, in the staging buffer into which the chunk was read.
void pad(Chunk& chunk, std::uint8_t* input) {
    const std::size_t used = chunk.input_bytes % block_bytes;
    std::uint8_t* at = input + (chunk.input_bytes - used);
    Secret<Block> block;
    std::copy_n(at, used, block->begin());
    pkcs7_pad(*block, used);
    std::copy(block->begin(), block->end(), at);
    chunk.output_bytes = chunk.input_bytes + (block_bytes - used);
}

void unpad(Chunk& chunk) {
    Secret<Block> block;
    std::copy_n(chunk.output + chunk.output_bytes - block_bytes, block_bytes, block->begin());
    const std::size_t kept = pkcs7_unpad(*block);
    if (kept == block_bytes) {
        throw Error(WARPAES_ERROR_PADDING,
                    "input: the padding is wrong, so the key, passphrase or IV is wrong or the data is damaged");
    }
    chunk.output_bytes -= block_bytes - kept;
}

}  // namespace

CipherStage::CipherStage(const Cipher& cipher, std::uint64_t chunk_bytes)
    : EvenStage(needs_of(cipher, chunk_bytes), chunk_bytes), cipher_(cipher), chain_(cipher.iv) {}

void CipherStage::check_length(std::uint64_t bytes) const {
    if (!needs_whole_blocks(cipher_.mode)) return;
    const bool encrypt = cipher_.direction == Direction::encrypt;
    if (cipher_.pkcs7 && encrypt) return;
    if (bytes % block_bytes != 0) {
        throw Error(WARPAES_ERROR_DATA_LENGTH,
                    "input: is " + std::to_string(bytes) + " bytes, but " +
                        (encrypt ? "ECB and CBC without padding require complete 16-byte blocks"
                                 : "a ciphertext of ECB or CBC consists of complete 16-byte "
                                   "blocks, so it is truncated or has a different format"));
    }
    if (cipher_.pkcs7 && bytes == 0) {
        throw Error(WARPAES_ERROR_DATA_LENGTH, "input: is empty, but a padded ciphertext has at least 16 bytes");
    }
}

void CipherStage::process(Lane& lane, Chunk& chunk) {
    const bool encrypt = cipher_.direction == Direction::encrypt;
    const bool padded = cipher_.pkcs7 && chunk.last;
    chunk.output_bytes = chunk.input_bytes;
    if (padded && encrypt) pad(chunk, const_cast<std::uint8_t*>(chunk.input));
    run(lane, chunk);
    if (padded && !encrypt) unpad(chunk);
}

void CipherStage::run(Lane& lane, const Chunk& chunk) {
    Secret<Block> chain(cipher_.iv);
    MessageGroup stretch = stretch_of(cipher_.mode, cipher_.direction, *cipher_.key, *chain, chunk.input, chunk.output,
                                      chunk.output_bytes);
    stretch.tweak_key = cipher_.tweak_key;
    stretch.data_units = cipher_.data_units;
    stretch.beyond_caches = cipher_.beyond_caches;
    stretch.direct = true;
    if (chunk.last) stretch.unused_bits = cipher_.unused_bits;
    if (needs().in_turn) {
        *chain = *chain_;
        const ChainAfter after(stretch);
        lane.run(stretch);
        if (!chunk.last) *chain_ = after.value(stretch);
    } else {
        const auto read = [&](std::span<std::uint8_t> to) {
            std::copy(chunk.before.end() - std::ssize(to), chunk.before.end(), to.begin());
        };
        *chain = chain_at(cipher_.mode, cipher_.iv, chunk.input_offset, cipher_.data_units, read);
        lane.run(stretch);
    }
}

Totals run_cipher(Engine& engine, const Plan& plan, const Cipher& cipher, Source& source, Sink& sink,
                  const Progress& progress) {
    std::uint64_t chunk_bytes = plan.chunk_bytes;
    if (cipher.mode == Mode::xts) {
        chunk_bytes = std::max<std::uint64_t>(1, chunk_bytes / cipher.data_units.bytes) * cipher.data_units.bytes;
    }
    CipherStage stage(cipher, chunk_bytes);
    Totals totals = run_pipeline(engine, plan, stage, source, sink, progress);
    const std::uint64_t counters = totals.bytes_read / block_bytes + (totals.bytes_read % block_bytes != 0);
    if (cipher.mode == Mode::ctr && wraps(cipher.iv, counters)) totals.notes |= WARPAES_NOTE_COUNTER_WRAPPED;
    return totals;
}

}  // namespace warpaes

// A mode of operation as a pipeline stage: handles chaining between chunks, padding, and the bits of CFB1.
#pragma once

#include "base/secret.hpp"
#include "engine/pipeline/pipeline.hpp"

namespace warpaes {

struct Cipher {
    Mode mode;
    Direction direction;
    const ExpandedKey* key;
    Block iv{};
    bool pkcs7 = false;        ///< ECB, CBC: add the padding, or check and remove it
    unsigned unused_bits = 0;  ///< CFB1: low bits of the last byte that are not part of the message
    bool in_place = false;     ///< source and sink are the same memory
    // XTS:
    const ExpandedKey* tweak_key = nullptr;
    DataUnits data_units{};
    bool beyond_caches = false;  ///< see MessageGroup
};

class CipherStage final : public EvenStage {
public:
    /// `chunk_bytes` is a multiple of 16, or for XTS of the data unit's size.
    CipherStage(const Cipher& cipher, std::uint64_t chunk_bytes);
    void check_length(std::uint64_t bytes) const override;
    void process(Lane& lane, Chunk& chunk) override;

private:
    void run(Lane& lane, const Chunk& chunk);

    Cipher cipher_;
    Secret<Block> chain_;  ///< chaining value of a serial mode; for OFB a block of the key stream
};

/// Runs the cipher in chunks of the plan's size; for XTS, the size is rounded to whole data units. When decrypting with
/// padding, the last block is written only if the padding is right.
Totals run_cipher(Engine& engine, const Plan& plan, const Cipher& cipher, Source& source, Sink& sink,
                  const Progress& progress = {});

}  // namespace warpaes

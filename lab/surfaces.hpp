// [D]'s measurement: a file goes through a buffer, and the time is a surface over the lengths of both.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lab/experiment.hpp"
#include "lab/measure.hpp"
#include "lab/mode.hpp"

namespace lab {

/// ECB under one key in one direction, in a buffer of its own.
class BufferCipher {
public:
    virtual ~BufferCipher() = default;
    /// Where text is put and found again.
    virtual std::span<std::uint8_t> buffer() = 0;
    /// Its first `bytes` bytes, whole blocks, in place; complete on return.
    virtual void run(std::size_t bytes) = 0;
};

/// One of those that [D] compares.
struct Implementation {
    const char* name;
    /// `key`: 16, 24 or 32 bytes; `buffer_bytes`: whole blocks.
    std::unique_ptr<BufferCipher> (*make)(const Context& context, std::span<const std::uint8_t> key,
                                          Direction direction, std::size_t buffer_bytes);
};

extern const Implementation in_plain_cpp;  ///< T-tables, one thread
extern const Implementation with_aes_ni;   ///< production's `aesni` backend, one thread
extern const Implementation on_cuda;       ///< [D]'s kernel, copies included; lab/experiments/d_cuda.cpp

/// Seconds for a file, read, encrypted or decrypted, and written, buffer by buffer.
struct Surface {
    std::string implementation;
    unsigned key_bits;
    Direction direction;
    std::vector<Summary> seconds;  ///< [buffer * files + file]
};

struct Surfaces {
    std::vector<std::uint64_t> files, buffers;  ///< lengths, bytes
    std::vector<std::string> implementations;   ///< those that run here
    std::vector<Surface> list;                  ///< each implementation, key size and direction
    std::vector<std::string> notes;             ///< what is left out, and why
    std::string place;                          ///< where the files were: "a tmpfs", "a disk"

    [[nodiscard]] const Surface& of(const std::string& implementation, unsigned key_bits, Direction direction) const;
    [[nodiscard]] bool has(const std::string& implementation) const;
};

/// Every output is compared with libcrypto's. Tells `context.step` of shares of the experiment up to `most_done`.
/// Throws LeftOut if there is no folder for the files.
Surfaces measure_surfaces(const Context& context, double most_done);

/// Those that the result of D.surfaces was made of, so that what is made of them is made of what is in the record.
Surfaces surfaces_of(const Result& result);

/// "AES-192 decryption".
std::string name_of(unsigned key_bits, Direction direction);

}  // namespace lab

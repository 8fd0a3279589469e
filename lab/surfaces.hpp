// [D]'s measurement: a file is processed through a buffer, and the time is a surface over the lengths of the file and
// the buffer.
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

/// Encrypts or decrypts its own buffer in ECB with one key.
class BufferCipher {
public:
    virtual ~BufferCipher() = default;
    /// Returns the buffer, which holds the input before the call and the output afterwards.
    virtual std::span<std::uint8_t> buffer() = 0;
    /// Processes the first `bytes` bytes of the buffer in place and waits until they are done. `bytes` is a multiple of
    /// 16.
    virtual void run(std::size_t bytes) = 0;
};

/// One of the implementations that [D] compares.
struct Implementation {
    const char* name;
    /// `key` has 16, 24 or 32 bytes. `buffer_bytes` is a multiple of 16.
    std::unique_ptr<BufferCipher> (*make)(const Context& context, std::span<const std::uint8_t> key,
                                          Direction direction, std::size_t buffer_bytes);
};

extern const Implementation in_plain_cpp;  ///< T-tables, one thread
extern const Implementation with_aes_ni;   ///< production's `aesni` backend, one thread
extern const Implementation on_cuda;       ///< [D]'s kernel, copies included; lab/experiments/d_surfaces.cpp

/// The seconds that it takes to read a file, encrypt or decrypt it, and write it, buffer by buffer.
struct Surface {
    std::string implementation;
    unsigned key_bits;
    Direction direction;
    std::vector<Summary> seconds;  ///< [buffer * files + file]
};

struct Surfaces {
    std::vector<std::uint64_t> files, buffers;  ///< lengths in bytes
    std::vector<std::string> implementations;   ///< implementations that can run here
    std::vector<Surface> list;                  ///< one for each implementation, key size and direction
    std::vector<std::string> notes;             ///< implementations that were omitted, with reasons
    std::string place;                          ///< where the files were: "a tmpfs", "a disk"

    [[nodiscard]] const Surface& of(const std::string& implementation, unsigned key_bits, Direction direction) const;
    [[nodiscard]] bool has(const std::string& implementation) const;
};

/// Measures all surfaces. Compares every output with libcrypto's. Reports progress to `context.step` up to the share
/// `most_done` of the experiment. Throws LeftOut if there is no folder for the files.
Surfaces measure_surfaces(const Context& context, double most_done);

/// Reads the surfaces back from the result of D.surfaces, so that a model is fitted to exactly the recorded figures.
Surfaces surfaces_of(const Result& result);

/// "AES-192 decryption".
std::string name_of(unsigned key_bits, Direction direction);

}  // namespace lab

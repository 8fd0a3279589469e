// The host's work before and after launches: copies, waiting, preparation.
#pragma once

#include <cstddef>
#include <cstdint>

#include "aes/types.hpp"
#include "backend/gpu_tuning.hpp"

namespace warpaes::cuda {

/// Page-locked memory that kernels access in place.
struct PageLockedAccess {
    static constexpr std::uint64_t by_default = 1 << 20;     ///< up to this length, even if not requested
    static constexpr std::uint64_t least_wiped = 512 << 10;  ///< from this length onwards, the device wipes the memory
    /// Up to this length, one launch is faster than simultaneous copies in both directions.
    static constexpr std::uint64_t most = std::uint64_t{16} << 20, most_ctr = std::uint64_t{8} << 20;

    /// Whether kernels read and write nearly every byte only once. (GCM kernels read the ciphertext again for GHASH.)
    static constexpr bool is_once(Mode mode, Direction direction) {
        return is_parallel(mode, direction) && mode != Mode::gcm && mode != Mode::cfb8 && mode != Mode::cfb1;
    }
    static constexpr std::uint64_t most_for(Mode mode, Direction direction) {
        return !is_once(mode, direction) ? 0 : mode == Mode::ctr ? most_ctr : most;
    }
};

/// Copies between host and device.
struct Copies {
    /// Chunks of at least this length are copied through the device's copy queues. For smaller chunks, the ordering
    /// costs more than it saves, and the memory may be pageable.
    static constexpr std::uint64_t least_queued = std::uint64_t{1} << 20;
    /// Shorter copies in a batch are gathered if there are more than `few` of them.
    static constexpr std::uint64_t least_alone = 64 * 1024;
    static constexpr std::size_t few = 64;
    static constexpr std::uint64_t least_row = 256;  ///< minimum size of rows that a copy engine copies at its full
                                                     ///< rate
    /// Gathering uses several threads, because a single thread is slower than the link to the device.
    static constexpr std::uint64_t least_of_thread = 512 * 1024, most_threads = 8;
};

/// The side buffer of a batch on a caller's stream. A kernel copies up to `most_by_kernel` bytes, because a copy engine
/// would first copy everything that other streams have enqueued before.
struct SideCopies {
#if defined(WARPAES_SIMT)
    static constexpr std::size_t most_by_kernel = 8 << 10;  // so that tests copy both ways
#else
    static constexpr std::size_t most_by_kernel = 256 << 10;
#endif
    static constexpr int threads = 256, blocks_each = 2;  ///< thread blocks per multiprocessor
};

/// Long GCM messages in a batch on a caller's stream. Each gets its own launches, which need neither descriptors nor
/// key slots, if it has at least `least_of_many` bytes. `least` bytes are enough for one message, and for up to `few`
/// under several keys, for which the kernels for batches are slow.
struct StreamMessages {
#if defined(WARPAES_SIMT)
    static constexpr std::uint64_t least = 320 << 10, least_of_many = 640 << 10;  // which the simulator takes
#else
    static constexpr std::uint64_t least = 2 << 20, least_of_many = 8 << 20;
#endif
    static constexpr std::uint64_t few = 16;
    static constexpr std::uint64_t most_aad = 1024;  ///< which the host hashes

    static constexpr bool take(std::uint64_t messages, std::uint64_t shortest, bool several_keys) {
        return shortest >= (messages == 1 || (several_keys && messages <= few) ? least : least_of_many);
    }
};

/// Parts of a batch on a caller's stream whose texts are also copied. No copy overlaps with the encryption of the first
/// part, and none with the decryption of the last part, so these have about `least` bytes. Each part after the first,
/// or before the last, is up to `growth` times as long as the part next to it: a GPU processes a part in a third of the
/// time of its copy, and each part needs calls.
struct CopiedParts {
#if defined(WARPAES_SIMT)
    static constexpr std::uint64_t least = 4 << 10;  // so that tests have several parts
#else
    static constexpr std::uint64_t least = 8 << 20;
#endif
    static constexpr std::uint64_t growth = 3;
};

/// Preparation of batches.
struct Preparation {
    static constexpr std::size_t groups_of_thread = 32768;  ///< number of groups that justifies another thread
    static constexpr unsigned most_threads = 8;
    /// For messages that are more than this many bytes apart, forming one group has no advantage.
    static constexpr std::uint64_t most_distance = std::uint64_t{1} << 20;
};

/// How often a host polls page-locked memory before it waits for the stream. This many polls take about as long as a
/// short kernel.
struct Polling {
    static constexpr int looks = 2000;
};

/// Chunks for a GPU: large enough to hide the fixed cost of a copy, and small enough that the first and the last copy,
/// which overlap with nothing, hardly matter. Pageable memory and files need more host threads, because the threads
/// copy to and from page-locked staging buffers. Their chunks are smaller, to speed up the first call, which allocates
/// the staging buffers.
inline constexpr GpuTransfers gpu_transfers{
    .least_chunk = std::uint64_t{2} << 20,
    .most_chunk = std::uint64_t{16} << 20,
    .chunks = 32,
    .lanes = 3,
    .pageable_chunk = std::uint64_t{2} << 20,
    .pageable_lanes = 16,
};

}  // namespace warpaes::cuda

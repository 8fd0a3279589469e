// Many messages, for [H]'s experiments: as a payload of its data model, and as entries of production's batches; with
// what libcrypto makes of them.
#pragma once

#include <functional>
#include <string>
#include <vector>
#include <warpaes/warpaes.hpp>

#include "lab/experiments/support.hpp"
#include "lab/gpu/payload.hpp"

namespace lab::experiments {

/// Messages of one mode and size, AES-128.
struct Shape {
    Mode mode = Mode::ctr;
    std::uint64_t count = 1;
    std::uint64_t blocks = 1;         ///< of each
    std::uint64_t stride_blocks = 0;  ///< from one to the next; 0: they follow each other
    bool own_keys = false;            ///< a key for each instead of one for all

    [[nodiscard]] std::uint64_t stride() const { return 16 * (stride_blocks != 0 ? stride_blocks : blocks); }
    [[nodiscard]] std::uint64_t bytes() const { return 16 * blocks * count; }
};

/// Where messages lie.
enum class Place { device, page_locked };

class Messages {
public:
    explicit Messages(const Shape& shape, Place place = Place::device);

    [[nodiscard]] const Shape& shape() const { return shape_; }
    /// Texts, then IVs, then keys.
    [[nodiscard]] const std::uint8_t* input() const {
        return place_ == Place::device ? input_.get() : locked_in_.get();
    }
    [[nodiscard]] std::size_t input_bytes() const { return host_.size(); }
    [[nodiscard]] std::uint8_t* output() const { return place_ == Place::device ? output_.get() : locked_out_.get(); }
    [[nodiscard]] std::size_t output_bytes() const { return texts_; }
    [[nodiscard]] std::span<const std::uint8_t> keys() const { return keys_; }
    [[nodiscard]] std::span<const std::uint8_t> iv(std::uint64_t message) const;

    /// The data model's: one descriptor for all messages. `whole`: as one message of the same bytes.
    [[nodiscard]] PreparedPayload prepare(KeySchedules& schedules, bool whole = false) const;
    /// Production's: one entry for all messages, or one each. `key`: for all, unless they have their own.
    [[nodiscard]] std::vector<warpaes_batch_entry> entries(const warpaes::Key& key, bool one_each) const;

    void poison();
    /// Throws Mismatch, naming `what`, if the output is not what libcrypto makes of the messages, or if anything was
    /// written between them. `whole`: of all texts as one message.
    void check(const std::string& what, bool whole = false);
    /// The same where message i of `count` is `runs` of these, the i-th and every `count`th behind it.
    void check_runs(const std::string& what, std::uint64_t count, std::uint64_t runs) const;

private:
    const gpu::DeviceMemory& expected(bool whole);
    void require(const gpu::DeviceMemory& expected, const std::string& what) const;

    Shape shape_;
    Place place_;
    std::uint64_t texts_;  ///< bytes, with gaps
    std::vector<std::uint8_t> host_, keys_;
    gpu::DeviceMemory input_, output_, expected_, expected_whole_;
    gpu::HostMemory locked_in_, locked_out_;
    gpu::Stream stream_;
};

/// Seconds from submitting to the end, by the host's clock. Throws warpaes::Error if an entry fails.
double time_batch(const warpaes::Engine& engine, std::vector<warpaes_batch_entry>& entries);
/// Of each of `calls` such batches, four of them on their way at a time, which read and write the same.
double time_batches(const warpaes::Engine& engine, std::vector<warpaes_batch_entry>& entries, unsigned calls);

/// Throughput in GB/s of production's batch, by the host's clock, and of the data model's kernel, by events; of
/// messages in device memory, both verified.
struct MessageRates {
    Summary production, model;
};
MessageRates rates_of_messages(const Context& context, const warpaes::Engine& engine, const Shape& shape);

/// As many messages of `blocks` blocks as make `bytes` bytes; at least one, at most `most`.
std::uint64_t messages_for(std::uint64_t bytes, std::uint64_t blocks, std::uint64_t most);

}  // namespace lab::experiments

// The subject of the planner's grid: messages from one buffer to another, on one backend.
#pragma once

#include <warpaes/planning.h>

#include <cstddef>
#include <memory>

#include "command.hpp"

namespace cli {

/// Input and output buffers in one kind of memory. Every point of the grid uses the start of these buffers.
class GridBuffers {
public:
    /// Throws Failure if the memory cannot be allocated.
    GridBuffers(warpaes_engine* engine, warpaes_memory memory, int device, std::size_t bytes);
    GridBuffers(const GridBuffers&) = delete;
    GridBuffers& operator=(const GridBuffers&) = delete;
    ~GridBuffers();
    [[nodiscard]] unsigned char* input() const noexcept { return input_; }
    [[nodiscard]] unsigned char* output() const noexcept { return output_; }

private:
    warpaes_engine* engine_;
    unsigned char* input_ = nullptr;
    unsigned char* output_ = nullptr;
};

/// One point of the grid, ready to run repeatedly.
class GridSubject {
public:
    /// `engine` and `buffers` must outlive this object.
    GridSubject(warpaes_engine* engine, const GridBuffers& buffers, const warpaes_work& work, int device);
    /// Returns when the output is complete. Throws Failure.
    void run();

private:
    void make_entry(const GridBuffers& buffers, const warpaes_work& work);

    warpaes_engine* engine_;
    Key key_, tweak_key_;
    unsigned char tag_[16] = {};
    unsigned char iv_[16] = {};
    warpaes_message message_;
    bool batch_;
    warpaes_batch_entry entry_{};
    std::unique_ptr<GridBuffers> besides_;  ///< IVs and tags of a batch's messages
};

}  // namespace cli

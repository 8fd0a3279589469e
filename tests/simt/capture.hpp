// Streams in capture, whose work becomes the nodes of a graph. CUDA refuses calls that cannot be captured. A graph
// runs its nodes in the order of their capture.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "cuda_runtime.h"

namespace simt {

struct Runtime;

/// A graph's nodes. The graph and its executables share them, and the last of these frees them.
struct Nodes {
    struct Node {
        std::function<void()> run;  ///< called without the lock
        int device;
    };
    std::vector<Node> nodes;
    std::vector<std::pair<cudaUserObject_t, unsigned>> objects;
    std::vector<void*> memory;  ///< memory that nodes allocated

    Nodes() = default;
    Nodes(const Nodes&) = delete;
    Nodes& operator=(const Nodes&) = delete;
    ~Nodes();
};

}  // namespace simt

struct CUgraph_st {
    std::shared_ptr<simt::Nodes> its = std::make_shared<simt::Nodes>();
};
struct CUgraphExec_st {
    std::shared_ptr<simt::Nodes> its;
};

namespace simt {

/// The number of pieces of work in each stream before some point of a capture.
using Progress = std::map<cudaStream_t, std::uint64_t>;

struct Capture {
    cudaStream_t origin;
    int device;
    cudaStreamCaptureMode mode;
    std::thread::id thread;
    bool active = true, spoiled = false;
    std::map<cudaStream_t, Progress> streams;  ///< the streams that take part
    std::unique_ptr<CUgraph_st> graph;
};

/// The thread's capture mode (cudaThreadExchangeStreamCaptureMode).
inline thread_local cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;

// Call all of these under the lock.

/// Returns the error for a call to `function` that captures prohibit. Such a call also invalidates the captures that
/// prohibit it.
cudaError_t refuse_unsafe(Runtime& runtime, std::string_view function);
/// Returns the error for a call that concerns the stream's work.
cudaError_t refuse_stream(Runtime& runtime, cudaStream_t stream);
/// Returns the error for a call that waits for the stream or queries whether its work has finished.
cudaError_t refuse_wait(cudaStream_t stream);
/// Returns the capture that the stream takes part in, or null.
[[nodiscard]] std::shared_ptr<Capture> capture_of(cudaStream_t stream);
/// Captures a piece of the stream's work. Returns false if the stream is not in capture.
bool capture_work(cudaStream_t stream, std::function<void()> run);
/// Makes the graph the owner of memory that is allocated in capture.
bool capture_memory(cudaStream_t stream, void* pointer);
/// Ends all captures when the machine is reset.
void drop_captures(Runtime& runtime);

}  // namespace simt

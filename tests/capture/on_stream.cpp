#include "on_stream.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace warpaes::test {

void must(cudaError_t error, const char* what) {
    if (error == cudaSuccess) return;
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

ThreadMode::ThreadMode(cudaStreamCaptureMode mode) : mode_(mode) {
    must(cudaThreadExchangeStreamCaptureMode(&mode_), "setting the thread's capture mode");
}

ThreadMode::~ThreadMode() {
    (void)cudaThreadExchangeStreamCaptureMode(&mode_);
}

CudaStream::CudaStream(unsigned flags) {
    const ThreadMode relaxed;
    must(cudaStreamCreateWithFlags(&stream_, flags), "making a stream");
}

CudaStream::~CudaStream() {
    const ThreadMode relaxed;
    (void)cudaStreamDestroy(stream_);
}

void CudaStream::synchronize() const {
    const ThreadMode relaxed;
    must(cudaStreamSynchronize(stream_), "waiting for a stream");
}

std::uint8_t* CudaMemory::allocate(std::size_t bytes) {
    const ThreadMode relaxed;
    void* memory = nullptr;
    must(cudaMalloc(&memory, bytes), "allocating device memory");
    return static_cast<std::uint8_t*>(memory);
}

void CudaMemory::release(std::uint8_t* memory, std::size_t) noexcept {
    const ThreadMode relaxed;
    (void)cudaFree(memory);
}

void CudaMemory::copy(void* to, const void* from, std::size_t bytes) {
    const ThreadMode relaxed;
    must(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_.get()), "copying");
    must(cudaStreamSynchronize(stream_.get()), "copying");
}

void CudaMemory::write(std::uint8_t* to, std::span<const std::uint8_t> from) {
    copy(to, from.data(), from.size());
}

void CudaMemory::read(std::span<std::uint8_t> to, const std::uint8_t* from) {
    copy(to.data(), from, to.size());
}

Captured::Captured(cudaStream_t stream, cudaStreamCaptureMode mode) : stream_(stream) {
    must(cudaStreamBeginCapture(stream, mode), "beginning a capture");
}

std::string Captured::finish() {
    active_ = false;
    const cudaError_t error = cudaStreamEndCapture(stream_, &graph_);
    if (error == cudaSuccess) return "";
    return std::string("ending the capture: ") + cudaGetErrorString(error) + "; ";
}

void Captured::run(const CudaStream& stream) {
    const ThreadMode relaxed;
    if (exec_ == nullptr) must(cudaGraphInstantiate(&exec_, graph_, 0), "making a graph executable");
    must(cudaGraphLaunch(exec_, stream.get()), "launching a graph");
    must(cudaStreamSynchronize(stream.get()), "running a graph");
}

Captured::~Captured() {
    if (active_) (void)finish();
    const ThreadMode relaxed;
    if (exec_ != nullptr) (void)cudaGraphExecDestroy(exec_);
    if (graph_ != nullptr) (void)cudaGraphDestroy(graph_);
}

GroupSpec for_stream(GroupSpec spec) {
    spec = allowed(spec);
    spec.reports = true;
    spec.null_if_empty = false;
    spec.count = std::max<std::uint64_t>(spec.count, 1);
    spec.length = std::max<std::uint64_t>(spec.length, 16);
    return spec;
}

struct OnStream::Device {
    std::uint8_t* tags = nullptr;  ///< 16 bytes per tag
    std::uint8_t* statuses = nullptr;
};

OnStream::OnStream(std::span<const GroupSpec> specs, std::uint32_t seed, CudaMemory& memory, const KeyPool& pool,
                   KeyHandles& handles)
    : memory_(memory),
      handles_(handles),
      cases_(specs, seed, memory, guarded_memory(), pool),
      entries_(cases_, handles),
      devices_(specs.size()) {
    for (std::size_t i = 0; i < devices_.size(); ++i) {
        const MessageGroup& g = cases_.groups()[i];
        warpaes_batch_entry& e = entries_.entries()[i];
        e.statuses = nullptr;
        if (!uses_tag(g.mode) || g.count == 0) continue;
        if (g.direction == Direction::encrypt) {
            e.tag.at.pointer = devices_[i].tags = memory.allocate(g.count * block_bytes);
            e.tag.stride = block_bytes;
        } else {
            devices_[i].statuses = memory.allocate(g.count * sizeof(warpaes_status));
            memory.write(devices_[i].statuses, std::vector<std::uint8_t>(g.count * sizeof(warpaes_status), 0xee));
            e.statuses = reinterpret_cast<warpaes_status*>(devices_[i].statuses);
        }
    }
}

OnStream::~OnStream() {
    for (const Device& device : devices_) {
        if (device.tags != nullptr) memory_.release(device.tags, 0);
        if (device.statuses != nullptr) memory_.release(device.statuses, 0);
    }
}

std::string OnStream::enqueue_batch(warpaes_engine* engine, cudaStream_t stream) {
    const auto& entries = entries_.entries();
    const warpaes_status status = warpaes_batch_enqueue(engine, nullptr, entries.data(), entries.size(), stream);
    return status == WARPAES_OK ? "" : std::string("warpaes_batch_enqueue: ") + warpaes_last_error() + "; ";
}

std::string OnStream::enqueue_messages(warpaes_engine* engine, cudaStream_t stream) {
    std::string wrong;
    for (std::size_t i = 0; i < devices_.size(); ++i) {
        warpaes_message m = message_of(cases_.groups()[i], handles_);
        if (devices_[i].tags != nullptr) m.tag = devices_[i].tags;
        m.device_status = reinterpret_cast<warpaes_status*>(devices_[i].statuses);
        if (warpaes_crypt_async(engine, &m, stream, nullptr) == WARPAES_OK) continue;
        wrong += std::string("warpaes_crypt_async: ") + warpaes_last_error() + "; ";
    }
    return wrong;
}

std::string OnStream::complaints() {
    std::string wrong;
    for (std::size_t i = 0; i < devices_.size(); ++i) {
        const MessageGroup& g = cases_.groups()[i];
        if (devices_[i].tags != nullptr) {
            std::vector<std::uint8_t> tags(g.count * block_bytes);
            memory_.read(tags, devices_[i].tags);
            for (std::uint64_t m = 0; m < g.count; ++m) {
                std::copy_n(tags.begin() + static_cast<std::ptrdiff_t>(m * block_bytes), g.tag_length, g.tag.at(m));
            }
        }
        if (devices_[i].statuses == nullptr) continue;
        std::vector<warpaes_status> statuses(g.count);
        memory_.read({reinterpret_cast<std::uint8_t*>(statuses.data()), g.count * sizeof(warpaes_status)},
                     devices_[i].statuses);
        for (std::uint64_t m = 0; m < g.count; ++m) {
            if (statuses[m] == WARPAES_ERROR_AUTHENTICATION) {
                g.failed[m] = 1;
            } else if (statuses[m] != WARPAES_OK) {
                wrong += "status " + std::to_string(statuses[m]) + "; ";
            }
        }
    }
    return wrong + cases_.complaints();
}

bool OnStream::in_place() const {
    return std::any_of(cases_.groups().begin(), cases_.groups().end(),
                       [](const MessageGroup& g) { return g.input.first == g.output.first; });
}

}  // namespace warpaes::test

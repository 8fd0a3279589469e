#include "message/executor.hpp"

#include "base/error.hpp"
#include "pipeline/gcm.hpp"
#include "pipeline/memory.hpp"
#include "pipeline/message.hpp"

namespace warpaes {

Executor::Executor(Engine& engine, const std::uint8_t* input, const std::uint8_t* output,
                   std::optional<CallerStream> stream)
    : engine_(engine), stream_(stream) {
    const MemoryPlace in = cuda_backend().place(input);
    const MemoryPlace out = cuda_backend().place(output);
    const bool in_device = in.kind == Memory::device, out_device = out.kind == Memory::device;
    if (in_device && out_device && in.device != out.device) {
        throw Error(WARPAES_ERROR_ARGUMENT, "output: lies on another device than input");
    }
    device_only_ = in_device && out_device;
    output_device_ = device_of(out);
    if (in_device || out_device) {
        device_ = in_device ? in.device : out.device;
        memory_ = Memory::device;
        (void)engine.plan(Mode::ctr, Direction::encrypt, 0, Memory::device);  // refuses a forced CPU backend
    } else if (in.kind == Memory::page_locked && out.kind == Memory::page_locked) {
        memory_ = Memory::page_locked;
    }
    if (stream_ && !device_only_) {
        throw Error(WARPAES_ERROR_ARGUMENT, "input, output: an asynchronous call takes buffers in device memory");
    }
}

void Executor::run(const Run& run) {
    if (run.length == 0) return;
    if (device_only_) {
        CudaBackend& cuda = cuda_backend();
        void* stream = stream_ ? stream_->stream : nullptr;
        cuda.run_async(run, device_, stream);
        if (!stream_) cuda.synchronize(device_, stream);
        backend_ = cuda.name();
        ran_on_device_ = device_;
        return;
    }
    wait_for_buffers();
    run_here(run);
}

void Executor::wait_for_buffers() const {
    if (on_device()) cuda_backend().synchronize(device_, nullptr);
}

void Executor::run_gcm(const GcmRun& run) {
    if (device_only_ && stream_) {
        cuda_backend().run_gcm_async(run, device_, stream_->stream);
        backend_ = cuda_backend().name();
        ran_on_device_ = device_;
        return;
    }
    wait_for_buffers();
    const Outcome outcome = warpaes::run_gcm(engine_, run, memory_, device_);
    backend_ = outcome.backend;
    ran_on_device_ = outcome.device;
    notes_ |= outcome.notes;
}

void Executor::run_here(const Run& run) {
    const Outcome outcome = run_message(engine_, {run.mode, run.direction, run.key, run.chain, run.input, run.output,
                                                  run.length, memory_, device_, run.tweak_key, run.data_unit});
    backend_ = outcome.backend;
    ran_on_device_ = outcome.device;
    notes_ |= outcome.notes;
}

void Executor::run_local(Run run, const Block& in, Block& out) {
    run.input = in.data();
    run.output = out.data();
    run_here(run);
}

void Executor::read(void* to, const std::uint8_t* from, std::size_t bytes) {
    copy_memory(to, from, bytes, device_, stream_ ? stream_->stream : nullptr);
}

void Executor::write(std::uint8_t* to, const void* from, std::size_t bytes) {
    copy_memory(to, from, bytes, device_, stream_ ? stream_->stream : nullptr);
}

}  // namespace warpaes

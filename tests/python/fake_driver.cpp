// Replaces the CUDA driver calls that the Python package makes, so that tests can observe waits for a stream. As with
// CUDA's driver, a thread must make a context current before it can wait.
//
// SPDX-License-Identifier: Apache-2.0

namespace {

using Listener = int (*)(void* stream);

Listener listener = nullptr;

int context_of_device_0, retained = 0;
thread_local int pushed = 0, capture_mode = 0, mode_of_wait = -1;
void* captured_stream = nullptr;
bool captures = false;
constexpr int no_device = 101, no_context = 201;

}  // namespace

extern "C" {

/// Sets the function that is called for every wait. If it is null, every wait succeeds.
[[gnu::visibility("default")]] void listen_to_waits(Listener to) {
    listener = to;
}

/// Returns the number of contexts that were retained and not released.
[[gnu::visibility("default")]] int contexts_retained() {
    return retained;
}

[[gnu::visibility("default")]] int cuDevicePrimaryCtxRetain(void** context, int device) {
    if (device != 0) return no_device;
    *context = &context_of_device_0;
    ++retained;
    return 0;
}

[[gnu::visibility("default")]] int cuDevicePrimaryCtxRelease_v2(int device) {
    if (device != 0) return no_device;
    --retained;
    return 0;
}

[[gnu::visibility("default")]] int cuCtxPushCurrent_v2(void* context) {
    if (context != &context_of_device_0) return no_context;
    ++pushed;
    return 0;
}

[[gnu::visibility("default")]] int cuCtxPopCurrent_v2(void** context) {
    if (pushed == 0) return no_context;
    --pushed;
    *context = &context_of_device_0;
    return 0;
}

/// Declares that this stream is in capture. Null means that no stream is.
[[gnu::visibility("default")]] void capture(void* stream, int begins) {
    captured_stream = stream;
    captures = begins != 0;
}

/// Returns the thread's capture mode during its last wait, and its current mode.
[[gnu::visibility("default")]] int mode_in_last_wait() {
    return mode_of_wait;
}
[[gnu::visibility("default")]] int mode_now() {
    return capture_mode;
}

[[gnu::visibility("default")]] int cuThreadExchangeStreamCaptureMode(int* mode) {
    if (pushed == 0) return no_context;
    const int before = capture_mode;
    capture_mode = *mode;
    *mode = before;
    return 0;
}

[[gnu::visibility("default")]] int cuStreamIsCapturing(void* stream, int* status) {
    if (pushed == 0) return no_context;
    *status = captures && stream == captured_stream ? 1 : 0;
    return 0;
}

[[gnu::visibility("default")]] int cuStreamSynchronize(void* stream) {
    if (pushed == 0) return no_context;
    mode_of_wait = capture_mode;
    return listener == nullptr ? 0 : listener(stream);
}
}

#include "engine/memory.hpp"

#include <cstring>

#include "base/secret.hpp"

namespace warpaes {

MemoryPlace place_of(const void* pointer) noexcept {
    return gpu_memory().place(pointer);
}

int device_of(const void* pointer) noexcept {
    return gpu_memory().place(pointer).device;
}

MemoryStretch stretch_of(const void* pointer, bool far) noexcept {
    return gpu_memory().stretch(pointer, far);
}

Places::Places(const void* in, const void* out, int input_device) noexcept
    : input(input_device >= 0 ? MemoryPlace{Memory::device, input_device} : place_of(in)),
      output(out == in ? input : place_of(out)) {}

Places::Places(const MessageGroup& m, int input_device) noexcept : Places(m.input.first, m.output.first, input_device) {
    if (m.aad_length != 0) aad = place_of(m.aad.first);
    if (m.statuses != nullptr) {
        statuses = place_of(m.statuses);
    } else if (m.tag.first != nullptr) {
        tag = place_of(m.tag.first);
    }
}

void copy_memory(void* to, const void* from, std::size_t bytes, int device, void* stream) {
    if (bytes == 0) return;
    if (device >= 0) {
        gpu_memory().copy(to, from, bytes, device, stream);
    } else {
        std::memmove(to, from, bytes);
    }
}

void copy_anywhere(void* to, const void* from, std::size_t bytes) {
    if (bytes == 0) return;
    const int there = device_of(to), here = device_of(from);
    copy_memory(to, from, bytes, there >= 0 ? there : here);
}

void gather_rows(void* to, const void* from, std::size_t from_stride, std::size_t bytes, std::size_t rows, int device) {
    gpu_memory().copy_rows(to, bytes, from, from_stride, bytes, rows, device, nullptr);
}

void clear_memory(void* memory, std::size_t bytes, int device) {
    if (bytes == 0) return;
    if (device >= 0) {
        gpu_memory().clear(memory, bytes, device, nullptr);
    } else {
        wipe({static_cast<std::uint8_t*>(memory), bytes});
    }
}

bool locks_ordinary_memory() noexcept {
    return gpu_memory().registers();
}

void wait_for_device(int device) {
    if (device >= 0) gpu_memory().synchronize(device, nullptr);
}

DeviceBuffer::DeviceBuffer(int device, std::size_t bytes)
    : data_(static_cast<std::uint8_t*>(gpu_memory().device_alloc(device, bytes))) {}

DeviceBuffer::~DeviceBuffer() {
    if (data_ != nullptr) gpu_memory().device_free(data_);
}

}  // namespace warpaes

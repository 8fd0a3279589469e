// Implements texture objects over linear memory for the simulated CUDA runtime. Kernels read them with tex1Dfetch.

#include "runtime.hpp"

namespace simt {

namespace {

bool is_channel(const cudaChannelFormatDesc& d) {
    const bool bits = d.x == 8 || d.x == 16 || d.x == 32;
    const bool kind = d.f == cudaChannelFormatKindSigned || d.f == cudaChannelFormatKindUnsigned;
    const bool one = d.y == 0 && d.z == 0 && d.w == 0;
    const bool two = d.y == d.x && d.z == 0 && d.w == 0;
    const bool four = d.y == d.x && d.z == d.x && d.w == d.x;
    return bits && kind && (one || two || four);
}

}  // namespace

const void* texel(cudaTextureObject_t object, int index, std::size_t bytes, const Where& where) {
    const Texture* texture = nullptr;
    {
        const std::lock_guard lock(runtime().mutex);
        const auto found = runtime().textures.find(object);
        if (found != runtime().textures.end()) texture = &found->second;
    }
    if (texture == nullptr) fail("tex1Dfetch: no such texture object", where);
    if (texture->texel_bytes != bytes) fail("tex1Dfetch: the type is not the texture's", where);
    const bool inside = index >= 0 && static_cast<std::size_t>(index) < texture->bytes / bytes;
    return inside ? static_cast<const std::uint8_t*>(texture->memory) + static_cast<std::size_t>(index) * bytes
                  : nullptr;
}

}  // namespace simt

using namespace simt;

cudaError_t cudaCreateTextureObject(cudaTextureObject_t* object, const cudaResourceDesc* resource,
                                    const cudaTextureDesc* texture, const cudaResourceViewDesc* view) {
    return call("cudaCreateTextureObject", [&](Runtime& r) {
        if (object == nullptr || resource == nullptr || texture == nullptr) return cudaErrorInvalidValue;
        if (resource->resType != cudaResourceTypeLinear || texture->readMode != cudaReadModeElementType ||
            view != nullptr) {
            return cudaErrorNotSupported;  // the simulator does not support this
        }
        const auto& [memory, channel, bytes] = resource->res.linear;
        const auto* found = r.find(memory);
        if (found == nullptr || !is_channel(channel) || !found->second.on_device() ||
            reinterpret_cast<std::uintptr_t>(memory) % texture_alignment != 0 ||
            bytes > found->first + found->second.bytes - reinterpret_cast<std::uintptr_t>(memory)) {
            return cudaErrorInvalidValue;
        }
        const int channels = 1 + (channel.y != 0) + 2 * (channel.z != 0);
        *object = ++r.last_texture;
        r.textures[*object] = {memory, bytes, static_cast<std::size_t>(channel.x / 8 * channels)};
        return cudaSuccess;
    });
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object) {
    return call("cudaDestroyTextureObject",
                [&](Runtime& r) { return r.textures.erase(object) == 0 ? cudaErrorInvalidValue : cudaSuccess; });
}

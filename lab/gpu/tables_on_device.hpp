// The cipher's tables in device memory, with their textures. For sources that include CUDA headers.
#pragma once

#include "lab/gpu/check.hpp"
#include "lab/gpu/params.hpp"

namespace lab::gpu {

template <typename T>
cudaTextureObject_t make_texture(const T* memory, std::size_t bytes) {
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = const_cast<T*>(memory);
    resource.res.linear.desc = cudaCreateChannelDesc<T>();
    resource.res.linear.sizeInBytes = bytes;
    const cudaTextureDesc description{};
    cudaTextureObject_t texture = 0;
    check(cudaCreateTextureObject(&texture, &resource, &description, nullptr), "creating a texture");
    return texture;
}

/// Tables of one direction. The offset of the S-box satisfies the alignment of a texture.
class TablesOnDevice {
public:
    explicit TablesOnDevice(bool inverse) : memory_(sizeof(Tables)) {
        static_assert(sizeof(Tables::t) % 512 == 0);
        const Tables tables = make_tables(inverse);
        copy(memory_.get(), &tables, sizeof(tables));
        words_ = make_texture(get()->t, sizeof(tables.t));
        bytes_ = make_texture(get()->s, sizeof(tables.s));
    }
    TablesOnDevice(const TablesOnDevice&) = delete;
    TablesOnDevice& operator=(const TablesOnDevice&) = delete;
    ~TablesOnDevice() {
        if (words_ != 0) (void)cudaDestroyTextureObject(words_);
        if (bytes_ != 0) (void)cudaDestroyTextureObject(bytes_);
    }
    [[nodiscard]] const Tables* get() const { return reinterpret_cast<const Tables*>(memory_.get()); }
    /// Stores the tables' addresses and textures in a kernel's parameters.
    void tell(Params& p) const {
        p.tables = get();
        p.words = words_;
        p.bytes = bytes_;
    }

private:
    DeviceMemory memory_;
    cudaTextureObject_t words_ = 0, bytes_ = 0;
};

}  // namespace lab::gpu

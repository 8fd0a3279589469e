// Tests the simulated GPU's textures.
#include <array>

#include "simt_fixture.hpp"

namespace simt_test {
namespace {

struct Fetches {
    cudaTextureObject_t texture;
    unsigned* values;
    int first;
};
__global__ void fetch(const __grid_constant__ Fetches p) {
    p.values[threadIdx.x] = tex1Dfetch<unsigned>(p.texture, p.first + static_cast<int>(threadIdx.x));
}
__global__ void fetch_vectors(const __grid_constant__ Fetches p) {
    const auto v = tex1Dfetch<uint2>(p.texture, p.first + static_cast<int>(threadIdx.x));
    p.values[threadIdx.x] = 1000 * v.x + v.y;
}

template <typename T>
cudaResourceDesc linear(void* memory, std::size_t bytes) {
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = memory;
    resource.res.linear.desc = cudaCreateChannelDesc<T>();
    resource.res.linear.sizeInBytes = bytes;
    return resource;
}

TEST_F(Simt, Textures) {
    const std::array<unsigned, 4> numbers = {7, 8, 9, 10};
    Buffer<unsigned> memory(5), values(8);
    ASSERT_EQ(cudaMemcpy(memory.device(), numbers.data(), sizeof numbers, cudaMemcpyHostToDevice), cudaSuccess);

    cudaTextureObject_t words = 0, pairs = 0;
    const cudaTextureDesc plain{};
    auto resource = linear<unsigned>(memory.device(), sizeof numbers);
    ASSERT_EQ(cudaCreateTextureObject(&words, &resource, &plain, nullptr), cudaSuccess);
    ASSERT_EQ(launch(fetch, 1, 8, 0, Fetches{words, values.device(), -1}), cudaSuccess);
    EXPECT_EQ(values.fetch(), (std::vector<unsigned>{0, 7, 8, 9, 10, 0, 0, 0}));  // zero outside the texture

    resource = linear<uint2>(memory.device(), sizeof numbers);
    ASSERT_EQ(cudaCreateTextureObject(&pairs, &resource, &plain, nullptr), cudaSuccess);
    ASSERT_EQ(launch(fetch_vectors, 1, 2, 0, Fetches{pairs, values.device(), 0}), cudaSuccess);
    EXPECT_EQ(values.fetch()[1], 9010u);

    cudaTextureObject_t none = 0;
    resource = linear<unsigned>(memory.device(), 6 * sizeof(unsigned));
    // The texture is too long.
    EXPECT_EQ(cudaCreateTextureObject(&none, &resource, &plain, nullptr), cudaErrorInvalidValue);
    resource = linear<unsigned>(memory.device() + 1, sizeof(unsigned));
    // The address is not aligned.
    EXPECT_EQ(cudaCreateTextureObject(&none, &resource, &plain, nullptr), cudaErrorInvalidValue);
    std::array<unsigned, 64> on_host{};
    resource = linear<unsigned>(on_host.data(), sizeof on_host);
    EXPECT_EQ(cudaCreateTextureObject(&none, &resource, &plain, nullptr), cudaErrorInvalidValue);
    EXPECT_EQ(cudaDestroyTextureObject(words), cudaSuccess);
    EXPECT_EQ(cudaDestroyTextureObject(words), cudaErrorInvalidValue);
    EXPECT_EQ(cudaDestroyTextureObject(pairs), cudaSuccess);
}

using SimtDeathTest = Simt;
TEST_F(SimtDeathTest, TexturesOfAnotherKind) {
    Buffer<unsigned> memory(4), values(4);
    cudaTextureObject_t texture = 0;
    auto resource = linear<uint2>(memory.device(), 16);
    const cudaTextureDesc plain{};
    ASSERT_EQ(cudaCreateTextureObject(&texture, &resource, &plain, nullptr), cudaSuccess);
    EXPECT_DEATH(launch(fetch, 1, 1, 0, Fetches{texture, values.device(), 0}), "type is not the texture's");
    EXPECT_EQ(cudaDestroyTextureObject(texture), cudaSuccess);
    EXPECT_DEATH(launch(fetch_vectors, 1, 1, 0, Fetches{texture, values.device(), 0}), "no such texture");
}

}  // namespace
}  // namespace simt_test

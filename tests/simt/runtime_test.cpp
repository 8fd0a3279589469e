// Tests the simulated CUDA runtime.
#include <array>
#include <span>

#include "simt_fixture.hpp"

namespace simt_test {
namespace {

TEST_F(Simt, RefusesLaunchesAsCudaDoes) {
    Buffer<unsigned> sums(1);
    const Block arguments{sums.device(), 1};
    EXPECT_EQ(launch(sum_block, 1, 1025, 0, arguments), cudaErrorInvalidConfiguration);
    EXPECT_EQ(launch(sum_block, 0, 32, 0, arguments), cudaErrorInvalidConfiguration);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    EXPECT_EQ(launch(sum_block, 1, 32, 48 * 1024 + 1, arguments), cudaErrorInvalidValue);
    const auto limit = cudaFuncAttributeMaxDynamicSharedMemorySize;
    EXPECT_EQ(cudaFuncSetAttribute(sum_block, limit, 232449), cudaErrorInvalidValue);
    EXPECT_EQ(cudaFuncSetAttribute(sum_block, limit, 232448), cudaSuccess);
    EXPECT_EQ(launch(sum_block, 1, 32, 232448, arguments), cudaSuccess);

    simt::reset({.devices = 2});
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
    ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
    cudaLaunchConfig_t config{
        .gridDim = 1, .blockDim = 32, .dynamicSmemBytes = 128, .stream = stream, .attrs = nullptr, .numAttrs = 0};
    EXPECT_EQ(cudaLaunchKernelEx(&config, sum_block, arguments), cudaErrorInvalidResourceHandle);
    // The shared-memory limit that was set above applies only to the other device.
    EXPECT_EQ(launch(sum_block, 1, 32, 232448, arguments), cudaErrorInvalidValue);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
}

TEST_F(Simt, Occupancy) {
    int blocks = -1;
    ASSERT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, sum_block, 1024, 4096), cudaSuccess);
    EXPECT_EQ(blocks, 2);
    ASSERT_EQ(cudaFuncSetAttribute(sum_block, cudaFuncAttributeMaxDynamicSharedMemorySize, 160 * 1024), cudaSuccess);
    ASSERT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, sum_block, 64, 160 * 1024), cudaSuccess);
    EXPECT_EQ(blocks, 1);
}

cudaPointerAttributes attributes_of(const void* pointer) {
    cudaPointerAttributes attributes{};
    EXPECT_EQ(cudaPointerGetAttributes(&attributes, pointer), cudaSuccess);
    return attributes;
}

TEST_F(Simt, TellsWhereMemoryLies) {
    simt::reset({.devices = 3});
    ASSERT_EQ(cudaSetDevice(2), cudaSuccess);
    std::uint8_t *device = nullptr, *managed = nullptr, *locked = nullptr;
    std::vector<std::uint8_t> registered(100), pageable(100);
    ASSERT_EQ(cudaMalloc(&device, 100), cudaSuccess);
    ASSERT_EQ(cudaMallocManaged(&managed, 100), cudaSuccess);
    ASSERT_EQ(cudaHostAlloc(&locked, 100, cudaHostAllocPortable), cudaSuccess);
    ASSERT_EQ(cudaHostRegister(registered.data(), 100, cudaHostRegisterDefault), cudaSuccess);
    EXPECT_EQ(cudaHostRegister(registered.data() + 10, 10, 0), cudaErrorHostMemoryAlreadyRegistered);

    EXPECT_EQ(attributes_of(device + 99).type, cudaMemoryTypeDevice);
    EXPECT_EQ(attributes_of(device + 99).device, 2);
    EXPECT_EQ(attributes_of(device + 99).devicePointer, device + 99);
    EXPECT_EQ(attributes_of(device).hostPointer, nullptr);
    EXPECT_EQ(attributes_of(managed).type, cudaMemoryTypeManaged);
    EXPECT_EQ(attributes_of(locked).type, cudaMemoryTypeHost);
    EXPECT_EQ(attributes_of(registered.data() + 99).type, cudaMemoryTypeHost);
    EXPECT_EQ(attributes_of(pageable.data()).type, cudaMemoryTypeUnregistered);
    EXPECT_EQ(attributes_of(pageable.data()).devicePointer, nullptr);

    EXPECT_EQ(simt::usage(), (simt::Usage{.device_allocations = 2,
                                          .device_bytes = 200,
                                          .host_allocations = 2,
                                          .host_bytes = 200,
                                          .streams = 0,
                                          .events = 0}));
    EXPECT_EQ(cudaFree(locked), cudaErrorInvalidValue);
    EXPECT_EQ(cudaFreeHost(device), cudaErrorInvalidValue);
    EXPECT_EQ(cudaHostUnregister(pageable.data()), cudaErrorHostMemoryNotRegistered);
    EXPECT_EQ(cudaHostUnregister(registered.data()), cudaSuccess);
    EXPECT_EQ(cudaFreeHost(locked), cudaSuccess);
    EXPECT_EQ(cudaFree(managed), cudaSuccess);
    EXPECT_EQ(cudaFree(device), cudaSuccess);
    EXPECT_EQ(cudaFree(device), cudaErrorInvalidValue);
    EXPECT_EQ(simt::usage(), simt::Usage{});
}

TEST_F(Simt, CopiesOnlyInTheDirectionThatItIsTold) {
    Buffer<std::uint8_t> device(100), other(100);
    std::vector<std::uint8_t> host(100, 1), result(100);
    const auto copy = [](void* to, const void* from, cudaMemcpyKind kind) {
        return cudaMemcpyAsync(to, from, 100, kind, nullptr);
    };
    EXPECT_EQ(copy(device.device(), host.data(), cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    EXPECT_EQ(copy(device.device(), host.data(), cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
    EXPECT_EQ(copy(device.device(), host.data(), cudaMemcpyHostToHost), cudaErrorInvalidValue);
    EXPECT_EQ(copy(result.data(), host.data(), cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
    EXPECT_EQ(copy(device.device(), host.data(), cudaMemcpyHostToDevice), cudaSuccess);
    EXPECT_EQ(copy(other.device(), device.device(), cudaMemcpyDeviceToDevice), cudaSuccess);
    EXPECT_EQ(copy(result.data(), other.device(), cudaMemcpyDefault), cudaSuccess);
    EXPECT_EQ(result, host);
    EXPECT_EQ(cudaMemcpy(device.device() + 1, host.data(), 100, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    EXPECT_EQ(cudaMemset(device.device() + 1, 0, 100), cudaErrorInvalidValue);
    EXPECT_EQ(cudaMemset(host.data(), 0, 100), cudaErrorInvalidValue);
}

TEST_F(Simt, ACopyStaysInOneAllocation) {
    alignas(16) static std::uint8_t pinned[96];
    std::uint8_t pageable[96] = {};
    ASSERT_EQ(cudaHostRegister(pinned, 32, 0), cudaSuccess);
    ASSERT_EQ(cudaHostRegister(pinned + 32, 32, 0), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(pinned, pageable, 32, cudaMemcpyDefault), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(pinned, pageable, 33, cudaMemcpyDefault), cudaErrorInvalidValue);
    EXPECT_EQ(cudaMemcpy(pageable, pinned + 16, 32, cudaMemcpyDefault), cudaErrorInvalidValue);
    EXPECT_EQ(cudaMemcpy(pageable, pinned + 32, 64, cudaMemcpyDefault), cudaSuccess) << "on into pageable memory";
    EXPECT_EQ(cudaHostUnregister(pinned), cudaSuccess);
    EXPECT_EQ(cudaHostUnregister(pinned + 32), cudaSuccess);
}

TEST_F(Simt, CopiesRowsAtADistance) {
    Buffer<std::uint8_t> device(38);
    const std::vector<std::uint8_t> rows{1, 2, 3, 4, 5, 6};
    std::vector<std::uint8_t> result(6), wanted(38);
    EXPECT_EQ(cudaMemcpy2DAsync(device.device() + 5, 11, rows.data(), 2, 2, 3, cudaMemcpyDefault), cudaSuccess);
    EXPECT_EQ(cudaMemcpy2DAsync(result.data(), 2, device.device() + 5, 11, 2, 3, cudaMemcpyDefault), cudaSuccess);
    EXPECT_EQ(result, rows);
    for (std::size_t i = 0; i < rows.size(); ++i) wanted[5 + i / 2 * 11 + i % 2] = rows[i];
    std::vector<std::uint8_t> all(38);
    EXPECT_EQ(cudaMemcpy(all.data(), device.device(), 38, cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(all, wanted);
    for (const bool in : {true, false}) {
        EXPECT_EQ(in ? cudaMemcpy2DAsync(device.device() + 6, 11, rows.data(), 2, 2, 3, cudaMemcpyDefault)
                     : cudaMemcpy2DAsync(result.data(), 2, device.device() + 6, 11, 2, 3, cudaMemcpyDefault),
                  cudaErrorInvalidValue)
            << "for the gap after the last row";
    }
    EXPECT_EQ(cudaMemcpy2DAsync(device.device(), 16, rows.data(), 2, 3, 2, cudaMemcpyDefault),
              cudaErrorInvalidPitchValue);
    EXPECT_EQ(cudaMemcpy2DAsync(device.device() + 11, 11, rows.data(), 2, 2, 3, cudaMemcpyDefault),
              cudaErrorInvalidValue);
}

TEST_F(Simt, NewMemoryIsPoisoned) {
    std::uint8_t* device = nullptr;
    std::vector<std::uint8_t> host(100);
    ASSERT_EQ(cudaMalloc(&device, 100), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(host.data(), device, 100, cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(host, std::vector<std::uint8_t>(100, 0xa5));
    EXPECT_EQ(cudaFree(device), cudaSuccess);
}

TEST_F(Simt, FreedMemoryCanBeInspected) {
    std::vector<std::uint8_t> last;
    simt::on_free([&](cudaMemoryType type, std::span<const std::uint8_t> bytes) {
        EXPECT_EQ(type, cudaMemoryTypeDevice);
        last.assign(bytes.begin(), bytes.end());
    });
    void* device = nullptr;
    ASSERT_EQ(cudaMalloc(&device, 10), cudaSuccess);
    ASSERT_EQ(cudaMemset(device, 7, 10), cudaSuccess);
    ASSERT_EQ(cudaFree(device), cudaSuccess);
    EXPECT_EQ(last, std::vector<std::uint8_t>(10, 7));
}

TEST_F(Simt, MemoryThatExistsCanBeInspected) {
    void* memory = nullptr;
    ASSERT_EQ(cudaMalloc(&memory, 7), cudaSuccess);
    ASSERT_EQ(cudaMemset(memory, 0x3c, 7), cudaSuccess);
    unsigned seen = 0;
    const auto look = [&](cudaMemoryType type, std::span<const std::uint8_t> bytes) {
        if (bytes.data() != memory) return;
        EXPECT_EQ(type, cudaMemoryTypeDevice);
        EXPECT_EQ(std::vector<std::uint8_t>(bytes.begin(), bytes.end()), std::vector<std::uint8_t>(7, 0x3c));
        ++seen;
    };
    simt::look_at_memory(look);
    ASSERT_EQ(cudaFree(memory), cudaSuccess);
    simt::look_at_memory(look);
    EXPECT_EQ(seen, 1u);
}

TEST_F(Simt, MemoryRunsOut) {
    simt::reset({.memory = 1000});
    void *a = nullptr, *b = nullptr;
    std::size_t free = 0, total = 0;
    EXPECT_EQ(cudaMalloc(&a, 1001), cudaErrorMemoryAllocation);
    EXPECT_EQ(cudaMalloc(&a, 600), cudaSuccess);
    EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
    EXPECT_EQ(free, 400u);
    EXPECT_EQ(total, 1000u);
    EXPECT_EQ(cudaMallocAsync(&b, 1, nullptr), cudaErrorMemoryAllocation) << "a pool allocates whole blocks";
    EXPECT_EQ(cudaFree(a), cudaSuccess);
}

TEST_F(Simt, APoolKeepsItsBlocks) {
    constexpr std::size_t block = std::size_t{32} << 20;
    simt::reset({.memory = 3 * block});
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    cudaMemPool_t pool = nullptr;
    std::uint64_t kept = block;
    ASSERT_EQ(cudaMemPoolCreate(&pool, &properties), cudaSuccess);
    const auto free = [] {
        std::size_t bytes = 0, total = 0;
        EXPECT_EQ(cudaMemGetInfo(&bytes, &total), cudaSuccess);
        return bytes;
    };
    for (const bool keeps : {false, true}) {
        if (keeps) {
            ASSERT_EQ(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept), cudaSuccess);
        }
        void *a = nullptr, *b = nullptr, *c = nullptr;
        ASSERT_EQ(cudaMallocFromPoolAsync(&a, 100, pool, nullptr), cudaSuccess);
        EXPECT_EQ(free(), 2 * block);
        ASSERT_EQ(cudaMallocFromPoolAsync(&b, block, pool, nullptr), cudaSuccess);
        EXPECT_EQ(free(), block);
        EXPECT_EQ(cudaMallocFromPoolAsync(&c, 2 * block, pool, nullptr), cudaErrorMemoryAllocation);
        ASSERT_EQ(cudaFreeAsync(b, nullptr), cudaSuccess);
        ASSERT_EQ(cudaFreeAsync(a, nullptr), cudaSuccess);
        EXPECT_EQ(free(), keeps ? 2 * block : 3 * block);
    }
}

TEST_F(Simt, AMachineWithoutDevices) {
    simt::reset({.devices = 0});
    int count = -1;
    void* pointer = nullptr;
    EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorNoDevice);
    EXPECT_EQ(count, 0);
    EXPECT_EQ(cudaMalloc(&pointer, 1), cudaErrorNoDevice);
    EXPECT_EQ(cudaSetDevice(0), cudaErrorNoDevice);
    simt::reset({.devices = 0, .absence = cudaErrorInsufficientDriver});
    EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorInsufficientDriver);
}

TEST_F(Simt, DescribesItsDevices) {
    simt::Machine machine{.devices = 2, .multiprocessors = 7};
    machine.become(8, 6);
    simt::reset(machine);
    int count = 0, value = 0;
    EXPECT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
    EXPECT_EQ(count, 2);
    EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 1), cudaSuccess);
    EXPECT_EQ(value, 7);
    EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, 1), cudaSuccess);
    EXPECT_EQ(value, 101376);
    cudaDeviceProp properties{};
    EXPECT_EQ(cudaGetDeviceProperties(&properties, 2), cudaErrorInvalidDevice);
    EXPECT_EQ(cudaGetDeviceProperties(&properties, 1), cudaSuccess);
    EXPECT_EQ(properties.major * 10 + properties.minor, 86);
    EXPECT_EQ(properties.maxThreadsPerMultiProcessor, 1536);
    machine.become(7, 5);
    simt::reset(machine);
    EXPECT_EQ(cudaGetDeviceProperties(&properties, 1), cudaSuccess);
    EXPECT_EQ(properties.major * 10 + properties.minor, 75);
    EXPECT_EQ(properties.sharedMemPerBlockOptin, 65536U);
    EXPECT_EQ(properties.sharedMemPerMultiprocessor, 65536U);
    EXPECT_EQ(properties.maxThreadsPerMultiProcessor, 1024);
    EXPECT_EQ(properties.maxBlocksPerMultiProcessor, 16);
    EXPECT_EQ(cudaSetDevice(2), cudaErrorInvalidDevice);
}

TEST_F(Simt, FailsTheCallsThatItIsToldTo) {
    void* pointer = nullptr;
    simt::fail_call("cudaMalloc", 2, cudaErrorIllegalAddress, 2);
    EXPECT_EQ(cudaMalloc(&pointer, 1), cudaSuccess);
    EXPECT_EQ(cudaFree(pointer), cudaSuccess);
    EXPECT_EQ(cudaMalloc(&pointer, 1), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaPeekAtLastError(), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaMalloc(&pointer, 1), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaMalloc(&pointer, 1), cudaSuccess);
    EXPECT_EQ(simt::calls("cudaMalloc"), 4u);
    EXPECT_EQ(simt::calls("*"), 5u);
    simt::fail_call("*", 1, cudaErrorUnknown);
    EXPECT_EQ(cudaFree(pointer), cudaErrorUnknown);
    EXPECT_EQ(cudaFree(pointer), cudaSuccess);

    simt::fail_call("cudaLaunchKernelEx", 1, cudaErrorLaunchFailure);
    Buffer<unsigned> sums(1);
    EXPECT_EQ(launch(sum_block, 1, 2, 8, Block{sums.device(), 1}), cudaErrorLaunchFailure);
    EXPECT_EQ(sums.fetch()[0], 0u);
}

TEST_F(Simt, StreamsAndEvents) {
    cudaStream_t stream = nullptr;
    cudaEvent_t start = nullptr, end = nullptr, untimed = nullptr;
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaEventCreate(&start), cudaSuccess);
    ASSERT_EQ(cudaEventCreate(&end), cudaSuccess);
    ASSERT_EQ(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming), cudaSuccess);
    float milliseconds = -1;
    EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, end), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaEventRecord(start, stream), cudaSuccess);
    int calls = 0;
    EXPECT_EQ(cudaLaunchHostFunc(
                  stream, [](void* data) { ++*static_cast<int*>(data); }, &calls),
              cudaSuccess);
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(cudaEventRecord(end, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(stream, end, 0), cudaSuccess);
    EXPECT_EQ(cudaStreamQuery(stream), cudaSuccess);
    EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, end), cudaSuccess);
    EXPECT_GE(milliseconds, 0);
    EXPECT_EQ(cudaEventRecord(untimed, stream), cudaSuccess);
    EXPECT_EQ(cudaEventElapsedTime(&milliseconds, start, untimed), cudaErrorInvalidResourceHandle);
    for (const auto event : {start, end, untimed}) EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
    EXPECT_EQ(cudaEventQuery(start), cudaErrorInvalidResourceHandle);
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    EXPECT_EQ(simt::usage(), simt::Usage{});
}

TEST_F(Simt, NamesErrors) {
    EXPECT_STREQ(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation");
    EXPECT_STREQ(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
    EXPECT_STREQ(cudaGetErrorString(static_cast<cudaError_t>(1000)), "unrecognized error code");
}

}  // namespace
}  // namespace simt_test

// The part of the CUDA runtime API that the simulator implements, with CUDA's names, values and signatures.
//
// Streams run their work immediately, in the order of the calls, or late (Machine::late in simt.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

#include "simt_types.h"

// NOLINTBEGIN: these are CUDA's names
#define CUDART_VERSION 13000
#define CUDART_CB
#define CUDARTAPI

/// Arguments of X: the name, the value, and the result of cudaGetErrorString.
#define SIMT_CUDA_ERRORS(X)                                                                                       \
    X(cudaSuccess, 0, "no error")                                                                                 \
    X(cudaErrorInvalidValue, 1, "invalid argument")                                                               \
    X(cudaErrorMemoryAllocation, 2, "out of memory")                                                              \
    X(cudaErrorInitializationError, 3, "initialization error")                                                    \
    X(cudaErrorCudartUnloading, 4, "driver shutting down")                                                        \
    X(cudaErrorInvalidConfiguration, 9, "invalid configuration argument")                                         \
    X(cudaErrorInvalidPitchValue, 12, "invalid pitch argument")                                                   \
    X(cudaErrorInvalidSymbol, 13, "invalid device symbol")                                                        \
    X(cudaErrorInvalidMemcpyDirection, 21, "invalid copy direction for memcpy")                                   \
    X(cudaErrorStubLibrary, 34, "CUDA driver is a stub library")                                                  \
    X(cudaErrorInsufficientDriver, 35, "CUDA driver version is insufficient for CUDA runtime version")            \
    X(cudaErrorDevicesUnavailable, 46, "CUDA-capable device(s) is/are busy or unavailable")                       \
    X(cudaErrorIncompatibleDriverContext, 49, "incompatible driver context")                                      \
    X(cudaErrorInvalidDeviceFunction, 98, "invalid device function")                                              \
    X(cudaErrorNoDevice, 100, "no CUDA-capable device is detected")                                               \
    X(cudaErrorInvalidDevice, 101, "invalid device ordinal")                                                      \
    X(cudaErrorStartupFailure, 127, "startup failure in cuda runtime")                                            \
    X(cudaErrorInvalidKernelImage, 200, "device kernel image is invalid")                                         \
    X(cudaErrorDeviceUninitialized, 201, "invalid device context")                                                \
    X(cudaErrorNoKernelImageForDevice, 209, "no kernel image is available for execution on the device")           \
    X(cudaErrorECCUncorrectable, 214, "uncorrectable ECC error encountered")                                      \
    X(cudaErrorUnsupportedPtxVersion, 222, "the provided PTX was compiled with an unsupported toolchain.")        \
    X(cudaErrorOperatingSystem, 304, "OS call failed or operation not supported on this OS")                      \
    X(cudaErrorInvalidResourceHandle, 400, "invalid resource handle")                                             \
    X(cudaErrorIllegalState, 401, "the operation cannot be performed in the present state")                       \
    X(cudaErrorNotReady, 600, "device not ready")                                                                 \
    X(cudaErrorIllegalAddress, 700, "an illegal memory access was encountered")                                   \
    X(cudaErrorLaunchOutOfResources, 701, "too many resources requested for launch")                              \
    X(cudaErrorLaunchTimeout, 702, "the launch timed out and was terminated")                                     \
    X(cudaErrorPeerAccessAlreadyEnabled, 704, "peer access is already enabled")                                   \
    X(cudaErrorContextIsDestroyed, 709, "context is destroyed")                                                   \
    X(cudaErrorAssert, 710, "device-side assert triggered")                                                       \
    X(cudaErrorHostMemoryAlreadyRegistered, 712, "part or all of the requested memory range is already mapped")   \
    X(cudaErrorHostMemoryNotRegistered, 713, "pointer does not correspond to a registered memory region")         \
    X(cudaErrorIllegalInstruction, 715, "an illegal instruction was encountered")                                 \
    X(cudaErrorMisalignedAddress, 716, "misaligned address")                                                      \
    X(cudaErrorLaunchFailure, 719, "unspecified launch failure")                                                  \
    X(cudaErrorNotPermitted, 800, "operation not permitted")                                                      \
    X(cudaErrorNotSupported, 801, "operation not supported")                                                      \
    X(cudaErrorSystemNotReady, 802, "system not yet initialized")                                                 \
    X(cudaErrorSystemDriverMismatch, 803, "system has unsupported display driver / cuda driver combination")      \
    X(cudaErrorCompatNotSupportedOnDevice, 804, "forward compatibility was attempted on non supported HW")        \
    X(cudaErrorStreamCaptureUnsupported, 900, "operation not permitted when stream is capturing")                 \
    X(cudaErrorStreamCaptureInvalidated, 901, "operation failed due to a previous error during capture")          \
    X(cudaErrorStreamCaptureMerge, 902, "operation would result in a merge of separate capture sequences")        \
    X(cudaErrorStreamCaptureUnmatched, 903, "capture was not ended in the same stream as it began")               \
    X(cudaErrorStreamCaptureUnjoined, 904, "capturing stream has unjoined work")                                  \
    X(cudaErrorStreamCaptureIsolation, 905, "dependency created on uncaptured work in another stream")            \
    X(cudaErrorStreamCaptureImplicit, 906, "operation would make the legacy stream depend on a capturing stream") \
    X(cudaErrorCapturedEvent, 907, "operation not permitted on an event last recorded in a capturing stream")     \
    X(cudaErrorStreamCaptureWrongThread, 908,                                                                     \
      "attempt to terminate a thread-local capture sequence from another thread")                                 \
    X(cudaErrorUnknown, 999, "unknown error")

#define SIMT_ENUMERATOR(name, value, text) name = value,
enum cudaError { SIMT_CUDA_ERRORS(SIMT_ENUMERATOR) };
#undef SIMT_ENUMERATOR
typedef cudaError cudaError_t;

enum cudaMemcpyKind {
    cudaMemcpyHostToHost = 0,
    cudaMemcpyHostToDevice = 1,
    cudaMemcpyDeviceToHost = 2,
    cudaMemcpyDeviceToDevice = 3,
    cudaMemcpyDefault = 4
};

enum cudaMemAllocationType { cudaMemAllocationTypeInvalid = 0, cudaMemAllocationTypePinned = 1 };
enum cudaMemLocationType { cudaMemLocationTypeInvalid = 0, cudaMemLocationTypeDevice = 1 };
enum cudaMemPoolAttr { cudaMemPoolAttrReleaseThreshold = 4 };
struct cudaMemLocation {
    cudaMemLocationType type;
    int id;
};
struct cudaMemPoolProps {
    cudaMemAllocationType allocType;
    cudaMemLocation location;
};
using cudaMemPool_t = struct SimtMemPool*;

enum cudaMemoryType {
    cudaMemoryTypeUnregistered = 0,
    cudaMemoryTypeHost = 1,
    cudaMemoryTypeDevice = 2,
    cudaMemoryTypeManaged = 3
};

struct cudaPointerAttributes {
    cudaMemoryType type;
    int device;
    void* devicePointer;
    void* hostPointer;
};

enum cudaDeviceAttr {
    cudaDevAttrMaxThreadsPerBlock = 1,
    cudaDevAttrMaxBlockDimX = 2,
    cudaDevAttrMaxGridDimX = 5,
    cudaDevAttrMaxSharedMemoryPerBlock = 8,
    cudaDevAttrWarpSize = 10,
    cudaDevAttrClockRate = 13,
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrIntegrated = 18,
    cudaDevAttrCanMapHostMemory = 19,
    cudaDevAttrComputeMode = 20,
    cudaDevAttrMemoryClockRate = 36,
    cudaDevAttrGlobalMemoryBusWidth = 37,
    cudaDevAttrL2CacheSize = 38,
    cudaDevAttrMaxThreadsPerMultiProcessor = 39,
    cudaDevAttrAsyncEngineCount = 40,
    cudaDevAttrUnifiedAddressing = 41,
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor = 76,
    cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
    cudaDevAttrMaxRegistersPerMultiprocessor = 82,
    cudaDevAttrManagedMemory = 83,
    cudaDevAttrPageableMemoryAccess = 88,
    cudaDevAttrConcurrentManagedAccess = 89,
    cudaDevAttrCooperativeLaunch = 95,
    cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
    cudaDevAttrHostRegisterSupported = 99,
    cudaDevAttrMaxBlocksPerMultiprocessor = 106,
    cudaDevAttrReservedSharedMemoryPerBlock = 111,
    cudaDevAttrMemoryPoolsSupported = 115
};

struct cudaDeviceProp {
    char name[256];
    std::size_t totalGlobalMem;
    std::size_t sharedMemPerBlock;
    int regsPerBlock;
    int warpSize;
    int maxThreadsPerBlock;
    int maxThreadsDim[3];
    int maxGridSize[3];
    int major;
    int minor;
    int multiProcessorCount;
    int integrated;
    int canMapHostMemory;
    int pciBusID;
    int pciDeviceID;
    int pciDomainID;
    int asyncEngineCount;
    int unifiedAddressing;
    int memoryBusWidth;
    int l2CacheSize;
    int maxThreadsPerMultiProcessor;
    std::size_t sharedMemPerMultiprocessor;
    int regsPerMultiprocessor;
    int managedMemory;
    int pageableMemoryAccess;
    int concurrentManagedAccess;
    int cooperativeLaunch;
    std::size_t sharedMemPerBlockOptin;
    int maxBlocksPerMultiProcessor;
    std::size_t reservedSharedMemPerBlock;
    int hostRegisterSupported;
    int memoryPoolsSupported;
};

enum cudaFuncAttribute {
    cudaFuncAttributeMaxDynamicSharedMemorySize = 8,
    cudaFuncAttributePreferredSharedMemoryCarveout = 9
};

struct cudaFuncAttributes {
    std::size_t sharedSizeBytes;
    std::size_t constSizeBytes;
    std::size_t localSizeBytes;
    int maxThreadsPerBlock;
    int numRegs;
    int ptxVersion;
    int binaryVersion;
    int maxDynamicSharedSizeBytes;
    int preferredShmemCarveout;
};

// Textures are supported only over linear memory, with unnormalized integer elements of 8, 16 or 32 bits.
enum cudaChannelFormatKind {
    cudaChannelFormatKindSigned = 0,
    cudaChannelFormatKindUnsigned = 1,
    cudaChannelFormatKindFloat = 2,
    cudaChannelFormatKindNone = 3
};
struct cudaChannelFormatDesc {
    int x, y, z, w;  ///< bits
    cudaChannelFormatKind f;
};
enum cudaResourceType {
    cudaResourceTypeArray = 0,
    cudaResourceTypeMipmappedArray = 1,
    cudaResourceTypeLinear = 2,
    cudaResourceTypePitch2D = 3
};
struct cudaResourceDesc {
    cudaResourceType resType;
    union {
        struct {
            void* devPtr;
            cudaChannelFormatDesc desc;
            std::size_t sizeInBytes;
        } linear;
        int reserved[32];
    } res;
    unsigned int flags;
};
enum cudaTextureReadMode { cudaReadModeElementType = 0, cudaReadModeNormalizedFloat = 1 };
enum cudaTextureAddressMode {
    cudaAddressModeWrap = 0,
    cudaAddressModeClamp = 1,
    cudaAddressModeMirror = 2,
    cudaAddressModeBorder = 3
};
enum cudaTextureFilterMode { cudaFilterModePoint = 0, cudaFilterModeLinear = 1 };
struct cudaTextureDesc {
    cudaTextureAddressMode addressMode[3];
    cudaTextureFilterMode filterMode;
    cudaTextureReadMode readMode;
    int sRGB;
    float borderColor[4];
    int normalizedCoords;
};
struct cudaResourceViewDesc;

typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;
typedef void (*cudaHostFn_t)(void* user_data);

#define cudaHostAllocDefault 0x00
#define cudaHostAllocPortable 0x01
#define cudaHostAllocMapped 0x02
#define cudaHostAllocWriteCombined 0x04
#define cudaHostRegisterDefault 0x00
#define cudaHostRegisterPortable 0x01
#define cudaHostRegisterMapped 0x02
#define cudaHostRegisterIoMemory 0x04
#define cudaHostRegisterReadOnly 0x08
#define cudaStreamDefault 0x00
#define cudaStreamNonBlocking 0x01
#define cudaStreamLegacy ((cudaStream_t)0x1)
#define cudaStreamPerThread ((cudaStream_t)0x2)
#define cudaEventDefault 0x00
#define cudaEventBlockingSync 0x01
#define cudaEventDisableTiming 0x02
#define cudaMemAttachGlobal 0x01
#define cudaCpuDeviceId (-1)
#define cudaInvalidDeviceId (-2)

const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();

cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceGetPCIBusId(char* pci_bus_id, int length, int device);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaDeviceReset();
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total);

cudaError_t cudaMalloc(void** pointer, std::size_t bytes);
cudaError_t cudaMallocAsync(void** pointer, std::size_t bytes, cudaStream_t stream);
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);
cudaError_t cudaMallocFromPoolAsync(void** pointer, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream);
cudaError_t cudaMallocManaged(void** pointer, std::size_t bytes, unsigned int flags = cudaMemAttachGlobal);
cudaError_t cudaFree(void* pointer);
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream);
cudaError_t cudaHostAlloc(void** pointer, std::size_t bytes, unsigned int flags);
cudaError_t cudaMallocHost(void** pointer, std::size_t bytes);
cudaError_t cudaFreeHost(void* pointer);
cudaError_t cudaHostRegister(void* pointer, std::size_t bytes, unsigned int flags);
cudaError_t cudaHostUnregister(void* pointer);
cudaError_t cudaHostGetDevicePointer(void** device_pointer, void* host_pointer, unsigned int flags);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer);

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream = nullptr);
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream = nullptr);
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, std::size_t bytes,
                                cudaStream_t stream = nullptr);
cudaError_t cudaMemset(void* pointer, int value, std::size_t bytes);
cudaError_t cudaMemsetAsync(void* pointer, int value, std::size_t bytes, cudaStream_t stream = nullptr);

cudaError_t cudaStreamCreate(cudaStream_t* stream);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags);
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned int flags, int priority);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags = 0);
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned int* flags);
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device);
enum cudaStreamCaptureMode {
    cudaStreamCaptureModeGlobal,
    cudaStreamCaptureModeThreadLocal,
    cudaStreamCaptureModeRelaxed
};
enum cudaStreamCaptureStatus {
    cudaStreamCaptureStatusNone,
    cudaStreamCaptureStatusActive,
    cudaStreamCaptureStatusInvalidated
};
typedef struct CUgraph_st* cudaGraph_t;
typedef struct CUgraphExec_st* cudaGraphExec_t;
typedef struct CUgraphNode_st* cudaGraphNode_t;
typedef struct CUuserObject_st* cudaUserObject_t;
struct cudaGraphEdgeData;
#define cudaUserObjectNoDestructorSync 0x1
#define cudaGraphUserObjectMove 0x1
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags = 0);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                                     cudaGraph_t* graph, const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData** edges, std::size_t* count);
cudaError_t cudaUserObjectCreate(cudaUserObject_t* object, void* pointer, cudaHostFn_t destroy, unsigned int references,
                                 unsigned int flags);
cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned int count = 1);
cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned int count,
                                      unsigned int flags);
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* user_data);

cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end);
cudaError_t cudaEventDestroy(cudaEvent_t event);

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value);
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int block_size,
                                                          std::size_t dynamic_shared_bytes);

cudaError_t cudaCreateTextureObject(cudaTextureObject_t* object, const cudaResourceDesc* resource,
                                    const cudaTextureDesc* texture, const cudaResourceViewDesc* view);
cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object);

enum cudaLaunchAttributeID {
    cudaLaunchAttributeIgnore = 0,
    cudaLaunchAttributeCooperative = 2,
    cudaLaunchAttributeClusterDimension = 4,
    cudaLaunchAttributeProgrammaticStreamSerialization = 6,
    cudaLaunchAttributePriority = 8,
    cudaLaunchAttributePreferredSharedMemoryCarveout = 14
};
union cudaLaunchAttributeValue {
    char pad[64];
    int cooperative;
    struct {
        unsigned int x, y, z;
    } clusterDim;
    int programmaticStreamSerializationAllowed;
    int priority;
    unsigned int sharedMemCarveout;
};
struct cudaLaunchAttribute {
    cudaLaunchAttributeID id;
    char pad[4];
    cudaLaunchAttributeValue val;
};
struct cudaLaunchConfig_t {
    dim3 gridDim;
    dim3 blockDim;
    std::size_t dynamicSmemBytes;
    cudaStream_t stream;
    cudaLaunchAttribute* attrs;
    unsigned int numAttrs;
};

namespace simt {

/// A kernel and its arguments. `run(arguments)` does the work of one thread.
struct Launch {
    const void* kernel;
    void (*run)(const void* arguments);
    const void* arguments;
    /// Copies the arguments to the heap, for a kernel that runs late. The copy is overwritten when it is freed.
    std::shared_ptr<const void> (*keep)(const void* arguments);
};
cudaError_t launch(const cudaLaunchConfig_t& config, const Launch& launch);

/// Finds the first address and the size of the allocation that contains `pointer`. Returns false if there is no such
/// allocation.
bool find_allocation(const void* pointer, std::uintptr_t& first, std::uintptr_t& bytes);

cudaError_t copy_to_symbol(void* symbol, std::size_t symbol_bytes, const void* from, std::size_t bytes,
                           std::size_t offset, cudaMemcpyKind kind, cudaStream_t stream);

}  // namespace simt

template <typename... Expected, typename... Actual>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Expected...), Actual&&... actual) {
    using Arguments = std::pair<void (*)(Expected...), std::tuple<std::remove_const_t<Expected>...>>;
    const Arguments arguments{kernel, {std::forward<Actual>(actual)...}};
    const auto run = [](const void* context) {
        const auto& [function, values] = *static_cast<const Arguments*>(context);
        std::apply(function, values);
    };
    const auto keep = [](const void* context) {
        static_assert(std::is_trivially_destructible_v<Arguments>);
        const auto wipe = [](Arguments* its) {
            explicit_bzero(static_cast<void*>(its), sizeof(Arguments));
            ::operator delete (its, std::align_val_t{alignof(Arguments)});
        };
        void* const memory = ::operator new (sizeof(Arguments), std::align_val_t{alignof(Arguments)});
        auto* const kept = new (memory) Arguments(*static_cast<const Arguments*>(context));
        return std::shared_ptr<const void>(std::shared_ptr<Arguments>(kept, wipe));
    };
    return simt::launch(*config, {reinterpret_cast<const void*>(kernel), run, &arguments, keep});
}

// Typed overloads, which the toolkit's header declares for C++.
template <typename T>
cudaError_t cudaMalloc(T** pointer, std::size_t bytes) {
    return cudaMalloc(reinterpret_cast<void**>(pointer), bytes);
}
template <typename T>
cudaError_t cudaMallocAsync(T** pointer, std::size_t bytes, cudaStream_t stream) {
    return cudaMallocAsync(reinterpret_cast<void**>(pointer), bytes, stream);
}
template <typename T>
cudaError_t cudaMallocManaged(T** pointer, std::size_t bytes, unsigned int flags = cudaMemAttachGlobal) {
    return cudaMallocManaged(reinterpret_cast<void**>(pointer), bytes, flags);
}
template <typename T>
cudaError_t cudaHostAlloc(T** pointer, std::size_t bytes, unsigned int flags) {
    return cudaHostAlloc(reinterpret_cast<void**>(pointer), bytes, flags);
}
template <typename T>
cudaError_t cudaMallocHost(T** pointer, std::size_t bytes) {
    return cudaMallocHost(reinterpret_cast<void**>(pointer), bytes);
}
template <typename T>
cudaError_t cudaHostGetDevicePointer(T** device_pointer, void* host_pointer, unsigned int flags) {
    return cudaHostGetDevicePointer(reinterpret_cast<void**>(device_pointer), host_pointer, flags);
}
/// Supports integer scalars and vectors. Each member of a vector is a channel.
template <typename T>
cudaChannelFormatDesc cudaCreateChannelDesc() {
    cudaChannelFormatDesc d{};
    if constexpr (std::is_integral_v<T>) {
        d.x = static_cast<int>(8 * sizeof(T));
        d.f = std::is_signed_v<T> ? cudaChannelFormatKindSigned : cudaChannelFormatKindUnsigned;
    } else {
        using Scalar = decltype(T::x);
        d = cudaCreateChannelDesc<Scalar>();
        if constexpr (sizeof(T) >= 2 * sizeof(Scalar)) d.y = d.x;
        if constexpr (sizeof(T) == 4 * sizeof(Scalar)) d.z = d.w = d.x;
    }
    return d;
}
template <typename... Arguments>
cudaError_t cudaFuncSetAttribute(void (*function)(Arguments...), cudaFuncAttribute attribute, int value) {
    return cudaFuncSetAttribute(reinterpret_cast<const void*>(function), attribute, value);
}
template <typename... Arguments>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, void (*function)(Arguments...)) {
    return cudaFuncGetAttributes(attributes, reinterpret_cast<const void*>(function));
}
template <typename... Arguments>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void (*function)(Arguments...), int block_size,
                                                          std::size_t dynamic_shared_bytes) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, reinterpret_cast<const void*>(function), block_size,
                                                         dynamic_shared_bytes);
}
template <typename T>
cudaError_t cudaMemcpyToSymbol(T& symbol, const void* from, std::size_t bytes, std::size_t offset = 0,
                               cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
    return simt::copy_to_symbol(&symbol, sizeof(T), from, bytes, offset, kind, nullptr);
}
template <typename T>
cudaError_t cudaMemcpyToSymbolAsync(T& symbol, const void* from, std::size_t bytes, std::size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t stream) {
    return simt::copy_to_symbol(&symbol, sizeof(T), from, bytes, offset, kind, stream);
}
// NOLINTEND

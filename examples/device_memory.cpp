// Encrypts data in device memory, on the caller's stream and between the caller's copies. The host waits only at the
// end.
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <vector>
#include <warpaes/warpaes.hpp>

namespace {

void check(cudaError_t error) {
    if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

}  // namespace

int main() try {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        std::cout << "no GPU found\n";
        return 0;
    }
    const warpaes::Engine engine;
    const std::array<unsigned char, 32> key_bytes{1, 2, 3};  // a real key must be secret
    const std::array<unsigned char, 16> counter{};
    const warpaes::Key key(key_bytes);

    const std::vector<unsigned char> plain(std::size_t{64} << 20, 42);
    std::vector<unsigned char> back(plain.size());
    void* data = nullptr;
    cudaStream_t stream = nullptr;
    check(cudaMalloc(&data, plain.size()));
    check(cudaStreamCreate(&stream));

    const warpaes::Bytes on_device(data, plain.size());
    warpaes::Message message{
        .mode = warpaes::Mode::ctr,
        .direction = warpaes::Direction::encrypt,
        .key = &key,
        .iv = counter,
        .input = on_device,
        .output = on_device,  // in place
    };
    check(cudaMemcpyAsync(data, plain.data(), plain.size(), cudaMemcpyHostToDevice, stream));
    const warpaes::Result result = engine.crypt_async(message, stream);
    message.direction = warpaes::Direction::decrypt;
    engine.crypt_async(message, stream);
    check(cudaMemcpyAsync(back.data(), data, back.size(), cudaMemcpyDeviceToHost, stream));
    check(cudaStreamSynchronize(stream));

    std::cout << "encrypted and decrypted " << plain.size() << " bytes on " << result.backend << " device "
              << result.device << (back == plain ? ": the same\n" : ": DIFFERENT\n");
    check(cudaStreamDestroy(stream));
    check(cudaFree(data));
    return back == plain ? 0 : 1;
} catch (const std::exception& e) {
    std::cerr << "device_memory: " << e.what() << '\n';
    return 1;
}

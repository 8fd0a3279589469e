// Measures the latency of blocking calls for messages in device memory, compared with launching an empty kernel and
// waiting for it. A figure is the median of CALLS consecutive calls in microseconds, by the host's clock. Prints one
// JSON object.
//
//     device_calls [CALLS [BYTES…]]
#include <cuda_runtime.h>
#include <warpaes/warpaes.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

__global__ void nothing() {}

void require(bool right, const char* what) {
    if (right) return;
    std::fprintf(stderr, "device_calls: %s failed: %s\n", what, warpaes_last_error());
    std::exit(1);
}

double now_us() {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

template <typename Call>
double median(int calls, const Call& call) {
    for (int i = 0; i < calls / 10; ++i) call();
    std::vector<double> times(static_cast<std::size_t>(calls));
    for (double& time : times) {
        const double begin = now_us();
        call();
        time = now_us() - begin;
    }
    std::nth_element(times.begin(), times.begin() + calls / 2, times.end());
    return times[static_cast<std::size_t>(calls) / 2];
}

struct Row {
    const char* name;
    warpaes_mode mode;
    warpaes_direction direction;
    std::uint64_t data_unit;
};

}  // namespace

int main(int argc, char** argv) {
    const int calls = argc > 1 ? std::max(10, std::atoi(argv[1])) : 1000;
    std::vector<std::uint64_t> lengths;
    for (int i = 2; i < argc; ++i) lengths.push_back(std::strtoull(argv[i], nullptr, 10));
    if (lengths.empty()) lengths = {1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 8 << 20};
    const std::uint64_t most = *std::max_element(lengths.begin(), lengths.end());
    std::uint8_t *in = nullptr, *out = nullptr;
    require(cudaMalloc(&in, most) == cudaSuccess && cudaMalloc(&out, most) == cudaSuccess, "allocating memory");
    require(cudaMemset(in, 1, most) == cudaSuccess, "filling memory");
    warpaes_engine* engine = nullptr;
    require(warpaes_engine_create(nullptr, &engine) == WARPAES_OK, "making an engine");

    const Row rows[] = {{"ctr", WARPAES_CTR, WARPAES_ENCRYPT, 0},    {"ecb", WARPAES_ECB, WARPAES_ENCRYPT, 0},
                        {"ecb", WARPAES_ECB, WARPAES_DECRYPT, 0},    {"cbc", WARPAES_CBC, WARPAES_DECRYPT, 0},
                        {"xts", WARPAES_XTS, WARPAES_ENCRYPT, 4096}, {"xts", WARPAES_XTS, WARPAES_DECRYPT, 4096},
                        {"gcm", WARPAES_GCM, WARPAES_ENCRYPT, 0},    {"gcm", WARPAES_GCM, WARPAES_DECRYPT, 0}};
    std::printf("{\"calls\": [");
    const char* comma = "";
    for (const unsigned key_bits : {128u, 256u}) {
        std::vector<std::uint8_t> bytes(key_bits / 8, 7), other(key_bits / 8, 9), iv(16, 3), tag(16);
        warpaes_key *key = nullptr, *tweak_key = nullptr;
        require(warpaes_key_create(bytes.data(), bytes.size(), &key) == WARPAES_OK, "making a key");
        require(warpaes_key_create(other.data(), other.size(), &tweak_key) == WARPAES_OK, "making a key");
        for (const Row& row : rows) {
            for (const std::uint64_t length : lengths) {
                warpaes_message m = WARPAES_MESSAGE_INIT;
                m.key = key;
                m.mode = row.mode;
                m.direction = row.direction;
                m.iv = iv.data();
                m.iv_len = row.mode == WARPAES_ECB ? 0 : row.mode == WARPAES_GCM ? 12 : 16;
                m.input = in;
                m.input_len = length;
                m.output = out;
                m.output_capacity = length;
                if (row.mode == WARPAES_XTS) {
                    m.tweak_key = tweak_key;
                    m.data_unit_len = std::min(row.data_unit, length);
                }
                if (row.mode == WARPAES_GCM) {
                    m.tag = tag.data();
                    m.tag_len = 16;
                    if (row.direction == WARPAES_DECRYPT) {
                        m.direction = WARPAES_ENCRYPT;
                        require(warpaes_crypt(engine, &m, nullptr) == WARPAES_OK, "encrypting");
                        m.direction = WARPAES_DECRYPT;
                        m.input = out;
                        m.output = in;
                    }
                }
                const double us =
                    median(calls, [&] { require(warpaes_crypt(engine, &m, nullptr) == WARPAES_OK, "a call"); });
                // The empty kernel is measured again for each row, because the machine's speed changes.
                const double empty = median(calls, [] {
                    nothing<<<1, 32>>>();
                    require(cudaStreamSynchronize(nullptr) == cudaSuccess, "waiting");
                });
                std::printf(
                    "%s\n {\"call\": \"%s\", \"key_bits\": %u, \"direction\": \"%s\", \"bytes\": %llu, "
                    "\"us\": %.2f, \"empty_us\": %.2f}",
                    comma, row.name, key_bits, row.direction == WARPAES_ENCRYPT ? "encrypt" : "decrypt",
                    static_cast<unsigned long long>(length), us, empty);
                comma = ",";
            }
        }
        warpaes_key_destroy(key);
        warpaes_key_destroy(tweak_key);
    }
    std::printf("]}\n");
    warpaes_engine_destroy(engine);
    return 0;
}

// Measures the decryption of Parquet pages in device memory. Chunks of equal and of unequal pages are encrypted in host
// memory, copied to a GPU, and decrypted on a stream, with the statuses in device memory. Unequal pages are up to a
// quarter shorter than the page size. The program times a graph launch (only the GPU's work), an enqueued table, and
// enqueued entries (both including the host's work). Prints a JSON object for each page size and kind of chunk.
//
//     parquet_device [TIMES [PAGE_BYTES…]]
#include <cuda_runtime.h>
#include <warpaes/parquet.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

namespace {

void require(bool right, const char* what) {
    if (right) return;
    std::fprintf(stderr, "parquet_device: %s failed: %s\n", what, warpaes_last_error());
    std::exit(1);
}
void require(cudaError_t status, const char* what) {
    require(status == cudaSuccess, what);
}

/// A chunk of encrypted pages in host memory. The entries that decrypt the chunk also encrypt it, with input and output
/// swapped.
struct Chunk {
    Chunk(warpaes_engine* engine, const warpaes_key* key, std::size_t count, std::size_t page_bytes, bool equal)
        : pages(count) {
        std::vector<std::size_t> lengths(count, page_bytes);
        std::mt19937 lengths_of(5);
        for (std::size_t& length : lengths) length -= equal ? 0 : lengths_of() % (page_bytes / 4);
        for (const std::size_t length : lengths) {
            plain_bytes += length;
            modules.resize(modules.size() + header_module + length + 32);
        }
        view.resize(modules.size());
        std::mt19937_64 random(7);
        for (std::size_t i = 0; i + 8 <= view.size(); i += 8) {
            const std::uint64_t word = random();
            std::memcpy(view.data() + i, &word, 8);
        }
        const auto put = [&](std::size_t at, std::size_t length) {
            const auto text = static_cast<std::uint32_t>(length - 4);
            std::memcpy(modules.data() + at, &text, 4);
            for (std::size_t i = 4; i < 16; ++i) modules[at + i] = static_cast<std::uint8_t>(random());
        };
        std::size_t at = 0;
        for (const std::size_t length : lengths) {
            put(at, header_module);
            put(at + header_module, length + 32);
            at += header_module + length + 32;
        }
        its.key = key;
        its.aad = aad;
        its.aad_len = sizeof aad;
        its.modules = modules.data();
        its.modules_len = modules.size();
        std::uint64_t found = 0;
        require(warpaes_parquet_walk(&its, pages.data(), count, &found, nullptr) == WARPAES_OK && found == count,
                "walk");
        scratch.resize(count * WARPAES_PARQUET_SCRATCH_BYTES(sizeof aad));
        std::vector<warpaes_batch_entry> entries = page_entries(modules.data(), view.data(), nullptr);
        for (auto& entry : entries) {
            entry.direction = WARPAES_ENCRYPT;
            std::swap(entry.input, entry.output);
        }
        warpaes_batch* batch = nullptr;
        require(warpaes_batch_submit(engine, nullptr, entries.data(), entries.size(), &batch) == WARPAES_OK &&
                    warpaes_batch_wait(batch, WARPAES_UNKNOWN) == WARPAES_OK,
                "encrypting");
        warpaes_batch_destroy(batch);
    }
    std::vector<warpaes_batch_entry> page_entries(const void* input, void* to, warpaes_status* statuses) {
        std::vector<warpaes_batch_entry> entries(pages.size());
        require(warpaes_parquet_page_entries(&its, pages.data(), pages.size(), input, to, scratch.data(), statuses,
                                             entries.data()) == WARPAES_OK,
                "page entries");
        return entries;
    }

    warpaes_batch_table page_table(const void* input, void* to, warpaes_status* statuses) {
        warpaes_batch_table table;
        rows.resize(pages.size());
        require(warpaes_parquet_page_table(&its, pages.data(), pages.size(), input, to, scratch.data(), statuses,
                                           rows.data(), &table) == WARPAES_OK,
                "page table");
        return table;
    }

    static constexpr std::size_t header_module = 29 + 32;
    static constexpr std::uint8_t aad[16] = {1, 2, 3};
    std::vector<std::uint8_t> modules, view, scratch;
    std::vector<warpaes_parquet_page> pages;
    std::vector<warpaes_table_message> rows;
    std::size_t plain_bytes = 0;
    warpaes_parquet_chunk its = WARPAES_PARQUET_CHUNK_INIT;
};

template <typename Call>
double best_seconds(int times, cudaStream_t stream, const Call& call) {
    cudaEvent_t begin, end;
    require(cudaEventCreate(&begin), "event");
    require(cudaEventCreate(&end), "event");
    float best = 1e30F;
    for (int i = -2; i < times; ++i) {
        require(cudaEventRecord(begin, stream), "record");
        call();
        require(cudaEventRecord(end, stream), "record");
        require(cudaEventSynchronize(end), "wait");
        float milliseconds = 0;
        require(cudaEventElapsedTime(&milliseconds, begin, end), "time");
        if (i >= 0) best = std::min(best, milliseconds);
    }
    return best / 1e3;
}

/// Checks the statuses and the decrypted pages, and then overwrites both in device memory.
void compare(const Chunk& chunk, std::uint8_t* view, warpaes_status* statuses) {
    std::vector<warpaes_status> got(chunk.pages.size());
    std::vector<std::uint8_t> plain(chunk.modules.size());
    const std::size_t bytes = got.size() * sizeof got[0];
    require(cudaMemcpy(got.data(), statuses, bytes, cudaMemcpyDeviceToHost), "copy");
    require(cudaMemcpy(plain.data(), view, plain.size(), cudaMemcpyDeviceToHost), "copy");
    for (std::size_t i = 0; i < got.size(); ++i) {
        const warpaes_parquet_page& page = chunk.pages[i];
        require(got[i] == WARPAES_OK, "a status");
        const std::size_t at = page.offset + page.header_bytes + 32, length = page.page_bytes - 32;
        require(std::memcmp(plain.data() + at, chunk.view.data() + at, length) == 0, "a page");
    }
    require(cudaMemset(view, 0, plain.size()), "fill");
    require(cudaMemset(statuses, 0x5a, bytes), "fill");
}

void run(warpaes_engine* engine, const warpaes_key* key, std::size_t page_bytes, bool equal, int times) {
    const std::size_t count = std::min<std::size_t>(32768, (std::size_t{1} << 30) / page_bytes);
    Chunk chunk(engine, key, count, page_bytes, equal);
    const std::size_t bytes = chunk.modules.size();
    std::uint8_t *input = nullptr, *view = nullptr;
    warpaes_status* statuses = nullptr;
    cudaStream_t stream;
    require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    require(cudaMalloc(&input, bytes), "memory");
    require(cudaMalloc(&view, bytes), "memory");
    require(cudaMalloc(&statuses, count * sizeof *statuses), "memory");
    require(cudaMemcpy(input, chunk.modules.data(), bytes, cudaMemcpyHostToDevice), "copy");
    const auto entries = chunk.page_entries(input, view, statuses);
    const double as_entries = best_seconds(times, stream, [&] {
        require(warpaes_batch_enqueue(engine, nullptr, entries.data(), entries.size(), stream) == WARPAES_OK,
                "enqueue");
    });
    compare(chunk, view, statuses);
    const warpaes_batch_table table = chunk.page_table(input, view, statuses);
    const auto enqueue = [&] { require(warpaes_batch_enqueue_table(engine, &table, stream) == WARPAES_OK, "enqueue"); };
    const double enqueued = best_seconds(times, stream, enqueue);
    compare(chunk, view, statuses);
    cudaGraph_t graph;
    cudaGraphExec_t launch;
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "capture");
    enqueue();
    require(cudaStreamEndCapture(stream, &graph), "capture");
    require(cudaGraphInstantiate(&launch, graph, 0), "graph");
    const double launched = best_seconds(times, stream, [&] { require(cudaGraphLaunch(launch, stream), "launch"); });
    compare(chunk, view, statuses);
    const double gigabytes = static_cast<double>(chunk.plain_bytes) / 1e9;
    std::printf(
        "{\"page_bytes\": %zu, \"equal\": %s, \"pages\": %zu, \"graph_gb_per_s\": %.1f, \"enqueue_gb_per_s\": "
        "%.1f, \"entries_gb_per_s\": %.1f}\n",
        page_bytes, equal ? "true" : "false", count, gigabytes / launched, gigabytes / enqueued,
        gigabytes / as_entries);
    std::fflush(stdout);
    require(cudaGraphExecDestroy(launch), "graph");
    require(cudaGraphDestroy(graph), "graph");
    for (void* memory : {static_cast<void*>(input), static_cast<void*>(view), static_cast<void*>(statuses)}) {
        require(cudaFree(memory), "memory");
    }
    require(cudaStreamDestroy(stream), "stream");
}

}  // namespace

int main(int argc, char** argv) {
    const int times = argc > 1 ? std::max(1, std::atoi(argv[1])) : 10;
    std::vector<std::size_t> sizes;
    for (int i = 2; i < argc; ++i) sizes.push_back(std::strtoull(argv[i], nullptr, 10));
    if (sizes.empty()) sizes = {8 << 10, 64 << 10, 1 << 20};
    warpaes_engine* engine = nullptr;
    require(warpaes_engine_create(nullptr, &engine) == WARPAES_OK, "engine");
    const std::uint8_t bytes[16] = {1};
    warpaes_key* key = nullptr;
    require(warpaes_key_create(bytes, sizeof bytes, &key) == WARPAES_OK, "key");
    for (const std::size_t size : sizes) {
        for (const bool equal : {true, false}) run(engine, key, size, equal, times);
    }
    warpaes_key_destroy(key);
    warpaes_engine_destroy(engine);
}

#include "support.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "evp_oracle.hpp"

namespace abi_tests {

Engine make_engine(const std::string& backend, std::uint64_t chunk_bytes, std::uint32_t threads) {
    warpaes_engine_options options = WARPAES_ENGINE_OPTIONS_INIT;
    options.backend = backend.c_str();
    options.chunk_bytes = chunk_bytes;
    options.threads = threads;
    if (chunk_bytes != 0) options.depth = threads;
    warpaes_engine* engine = nullptr;
    EXPECT_EQ(warpaes_engine_create(&options, &engine), WARPAES_OK) << warpaes_last_error();
    return Engine(engine);
}

Key make_key(const Bytes& bytes) {
    warpaes_key* key = nullptr;
    EXPECT_EQ(warpaes_key_create(bytes.data(), bytes.size(), &key), WARPAES_OK) << warpaes_last_error();
    return Key(key);
}

Context make_context(const Engine& engine) {
    warpaes_context* context = nullptr;
    EXPECT_EQ(warpaes_context_create(engine.get(), &context), WARPAES_OK) << warpaes_last_error();
    return Context(context);
}

namespace {

std::vector<warpaes_backend_info> usable_entries() {
    std::vector<warpaes_backend_info> found;
    for (std::size_t i = 0; i < warpaes_backend_count(); ++i) {
        warpaes_backend_info info = {};
        info.struct_size = sizeof info;
        if (warpaes_backend_query(i, &info) == WARPAES_OK && info.usable != 0) found.push_back(info);
    }
    return found;
}

}  // namespace

const std::vector<std::string>& usable_backends() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> found;
        for (const warpaes_backend_info& info : usable_entries()) {
            if (std::find(found.begin(), found.end(), info.name) == found.end()) found.emplace_back(info.name);
        }
        return found;
    }();
    return names;
}

std::vector<std::int32_t> usable_devices() {
    std::vector<std::int32_t> devices;
    for (const warpaes_backend_info& info : usable_entries()) {
        if (info.device >= 0) devices.push_back(info.device);
    }
    return devices;
}

bool simulated() {
    const char* value = std::getenv("WARPAES_TEST_SIMULATED");
    return value != nullptr && std::string(value) == "1";
}

const std::vector<ModeTraits>& all_modes() {
    static const std::vector<ModeTraits> modes{
        {WARPAES_ECB, "ECB", true, true},        {WARPAES_CBC, "CBC", true, true},
        {WARPAES_CFB128, "CFB128", false, true}, {WARPAES_CFB8, "CFB8", false, true},
        {WARPAES_CFB1, "CFB1", false, false},    {WARPAES_OFB, "OFB", false, false},
        {WARPAES_CTR, "CTR", false, true},
    };
    return modes;
}

const ModeTraits& traits(warpaes_mode mode) {
    return all_modes().at(static_cast<std::size_t>(mode) - 1);
}

std::string name_of(warpaes_mode mode, warpaes_direction direction, std::size_t key_bytes) {
    return traits(mode).name + "-" + std::to_string(8 * key_bytes) +
           (direction == WARPAES_ENCRYPT ? " encryption" : " decryption");
}

Bytes Random::bytes(std::size_t n) {
    Bytes out(n);
    for (std::size_t i = 0; i < n; i += 8) {
        const std::uint64_t word = engine_();
        std::memcpy(out.data() + i, &word, std::min<std::size_t>(8, n - i));
    }
    return out;
}

namespace {
/// The poison depends on the position, so the check also detects moved bytes.
std::uint8_t poison(std::size_t position) {
    return static_cast<std::uint8_t>(0xa5 + 7 * position);
}
}  // namespace

PoisonedBuffer::PoisonedBuffer(std::size_t size, std::size_t misalignment)
    : storage_(size + 2 * guard + 64 + misalignment), size_(size) {
    const auto address = reinterpret_cast<std::uintptr_t>(storage_.data());
    start_ = (64 - address % 64) % 64 + guard + misalignment;
    for (std::size_t i = 0; i < storage_.size(); ++i) storage_[i] = poison(i);
}

void PoisonedBuffer::assign(const Bytes& bytes) {
    std::copy(bytes.begin(), bytes.end(), data());
}

Bytes PoisonedBuffer::bytes(std::size_t n) const {
    const auto first = storage_.begin() + static_cast<std::ptrdiff_t>(start_);
    return {first, first + static_cast<std::ptrdiff_t>(n)};
}

bool PoisonedBuffer::intact_after(std::size_t written) const {
    for (std::size_t i = 0; i < storage_.size(); ++i) {
        if (i >= start_ && i < start_ + written) continue;
        if (storage_[i] != poison(i)) return false;
    }
    return true;
}

std::uint64_t SparseBuffer::page() {
    static const auto size = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    return size;
}

SparseBuffer::SparseBuffer(std::uint64_t size, std::uint64_t first, std::uint64_t last) : size_(size) {
    void* memory = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("mmap of address space failed");
    data_ = static_cast<std::uint8_t*>(memory);
    const std::uint64_t begin = first / page() * page();
    const std::uint64_t end = (last + page() - 1) / page() * page();
    if (begin < end && mprotect(data_ + begin, end - begin, PROT_READ | PROT_WRITE) != 0) {
        throw std::runtime_error("mprotect failed");
    }
}

SparseBuffer::~SparseBuffer() {
    munmap(data_, size_);
}

Call make_message(warpaes_mode mode, warpaes_direction direction, const Key& key, const Bytes& iv, const void* input,
                  std::uint64_t input_len, void* output, std::uint64_t capacity) {
    Call message;
    message.mode = mode;
    message.direction = direction;
    message.key = key.get();
    if (mode != WARPAES_ECB) {
        message.iv = iv.data();
        message.iv_len = iv.size();
    }
    message.input = input;
    message.input_len = input_len;
    message.output = output;
    message.output_capacity = capacity;
    return message;
}

namespace {

/// Sets all fields except struct_size to values that no call writes.
void spoil(warpaes_result& result) {
    std::memset(static_cast<void*>(&result), 0x5a, sizeof result);
    result.struct_size = sizeof result;
}

warpaes_status checked(warpaes_status status, const warpaes_result& result) {
    EXPECT_EQ(result.struct_size, sizeof result);
    EXPECT_EQ(result.status, status);
    const std::string sentence = status == WARPAES_OK ? "" : warpaes_last_error();
    EXPECT_EQ(result.error, sentence.substr(0, WARPAES_ERROR_BYTES - 1));
    EXPECT_TRUE(status == WARPAES_OK || !sentence.empty()) << "an error without a message";
    EXPECT_TRUE(result.backend[0] != '\0' || result.device == -1);
    return status;
}

}  // namespace

warpaes_status crypt(const Engine& engine, Call& call) {
    spoil(call.result);
    return checked(warpaes_crypt(engine.get(), &call, &call.result), call.result);
}

warpaes_status crypt_async(const Engine& engine, Call& call) {
    spoil(call.result);
    return checked(warpaes_crypt_async(engine.get(), &call, nullptr, &call.result), call.result);
}

warpaes_status context_init(warpaes_context* context, warpaes_mode mode, warpaes_direction direction,
                            const warpaes_key* key, const std::uint8_t* iv, std::size_t iv_len, std::uint32_t flags) {
    warpaes_context_options options = WARPAES_CONTEXT_OPTIONS_INIT;
    options.flags = flags;
    options.mode = mode;
    options.direction = direction;
    options.key = key;
    options.iv = iv;
    options.iv_len = iv_len;
    return warpaes_context_init(context, &options);
}

void aad_in_pieces(const Context& context, Random& random, const Bytes& bytes, std::size_t longest) {
    for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t n = std::min(random.below(longest + 1), bytes.size() - at);
        ASSERT_EQ(warpaes_context_aad(context.get(), bytes.data() + at, n), WARPAES_OK) << warpaes_last_error();
        at += n;
    }
}

warpaes_status finish(const Context& context) {
    std::size_t written = 99;
    const warpaes_status status = warpaes_context_final(context.get(), nullptr, 0, &written);
    EXPECT_EQ(written, 0U);
    return status;
}

Bytes crypt(const Engine& engine, const std::string& backend, warpaes_mode mode, warpaes_direction direction,
            const Key& key, const Bytes& iv, const Bytes& input, std::uint32_t flags) {
    PoisonedBuffer output(input.size() + 16);
    Call message = make_message(mode, direction, key, iv, input.data(), input.size(), output.data(), output.size());
    message.flags = flags;
    EXPECT_EQ(crypt(engine, message), WARPAES_OK) << warpaes_last_error();
    if (!input.empty()) {
        EXPECT_STREQ(message.result.backend, backend.c_str());
    }
    EXPECT_TRUE(output.intact_after(message.result.output_len)) << "wrote outside its output";
    return output.bytes(std::min<std::size_t>(message.result.output_len, output.size()));
}

Bytes expected(warpaes_mode mode, warpaes_direction direction, const Bytes& key, const Bytes& iv, const Bytes& input) {
    return oracle::evp(traits(mode).name, direction == WARPAES_ENCRYPT, key, iv, input).value();
}

std::string backend_test_name(const testing::TestParamInfo<std::string>& info) {
    return info.param;
}

}  // namespace abi_tests

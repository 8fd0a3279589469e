// Shared code for the tests of the C ABI. The tests include only public headers and use independent oracles.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "warpaes/files.h"
#include "warpaes/planning.h"
#include "warpaes/warpaes.h"

namespace abi_tests {

using Bytes = std::vector<std::uint8_t>;

// ------------------------------------------------------------------------------------------------------------ handles

struct Destroy {
    void operator()(warpaes_engine* engine) const { warpaes_engine_destroy(engine); }
    void operator()(warpaes_key* key) const { warpaes_key_destroy(key); }
    void operator()(warpaes_context* context) const { warpaes_context_destroy(context); }
};
using Engine = std::unique_ptr<warpaes_engine, Destroy>;
using Key = std::unique_ptr<warpaes_key, Destroy>;
using Context = std::unique_ptr<warpaes_context, Destroy>;

/// Creates an engine forced to `backend`. With `chunk_bytes`, all threads share messages that are longer, even if one
/// thread would be faster. On an error, fails the test and returns null.
Engine make_engine(const std::string& backend, std::uint64_t chunk_bytes = 0, std::uint32_t threads = 0);
Key make_key(const Bytes& bytes);
Context make_context(const Engine& engine);

/// Returns the names of the backends that warpaes_backend_query reports as usable, without duplicates.
const std::vector<std::string>& usable_backends();

/// Returns the indices of the usable CUDA devices.
std::vector<std::int32_t> usable_devices();

/// Returns whether the cuda backend of this binary runs on the host through the SIMT shim (WARPAES_TEST_SIMULATED=1). A
/// simulated launch takes about as long as a thousand launches on a GPU, so tests repeat less often.
bool simulated();

// -------------------------------------------------------------------------------------------------------------- modes

struct ModeTraits {
    warpaes_mode mode;
    std::string name;  ///< the name in the oracle and the response files
    bool whole_blocks;
    bool range;  ///< decryption can start at any position
};
const std::vector<ModeTraits>& all_modes();
const ModeTraits& traits(warpaes_mode mode);

constexpr warpaes_direction directions[] = {WARPAES_ENCRYPT, WARPAES_DECRYPT};

std::string name_of(warpaes_mode mode, warpaes_direction direction, std::size_t key_bytes);

// ------------------------------------------------------------------------------------------------------------ buffers

/// Generates the same bytes in every run of a test.
class Random {
public:
    explicit Random(std::uint64_t seed) : engine_(seed) {}
    Bytes bytes(std::size_t n);
    /// Returns a number from 0 to bound - 1.
    std::size_t below(std::size_t bound) { return static_cast<std::size_t>(engine_() % bound); }

private:
    std::mt19937_64 engine_;
};

/// A buffer of `size` poisoned bytes, `misalignment` bytes after a 64-byte boundary, with poisoned guards around it.
class PoisonedBuffer {
public:
    explicit PoisonedBuffer(std::size_t size, std::size_t misalignment = 0);
    std::uint8_t* data() { return storage_.data() + start_; }
    [[nodiscard]] std::size_t size() const { return size_; }
    void assign(const Bytes& bytes);
    /// Returns the first `n` bytes.
    [[nodiscard]] Bytes bytes(std::size_t n) const;
    /// Checks that nothing outside the first `written` bytes has changed.
    [[nodiscard]] bool intact_after(std::size_t written) const;

private:
    static constexpr std::size_t guard = 64;
    Bytes storage_;
    std::size_t start_;
    std::size_t size_;
};

/// Address space with only the pages of [first, last) mapped. Any other access crashes.
class SparseBuffer {
public:
    SparseBuffer(std::uint64_t size, std::uint64_t first, std::uint64_t last);
    ~SparseBuffer();
    SparseBuffer(const SparseBuffer&) = delete;
    SparseBuffer& operator=(const SparseBuffer&) = delete;
    std::uint8_t* data() { return data_; }
    static std::uint64_t page();

private:
    std::uint8_t* data_;
    std::uint64_t size_;
};

// ----------------------------------------------------------------------------------------------------------- messages

/// The arguments and the result of a call for one message.
struct Call : warpaes_message {
    Call() : warpaes_message WARPAES_MESSAGE_INIT {}
    warpaes_result result = WARPAES_RESULT_INIT;
};

/// Returns a message from `input` to `output` with all fields set except flags. The arguments must outlive the returned
/// call.
Call make_message(warpaes_mode mode, warpaes_direction direction, const Key& key, const Bytes& iv, const void* input,
                  std::uint64_t input_len, void* output, std::uint64_t capacity);

/// Calls warpaes_crypt. Checks that the call sets every field of the result, and that the result contains the returned
/// status.
warpaes_status crypt(const Engine& engine, Call& call);
/// Calls warpaes_crypt_async on the default stream, with the same checks.
warpaes_status crypt_async(const Engine& engine, Call& call);

/// Calls warpaes_context_init with the arguments that every mode except XTS and CCM needs.
warpaes_status context_init(warpaes_context* context, warpaes_mode mode, warpaes_direction direction,
                            const warpaes_key* key, const std::uint8_t* iv, std::size_t iv_len,
                            std::uint32_t flags = 0);

/// Calls warpaes_context_aad with pieces of at most `longest` bytes, including empty pieces.
void aad_in_pieces(const Context& context, Random& random, const Bytes& bytes, std::size_t longest);
/// Calls warpaes_context_final without output.
warpaes_status finish(const Context& context);

/// Returns the library's output for `input`. Adds a failure to the test if the call is refused or if a backend other
/// than `backend` ran it.
Bytes crypt(const Engine& engine, const std::string& backend, warpaes_mode mode, warpaes_direction direction,
            const Key& key, const Bytes& iv, const Bytes& input, std::uint32_t flags = 0);

/// Returns libcrypto's output for the same message.
Bytes expected(warpaes_mode mode, warpaes_direction direction, const Bytes& key, const Bytes& iv, const Bytes& input);

/// The base class of suites whose tests run once for each backend of this machine.
class BackendTest : public testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        engine_ = make_engine(GetParam());
        ASSERT_NE(engine_, nullptr);
    }
    Engine engine_;
};

/// The name of a test is the name of its backend.
std::string backend_test_name(const testing::TestParamInfo<std::string>& info);

#define WARPAES_FOR_EVERY_BACKEND(Suite)                                                      \
    INSTANTIATE_TEST_SUITE_P(Backend, Suite, testing::ValuesIn(abi_tests::usable_backends()), \
                             abi_tests::backend_test_name)

}  // namespace abi_tests

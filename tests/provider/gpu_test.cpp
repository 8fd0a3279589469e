// Tests the provider on a simulated GPU: updates on the GPU and on the CPU, and GPU failures during an update.

#include <array>
#include <functional>

#include "../gpu_first.hpp"
#include "backend/cuda_backend.hpp"
#include "engine/calibration/file.hpp"
#include "simt.hpp"
#include "support.hpp"

namespace warpaes::test {
namespace {

struct Mode {
    const char* name;  ///< the cipher's name after "AES-256-"
    bool encrypt;
    const char* counter;
};
constexpr std::array<Mode, 12> modes{{{"ECB", true, "ecb"},
                                      {"ECB", false, "ecb"},
                                      {"CBC", false, "cbc"},
                                      {"CFB", false, "cfb"},
                                      {"CFB8", false, "cfb8"},
                                      {"CFB1", false, "cfb1"},
                                      {"CTR", true, "ctr"},
                                      {"CTR", false, "ctr"},
                                      {"XTS", true, "xts"},
                                      {"XTS", false, "xts"},
                                      {"GCM", true, "gcm"},
                                      {"GCM", false, "gcm"}}};

std::string title(const Mode& mode) {
    return std::string(mode.name) + (mode.encrypt ? " encryption" : " decryption");
}
bool is(const Mode& mode, const char* name) {
    return std::strcmp(mode.name, name) == 0;
}

/// A buffer in one kind of memory, as an application may use it.
class Buffer {
public:
    Buffer(Memory kind, const Bytes& bytes) : kind_(kind), size_(bytes.size()) {
        CudaBackend& cuda = cuda_backend();
        data_ = static_cast<unsigned char*>(kind == Memory::device ? cuda.device_alloc(0, size_) : std::malloc(size_));
        if (kind == Memory::page_locked) {
            EXPECT_TRUE(cuda.host_register(data_, size_));
        }
        if (kind == Memory::device) {
            cuda.copy(data_, bytes.data(), size_, 0, nullptr);
        } else {
            std::copy(bytes.begin(), bytes.end(), data_);
        }
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() {
        if (kind_ == Memory::page_locked) cuda_backend().host_unregister(data_);
        if (kind_ == Memory::device) {
            cuda_backend().device_free(data_);
        } else {
            std::free(data_);
        }
    }
    [[nodiscard]] unsigned char* data() const { return data_; }
    [[nodiscard]] Bytes bytes() const {
        Bytes copy(size_);
        if (kind_ == Memory::device) {
            cuda_backend().copy(copy.data(), data_, size_, 0, nullptr);
        } else {
            std::copy_n(data_, size_, copy.begin());
        }
        return copy;
    }

private:
    Memory kind_;
    std::size_t size_;
    unsigned char* data_;
};

/// A message of three updates. The second update is long. GCM appends the tag, and decryption checks it.
struct Message {
    Mode mode;
    Bytes key, iv, head, text, tail, tag;

    Message(const Mode& which, const EVP_CIPHER* cipher, std::size_t bytes)
        : mode(which), key(key_for(cipher)), iv(random_bytes(16, 5)), text(random_bytes(bytes, 6)) {
        const bool units = is(mode, "XTS"), blocks = EVP_CIPHER_get_block_size(cipher) == 16;
        if (!units) head = random_bytes(blocks ? 32 : 21, 8);
        if (!units) tail = random_bytes(blocks ? 16 : 7, 9);
        if (is(mode, "GCM")) iv.resize(12);
    }

    /// Returns the whole output. The long update reads from `in` and writes to `out`.
    Bytes run(const EVP_CIPHER* cipher, const unsigned char* in, const std::function<Bytes()>& out_bytes,
              unsigned char* out) {
        const CipherContext c = started(cipher, mode.encrypt, key, iv);
        Bytes made;
        const auto add = [&](const Bytes& bytes) { made.insert(made.end(), bytes.begin(), bytes.end()); };
        if (!head.empty()) add(updated(c.get(), head));
        int n = 0;
        EXPECT_EQ(1, EVP_CipherUpdate(c.get(), out, &n, in, static_cast<int>(text.size())));
        EXPECT_EQ(static_cast<std::size_t>(n), text.size());
        add(out_bytes());
        if (!tail.empty()) add(updated(c.get(), tail));
        if (is(mode, "GCM")) {
            if (mode.encrypt) tag.resize(16);
            if (!mode.encrypt) {
                EXPECT_EQ(1, EVP_CIPHER_CTX_ctrl(c.get(), EVP_CTRL_AEAD_SET_TAG, 16, tag.data()));
            }
            EXPECT_EQ(1, EVP_CipherFinal_ex(c.get(), out, &n));
            if (mode.encrypt) {
                EXPECT_EQ(1, EVP_CIPHER_CTX_ctrl(c.get(), EVP_CTRL_AEAD_GET_TAG, 16, tag.data()));
            }
            add(tag);
        }
        return made;
    }
    Bytes run(const EVP_CIPHER* cipher, Memory kind, bool in_place) {
        const Buffer in(kind, text), out(kind, Bytes(text.size(), 0xa5));
        const Buffer& to = in_place ? in : out;
        return run(
            cipher, in.data(), [&] { return to.bytes(); }, to.data());
    }
    /// Returns the default provider's result. For GCM decryption, it computes the tag first.
    Bytes expected(const Library& library, const std::string& name) {
        const auto cipher = library.cipher(name, "default");
        if (is(mode, "GCM") && !mode.encrypt) {
            // CTR that starts at the second counter turns this text into the plaintext. The tag covers the ciphertext.
            Message sealed = *this;
            sealed.mode.encrypt = true;
            const Bytes zeros(text.size());
            const auto clear = [&](Bytes& part, const Bytes& from) {
                for (std::size_t i = 0; i < part.size(); ++i) part[i] = static_cast<unsigned char>(part[i] ^ from[i]);
            };
            Message stream = sealed;
            stream.head.assign(head.size(), 0);
            stream.text.assign(text.size(), 0);
            stream.tail.assign(tail.size(), 0);
            const Bytes key_stream = stream.run(cipher.get(), Memory::pageable, false);
            const auto at = key_stream.begin();
            const auto h = static_cast<long>(head.size()), t = static_cast<long>(text.size());
            clear(sealed.head, Bytes(at, at + h));
            clear(sealed.text, Bytes(at + h, at + h + t));
            clear(sealed.tail, Bytes(at + h + t, at + h + t + static_cast<long>(tail.size())));
            (void)sealed.run(cipher.get(), Memory::pageable, false);
            tag = sealed.tag;
        }
        return run(cipher.get(), Memory::pageable, false);
    }
};

class ProviderGpu : public testing::Test {
protected:
    ProviderGpu() { simt::reset(); }
    ~ProviderGpu() override { simt::reset(); }

    static constexpr const char* forced = "cbc = yes\nthreshold = 64K\nbackend = cuda\n";
    static std::uint64_t on_gpu(const Library& library, const Mode& mode) {
        return counter(library, std::string("warpaes-") + mode.counter + "-gpu-bytes");
    }
};

/// Sets the costs that the planners of new engines use during the object's lifetime.
class Calibration {
public:
    explicit Calibration(const CostModel& model) : file_(write_calibration(model, Machine::here())) {
        EXPECT_EQ(0, ::setenv("WARPAES_CALIBRATION", file_.path().c_str(), 1));
    }
    Calibration(const Calibration&) = delete;
    Calibration& operator=(const Calibration&) = delete;
    ~Calibration() { (void)::unsetenv("WARPAES_CALIBRATION"); }

private:
    TemporaryFile file_;
};

TEST_F(ProviderGpu, LongUpdatesGoThere) {
    const Library library(forced);
    ASSERT_TRUE(library.loaded());
    for (const char* const bits : {"128", "256"}) {
        for (const Mode& mode : modes) {
            const std::string name = std::string("AES-") + bits + "-" + mode.name;
            const auto cipher = library.cipher(name);
            ASSERT_NE(cipher, nullptr) << name;
            // CFB1 takes eight times as long as the other modes.
            const std::size_t odd = EVP_CIPHER_get_block_size(cipher.get()) == 16 ? 0 : 13;
            for (const std::size_t bytes :
                 {std::size_t{65536} + 32, (is(mode, "CFB1") ? 80'000u : 300'000u) / 16 * 16 + odd}) {
                Message message(mode, cipher.get(), bytes);
                const Bytes expected = message.expected(library, name);
                for (const Memory kind : {Memory::pageable, Memory::page_locked}) {
                    for (const bool in_place : {false, true}) {
                        const std::uint64_t before = on_gpu(library, mode);
                        EXPECT_TRUE(message.run(cipher.get(), kind, in_place) == expected)
                            << name << title(mode) << bytes << in_place;
                        // The GPU processes all of the text except the part that completes pending blocks.
                        const std::uint64_t ran = on_gpu(library, mode) - before;
                        EXPECT_GT(ran + 32, bytes) << name << title(mode);
                        EXPECT_LE(ran, bytes);
                    }
                }
            }
        }
    }
}

TEST_F(ProviderGpu, ShortUpdatesDoNot) {
    const Library library(forced);
    const auto cipher = library.cipher("AES-128-CTR");
    ASSERT_NE(cipher, nullptr);
    Message message(modes[6], cipher.get(), 65535);
    const Bytes expected = message.expected(library, "AES-128-CTR");
    const std::uint64_t before = on_gpu(library, modes[6]);
    EXPECT_TRUE(message.run(cipher.get(), Memory::pageable, false) == expected);
    EXPECT_EQ(on_gpu(library, modes[6]), before);
}

/// If no backend is named, the planner chooses, and takes the text's memory into account.
TEST_F(ProviderGpu, ThePlanKnowsPageLockedMemory) {
    auto costs = std::make_shared<CostModel>(*gpu_first());
    for (auto& [name, table] : costs->tables) {
        if (!name.starts_with("cuda ")) continue;
        for (std::size_t c = 0; c < work_classes; ++c) {
            Cost dear;
            dear.byte.fill(1e3);
            for (const unsigned bits : {128U, 256U}) {
                table.set(static_cast<WorkClass>(c), Way::pageable, bits, dear);
            }
        }
    }
    const Calibration calibration(*costs);
    const Library library("threshold = 64K\nthreads = 7\n");  // uses a separate engine
    const auto cipher = library.cipher("AES-256-CTR");
    ASSERT_NE(cipher, nullptr);
    Message message(modes[6], cipher.get(), 100'000);
    const Bytes expected = message.expected(library, "AES-256-CTR");
    for (const Memory kind : {Memory::pageable, Memory::page_locked}) {
        const std::uint64_t before = on_gpu(library, modes[6]);
        EXPECT_TRUE(message.run(cipher.get(), kind, false) == expected);
        EXPECT_EQ(on_gpu(library, modes[6]) > before, kind == Memory::page_locked);
    }
}

/// A CUDA context does not survive fork(), and its locks may be held. The child must not make a CUDA call.
TEST_F(ProviderGpu, AChildProcessNeverCallsCuda) {
    for (const char* const settings : {forced, "threshold = 64K\nbackend = cuda\ndevice-memory = yes\nthreads = 2\n"}) {
        const Library library(settings);
        for (const Mode& mode : {modes[6], modes[9], modes[10]}) {
            const std::string name = std::string("AES-128-") + mode.name;
            const auto cipher = library.cipher(name);
            ASSERT_NE(cipher, nullptr);
            Message message(mode, cipher.get(), 200'000);
            const Bytes expected = message.expected(library, name);
            ASSERT_TRUE(message.run(cipher.get(), Memory::pageable, true) == expected);
            EXPECT_EQ(0, in_a_child([&] {
                          const std::uint64_t calls = simt::calls("*"), before = on_gpu(library, mode);
                          if (message.run(cipher.get(), Memory::pageable, false) != expected) return 1;
                          if (message.run(cipher.get(), Memory::pageable, true) != expected) return 2;
                          if (on_gpu(library, mode) != before) return 3;
                          return simt::calls("*") == calls ? 0 : 4;
                      }))
                << name;
            EXPECT_TRUE(message.run(cipher.get(), Memory::pageable, true) == expected);
        }
    }
}

/// Each CUDA call fails in turn, once and permanently. The CPU does the remaining work, with the same results.
TEST_F(ProviderGpu, TheCpuTakesOverFromAGpuThatFails) {
    const Calibration calibration(*gpu_first());
    for (const std::string settings : {forced, "cbc = yes\nthreshold = 64K\nthreads = 5\n"}) {
        const Library library(settings);
        for (const Mode& mode : {modes[2], modes[6], modes[8], modes[10], modes[11]}) {
            const std::string name = std::string("AES-128-") + mode.name;
            const auto cipher = library.cipher(name);
            ASSERT_NE(cipher, nullptr);
            Message message(mode, cipher.get(), 70'016);
            const Bytes expected = message.expected(library, name);
            ASSERT_TRUE(message.run(cipher.get(), Memory::pageable, false) == expected);
            for (const bool in_place : {false, true}) {
                simt::reset();
                const std::uint64_t before = on_gpu(library, mode);
                ASSERT_TRUE(message.run(cipher.get(), Memory::pageable, in_place) == expected);
                EXPECT_GT(on_gpu(library, mode), before);
                const auto calls = static_cast<int>(simt::calls("*"));
                ASSERT_GT(calls, 3);
                int failed = 0;
                for (const simt::Failure& failure : simt::failures) {
                    for (int nth = 1; nth <= calls; ++nth) {
                        const std::uint64_t first = on_gpu(library, mode);
                        simt::fail_call("*", nth, failure.error, failure.times);
                        EXPECT_TRUE(message.run(cipher.get(), Memory::pageable, in_place) == expected)
                            << name << title(mode) << nth << in_place;
                        simt::reset();
                        failed += on_gpu(library, mode) == first ? 1 : 0;
                    }
                }
                EXPECT_GT(failed, calls / 2) << name << title(mode);
            }
        }
    }
}

class ProviderDeviceMemory : public ProviderGpu {
protected:
    ProviderDeviceMemory() {
        simt::Machine machine = simt::Machine::from_environment();
        machine.guarded = true;  // a read by the host segfaults
        simt::reset(machine);
    }
    const Library library_{"cbc = yes\nthreshold = 64K\ndevice-memory = yes\n"};
};

TEST_F(ProviderDeviceMemory, IsWorkedOnWhereItLies) {
    for (const Mode& mode : modes) {
        if (!is(mode, "ECB") && !is(mode, "CTR") && !is(mode, "GCM") && !is(mode, "XTS")) continue;
        const std::string name = std::string("AES-256-") + mode.name;
        const auto cipher = library_.cipher(name);
        ASSERT_NE(cipher, nullptr);
        for (const std::size_t bytes : {16u, 4096u, 100'000u}) {
            Message message(mode, cipher.get(), bytes);
            if (is(mode, "XTS")) message.text.resize(bytes + 5);
            message.head.resize(message.head.size() / 16 * 16);  // only whole blocks since the start of the message
            const Bytes expected = message.expected(library_, name);
            const std::uint64_t before = on_gpu(library_, mode);
            EXPECT_TRUE(message.run(cipher.get(), Memory::device, false) == expected) << name << bytes;
            EXPECT_TRUE(message.run(cipher.get(), Memory::device, true) == expected) << name << bytes;
            // The updates move data from host memory to device memory and back.
            const Buffer device(Memory::device, message.text), host(Memory::pageable, message.text);
            EXPECT_TRUE(message.run(
                            cipher.get(), device.data(), [&] { return host.bytes(); }, host.data()) == expected);
            const Buffer again(Memory::pageable, message.text);
            EXPECT_TRUE(message.run(
                            cipher.get(), again.data(), [&] { return device.bytes(); }, device.data()) == expected);
            EXPECT_EQ(on_gpu(library_, mode) - before, 4 * message.text.size()) << name << bytes;
        }
    }
}

/// Data in device memory is refused if the host would have to read it. The message continues.
TEST_F(ProviderDeviceMemory, IsRefusedWhereItCannotBe) {
    const Buffer device(Memory::device, random_bytes(512));
    for (const char* const name : {"ECB", "CBC", "CFB", "CFB8", "CFB1", "OFB", "CTR", "GCM"}) {
        const auto cipher = library_.cipher(std::string("AES-128-") + name);
        ASSERT_NE(cipher, nullptr);
        const bool mixes =
            std::strcmp(name, "ECB") == 0 || std::strcmp(name, "CTR") == 0 || std::strcmp(name, "GCM") == 0;
        for (const bool encrypt : {true, false}) {
            for (const int before : {0, 5}) {
                for (const int bytes : {33, 48}) {
                    const bool fits = mixes && before == 0 && bytes == 48;
                    const CipherContext c = started(cipher.get(), encrypt, key_for(cipher.get()), random_bytes(16));
                    const CipherContext other = started(cipher.get(), encrypt, key_for(cipher.get()), random_bytes(16));
                    unsigned char out[64] = {}, expected[64] = {};
                    int n = 0, m = 0;
                    ASSERT_EQ(1, EVP_CipherUpdate(c.get(), out, &n, out, before));
                    ASSERT_EQ(1, EVP_CipherUpdate(other.get(), expected, &m, expected, before));
                    ERR_clear_error();
                    EXPECT_EQ(EVP_CipherUpdate(c.get(), device.data() + 256, &n, device.data(), bytes), fits ? 1 : 0)
                        << name << encrypt << before << " " << bytes;
                    if (fits) continue;
                    EXPECT_NE(ERR_peek_error(), 0u);
                    const Bytes text = random_bytes(32);
                    ASSERT_EQ(1, EVP_CipherUpdate(c.get(), out, &n, text.data(), 32));
                    ASSERT_EQ(1, EVP_CipherUpdate(other.get(), expected, &m, text.data(), 32));
                    EXPECT_EQ(Bytes(out, out + n), Bytes(expected, expected + m)) << name;
                }
            }
        }
    }
    // Padding holds a block back, and associated data is read by the host.
    const auto ecb = library_.cipher("AES-128-ECB"), gcm = library_.cipher("AES-128-GCM");
    int n = 0;
    const CipherContext padded = started(ecb.get(), false, key_for(ecb.get()), {});
    EXPECT_EQ(1, EVP_CIPHER_CTX_set_padding(padded.get(), 1));
    EXPECT_EQ(0, EVP_CipherUpdate(padded.get(), device.data() + 256, &n, device.data(), 48));
    const CipherContext sealed = started(gcm.get(), true, key_for(gcm.get()), random_bytes(12));
    EXPECT_EQ(0, EVP_CipherUpdate(sealed.get(), nullptr, &n, device.data(), 13));
}

/// No other backend can process device memory. Part of the text may already have been output, so the message ends.
TEST_F(ProviderDeviceMemory, AnUpdateWhoseGpuFailsEndsTheMessage) {
    for (const Mode& mode : {modes[6], modes[10], modes[11]}) {
        const auto cipher = library_.cipher(std::string("AES-128-") + mode.name);
        ASSERT_NE(cipher, nullptr);
        const Bytes key = key_for(cipher.get()), text = random_bytes(4096);
        Bytes iv = random_bytes(16);
        if (is(mode, "GCM")) iv.resize(12);
        const Buffer in(Memory::device, text), out(Memory::device, text);
        const CipherContext c = started(cipher.get(), mode.encrypt, key, iv);
        int n = 0;
        simt::fail_call("cudaLaunchKernelEx", 1, cudaErrorLaunchFailure);
        EXPECT_EQ(0, EVP_CipherUpdate(c.get(), out.data(), &n, in.data(), 4096)) << title(mode);
        Bytes host(16);
        EXPECT_EQ(0, EVP_CipherUpdate(c.get(), host.data(), &n, text.data(), 16)) << title(mode);
        EXPECT_EQ(host, Bytes(16));
        // The context can start another message.
        EXPECT_EQ(1, EVP_CipherInit_ex2(c.get(), nullptr, key.data(), iv.data(), mode.encrypt, nullptr));
        EXPECT_EQ(1, EVP_CipherUpdate(c.get(), out.data(), &n, in.data(), 4096)) << title(mode);
    }
}

}  // namespace
}  // namespace warpaes::test

// Subjects of `warpaes bench`: a case, its buffers, and the call that is timed and checked.
#pragma once

#include <string>
#include <vector>

#include "command.hpp"

namespace cli {

struct NamedMode {
    const char* name;
    warpaes_mode mode;
    bool encrypt_is_parallel;
    bool decrypt_is_parallel;
    bool hash_only = false;  ///< the data is hashed as associated data
};

/// The random bytes are not secure, because the measured buffers contain no secrets.
void fill_randomly(std::vector<unsigned char>& bytes);
Key random_key(unsigned bits);

std::string memory_name(warpaes_memory memory);

/// The parameters of one row of the table.
struct Case {
    std::string backend;
    int device;
    const NamedMode* mode;
    warpaes_direction direction;
    unsigned key_bits;
    std::size_t bytes;
    warpaes_memory memory;
    unsigned threads;
    std::size_t data_unit;  ///< XTS
    std::size_t segment;    ///< GCM: bytes per segment, each with a separate tag; 0: a single message
};

/// Input and output buffers of a case, in the kind of memory that it specifies. The input is random.
class Buffers {
public:
    explicit Buffers(const Case& c);
    Buffers(const Buffers&) = delete;
    Buffers& operator=(const Buffers&) = delete;
    ~Buffers();
    [[nodiscard]] bool fit(const Case& c) const {
        return memory_ == c.memory && device_ == c.device && bytes_ == c.bytes;
    }
    [[nodiscard]] void* input() const { return input_; }
    [[nodiscard]] void* output() const { return output_; }

private:
    Engine engine_;
    warpaes_memory memory_;
    int device_;
    std::size_t bytes_;
    void* input_ = nullptr;
    void* output_ = nullptr;
};

/// Data that a case and its baseline share: keys, nonces, and the tags that decryption expects.
struct Secrets {
    explicit Secrets(const Case& c);
    Key key, tweak_key;
    std::vector<unsigned char> nonces;  ///< 12 bytes for each segment
    std::vector<unsigned char> tags;    ///< 16 bytes for each segment
};

/// One case, ready to run any number of times.
class Subject {
public:
    /// The arguments must outlive the object.
    Subject(const Case& c, warpaes_engine* engine, Secrets& secrets, const Buffers& buffers);

    /// For GCM decryption: encrypts the input in place, so that it is authentic. Must be called once per case.
    void seal_input();
    /// Returns the seconds per call over `calls` back-to-back calls. If calls can be asynchronous, all are enqueued,
    /// and the function then waits for the last call.
    double time(unsigned calls);
    /// Throws if the timed output or a tag differs from libcrypto's for the same input. Without segments, compares only
    /// the first 64 KiB of the output.
    void verify() const;

    [[nodiscard]] const char* backend() const { return backend_; }
    [[nodiscard]] int device() const { return device_; }
    /// Returns a note on the work that the measured time includes.
    [[nodiscard]] std::string includes() const;

private:
    [[nodiscard]] bool is_gcm() const { return case_.mode->mode == WARPAES_GCM; }
    void run();
    void verify_text() const;
    void verify_tag() const;
    void verify_segments() const;
    std::vector<warpaes_batch_entry> entries(warpaes_direction direction, void* input, void* output,
                                             unsigned char* tags) const;
    [[nodiscard]] std::vector<unsigned char> fetch(const void* from, std::size_t n) const;
    void require(bool right, const char* what) const;

    const Case& case_;
    warpaes_engine* engine_;
    Secrets& secrets_;
    const Buffers& buffers_;
    bool asynchronous_;
    unsigned char iv_[16] = {0xf0, 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7,
                             0xf8, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe, 0xff};
    warpaes_message message_{};
    warpaes_result result_ = WARPAES_RESULT_INIT;
    std::vector<warpaes_batch_entry>
        segments_;  ///< one entry for the full segments, and one for a shorter last segment
    struct DeviceFree {
        warpaes_engine* engine;
        void operator()(void* pointer) const { warpaes_free(engine, pointer); }
    };
    std::unique_ptr<void, DeviceFree> device_tag_;  ///< receives the tag of an asynchronous encryption
    const char* backend_ = "";
    int device_ = -1;
};

}  // namespace cli

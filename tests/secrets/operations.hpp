// Runs every operation of the C ABI that handles a secret, one after the other. Each operation creates and destroys its
// own objects.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "warpaes/files.h"
#include "warpaes/names.h"
#include "warpaes/numbers.h"

namespace secrets {

inline constexpr unsigned key_lengths[] = {16, 24, 32};
inline constexpr std::size_t passphrase_bytes = 40;
inline constexpr warpaes_direction directions[] = {WARPAES_ENCRYPT, WARPAES_DECRYPT};
inline constexpr const char* templates[] = {"AES256_GCM_HKDF_4KB", "AES128_CTR_HMAC_SHA256_4KB", "C2SP_CHUNKED_256"};
inline constexpr std::size_t file_bytes = 100000;

/// Returns the length of an IV in the mode.
std::uint64_t iv_bytes(warpaes_mode mode);
bool has_tag(warpaes_mode mode);

/// Formats the name of an operation with std::snprintf.
std::string text(const char* format, int a, int b, std::size_t c, const char* d);

struct Operation {
    std::string name;
    std::function<void()> run;  ///< runs on the caller's thread
    /// Runs first, in a separate step, and sets the patterns to search for. May be empty.
    std::function<void()> before;
};

/// Memory for the operations. All of it lies in the arena and is filled with secrets that the tests then search for.
class World {
public:
    World();
    ~World();
    World(const World&) = delete;
    World& operator=(const World&) = delete;
    /// Returns all operations. `cutting` is an engine with chunks of `small_chunk` bytes.
    [[nodiscard]] std::vector<Operation> operations(warpaes_engine* engine, warpaes_engine* cutting, bool on_gpu);
    /// Returns a description of unexpected statuses, or "".
    [[nodiscard]] std::string complaints();

    static constexpr std::size_t messages = 20;
    static constexpr std::size_t small_chunk = 4096;

private:
    static constexpr std::size_t text_bytes = std::size_t{512} << 10;

    void expect(warpaes_status status, const char* what, warpaes_status wanted = WARPAES_OK);
    warpaes_key* key(unsigned length) const;

    void messages_into(std::vector<Operation>& all);
    void cut_messages_into(std::vector<Operation>& all, warpaes_engine* cutting);
    void composed_into(std::vector<Operation>& all);
    void segments_into(std::vector<Operation>& all);
    void long_message_in_batch(warpaes_mode mode);
    void refused_batch(std::uint64_t key_stride);
    void batches_into(std::vector<Operation>& all);
    void contexts_into(std::vector<Operation>& all);
    void keysets_into(std::vector<Operation>& all);
    void names_into(std::vector<Operation>& all);
    void passphrases_into(std::vector<Operation>& all);
    void keks_into(std::vector<Operation>& all);
    void files_into(std::vector<Operation>& all);
    void streams_into(std::vector<Operation>& all);
    void stdio_into(std::vector<Operation>& all);
    void load(const std::string& place, const warpaes_place_options* options = nullptr);
    void cut_streams_into(std::vector<Operation>& all, warpaes_engine* cutting);
    void memory_into(std::vector<Operation>& all);
    void devices_into(std::vector<Operation>& all);

    void crypt(warpaes_mode mode, warpaes_direction direction, std::size_t length, unsigned key_length, bool forged,
               bool padded, std::uint8_t* input, std::uint8_t* output, warpaes_engine* engine = nullptr);
    void composed(warpaes_mode mode, warpaes_direction direction, std::size_t length, unsigned key_length, bool forged);
    void numbers(warpaes_number kind, std::size_t bytes, std::uint8_t* output);
    void drbg(bool derives, bool briefly);
    void batch(warpaes_mode mode, warpaes_direction direction, std::size_t length, bool raw, bool helped, bool forged);
    void context(warpaes_mode mode, warpaes_direction direction, std::uint32_t flags);
    void on_device(warpaes_mode mode, warpaes_direction direction, const std::string& way);
    void segments(warpaes_direction direction, bool forged, std::uint8_t* input, std::uint8_t* output);
    void enc(warpaes_direction direction, warpaes_kdf kdf, std::uint32_t flags);
    void seal(warpaes_direction direction, const char* name, std::uint32_t flags);
    void write_pieces(warpaes_engine* engine, const char* name, const char* file,
                      std::initializer_list<std::uint64_t> pieces, bool finish);
    void look_for_tag(warpaes_mode mode, const std::uint8_t* iv, std::size_t length, unsigned key_length) const;
    void look_for_drbg() const;
    void look_for_gcm_siv_keys(unsigned key_length) const;
    void look_for_kek() const;
    void make_kek() const;
    void look_for_chunks(unsigned key_length) const;
    void look_for_derived(const char* name) const;
    void look_for_derived(warpaes_kdf kdf, bool base64) const;
    [[nodiscard]] std::string path(const char* name) const;

    warpaes_engine* engine_ = nullptr;
    bool on_gpu_ = false;
    std::string folder_;
    std::uint8_t *keys_, *tweak_keys_, *raw_keys_, *iv_, *ivs_, *tags_, *plain_, *cipher_, *out_;
    char *passphrase_, *json_, *kek_;
    char* complaints_;
};

}  // namespace secrets

// Handles for the C ABI, and the engines that all targets share. There is one engine per CPU backend. Each engine is
// created once and has one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "input.hpp"
#include "warpaes/files.h"

namespace fuzz {

struct Destroy {
    void operator()(warpaes_engine* engine) const { warpaes_engine_destroy(engine); }
    void operator()(warpaes_key* key) const { warpaes_key_destroy(key); }
    void operator()(warpaes_context* context) const { warpaes_context_destroy(context); }
    void operator()(warpaes_keyset* keyset) const { warpaes_keyset_destroy(keyset); }
};
using Engine = std::unique_ptr<warpaes_engine, Destroy>;
using Key = std::unique_ptr<warpaes_key, Destroy>;
using Keyset = std::unique_ptr<warpaes_keyset, Destroy>;
using Context = std::unique_ptr<warpaes_context, Destroy>;

/// Returns one engine per usable CPU backend.
std::vector<Engine> make_engines();
/// Returns one of the shared engines.
warpaes_engine* any_engine(Input& input);
/// Returns null if the length is not valid for an AES key.
Key make_key(const Bytes& bytes);

struct ModeTraits {
    warpaes_mode mode;
    const char* name;  ///< name of the mode in the oracle
    bool whole_blocks;
    bool range;  ///< whether decryption can start at any position
};
/// The modes of the oracle. GCM and XTS have separate functions (evp_oracle.hpp).
inline constexpr ModeTraits plain_modes[] = {
    {WARPAES_ECB, "ECB", true, true},    {WARPAES_CBC, "CBC", true, true},    {WARPAES_CFB128, "CFB128", false, true},
    {WARPAES_CFB8, "CFB8", false, true}, {WARPAES_CFB1, "CFB1", false, true}, {WARPAES_OFB, "OFB", false, false},
    {WARPAES_CTR, "CTR", false, true}};

/// Fails with the library's error message if `status` is an error.
void expect_ok(warpaes_status status, const char* what);

/// Appends a GCM module of row group 0 and column 0. The module belongs to the data page with this ordinal, or to the
/// dictionary page if the ordinal is negative. `type` is the module type in Parquet's encryption.
void seal(warpaes_engine* engine, const Key& key, const Bytes& aad, std::uint8_t type, int ordinal, const Bytes& text,
          Bytes& to);

}  // namespace fuzz

#include <openssl/crypto.h>

#include <cstring>
#include <string>
#include <vector>

#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "format/parquet.hpp"

using namespace warpaes;
using namespace warpaes::capi;

namespace {

constexpr std::uint64_t longest_module_aad = 65536;

std::span<const std::uint8_t> bytes_at(const void* pointer, std::uint64_t length, const char* name) {
    if (length != 0) require(pointer, name);
    return {static_cast<const std::uint8_t*>(pointer), static_cast<std::size_t>(length)};
}

warpaes_parquet_module checked_module(const warpaes_parquet_module* given) {
    const warpaes_parquet_module module = read_struct(given, "module");
    require(module.key, "key");
    if (module.aad_len != 0) require(module.aad, "aad");
    if (module.aad_len > longest_module_aad) throw Error(WARPAES_ERROR_ARGUMENT, "aad_len: must be at most 65,536");
    switch (module.kind) {
    case WARPAES_PARQUET_FOOTER:
    case WARPAES_PARQUET_COLUMN_METADATA:
    case WARPAES_PARQUET_COLUMN_INDEX:
    case WARPAES_PARQUET_OFFSET_INDEX:
    case WARPAES_PARQUET_BLOOM_HEADER:
    case WARPAES_PARQUET_BLOOM_BITSET:
        break;
    default:
        throw Error(
            WARPAES_ERROR_ARGUMENT,
            "kind: must be WARPAES_PARQUET_FOOTER to WARPAES_PARQUET_BLOOM_BITSET, got " + std::to_string(module.kind));
    }
    for (const auto& [name, value] : {std::pair{"row_group", module.row_group}, std::pair{"column", module.column}}) {
        if (value >= parquet::most_ordinals) {
            throw Error(WARPAES_ERROR_ARGUMENT,
                        std::string(name) + ": must be at most 32,767, got " + std::to_string(value));
        }
    }
    return module;
}

const char* name_of(std::uint32_t kind) {
    switch (kind) {
    case WARPAES_PARQUET_COLUMN_METADATA:
        return "column metadata";
    case WARPAES_PARQUET_COLUMN_INDEX:
        return "column index";
    case WARPAES_PARQUET_OFFSET_INDEX:
        return "offset index";
    case WARPAES_PARQUET_BLOOM_HEADER:
        return "Bloom filter header";
    case WARPAES_PARQUET_BLOOM_BITSET:
        return "Bloom filter";
    default:
        return "footer";
    }
}

/// Returns for example "row group 0, column 2: the offset index", or "the footer".
std::string module_place(const warpaes_parquet_module& module) {
    const std::string name = std::string("the ") + name_of(module.kind);
    if (module.kind == WARPAES_PARQUET_FOOTER) return name;
    return "row group " + std::to_string(module.row_group) + ", column " + std::to_string(module.column) + ": " + name;
}

void crypt_module(warpaes_engine* engine, const warpaes_parquet_module& module, warpaes_direction direction,
                  const std::uint8_t* nonce, std::span<const std::uint8_t> input, std::uint8_t* output,
                  std::uint8_t* tag) {
    std::vector<std::uint8_t> aad(static_cast<std::size_t>(module.aad_len) + 8);
    warpaes_message message = WARPAES_MESSAGE_INIT;
    message.mode = WARPAES_GCM;
    message.direction = direction;
    message.key = module.key;
    message.iv = nonce;
    message.iv_len = parquet::nonce_bytes;
    message.input = input.data();
    message.input_len = input.size();
    message.output = output;
    message.output_capacity = input.size();
    const std::uint8_t* const aad_end = parquet::write_module_aad(
        bytes_at(module.aad, module.aad_len, "aad"), module.kind, module.row_group, module.column, aad.data());
    message.aad = aad.data();
    message.aad_len = static_cast<std::uint64_t>(aad_end - aad.data());
    message.tag = tag;
    message.tag_len = parquet::tag_bytes;
    const warpaes_status status = warpaes_crypt(engine, &message, nullptr);
    if (status == WARPAES_ERROR_AUTHENTICATION) {
        throw Error(status, module_place(module) +
                                " is not authentic: the key or the AAD prefix is wrong, or the file was altered");
    }
    require_success(status);
}

void open_module(warpaes_engine* engine, const warpaes_parquet_module& module, std::span<const std::uint8_t> bytes,
                 void* output, std::uint64_t capacity) {
    if (bytes.size() < parquet::gcm_overhead ||
        parquet::little_endian(bytes.data()) != bytes.size() - parquet::length_bytes) {
        throw Error(WARPAES_ERROR_FORMAT, module_place(module) + " has a wrong length, so it is damaged or truncated");
    }
    const auto text = bytes.subspan(parquet::length_bytes + parquet::nonce_bytes, bytes.size() - parquet::gcm_overhead);
    if (capacity < text.size()) {
        throw Error(WARPAES_ERROR_BUFFER_TOO_SMALL, "capacity: needs " + std::to_string(text.size()) + " bytes");
    }
    if (!text.empty()) require(output, "output");
    auto* const tag = const_cast<std::uint8_t*>(text.data() + text.size());  // the tag is only read
    crypt_module(engine, module, WARPAES_DECRYPT, bytes.data() + parquet::length_bytes, text,
                 static_cast<std::uint8_t*>(output), tag);
}

/// The tag of a plaintext footer is computed over its ciphertext, which the file does not contain.
void check_signature(warpaes_engine* engine, const warpaes_parquet_module& module, const parquet::FooterFacts& facts) {
    std::vector<std::uint8_t> ciphertext(facts.body.size()), tag(parquet::tag_bytes);
    crypt_module(engine, module, WARPAES_ENCRYPT, facts.signature.data(), facts.body, ciphertext.data(), tag.data());
    if (CRYPTO_memcmp(tag.data(), facts.signature.data() + parquet::nonce_bytes, tag.size()) != 0) {
        throw Error(WARPAES_ERROR_AUTHENTICATION,
                    "the footer is not authentic: the key or the AAD prefix is wrong, or the file was altered");
    }
}

std::uint64_t metadata_bytes(const parquet::FooterFacts& facts) {
    if (facts.plaintext) return facts.body.size();
    return facts.body.size() < parquet::gcm_overhead ? 0 : facts.body.size() - parquet::gcm_overhead;
}

}  // namespace

extern "C" {

warpaes_status warpaes_parquet_footer_bytes(const void* last, uint64_t file_bytes, uint64_t* bytes) {
    return guarded([&] {
        require(last, "last");
        require(bytes, "bytes");
        *bytes = parquet::footer_bytes(bytes_at(last, parquet::tail_bytes, "last"), file_bytes);
    });
}

warpaes_status warpaes_parquet_inspect_footer(const void* footer, uint64_t footer_len, warpaes_parquet_footer* facts) {
    return guarded([&] {
        require(footer, "footer");
        warpaes_parquet_footer to = read_struct(facts, "facts");
        const parquet::FooterFacts found = parquet::read_footer(bytes_at(footer, footer_len, "footer"));
        to.flags = 0;
        if (found.encrypted) to.flags |= WARPAES_PARQUET_ENCRYPTED;
        if (found.plaintext) to.flags |= WARPAES_PARQUET_PLAINTEXT_FOOTER;
        if (found.ctr) to.flags |= WARPAES_PARQUET_CTR_PAGES;
        if (found.supply_prefix) to.flags |= WARPAES_PARQUET_SUPPLY_AAD_PREFIX;
        to.aad_prefix = found.prefix.data();
        to.aad_prefix_len = found.prefix.size();
        to.aad_file_unique = found.unique.data();
        to.aad_file_unique_len = found.unique.size();
        to.key_metadata = found.key_metadata.data();
        to.key_metadata_len = found.key_metadata.size();
        to.metadata_len = metadata_bytes(found);
        write_struct(to, facts, to.struct_size);
    });
}

warpaes_status warpaes_parquet_open_footer(warpaes_engine* engine, const warpaes_parquet_module* module, void* metadata,
                                           uint64_t capacity) {
    return guarded([&] {
        require(engine, "engine");
        const warpaes_parquet_module its = checked_module(module);
        if (its.kind != WARPAES_PARQUET_FOOTER)
            throw Error(WARPAES_ERROR_ARGUMENT, "kind: must be WARPAES_PARQUET_FOOTER");
        require(its.module, "module");
        const parquet::FooterFacts facts = parquet::read_footer(bytes_at(its.module, its.module_len, "module"));
        if (!facts.encrypted) {
            throw Error(WARPAES_ERROR_FORMAT, "the file is not encrypted, so its footer is not authenticated");
        }
        if (!facts.plaintext) return open_module(engine, its, facts.body, metadata, capacity);
        if (capacity < facts.body.size()) {
            throw Error(WARPAES_ERROR_BUFFER_TOO_SMALL,
                        "capacity: needs " + std::to_string(facts.body.size()) + " bytes");
        }
        require(metadata, "metadata");
        check_signature(engine, its, facts);
        std::memcpy(metadata, facts.body.data(), facts.body.size());
    });
}

warpaes_status warpaes_parquet_open_module(warpaes_engine* engine, const warpaes_parquet_module* module, void* output,
                                           uint64_t capacity) {
    return guarded([&] {
        require(engine, "engine");
        const warpaes_parquet_module its = checked_module(module);
        if (its.kind == WARPAES_PARQUET_FOOTER) {
            throw Error(WARPAES_ERROR_ARGUMENT,
                        "kind: must not be WARPAES_PARQUET_FOOTER; use warpaes_parquet_open_footer");
        }
        open_module(engine, its, bytes_at(its.module, its.module_len, "module"), output, capacity);
    });
}

}  // extern "C"

#include <cstring>
#include <string>

#include "base/error.hpp"
#include "format/parquet.hpp"
#include "format/thrift.hpp"

namespace warpaes::parquet {
namespace {

/// Fields of FileCryptoMetaData, FileMetaData and the union EncryptionAlgorithm (parquet.thrift).
struct Fields {
    std::int32_t algorithm, key_metadata;
};
constexpr Fields of_crypto_metadata{1, 2}, of_metadata{8, 9};
enum : std::int32_t { gcm_v1 = 1, gcm_ctr_v1 = 2 };
enum : std::int32_t { stored_prefix = 1, file_unique = 2, supply_prefix = 3 };

[[noreturn]] void refuse_footer(const std::string& sentence) {
    throw Error(WARPAES_ERROR_FORMAT, "the footer is damaged: " + sentence);
}

/// Calls `visit`, which reads or skips the value, for each field of a struct. Fields are in order and do not repeat.
template <typename Visit>
void each_field(thrift::Reader& reader, const Visit& visit) {
    std::int32_t before = 0;
    for (thrift::Field f = reader.field(0); f.type != thrift::Type::stop; f = reader.field(f.id)) {
        if (f.id <= before) refuse_footer("field " + std::to_string(f.id) + " is out of order");
        before = f.id;
        visit(f);
    }
}

std::span<const std::uint8_t> binary_of(thrift::Reader& reader, const thrift::Field& field) {
    if (field.type != thrift::Type::binary) refuse_footer("field " + std::to_string(field.id) + " has the wrong type");
    return reader.binary();
}

void read_algorithm(thrift::Reader& reader, const thrift::Field& field, FooterFacts& facts) {
    if (field.type != thrift::Type::structure) refuse_footer("the encryption algorithm has the wrong type");
    int found = 0;
    each_field(reader, [&](const thrift::Field& kind) {
        if (++found != 1 || (kind.id != gcm_v1 && kind.id != gcm_ctr_v1) || kind.type != thrift::Type::structure) {
            refuse_footer("the encryption algorithm is unknown; only AES_GCM_V1 and AES_GCM_CTR_V1 are supported");
        }
        facts.ctr = kind.id == gcm_ctr_v1;
        each_field(reader, [&](const thrift::Field& f) {
            if (f.id == stored_prefix) {
                facts.prefix = binary_of(reader, f);
            } else if (f.id == file_unique) {
                facts.unique = binary_of(reader, f);
            } else {
                if (f.id == supply_prefix) facts.supply_prefix = f.type == thrift::Type::bool_true;
                reader.skip(f.type);
            }
        });
    });
    if (found == 0) refuse_footer("it names no encryption algorithm");
    facts.encrypted = true;
}

FooterFacts read_fields(std::span<const std::uint8_t> data, bool plaintext) {
    FooterFacts facts;
    facts.plaintext = plaintext;
    const Fields& fields = plaintext ? of_metadata : of_crypto_metadata;
    thrift::Reader reader(data);
    each_field(reader, [&](const thrift::Field& f) {
        if (f.id == fields.algorithm) {
            read_algorithm(reader, f, facts);
        } else if (f.id == fields.key_metadata) {
            facts.key_metadata = binary_of(reader, f);
        } else {
            reader.skip(f.type);
        }
    });
    const auto rest = data.subspan(reader.position());
    if (!plaintext) {
        if (!facts.encrypted) refuse_footer("it names no encryption algorithm");
        facts.body = rest;
        return facts;
    }
    facts.body = data.first(reader.position());
    if (!facts.encrypted) return facts;
    if (rest.size() != signature_bytes) refuse_footer("its signature does not have 28 bytes");
    facts.signature = rest;
    return facts;
}

std::uint64_t length_before_magic(std::span<const std::uint8_t> last) {
    const bool known = std::memcmp(last.data() + 4, "PAR1", 4) == 0 || std::memcmp(last.data() + 4, "PARE", 4) == 0;
    if (!known) throw Error(WARPAES_ERROR_FORMAT, "not a Parquet file: it does not end with PAR1 or PARE");
    return little_endian(last.data());
}

}  // namespace

std::uint64_t footer_bytes(std::span<const std::uint8_t> last, std::uint64_t file_bytes) {
    const std::uint64_t length = length_before_magic(last);
    if (file_bytes < 12 || length > file_bytes - 12) {
        refuse_footer("it has " + std::to_string(length) + " bytes in a file of " + std::to_string(file_bytes));
    }
    return length + tail_bytes;
}

FooterFacts read_footer(std::span<const std::uint8_t> footer) {
    if (footer.size() < tail_bytes) throw Error(WARPAES_ERROR_FORMAT, "not a Parquet file: it has no footer");
    const auto last = footer.last(tail_bytes);
    if (length_before_magic(last) != footer.size() - tail_bytes) {
        throw Error(WARPAES_ERROR_ARGUMENT, "footer_len: must be the length from warpaes_parquet_footer_bytes");
    }
    const auto data = footer.first(footer.size() - tail_bytes);
    try {
        return read_fields(data, last[7] == '1');
    } catch (const Error& e) {
        const std::string said = e.what();
        if (said.rfind("the footer is damaged", 0) == 0) throw;
        refuse_footer(said);
    }
}

}  // namespace warpaes::parquet

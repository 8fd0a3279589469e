#include "format/parquet.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/error.hpp"
#include "format/thrift.hpp"

namespace warpaes::parquet {
namespace {

/// Fields of PageHeader (parquet.thrift).
enum : std::int32_t { type_field = 1, compressed_size_field = 3, crc_field = 4, last_known_field = 8 };
/// Values of PageType.
enum : std::int32_t { data_page = 0, dictionary_page = 2, data_page_v2 = 3 };

/// The distance from the last field of a header to the filler field: no header has fields there. A distance of 15 or
/// less is encoded in one byte together with the type, which all readers skip.
constexpr int filler_distance = 7;

[[noreturn]] void refuse(const std::string& where, const std::string& sentence) {
    throw Error(WARPAES_ERROR_FORMAT, where + ": " + sentence);
}

std::uint8_t* write_ordinal(std::uint8_t* to, std::uint32_t ordinal) {
    *to++ = static_cast<std::uint8_t>(ordinal);
    *to++ = static_cast<std::uint8_t>(ordinal >> 8);
    return to;
}

/// Returns the size of the module at `offset`, including its length field; 0 if the rest of the modules does not
/// contain it completely.
std::uint64_t module_bytes(const warpaes_parquet_chunk& chunk, std::uint64_t offset, std::uint32_t least,
                           std::int32_t ordinal, const char* kind) {
    const std::uint64_t left = chunk.modules_len - offset;
    if (left < length_bytes) return 0;
    const std::uint64_t bytes =
        std::uint64_t{length_bytes} + little_endian(static_cast<const std::uint8_t*>(chunk.modules) + offset);
    if (bytes < least)
        refuse(place(chunk, ordinal), std::string("the ") + kind + " module is shorter than its nonce and tag");
    if (bytes > UINT32_MAX) refuse(place(chunk, ordinal), std::string("the ") + kind + " module is longer than 4 GiB");
    return bytes > left ? 0 : bytes;
}

/// The fields of a page header that are preserved in its plain view.
class KeptFields {
public:
    explicit KeptFields(std::span<const std::uint8_t> header) : header_(header) {
        try {
            read();
        } catch (const Error& e) {
            throw Error(WARPAES_ERROR_FORMAT, std::string("the page header is damaged: ") + e.what());
        }
    }
    std::int32_t type = -1;
    std::int64_t compressed_size = -1;

    /// Writes the fields with a different compressed size. `to` must have room for the size of the header plus 8 bytes.
    std::uint8_t* write(std::uint8_t* to, std::uint32_t size, std::int32_t& last) const {
        for (std::size_t i = 0; i < count_; ++i) {
            const Kept& kept = kept_[i];
            *to++ = static_cast<std::uint8_t>((kept.id - last) << 4 | static_cast<int>(kept.type));
            last = kept.id;
            if (kept.id == compressed_size_field) {
                to = thrift::write_varint(to, thrift::zigzag(size));
            } else {
                to = std::copy_n(header_.data() + kept.begin, kept.bytes, to);
            }
        }
        return to;
    }

private:
    struct Kept {
        thrift::Type type;
        std::int32_t id;
        std::size_t begin, bytes;
    };

    void read() {
        thrift::Reader reader(header_);
        std::int32_t before = 0;
        for (thrift::Field f = reader.field(0); f.type != thrift::Type::stop; f = reader.field(f.id)) {
            if (f.id <= before || f.id > last_known_field) {
                throw Error(WARPAES_ERROR_FORMAT, "field " + std::to_string(f.id) + " is unknown or out of order");
            }
            before = f.id;
            const std::size_t begin = reader.position();
            if (f.type == thrift::Type::i32 && f.id == type_field) {
                type = reader.i32();
            } else if (f.type == thrift::Type::i32 && f.id == compressed_size_field) {
                compressed_size = reader.i32();
            } else {
                reader.skip(f.type);
            }
            if (f.id != crc_field) kept_[count_++] = {f.type, f.id, begin, reader.position() - begin};
        }
    }

    std::span<const std::uint8_t> header_;
    std::array<Kept, last_known_field> kept_{};
    std::size_t count_ = 0;
};

/// Writes a binary field of zeros that occupies `bytes` bytes (2 to 129).
std::uint8_t* write_filler(std::uint8_t* to, std::size_t bytes) {
    *to++ = filler_distance << 4 | static_cast<int>(thrift::Type::binary);
    *to++ = static_cast<std::uint8_t>(bytes - 2);
    return std::fill_n(to, bytes - 2, std::uint8_t{0});
}

/// Fills [to, end) with binary fields of zeros. Two fields are needed if the length of a single field would take one
/// byte too many.
void fill(std::uint8_t* to, std::uint8_t* end) {
    auto left = static_cast<std::size_t>(end - to);
    if (left == 1) throw Error(WARPAES_ERROR_FORMAT, "the page header leaves no room for its view");
    if (left > 129) {
        const std::size_t zeros = left - 8;
        *to++ = filler_distance << 4 | static_cast<int>(thrift::Type::binary);
        to = thrift::write_varint(to, zeros);
        to = std::fill_n(to, zeros, std::uint8_t{0});
        left = static_cast<std::size_t>(end - to);
    }
    if (left != 0) write_filler(to, left);
}

void rewrite(std::span<std::uint8_t> room, std::size_t header_bytes, std::uint32_t page_module_bytes,
             std::uint32_t plain_page_bytes, bool dictionary) {
    // Some writers pad the header: bytes after the end of the struct are ignored.
    const std::vector<std::uint8_t> header(room.begin(), room.begin() + static_cast<std::ptrdiff_t>(header_bytes));
    const KeptFields fields(header);
    const bool right =
        dictionary ? fields.type == dictionary_page : fields.type == data_page || fields.type == data_page_v2;
    if (!right) {
        throw Error(WARPAES_ERROR_FORMAT, "the page header is of type " + std::to_string(fields.type));
    }
    if (fields.compressed_size != page_module_bytes) {
        throw Error(WARPAES_ERROR_FORMAT, "the page header specifies " + std::to_string(fields.compressed_size) +
                                              " bytes for a page of " + std::to_string(page_module_bytes));
    }
    std::int32_t last = 0;
    std::uint8_t* const end = room.data() + room.size();
    std::uint8_t* const at = fields.write(room.data(), plain_page_bytes, last);
    fill(at, end - 1);
    end[-1] = 0;
}

}  // namespace

std::uint32_t little_endian(const std::uint8_t* bytes) {
    return static_cast<std::uint32_t>(bytes[0]) | static_cast<std::uint32_t>(bytes[1]) << 8 |
           static_cast<std::uint32_t>(bytes[2]) << 16 | static_cast<std::uint32_t>(bytes[3]) << 24;
}

std::string place(const warpaes_parquet_chunk& chunk, std::int32_t ordinal) {
    return "row group " + std::to_string(chunk.row_group) + ", column " + std::to_string(chunk.column) +
           (ordinal < 0 ? std::string(", dictionary page") : ", page " + std::to_string(ordinal));
}

void check_page(const warpaes_parquet_chunk& chunk, const warpaes_parquet_page& page) {
    const bool inside = page.offset <= chunk.modules_len && page.header_bytes <= chunk.modules_len - page.offset &&
                        page.page_bytes <= chunk.modules_len - page.offset - page.header_bytes;
    if (!inside || page.header_bytes <= gcm_overhead || page.page_bytes < page_overhead(chunk) || page.ordinal < -1 ||
        page.ordinal >= static_cast<std::int32_t>(most_ordinals)) {
        throw Error(WARPAES_ERROR_ARGUMENT, "pages: " + place(chunk, page.ordinal) + " is not one of the modules");
    }
}

std::optional<warpaes_parquet_page> page_at(const warpaes_parquet_chunk& chunk, std::uint64_t offset,
                                            std::int32_t ordinal) {
    if (offset == chunk.modules_len) return std::nullopt;
    const std::uint64_t header = module_bytes(chunk, offset, gcm_overhead + 1, ordinal, "header");
    if (header == 0) return std::nullopt;
    const std::uint64_t page = module_bytes(chunk, offset + header, page_overhead(chunk), ordinal, "page");
    if (page == 0) return std::nullopt;
    if (ordinal >= static_cast<std::int32_t>(most_ordinals)) {
        refuse(place(chunk, ordinal), "a column chunk has at most 32,768 data pages");
    }
    return warpaes_parquet_page{offset, static_cast<std::uint32_t>(header), static_cast<std::uint32_t>(page), ordinal,
                                0};
}

std::uint64_t write_aad(const warpaes_parquet_chunk& chunk, const warpaes_parquet_page& page, bool header,
                        std::uint8_t* to) {
    const bool dictionary = page.ordinal < 0;
    const Module type = dictionary ? (header ? Module::dictionary_header : Module::dictionary_page)
                                   : (header ? Module::data_header : Module::data_page);
    std::uint8_t* const end = write_module_aad({static_cast<const std::uint8_t*>(chunk.aad), chunk.aad_len},
                                               static_cast<std::uint32_t>(type), chunk.row_group, chunk.column, to);
    return static_cast<std::uint64_t>(
        (dictionary ? end : write_ordinal(end, static_cast<std::uint32_t>(page.ordinal))) - to);
}

std::uint8_t* write_module_aad(std::span<const std::uint8_t> aad, std::uint32_t kind, std::uint32_t row_group,
                               std::uint32_t column, std::uint8_t* to) {
    to = std::copy(aad.begin(), aad.end(), to);
    *to++ = static_cast<std::uint8_t>(kind);
    if (kind == WARPAES_PARQUET_FOOTER) return to;
    return write_ordinal(write_ordinal(to, row_group), column);
}

void rewrite_header(const warpaes_parquet_chunk& chunk, const warpaes_parquet_page& page,
                    std::span<std::uint8_t> room) {
    try {
        rewrite(room, page.header_bytes - gcm_overhead, page.page_bytes, page.page_bytes - page_overhead(chunk),
                page.ordinal < 0);
    } catch (const Error& e) {
        refuse(place(chunk, page.ordinal), e.what());
    }
}

std::uint64_t Pages::end() const {
    std::uint64_t end = 0;
    for (const auto& page : list) end = std::max(end, page.offset + page.header_bytes + page.page_bytes);
    return end;
}

void Pages::check_order() const {
    std::uint64_t end = 0;
    for (const auto& page : list) {
        if (page.offset < end) throw Error(WARPAES_ERROR_ARGUMENT, "pages: must be in order and without repetitions");
        end = page.offset + page.header_bytes + page.page_bytes;
    }
}

void Pages::save_seals(std::uint8_t* seals) const {
    for (const auto& page : list) {
        const std::uint8_t* const module = modules() + page.offset + page.header_bytes;
        std::memset(seals, 0, WARPAES_PARQUET_SEAL_BYTES);
        std::memcpy(seals, module + length_bytes, nonce_bytes);
        if (ctr()) {
            seals[15] = 1;  // the counter
        } else {
            std::memcpy(seals + 16, module + page.page_bytes - tag_bytes, tag_bytes);
        }
        seals += WARPAES_PARQUET_SEAL_BYTES;
    }
}

}  // namespace warpaes::parquet

// Tests Parquet column chunks with arbitrary bytes as modules, and with arbitrary bytes as an authentic page header. If
// decryption fails, the view must consist of zeros. Also tests arbitrary bytes as footers.
#include "warpaes/parquet.h"

#include <cstring>

#include "handles.hpp"

namespace {

using namespace fuzz;

const Bytes aad = {1, 2, 3};

warpaes_parquet_chunk chunk_of(const Bytes& modules, const Key& key, std::uint32_t flags) {
    warpaes_parquet_chunk chunk = WARPAES_PARQUET_CHUNK_INIT;
    chunk.flags = flags;
    chunk.key = key.get();
    chunk.aad = aad.data();
    chunk.aad_len = aad.size();
    chunk.modules = modules.data();
    chunk.modules_len = modules.size();
    return chunk;
}

/// Stages a chunk's image and decrypts it in place. Returns whether decryption succeeded. If it did, checks that the
/// image equals `view`.
bool stage(warpaes_engine* engine, warpaes_parquet_chunk chunk, const std::vector<warpaes_parquet_page>& pages,
           const Bytes& view) {
    const std::size_t shift = WARPAES_PARQUET_SHIFT(chunk.flags);
    Bytes image(shift + chunk.modules_len), seals(pages.size() * WARPAES_PARQUET_SEAL_BYTES);
    if (chunk.modules_len != 0) std::memcpy(image.data() + shift, chunk.modules, chunk.modules_len);
    chunk.modules = image.data() + shift;
    warpaes_status status =
        warpaes_parquet_stage(engine, &chunk, pages.data(), pages.size(), image.data(), seals.data());
    if (status == WARPAES_OK) {
        status = warpaes_parquet_decrypt_staged(engine, &chunk, pages.data(), pages.size(), image.data(), seals.data());
    }
    if (status != WARPAES_OK) return false;
    image.resize(view.size());
    require(image == view, "the staged image differs from the view");
    return true;
}

/// Lists and decrypts pages. The view's size is exact, so that sanitizers detect writes past its end.
warpaes_status decrypt(warpaes_engine* engine, const warpaes_parquet_chunk& chunk, Bytes& view) {
    std::uint64_t count = 0, walked = 0;
    warpaes_status status = warpaes_parquet_walk(&chunk, nullptr, 0, &count, &walked);
    if (status != WARPAES_OK && status != WARPAES_ERROR_BUFFER_TOO_SMALL) {
        require(status == WARPAES_ERROR_FORMAT, "the walk's status differs");
        return status;
    }
    require(walked <= chunk.modules_len, "a walk past the modules");
    require((status == WARPAES_OK) == (count == 0), "no room for pages");
    std::vector<warpaes_parquet_page> pages(count);
    expect_ok(warpaes_parquet_walk(&chunk, pages.data(), count, nullptr, nullptr), "walk");
    view.assign(walked, 0xaa);
    status = warpaes_parquet_decrypt(engine, &chunk, pages.data(), count, view.data(), view.size());
    const bool staged = stage(engine, chunk, pages, status == WARPAES_OK ? view : Bytes());
    require(staged == (status == WARPAES_OK), "the staged image's status differs");
    if (status == WARPAES_OK || count == 0) return status;
    require(status == WARPAES_ERROR_AUTHENTICATION || status == WARPAES_ERROR_FORMAT, "another status");
    require(std::strncmp(warpaes_last_error(), "row group 0, column 0, ", 23) == 0, "an error without its position");
    require(view == Bytes(view.size(), 0), "the view was not wiped");
    return status;
}

void check_header(warpaes_engine* engine, const Key& key, Input& in) {
    const Bytes text = in.bytes(in.below(80)), header = in.rest();
    if (header.empty()) return;
    Bytes modules, view;
    seal(engine, key, aad, 4, 0, header, modules);
    seal(engine, key, aad, 2, 0, text, modules);
    if (decrypt(engine, chunk_of(modules, key, 0), view) != WARPAES_OK) return;
    require(view.size() == header.size() + text.size() + 64, "the view's length");
    require(std::memcmp(view.data() + header.size() + 64, text.data(), text.size()) == 0, "the page");
    require(view[header.size() + 63] == 0, "the header's end");
}

/// Treats arbitrary bytes as the end of a file. Nothing outside them may be read, and none of them are authentic.
void check_footer(warpaes_engine* engine, const Key& key, Input& in) {
    const bool plaintext = in.flag();
    Bytes footer = in.rest();
    const auto length = static_cast<std::uint32_t>(footer.size());
    for (unsigned shift = 0; shift < 32; shift += 8) footer.push_back(static_cast<std::uint8_t>(length >> shift));
    for (const char c : {'P', 'A', 'R', plaintext ? '1' : 'E'}) footer.push_back(static_cast<std::uint8_t>(c));
    std::uint64_t bytes = 0;
    expect_ok(warpaes_parquet_footer_bytes(footer.data() + length, footer.size() + 4, &bytes), "footer_bytes");
    require(bytes == footer.size(), "the footer's length");
    warpaes_parquet_footer facts = WARPAES_PARQUET_FOOTER_INIT;
    warpaes_status status = warpaes_parquet_inspect_footer(footer.data(), footer.size(), &facts);
    if (status != WARPAES_OK) return require(status == WARPAES_ERROR_FORMAT, "an unexpected status for a footer");
    require(facts.metadata_len <= length, "metadata longer than the footer");
    const auto inside = [&](const void* part, std::uint64_t part_len) {
        const auto* const at = static_cast<const std::uint8_t*>(part);
        require(part_len == 0 || (at >= footer.data() && at + part_len <= footer.data() + length), "a part outside");
    };
    inside(facts.aad_prefix, facts.aad_prefix_len);
    inside(facts.aad_file_unique, facts.aad_file_unique_len);
    inside(facts.key_metadata, facts.key_metadata_len);
    warpaes_parquet_module module = WARPAES_PARQUET_MODULE_INIT;
    module.key = key.get();
    module.aad = aad.data();
    module.aad_len = aad.size();
    module.module = footer.data();
    module.module_len = footer.size();
    Bytes metadata(facts.metadata_len);
    status = warpaes_parquet_open_footer(engine, &module, metadata.data(), metadata.size());
    require(status == WARPAES_ERROR_FORMAT || status == WARPAES_ERROR_AUTHENTICATION, "an authentic footer");
    require(metadata == Bytes(metadata.size(), 0), "bytes of a footer that is not authentic");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Input in(data, size);
    const Key key = make_key(Bytes(16, 7));
    warpaes_engine* const engine = any_engine(in);
    const std::size_t kind = in.below(3);
    if (kind != 0) {
        (kind == 1 ? check_header : check_footer)(engine, key, in);
        return 0;
    }
    const std::uint32_t flags = in.byte() & 3;
    const Bytes modules = in.rest();
    Bytes view;
    (void)decrypt(engine, chunk_of(modules, key, flags), view);
    return 0;
}

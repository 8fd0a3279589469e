#include "format/parquet.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "capi/guard.hpp"
#include "capi/handles.hpp"
#include "engine/memory.hpp"
#include "message/checks.hpp"

using namespace warpaes;
using namespace warpaes::capi;
using parquet::Pages;
using parquet::place;

namespace {

constexpr std::uint64_t longest_aad = 65536;
/// Chunks up to this size are decrypted on one thread, because Parquet readers already decrypt on several threads.
constexpr std::uint64_t most_bytes_of_one_thread = 4 << 20;

warpaes_parquet_chunk checked(const warpaes_parquet_chunk* given) {
    const warpaes_parquet_chunk chunk = read_struct(given, "chunk");
    refuse_unknown_flags(chunk.flags, WARPAES_PARQUET_CTR_PAGES | WARPAES_PARQUET_DICTIONARY);
    if (chunk.aad_len != 0) require(chunk.aad, "aad");
    if (chunk.aad_len > longest_aad) throw Error(WARPAES_ERROR_ARGUMENT, "aad_len: must be at most 65,536");
    if (chunk.modules_len != 0) require(chunk.modules, "modules");
    if (chunk.reserved != 0) throw Error(WARPAES_ERROR_ARGUMENT, "reserved: must be 0");
    for (const auto& [name, value] : {std::pair{"row_group", chunk.row_group}, std::pair{"column", chunk.column},
                                      std::pair{"first_page", chunk.first_page}}) {
        if (value >= parquet::most_ordinals) {
            throw Error(WARPAES_ERROR_ARGUMENT,
                        std::string(name) + ": must be at most 32,767, got " + std::to_string(value));
        }
    }
    return chunk;
}

Pages checked(const warpaes_parquet_chunk* given, const warpaes_parquet_page* pages, std::uint64_t count) {
    const warpaes_parquet_chunk chunk = checked(given);
    require(chunk.key, "key");
    if (count != 0) require(pages, "pages");
    return {chunk, {pages, static_cast<std::size_t>(count)}};
}

warpaes_elements at(const void* pointer) {
    warpaes_elements elements{};
    elements.at.pointer = const_cast<void*>(pointer);
    return elements;
}

warpaes_batch_entry entry_of(warpaes_mode mode, const warpaes_key* key, const std::uint8_t* iv, std::uint32_t iv_len,
                             const std::uint8_t* text, std::uint64_t length, std::uint8_t* output) {
    warpaes_batch_entry entry{};
    entry.mode = mode;
    entry.direction = WARPAES_DECRYPT;
    entry.count = 1;
    entry.length = length;
    entry.key = key;
    entry.iv = at(iv);
    entry.iv_len = iv_len;
    entry.input = at(text);
    entry.output = at(output);
    return entry;
}

warpaes_batch_entry gcm_entry(const warpaes_key* key, const std::uint8_t* nonce, const std::uint8_t* text,
                              std::uint64_t length, const std::uint8_t* tag, const std::uint8_t* aad,
                              std::uint64_t aad_len, std::uint8_t* output) {
    warpaes_batch_entry entry = entry_of(WARPAES_GCM, key, nonce, parquet::nonce_bytes, text, length, output);
    entry.tag = at(tag);
    entry.tag_len = parquet::tag_bytes;
    entry.aad = at(aad);
    entry.aad_len = aad_len;
    return entry;
}

/// Returns an entry that decrypts the GCM module at `module` (after its length field: nonce, text, tag).
warpaes_batch_entry module_entry(const warpaes_key* key, const std::uint8_t* module, std::uint64_t module_bytes,
                                 const std::uint8_t* aad, std::uint64_t aad_len, std::uint8_t* output) {
    const std::uint8_t* const nonce = module + parquet::length_bytes;
    const std::uint8_t* const text = nonce + parquet::nonce_bytes;
    const std::uint64_t length = module_bytes - parquet::gcm_overhead;
    return gcm_entry(key, nonce, text, length, text + length, aad, aad_len, output);
}

warpaes_batch_entry ctr_entry(const Pages& pages, const warpaes_parquet_page& page, const std::uint8_t* counter,
                              const std::uint8_t* text, std::uint8_t* output) {
    return entry_of(WARPAES_CTR, pages.chunk.key, counter, block_bytes, text, pages.plain_bytes(page), output);
}

warpaes_batch_entry header_entry(const Pages& pages, const warpaes_parquet_page& page, std::uint8_t* view,
                                 std::uint8_t* scratch) {
    const std::uint64_t aad_len = parquet::write_aad(pages.chunk, page, true, scratch);
    return module_entry(pages.chunk.key, pages.modules() + page.offset, page.header_bytes, scratch, aad_len,
                        view + page.offset);
}

warpaes_batch_entry page_entry(const Pages& pages, const warpaes_parquet_page& page, const std::uint8_t* input,
                               std::uint8_t* view, std::uint8_t* scratch) {
    const std::uint64_t begin = page.offset + page.header_bytes;
    std::uint8_t* const output = view + page.offset + pages.header_room(page);
    if (!pages.ctr()) {
        const std::uint64_t aad_len = parquet::write_aad(pages.chunk, page, false, scratch);
        return module_entry(pages.chunk.key, input + begin, page.page_bytes, scratch, aad_len, output);
    }
    // The counter block is the nonce followed by the number 1. `input` may be in device memory, so the nonce is read
    // from `modules`.
    std::memcpy(scratch, pages.modules() + begin + parquet::length_bytes, parquet::nonce_bytes);
    constexpr std::uint8_t one[4] = {0, 0, 0, 1};
    std::memcpy(scratch + parquet::nonce_bytes, one, sizeof one);
    return ctr_entry(pages, page, scratch, input + begin + parquet::ctr_overhead, output);
}

void rewrite_header(const Pages& pages, const warpaes_parquet_page& page, std::uint8_t* view) {
    parquet::rewrite_header(pages.chunk, page, {view + page.offset, static_cast<std::size_t>(pages.header_room(page))});
}

[[noreturn]] void refuse_tag(const Pages& pages, const warpaes_parquet_page& page, const char* module) {
    throw Error(WARPAES_ERROR_AUTHENTICATION,
                place(pages.chunk, page.ordinal) + ": the " + module +
                    " is not authentic: the key or the AAD prefix is wrong, or the file was altered");
}

/// Runs one entry for each page, the result of `entry(number, page, the page's part of scratch)`. Throws an Error that
/// names the first page that is not authentic.
template <typename Entry>
void run_batch(warpaes_engine* engine, const Pages& pages, const char* module, const Entry& entry) {
    std::vector<std::uint8_t> scratch(static_cast<std::size_t>(pages.scratch_bytes()) * pages.list.size());
    std::vector<warpaes_batch_entry> entries(pages.list.size());
    for_each(pages, scratch.data(),
             [&](std::size_t i, const auto& page, std::uint8_t* own) { entries[i] = entry(i, page, own); });
    warpaes_batch_options options = WARPAES_BATCH_OPTIONS_INIT;
    std::vector<warpaes_entry_result> results(entries.size());
    options.results = results.data();
    warpaes_batch* batch = nullptr;
    warpaes_status status = warpaes_batch_submit(engine, &options, entries.data(), entries.size(), &batch);
    const std::unique_ptr<warpaes_batch, decltype(&warpaes_batch_destroy)> owner(batch, warpaes_batch_destroy);
    if (status == WARPAES_OK) status = warpaes_batch_wait(batch, WARPAES_UNKNOWN);
    if (status == WARPAES_OK) return;
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (results[i].status == WARPAES_ERROR_AUTHENTICATION) refuse_tag(pages, pages.list[i], module);
    }
    throw Error(status, warpaes_last_error());
}

void decrypt_as_batch(warpaes_engine* engine, const Pages& pages, std::uint8_t* view) {
    run_batch(engine, pages, "page header",
              [&](std::size_t, const auto& page, std::uint8_t* own) { return header_entry(pages, page, view, own); });
    for (const auto& page : pages.list) rewrite_header(pages, page, view);
    run_batch(engine, pages, "page", [&](std::size_t, const auto& page, std::uint8_t* own) {
        return page_entry(pages, page, pages.modules(), view, own);
    });
}

void run(warpaes_engine* engine, const Pages& pages, const warpaes_parquet_page& page, const warpaes_batch_entry& entry,
         const char* module) {
    warpaes_message message = WARPAES_MESSAGE_INIT;
    message.mode = entry.mode;
    message.direction = entry.direction;
    message.key = entry.key;
    message.iv = static_cast<const std::uint8_t*>(entry.iv.at.pointer);
    message.iv_len = entry.iv_len;
    message.input = entry.input.at.pointer;
    message.input_len = entry.length;
    message.output = entry.output.at.pointer;
    message.output_capacity = entry.length;
    message.aad = entry.aad.at.pointer;
    message.aad_len = entry.aad_len;
    message.tag = entry.tag.at.pointer;
    message.tag_len = entry.tag_len;
    const warpaes_status status = warpaes_crypt(engine, &message, nullptr);
    if (status == WARPAES_ERROR_AUTHENTICATION) refuse_tag(pages, page, module);
    require_success(status);
}

/// Decrypts pages one after another on this thread, so that each page is loaded into the processor's caches only once
/// and no other thread is woken.
void decrypt_in_turn(warpaes_engine* engine, const Pages& pages, std::uint8_t* view) {
    std::vector<std::uint8_t> scratch(static_cast<std::size_t>(pages.scratch_bytes()));
    for (const auto& page : pages.list) {
        run(engine, pages, page, header_entry(pages, page, view, scratch.data()), "page header");
        rewrite_header(pages, page, view);
        run(engine, pages, page, page_entry(pages, page, pages.modules(), view, scratch.data()), "page");
    }
}

void decrypt(warpaes_engine* engine, const Pages& pages, std::uint8_t* view) {
    std::uint64_t bytes = 0;
    for (const auto& page : pages.list) bytes += page.page_bytes;
    const bool alone = engine->impl.options().threads == 1 || bytes <= most_bytes_of_one_thread;
    (alone ? decrypt_in_turn : decrypt_as_batch)(engine, pages, view);
}

/// Returns the address of the chunk's modules, image + shift. Each page's text is therefore already at its position in
/// the plain view.
const std::uint8_t* modules_of(const Pages& pages, std::uint8_t* image) {
    return image + WARPAES_PARQUET_SHIFT(pages.chunk.flags);
}

warpaes_batch_entry staged_entry(const Pages& pages, const warpaes_parquet_page& page, std::uint8_t* image,
                                 const std::uint8_t* seal, std::uint8_t* scratch) {
    std::uint8_t* const text = image + page.offset + pages.header_room(page);
    if (pages.ctr()) return ctr_entry(pages, page, seal, text, text);
    const std::uint64_t aad_len = parquet::write_aad(pages.chunk, page, false, scratch);
    return gcm_entry(pages.chunk.key, seal, text, pages.plain_bytes(page), seal + block_bytes, scratch, aad_len, text);
}

warpaes_extent extent(const void* first, std::uint64_t bytes) {
    return {const_cast<void*>(first), bytes};
}

/// A table of pages in the given extents, with rows converted from entries.
struct PageTable {
    PageTable(const Pages& pages, warpaes_extent input, warpaes_extent output, warpaes_extent scratch,
              warpaes_extent iv, warpaes_extent tag)
        : made(WARPAES_BATCH_TABLE_INIT) {
        const bool ctr = pages.ctr();
        made.mode = ctr ? WARPAES_CTR : WARPAES_GCM;
        made.direction = WARPAES_DECRYPT;
        made.iv_len = ctr ? block_bytes : parquet::nonce_bytes;
        made.tag_len = ctr ? 0 : parquet::tag_bytes;
        made.key = pages.chunk.key;
        made.input = input;
        made.output = output;
        made.iv = iv;
        if (!ctr) made.aad = scratch, made.tag = tag;
    }
    [[nodiscard]] warpaes_table_message row(const warpaes_batch_entry& entry) const {
        const auto offset = [](const warpaes_elements& elements, const warpaes_extent& extent) {
            if (elements.at.pointer == nullptr || extent.pointer == nullptr) return std::uint64_t{0};
            return static_cast<std::uint64_t>(static_cast<const std::uint8_t*>(elements.at.pointer) -
                                              static_cast<const std::uint8_t*>(extent.pointer));
        };
        return {.input = offset(entry.input, made.input),
                .output = offset(entry.output, made.output),
                .length = entry.length,
                .iv = offset(entry.iv, made.iv),
                .aad = offset(entry.aad, made.aad),
                .aad_len = entry.aad_len,
                .tag = offset(entry.tag, made.tag),
                .reserved = 0};
    }
    /// Returns the table with one row per page, converted from `entry(number, page, the page's part of scratch)`.
    template <typename Entry>
    warpaes_batch_table with_rows(const Pages& pages, void* scratch, warpaes_table_message* messages,
                                  warpaes_status* statuses, const Entry& entry) {
        for_each(pages, scratch,
                 [&](std::size_t i, const auto& page, std::uint8_t* own) { messages[i] = row(entry(i, page, own)); });
        made.messages = messages;
        made.count = pages.list.size();
        made.statuses = statuses;
        return made;
    }

    warpaes_batch_table made;
};

/// Writes the rows of a staged image's pages.
warpaes_batch_table staged_table(const Pages& pages, std::uint8_t* image, const std::uint8_t* seals,
                                 std::uint8_t* scratch, warpaes_status* statuses, warpaes_table_message* messages) {
    const std::uint64_t count = pages.list.size();
    const warpaes_extent whole = extent(image, pages.end());
    const warpaes_extent sealed = extent(seals, count * WARPAES_PARQUET_SEAL_BYTES);
    PageTable table(pages, whole, whole, extent(scratch, count * pages.scratch_bytes()), sealed, sealed);
    return table.with_rows(pages, scratch, messages, statuses, [&](std::size_t i, const auto& page, std::uint8_t* own) {
        return staged_entry(pages, page, image, seals + i * WARPAES_PARQUET_SEAL_BYTES, own);
    });
}

/// Decrypts a staged image in host or device memory.
void run_staged(warpaes_engine* engine, const Pages& pages, std::uint8_t* image, const std::uint8_t* seals) {
    run_batch(engine, pages, "page", [&](std::size_t i, const auto& page, std::uint8_t* own) {
        return staged_entry(pages, page, image, seals + i * WARPAES_PARQUET_SEAL_BYTES, own);
    });
}

/// Decrypts a staged image in the memory of a device, on its default stream. Returns false if CUDA does not allow the
/// use of the default stream because another stream is being captured.
bool run_staged_on(int device, warpaes_engine* engine, const Pages& pages, std::uint8_t* image,
                   const std::uint8_t* seals) {
    const std::size_t count = pages.list.size(), bytes = count * sizeof(warpaes_status);
    std::vector<std::uint8_t> scratch(static_cast<std::size_t>(pages.scratch_bytes()) * count);
    std::vector<warpaes_table_message> messages(count);
    const DeviceBuffer statuses(device, bytes);
    const warpaes_batch_table table = staged_table(pages, image, seals, scratch.data(),
                                                   reinterpret_cast<warpaes_status*>(statuses.get()), messages.data());
    const warpaes_status status = warpaes_batch_enqueue_table(engine, &table, nullptr);
    if (status == WARPAES_ERROR_STATE) return false;
    require_success(status);
    std::vector<warpaes_status> got(count);
    copy_memory(got.data(), statuses.get(), bytes, device);
    for (std::size_t i = 0; i < count; ++i) {
        if (got[i] == WARPAES_ERROR_AUTHENTICATION) refuse_tag(pages, pages.list[i], "page");
        if (got[i] != WARPAES_OK) throw Error(got[i], place(pages.chunk, pages.list[i].ordinal) + ": was refused");
    }
    return true;
}

void stage(warpaes_engine* engine, const Pages& pages, std::uint8_t* image, std::uint8_t* seals) {
    // A header fills the space of the previous page's tag and of its own page's nonce, which are saved first.
    pages.save_seals(seals);
    std::vector<std::uint8_t> scratch(static_cast<std::size_t>(pages.scratch_bytes()));
    std::vector<std::uint8_t> header;
    for (const auto& page : pages.list) {
        header.resize(static_cast<std::size_t>(pages.header_room(page)));
        warpaes_batch_entry entry = header_entry(pages, page, image, scratch.data());
        entry.output = at(header.data());
        run(engine, pages, page, entry, "page header");
        parquet::rewrite_header(pages.chunk, page, header);
        std::memcpy(image + page.offset, header.data(), header.size());
    }
}

}  // namespace

extern "C" {

warpaes_status warpaes_parquet_walk(const warpaes_parquet_chunk* given, warpaes_parquet_page* pages, uint64_t capacity,
                                    uint64_t* count, uint64_t* walked) {
    return guarded([&] {
        const warpaes_parquet_chunk chunk = checked(given);
        if (capacity != 0) require(pages, "pages");
        std::uint64_t found = 0, offset = 0;
        auto ordinal = static_cast<std::int32_t>(chunk.first_page);
        const bool dictionary = (chunk.flags & WARPAES_PARQUET_DICTIONARY) != 0;
        while (const auto page = parquet::page_at(chunk, offset, dictionary && found == 0 ? -1 : ordinal)) {
            if (page->ordinal >= 0) ++ordinal;
            if (found < capacity) pages[found] = *page;
            ++found;
            offset += std::uint64_t{page->header_bytes} + page->page_bytes;
        }
        if (count != nullptr) *count = found;
        if (walked != nullptr) *walked = offset;
        if (found > capacity) {
            throw Error(WARPAES_ERROR_BUFFER_TOO_SMALL, "capacity: there are " + std::to_string(found) + " pages");
        }
    });
}

warpaes_status warpaes_parquet_header_entries(const warpaes_parquet_chunk* chunk, const warpaes_parquet_page* pages,
                                              uint64_t count, void* view, void* scratch, warpaes_batch_entry* entries) {
    return guarded([&] {
        const Pages checked_pages = checked(chunk, pages, count);
        if (count == 0) return;
        require_all({{view, "view"}, {scratch, "scratch"}, {entries, "entries"}});
        for_each(checked_pages, scratch, [&](std::size_t i, const auto& page, std::uint8_t* own) {
            entries[i] = header_entry(checked_pages, page, static_cast<std::uint8_t*>(view), own);
        });
    });
}

warpaes_status warpaes_parquet_rewrite_headers(const warpaes_parquet_chunk* chunk, const warpaes_parquet_page* pages,
                                               uint64_t count, void* view) {
    return guarded([&] {
        const Pages checked_pages = checked(chunk, pages, count);
        if (count == 0) return;
        require(view, "view");
        for (const auto& page : checked_pages.list)
            rewrite_header(checked_pages, page, static_cast<std::uint8_t*>(view));
    });
}

warpaes_status warpaes_parquet_page_entries(const warpaes_parquet_chunk* chunk, const warpaes_parquet_page* pages,
                                            uint64_t count, const void* input, void* view, void* scratch,
                                            warpaes_status* statuses, warpaes_batch_entry* entries) {
    return guarded([&] {
        const Pages checked_pages = checked(chunk, pages, count);
        if (count == 0) return;
        require_all({{input, "input"}, {view, "view"}, {scratch, "scratch"}, {entries, "entries"}});
        for_each(checked_pages, scratch, [&](std::size_t i, const auto& page, std::uint8_t* own) {
            entries[i] = page_entry(checked_pages, page, static_cast<const std::uint8_t*>(input),
                                    static_cast<std::uint8_t*>(view), own);
            if (statuses != nullptr) entries[i].statuses = statuses + i;
        });
    });
}

warpaes_status warpaes_parquet_page_table(const warpaes_parquet_chunk* chunk, const warpaes_parquet_page* pages,
                                          uint64_t count, const void* input, void* view, void* scratch,
                                          warpaes_status* statuses, warpaes_table_message* messages,
                                          warpaes_batch_table* table) {
    return guarded([&] {
        const Pages checked_pages = checked(chunk, pages, count);
        require(table, "table");
        if (count != 0) {
            require_all({{input, "input"}, {view, "view"}, {scratch, "scratch"}});
            require_all({{statuses, "statuses"}, {messages, "messages"}});
        }
        const warpaes_extent from = extent(input, checked_pages.end());
        const warpaes_extent own = extent(scratch, count * checked_pages.scratch_bytes());
        PageTable made(checked_pages, from, extent(view, from.bytes), own, checked_pages.ctr() ? own : from, from);
        *table = made.with_rows(checked_pages, scratch, messages, statuses,
                                [&](std::size_t, const auto& page, std::uint8_t* its) {
                                    return page_entry(checked_pages, page, static_cast<const std::uint8_t*>(input),
                                                      static_cast<std::uint8_t*>(view), its);
                                });
    });
}

warpaes_status warpaes_parquet_decrypt(warpaes_engine* engine, const warpaes_parquet_chunk* chunk,
                                       const warpaes_parquet_page* pages, uint64_t count, void* view,
                                       uint64_t view_len) {
    return guarded([&] {
        require(engine, "engine");
        const Pages checked_pages = checked(chunk, pages, count);
        if (view_len != 0) require(view, "view");
        checked_pages.check_order();
        const std::uint64_t end = checked_pages.end();
        if (view_len < end) {
            throw Error(WARPAES_ERROR_BUFFER_TOO_SMALL, "view_len: needs " + std::to_string(end) + " bytes");
        }
        if (count == 0) return;
        try {
            decrypt(engine, checked_pages, static_cast<std::uint8_t*>(view));
        } catch (...) {
            std::memset(view, 0, static_cast<std::size_t>(view_len));
            throw;
        }
    });
}

warpaes_status warpaes_parquet_stage(warpaes_engine* engine, const warpaes_parquet_chunk* chunk,
                                     const warpaes_parquet_page* pages, uint64_t count, void* image, void* seals) {
    return guarded([&] {
        require(engine, "engine");
        const Pages checked_pages = checked(chunk, pages, count);
        if (count == 0) return;
        require_all({{image, "image"}, {seals, "seals"}});
        checked_pages.check_order();
        auto* const bytes = static_cast<std::uint8_t*>(image);
        if (checked_pages.modules() != modules_of(checked_pages, bytes)) {
            throw Error(WARPAES_ERROR_ARGUMENT, "image: must contain the chunk's modules at WARPAES_PARQUET_SHIFT");
        }
        stage(engine, checked_pages, bytes, static_cast<std::uint8_t*>(seals));
    });
}

warpaes_status warpaes_parquet_staged_entries(const warpaes_parquet_chunk* chunk, const warpaes_parquet_page* pages,
                                              uint64_t count, void* image, const void* seals, void* scratch,
                                              warpaes_status* statuses, warpaes_batch_entry* entries) {
    return guarded([&] {
        const Pages checked_pages = checked(chunk, pages, count);
        if (count == 0) return;
        require_all({{image, "image"}, {seals, "seals"}, {scratch, "scratch"}, {entries, "entries"}});
        for_each(checked_pages, scratch, [&](std::size_t i, const auto& page, std::uint8_t* own) {
            entries[i] = staged_entry(checked_pages, page, static_cast<std::uint8_t*>(image),
                                      static_cast<const std::uint8_t*>(seals) + i * WARPAES_PARQUET_SEAL_BYTES, own);
            if (statuses != nullptr) entries[i].statuses = statuses + i;
        });
    });
}

warpaes_status warpaes_parquet_staged_table(const warpaes_parquet_chunk* chunk, const warpaes_parquet_page* pages,
                                            uint64_t count, void* image, const void* seals, void* scratch,
                                            warpaes_status* statuses, warpaes_table_message* messages,
                                            warpaes_batch_table* table) {
    return guarded([&] {
        const Pages checked_pages = checked(chunk, pages, count);
        require(table, "table");
        if (count != 0) {
            require_all({{image, "image"}, {seals, "seals"}, {scratch, "scratch"}});
            require_all({{statuses, "statuses"}, {messages, "messages"}});
        }
        *table = staged_table(checked_pages, static_cast<std::uint8_t*>(image), static_cast<const std::uint8_t*>(seals),
                              static_cast<std::uint8_t*>(scratch), statuses, messages);
    });
}

warpaes_status warpaes_parquet_decrypt_staged(warpaes_engine* engine, const warpaes_parquet_chunk* chunk,
                                              const warpaes_parquet_page* pages, uint64_t count, void* image,
                                              const void* seals) {
    return guarded([&] {
        require(engine, "engine");
        const Pages checked_pages = checked(chunk, pages, count);
        if (count == 0) return;
        require_all({{image, "image"}, {seals, "seals"}});
        checked_pages.check_order();
        auto* const bytes = static_cast<std::uint8_t*>(image);
        const auto* const sealed = static_cast<const std::uint8_t*>(seals);
        try {
            const int device = device_of(image);
            if (device < 0 || !run_staged_on(device, engine, checked_pages, bytes, sealed)) {
                run_staged(engine, checked_pages, bytes, sealed);
            }
        } catch (...) {
            const std::vector<std::uint8_t> zeros(static_cast<std::size_t>(checked_pages.end()));
            (void)warpaes_copy(engine, image, zeros.data(), zeros.size());
            throw;
        }
    });
}

}  // extern "C"

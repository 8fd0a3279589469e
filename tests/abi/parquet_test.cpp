// Tests column chunks of encrypted Parquet files (warpaes/parquet.h). The test assembles them module by module.
#include "warpaes/parquet.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "support.hpp"

namespace abi_tests {
namespace {

constexpr std::uint32_t row_group = 3, column = 7;
const Bytes aad_file = {'p', 'r', 'e', 'f', 'i', 'x', 1, 2, 3, 4};

void append(Bytes& to, const Bytes& more) {
    to.insert(to.end(), more.begin(), more.end());
}

Bytes varint(std::uint64_t value) {
    Bytes bytes;
    for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<std::uint8_t>(value | 0x80));
    bytes.push_back(static_cast<std::uint8_t>(value));
    return bytes;
}

/// Returns a PageHeader, which consists of type, uncompressed size, compressed size, an optional CRC and a
/// DataPageHeader, followed by bytes after its end.
Bytes page_header(std::uint32_t type, std::uint64_t compressed, bool crc, std::size_t padding) {
    Bytes bytes = {0x15, static_cast<std::uint8_t>(2 * type), 0x15, 0x50, 0x15};
    append(bytes, varint(2 * compressed));
    if (crc) append(bytes, {0x15, 0xfe, 0xff, 0xff, 0xff, 0x0f});
    append(bytes,
           {static_cast<std::uint8_t>(crc ? 0x1c : 0x2c), 0x15, 0x10, 0x15, 0x00, 0x15, 0x06, 0x15, 0x06, 0x00, 0x00});
    bytes.resize(bytes.size() + padding, 0xee);
    return bytes;
}

class Parquet : public testing::Test {
protected:
    /// Appends a module and returns its length.
    std::size_t seal(const Bytes& text, std::uint8_t type, int ordinal, bool ctr = false) {
        Bytes aad = aad_file;
        append(aad, {type, row_group, 0, column, 0});
        if (ordinal >= 0) append(aad, {static_cast<std::uint8_t>(ordinal), static_cast<std::uint8_t>(ordinal >> 8)});
        Bytes iv = random_.bytes(12), out(text.size()), tag(16);
        Bytes counter = iv;
        append(counter, {0, 0, 0, 1});
        const auto length = static_cast<std::uint32_t>(12 + text.size() + (ctr ? 0 : 16));
        for (unsigned shift = 0; shift < 32; shift += 8) modules_.push_back(static_cast<std::uint8_t>(length >> shift));
        append(modules_, iv);
        warpaes_message message = WARPAES_MESSAGE_INIT;
        message.mode = ctr ? WARPAES_CTR : WARPAES_GCM;
        message.direction = WARPAES_ENCRYPT;
        message.key = key_.get();
        message.iv = ctr ? counter.data() : iv.data();
        message.iv_len = ctr ? 16 : 12;
        message.input = text.data();
        message.input_len = text.size();
        message.output = out.data();
        message.output_capacity = out.size();
        if (!ctr) {
            message.aad = aad.data();
            message.aad_len = aad.size();
            message.tag = tag.data();
            message.tag_len = tag.size();
        }
        EXPECT_EQ(warpaes_crypt(engine_.get(), &message, nullptr), WARPAES_OK) << warpaes_last_error();
        append(modules_, out);
        if (!ctr) append(modules_, tag);
        return length + 4;
    }
    void add_page(std::uint32_t type, int ordinal, std::size_t bytes, bool ctr = false, bool crc = true,
                  std::size_t padding = 0) {
        const Bytes text = random_.bytes(bytes);
        texts_.push_back(text);
        const std::size_t module = bytes + (ctr ? 16 : 32);
        seal(page_header(type, module, crc, padding), type == 2 ? 5 : 4, ordinal);
        seal(text, type == 2 ? 3 : 2, ordinal, ctr);
    }
    /// Replaces all pages with pages of many lengths. Each length occurs with every possible padding of the header.
    /// Returns the chunk's flags.
    std::uint32_t add_pages(bool ctr, bool dictionary, std::initializer_list<std::size_t> paddings) {
        modules_.clear();
        texts_.clear();
        if (dictionary) add_page(2, -1, 100, ctr);
        int ordinal = 0;
        for (const std::size_t bytes : {0, 1, 15, 16, 63, 64, 8191, 8192, 70'000}) {
            for (const std::size_t padding : paddings) {
                add_page(ordinal % 2 == 0 ? 0 : 3, ordinal, bytes, ctr, padding != 61, padding);
                ++ordinal;
            }
        }
        return (ctr ? std::uint32_t{WARPAES_PARQUET_CTR_PAGES} : 0U) |
               (dictionary ? std::uint32_t{WARPAES_PARQUET_DICTIONARY} : 0U);
    }
    warpaes_parquet_chunk chunk(std::uint32_t flags = 0) {
        warpaes_parquet_chunk made = WARPAES_PARQUET_CHUNK_INIT;
        made.flags = flags;
        made.key = key_.get();
        made.aad = aad_file.data();
        made.aad_len = aad_file.size();
        made.modules = modules_.data();
        made.modules_len = modules_.size();
        made.row_group = row_group;
        made.column = column;
        return made;
    }
    std::vector<warpaes_parquet_page> walked(const warpaes_parquet_chunk& its) {
        std::uint64_t count = 0, bytes = 0;
        std::vector<warpaes_parquet_page> pages(texts_.size());
        EXPECT_EQ(warpaes_parquet_walk(&its, pages.data(), pages.size(), &count, &bytes), WARPAES_OK)
            << warpaes_last_error();
        EXPECT_EQ(count, texts_.size());
        EXPECT_EQ(bytes, modules_.size());
        return pages;
    }
    /// Checks a view as a reader would: the header contains the page's length and ends where the page begins.
    void check_view(const Bytes& view, const std::vector<warpaes_parquet_page>& pages, bool ctr) {
        const std::size_t overhead = ctr ? 16 : 32;
        for (std::size_t i = 0; i < pages.size(); ++i) {
            const auto* const header = view.data() + pages[i].offset;
            const std::size_t room = pages[i].header_bytes + overhead;
            const Bytes size = varint(2 * texts_[i].size());
            EXPECT_EQ(Bytes(header + 5, header + 5 + size.size()), size);
            EXPECT_EQ(header[5 + size.size()], 0x2c) << "the CRC is omitted";
            EXPECT_EQ(header[room - 1], 0);
            std::size_t at = 5 + size.size() + 10;
            for (; header[at] != 0;) {  // filler bytes
                ASSERT_EQ(header[at++], 0x78);
                std::size_t zeros = header[at] & 0x7f;
                if ((header[at++] & 0x80) != 0) zeros |= static_cast<std::size_t>(header[at++]) << 7;
                at += zeros;
                ASSERT_LT(at, room);
            }
            EXPECT_EQ(at, room - 1);
            EXPECT_EQ(Bytes(header + room, header + room + texts_[i].size()), texts_[i]) << i;
        }
    }
    Bytes decrypted(const warpaes_parquet_chunk& its, warpaes_status expected = WARPAES_OK) {
        const auto pages = walked(its);
        Bytes view(modules_.size(), 0xaa);
        EXPECT_EQ(warpaes_parquet_decrypt(engine_.get(), &its, pages.data(), pages.size(), view.data(), view.size()),
                  expected)
            << warpaes_last_error();
        return view;
    }

    Engine engine_ = make_engine("auto");
    Key key_ = make_key(Bytes(16, 9));
    Random random_{44};
    Bytes modules_;
    std::vector<Bytes> texts_;
};

TEST_F(Parquet, ViewsOfPages) {
    for (const bool ctr : {false, true}) {
        for (const bool dictionary : {false, true}) {
            const std::uint32_t flags =
                add_pages(ctr, dictionary, {0, 1, 40, 60, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70, 71, 100, 5000});
            const auto its = chunk(flags);
            const auto pages = walked(its);
            check_view(decrypted(its), pages, ctr);
            EXPECT_EQ(pages.front().ordinal, dictionary ? -1 : 0);
            EXPECT_EQ(pages.back().ordinal, static_cast<int>(pages.size()) - (dictionary ? 2 : 1));
        }
    }
}

TEST_F(Parquet, EntriesAreThoseOfDecrypt) {
    for (int i = 0; i < 5; ++i) add_page(0, i, 1000 + static_cast<std::size_t>(i));
    const auto its = chunk();
    const auto pages = walked(its);
    Bytes view(modules_.size()), scratch(2 * pages.size() * WARPAES_PARQUET_SCRATCH_BYTES(aad_file.size()));
    std::vector<warpaes_batch_entry> entries(2 * pages.size());
    std::vector<warpaes_status> statuses(pages.size(), WARPAES_ERROR_INTERNAL);
    const auto run = [&] {
        warpaes_batch* batch = nullptr;
        EXPECT_EQ(warpaes_batch_submit(engine_.get(), nullptr, entries.data(), pages.size(), &batch), WARPAES_OK);
        EXPECT_EQ(warpaes_batch_wait(batch, WARPAES_UNKNOWN), WARPAES_OK);
        warpaes_batch_destroy(batch);
    };
    EXPECT_EQ(
        warpaes_parquet_header_entries(&its, pages.data(), pages.size(), view.data(), scratch.data(), entries.data()),
        WARPAES_OK);
    run();
    EXPECT_EQ(warpaes_parquet_rewrite_headers(&its, pages.data(), pages.size(), view.data()), WARPAES_OK);
    const Bytes copy = modules_;  // a second copy, as if the modules were in device memory
    EXPECT_EQ(warpaes_parquet_page_entries(&its, pages.data(), pages.size(), copy.data(), view.data(), scratch.data(),
                                           statuses.data(), entries.data()),
              WARPAES_OK);
    run();
    EXPECT_EQ(statuses, std::vector<warpaes_status>(pages.size(), WARPAES_OK));
    EXPECT_EQ(view, decrypted(its));
}

TEST_F(Parquet, TablesAreThoseOfDecrypt) {
    for (const bool ctr : {false, true}) {
        modules_.clear();
        texts_.clear();
        add_page(2, -1, 100, ctr);
        for (int i = 0; i < 12; ++i) {
            // The pages are at equal and at unequal distances.
            add_page(0, i, i < 6 ? 1000 : 997 * static_cast<std::size_t>(i), ctr);
        }
        const auto its = chunk(WARPAES_PARQUET_DICTIONARY | (ctr ? std::uint32_t{WARPAES_PARQUET_CTR_PAGES} : 0U));
        const auto pages = walked(its);
        Bytes view(modules_.size()), scratch(pages.size() * WARPAES_PARQUET_SCRATCH_BYTES(aad_file.size()));
        std::vector<warpaes_table_message> rows(pages.size());
        std::vector<warpaes_status> statuses(pages.size(), WARPAES_ERROR_INTERNAL);
        const Bytes copy = modules_;
        warpaes_batch_table table = WARPAES_BATCH_TABLE_INIT;
        ASSERT_EQ(warpaes_parquet_page_table(&its, pages.data(), pages.size(), copy.data(), view.data(), scratch.data(),
                                             statuses.data(), rows.data(), &table),
                  WARPAES_OK);
        warpaes_batch* batch = nullptr;
        EXPECT_EQ(warpaes_batch_submit_table(engine_.get(), nullptr, &table, &batch), WARPAES_OK);
        EXPECT_EQ(warpaes_batch_wait(batch, WARPAES_UNKNOWN), WARPAES_OK);
        warpaes_batch_destroy(batch);
        EXPECT_EQ(statuses, std::vector<warpaes_status>(pages.size(), WARPAES_OK));
        const Bytes want = decrypted(its);
        const std::size_t overhead = ctr ? 16 : 32;
        for (std::size_t i = 0; i < pages.size(); ++i) {
            const std::size_t at = pages[i].offset + pages[i].header_bytes + overhead;
            EXPECT_TRUE(std::equal(view.begin() + static_cast<std::ptrdiff_t>(at),
                                   view.begin() + static_cast<std::ptrdiff_t>(at + texts_[i].size()),
                                   want.begin() + static_cast<std::ptrdiff_t>(at)))
                << i;
        }
    }
}

TEST_F(Parquet, WhatIsAlteredIsNamedAndWiped) {
    add_page(2, -1, 50);
    add_page(0, 0, 300);
    add_page(3, 1, 300);
    const Bytes good = modules_;
    const auto its = chunk(WARPAES_PARQUET_DICTIONARY);
    const auto pages = walked(its);
    const std::string names[] = {"dictionary page", "page 0", "page 1"};
    for (std::size_t i = 0; i < pages.size(); ++i) {
        for (std::uint64_t at = pages[i].offset; at < pages[i].offset + pages[i].header_bytes + pages[i].page_bytes;
             ++at) {
            const std::uint64_t in_page = at - pages[i].offset;
            if (in_page < 4 || (in_page >= pages[i].header_bytes && in_page < pages[i].header_bytes + 4)) continue;
            modules_[at] ^= 0x10;
            EXPECT_EQ(decrypted(its, WARPAES_ERROR_AUTHENTICATION), Bytes(modules_.size()));
            EXPECT_NE(std::string(warpaes_last_error()).find("row group 3, column 7, " + names[i] + ": the page"),
                      std::string::npos)
                << warpaes_last_error();
            modules_ = good;
        }
    }
}

TEST_F(Parquet, HostileModules) {
    add_page(0, 0, 64);
    const Bytes good = modules_;
    std::uint64_t count = 9, bytes = 9;
    for (std::size_t end = 0; end < good.size(); ++end) {
        modules_.assign(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(end));
        const auto its = chunk();
        EXPECT_EQ(warpaes_parquet_walk(&its, nullptr, 0, &count, &bytes), WARPAES_OK);
        EXPECT_EQ(count + bytes, 0U);
    }
    const auto walk = [&](std::size_t at, std::uint32_t length, std::uint32_t first_page = 0) {
        modules_ = good;
        std::memcpy(modules_.data() + at, &length, 4);
        auto its = chunk();
        its.first_page = first_page;
        return warpaes_parquet_walk(&its, nullptr, 0, nullptr, nullptr);
    };
    std::uint32_t header = 0;
    std::memcpy(&header, good.data(), 4);
    for (const std::uint32_t length : {0U, 1U, 28U, 0xfffffffcU, 0xffffffffU}) {
        EXPECT_EQ(walk(0, length), WARPAES_ERROR_FORMAT) << length;
        EXPECT_NE(std::string(warpaes_last_error()).find("page 0: the header module"), std::string::npos);
    }
    EXPECT_EQ(walk(header + 4, 27), WARPAES_ERROR_FORMAT);
    modules_ = good;
    append(modules_, good);
    auto its = chunk();
    warpaes_parquet_page one = {};
    EXPECT_EQ(warpaes_parquet_walk(&its, &one, 1, &count, nullptr), WARPAES_ERROR_BUFFER_TOO_SMALL);
    EXPECT_EQ(count, 2U);
    EXPECT_EQ(one.page_bytes, 96U);
    its.first_page = 32767;
    EXPECT_EQ(warpaes_parquet_walk(&its, &one, 1, nullptr, nullptr), WARPAES_ERROR_FORMAT);
    for (auto field :
         {&warpaes_parquet_chunk::row_group, &warpaes_parquet_chunk::column, &warpaes_parquet_chunk::first_page}) {
        its = chunk();
        its.*field = 32768;
        EXPECT_EQ(warpaes_parquet_walk(&its, &one, 1, nullptr, nullptr), WARPAES_ERROR_ARGUMENT);
    }
    // Page descriptions that do not match the modules are refused.
    its = chunk();
    Bytes view(modules_.size());
    const warpaes_parquet_page good_page = {0, header + 4, 96, 0, 0};
    for (const warpaes_parquet_page page :
         {warpaes_parquet_page{UINT64_MAX, header + 4, 96, 0, 0}, warpaes_parquet_page{0, UINT32_MAX, UINT32_MAX, 0, 0},
          warpaes_parquet_page{0, 0, 96, 0, 0}, warpaes_parquet_page{0, header + 4, 3, 0, 0},
          warpaes_parquet_page{0, header + 4, 96, 32768, 0}, warpaes_parquet_page{0, header + 4, 96, -2, 0}}) {
        EXPECT_EQ(warpaes_parquet_decrypt(engine_.get(), &its, &page, 1, view.data(), view.size()),
                  WARPAES_ERROR_ARGUMENT);
    }
    const warpaes_parquet_page twice[] = {good_page, good_page};
    EXPECT_EQ(warpaes_parquet_decrypt(engine_.get(), &its, twice, 2, view.data(), view.size()), WARPAES_ERROR_ARGUMENT);
    EXPECT_EQ(warpaes_parquet_decrypt(engine_.get(), &its, twice, 1, view.data(), 20), WARPAES_ERROR_BUFFER_TOO_SMALL);
}

TEST_F(Parquet, HostileHeaders) {
    const Bytes text = random_.bytes(64);
    const auto refused = [&](const Bytes& header, const char* sentence) {
        modules_.clear();
        texts_.assign(1, text);
        seal(header, 4, 0);
        seal(text, 2, 0);
        EXPECT_EQ(decrypted(chunk(), WARPAES_ERROR_FORMAT), Bytes(modules_.size()));
        const std::string said = warpaes_last_error();
        EXPECT_EQ(said.find("row group 3, column 7, page 0: "), 0U) << said;
        EXPECT_NE(said.find(sentence), std::string::npos) << said;
    };
    const Bytes good = page_header(0, 96, true, 0);
    refused(page_header(2, 96, true, 0), "of type 2");
    refused(page_header(1, 96, true, 0), "of type 1");
    refused(page_header(0, 95, true, 0), "specifies 95 bytes for a page of 96");
    refused(page_header(0, 1'000'000'000, true, 0), "specifies 1000000000 bytes");
    for (std::size_t end = 1; end < good.size(); ++end) {
        refused(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(end)), "");
    }
    refused({0x15, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, "64 bits");
    refused({0x15, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, "32 bits");
    refused({0x18, 0xff, 0xff, 0xff, 0xff, 0x0f}, "past its end");
    refused(Bytes(64, 0x1c), "too deeply");
    refused({0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x00}, "longer than its bytes");
    refused({0x1b, 0xff, 0xff, 0xff, 0x0f, 0x55, 0x00}, "longer than its bytes");
    refused({0x15, 0x00, 0x05, 0x02, 0x00, 0x00}, "out of order");
    refused({0x1f, 0x00}, "unknown type");
    refused({0xf5, 0x00, 0x00}, "field 15 is unknown");
}

TEST_F(Parquet, Nulls) {
    add_page(0, 0, 64);
    const auto its = chunk();
    const auto pages = walked(its);
    Bytes view(modules_.size()), scratch(100);
    warpaes_batch_entry entry = {};
    const auto refused = [](const std::string& name, warpaes_status status) {
        EXPECT_EQ(status, WARPAES_ERROR_ARGUMENT) << name;
        EXPECT_EQ(std::string(warpaes_last_error()), name + ": is null");
    };
    refused("chunk", warpaes_parquet_walk(nullptr, nullptr, 0, nullptr, nullptr));
    refused("pages", warpaes_parquet_walk(&its, nullptr, 1, nullptr, nullptr));
    for (const auto& [name, field] :
         {std::pair{"aad", &warpaes_parquet_chunk::aad}, std::pair{"modules", &warpaes_parquet_chunk::modules}}) {
        auto without = its;
        without.*field = nullptr;
        refused(name, warpaes_parquet_walk(&without, nullptr, 0, nullptr, nullptr));
    }
    auto without = its;
    without.key = nullptr;
    refused("key", warpaes_parquet_decrypt(engine_.get(), &without, pages.data(), 1, view.data(), view.size()));
    refused("engine", warpaes_parquet_decrypt(nullptr, &its, pages.data(), 1, view.data(), view.size()));
    refused("pages", warpaes_parquet_decrypt(engine_.get(), &its, nullptr, 1, view.data(), view.size()));
    refused("view", warpaes_parquet_decrypt(engine_.get(), &its, pages.data(), 1, nullptr, view.size()));
    refused("view", warpaes_parquet_header_entries(&its, pages.data(), 1, nullptr, scratch.data(), &entry));
    refused("scratch", warpaes_parquet_header_entries(&its, pages.data(), 1, view.data(), nullptr, &entry));
    refused("entries", warpaes_parquet_header_entries(&its, pages.data(), 1, view.data(), scratch.data(), nullptr));
    refused("view", warpaes_parquet_rewrite_headers(&its, pages.data(), 1, nullptr));
    const auto page_entries = [&](const void* input, void* to, void* room, warpaes_batch_entry* out) {
        return warpaes_parquet_page_entries(&its, pages.data(), 1, input, to, room, nullptr, out);
    };
    refused("input", page_entries(nullptr, view.data(), scratch.data(), &entry));
    refused("view", page_entries(view.data(), nullptr, scratch.data(), &entry));
    refused("scratch", page_entries(view.data(), view.data(), nullptr, &entry));
    refused("entries", page_entries(view.data(), view.data(), scratch.data(), nullptr));
    warpaes_table_message row = {};
    warpaes_status status = WARPAES_OK;
    warpaes_batch_table table = WARPAES_BATCH_TABLE_INIT;
    const auto page_table = [&](const void* input, void* to, void* room, warpaes_status* of,
                                warpaes_table_message* list, warpaes_batch_table* out) {
        return warpaes_parquet_page_table(&its, pages.data(), 1, input, to, room, of, list, out);
    };
    Bytes& input = modules_;
    refused("input", page_table(nullptr, view.data(), scratch.data(), &status, &row, &table));
    refused("view", page_table(input.data(), nullptr, scratch.data(), &status, &row, &table));
    refused("scratch", page_table(input.data(), view.data(), nullptr, &status, &row, &table));
    refused("statuses", page_table(input.data(), view.data(), scratch.data(), nullptr, &row, &table));
    refused("messages", page_table(input.data(), view.data(), scratch.data(), &status, nullptr, &table));
    refused("table", page_table(input.data(), view.data(), scratch.data(), &status, &row, nullptr));
    warpaes_parquet_chunk zeroed = {};
    zeroed.struct_size = sizeof zeroed;
    const warpaes_parquet_chunk init = WARPAES_PARQUET_CHUNK_INIT;
    EXPECT_EQ(std::memcmp(&zeroed, &init, sizeof init), 0);
    EXPECT_EQ(warpaes_parquet_walk(&zeroed, nullptr, 0, nullptr, nullptr), WARPAES_OK) << "no bytes, no pages";
    zeroed.struct_size = 56;
    EXPECT_EQ(warpaes_parquet_walk(&zeroed, nullptr, 0, nullptr, nullptr), WARPAES_ERROR_ARGUMENT);
}

/// A chunk's image is staged in host memory. It is decrypted in host memory or in GPU memory.
class ParquetStaged : public Parquet, public testing::WithParamInterface<std::string> {
protected:
    void SetUp() override {
        engine_ = make_engine(GetParam());
        ASSERT_NE(engine_, nullptr);
    }
    struct Free {
        warpaes_engine* engine;
        void operator()(std::uint8_t* pointer) const { warpaes_free(engine, pointer); }
    };
    using Memory = std::unique_ptr<std::uint8_t, Free>;
    Memory memory(std::size_t bytes) {
        void* pointer = nullptr;
        const auto kind = GetParam() == "cuda" ? WARPAES_MEMORY_DEVICE : WARPAES_MEMORY_PAGE_LOCKED;
        const std::int32_t device = GetParam() == "cuda" ? 0 : -1;
        EXPECT_EQ(warpaes_alloc(engine_.get(), kind, device, bytes, &pointer), WARPAES_OK) << warpaes_last_error();
        return {static_cast<std::uint8_t*>(pointer), {engine_.get()}};
    }
    void copy(void* to, const void* from, std::size_t bytes) {
        ASSERT_EQ(warpaes_copy(engine_.get(), to, from, bytes), WARPAES_OK) << warpaes_last_error();
    }
    /// Stages the modules, and returns the image and the seals. Before the call, the seals and the bytes in front of
    /// the modules contain 0xee.
    warpaes_status stage(std::uint32_t flags, Bytes& image, Bytes& seals, std::vector<warpaes_parquet_page>& pages) {
        image.assign(WARPAES_PARQUET_SHIFT(flags), 0xee);
        append(image, modules_);
        auto its = chunk(flags);
        its.modules = image.data() + WARPAES_PARQUET_SHIFT(flags);
        pages = walked(its);
        seals.assign(pages.size() * WARPAES_PARQUET_SEAL_BYTES, 0xee);
        return warpaes_parquet_stage(engine_.get(), &its, pages.data(), pages.size(), image.data(), seals.data());
    }
    /// Copies a staged image to the engine's device, decrypts it there and returns it.
    Bytes finished(std::uint32_t flags, const Bytes& image, const Bytes& seals,
                   const std::vector<warpaes_parquet_page>& pages, warpaes_status expected) {
        const Memory there = memory(modules_.size());
        copy(there.get(), image.data(), modules_.size());
        const auto its = chunk(flags);
        EXPECT_EQ(
            warpaes_parquet_decrypt_staged(engine_.get(), &its, pages.data(), pages.size(), there.get(), seals.data()),
            expected)
            << warpaes_last_error();
        Bytes view(modules_.size());
        copy(view.data(), there.get(), view.size());
        return view;
    }
};

TEST_P(ParquetStaged, IsTheViewOfDecrypt) {
    for (const bool ctr : {false, true}) {
        for (const bool dictionary : {false, true}) {
            const std::uint32_t flags = add_pages(ctr, dictionary, {0, 1, 61, 70, 5000});
            const Bytes want = decrypted(chunk(flags));
            Bytes image, seals;
            std::vector<warpaes_parquet_page> pages;
            ASSERT_EQ(stage(flags, image, seals, pages), WARPAES_OK) << warpaes_last_error();
            EXPECT_TRUE(finished(flags, image, seals, pages, WARPAES_OK) == want) << ctr << dictionary;
        }
    }
}

/// Tests tables of staged pages, which are enqueued on a stream for device memory and submitted for host memory.
TEST_P(ParquetStaged, TablesHaveAStatusForEachPage) {
    const bool on_gpu = GetParam() == "cuda";
    for (const bool ctr : {false, true}) {
        modules_.clear();
        texts_.clear();
        for (int i = 0; i < 9; ++i) add_page(0, i, i < 5 ? 600 : 211 * static_cast<std::size_t>(i), ctr);
        const std::uint32_t flags = ctr ? std::uint32_t{WARPAES_PARQUET_CTR_PAGES} : 0U;
        const Bytes want = decrypted(chunk(flags));
        Bytes image, seals;
        std::vector<warpaes_parquet_page> pages;
        ASSERT_EQ(stage(flags, image, seals, pages), WARPAES_OK) << warpaes_last_error();
        const std::size_t altered = 3;
        if (!ctr) seals[altered * WARPAES_PARQUET_SEAL_BYTES + 16] ^= 1;
        const Memory there = memory(modules_.size()), kept = memory(pages.size() * sizeof(warpaes_status));
        copy(there.get(), image.data(), modules_.size());
        Bytes scratch(pages.size() * WARPAES_PARQUET_SCRATCH_BYTES(aad_file.size()));
        std::vector<warpaes_table_message> rows(pages.size());
        warpaes_batch_table table = WARPAES_BATCH_TABLE_INIT;
        const auto its = chunk(flags);
        ASSERT_EQ(
            warpaes_parquet_staged_table(&its, pages.data(), pages.size(), there.get(), seals.data(), scratch.data(),
                                         reinterpret_cast<warpaes_status*>(kept.get()), rows.data(), &table),
            WARPAES_OK);
        if (on_gpu) {
            EXPECT_EQ(warpaes_batch_enqueue_table(engine_.get(), &table, nullptr), WARPAES_OK) << warpaes_last_error();
        } else {
            warpaes_batch* batch = nullptr;
            EXPECT_EQ(warpaes_batch_submit_table(engine_.get(), nullptr, &table, &batch), WARPAES_OK);
            EXPECT_EQ(warpaes_batch_wait(batch, WARPAES_UNKNOWN), ctr ? WARPAES_OK : WARPAES_ERROR_AUTHENTICATION);
            warpaes_batch_destroy(batch);
        }
        std::vector<warpaes_status> statuses(pages.size(), WARPAES_ERROR_INTERNAL);
        copy(statuses.data(), kept.get(), statuses.size() * sizeof statuses[0]);
        Bytes view(modules_.size()), right = want;
        copy(view.data(), there.get(), view.size());
        for (std::size_t i = 0; i < pages.size(); ++i) {
            const bool forged = !ctr && i == altered;
            EXPECT_EQ(statuses[i], forged ? WARPAES_ERROR_AUTHENTICATION : WARPAES_OK) << i;
            const std::uint64_t end = pages[i].offset + pages[i].header_bytes + pages[i].page_bytes;
            if (forged)
                std::fill_n(right.begin() + static_cast<std::ptrdiff_t>(end - texts_[i].size()), texts_[i].size(), 0);
        }
        EXPECT_TRUE(view == right) << ctr;
    }
}

TEST_P(ParquetStaged, WhatIsAlteredIsNamedAndWiped) {
    add_page(2, -1, 50);
    add_page(0, 0, 300);
    add_page(3, 1, 300);
    const Bytes good = modules_;
    const std::uint32_t flags = WARPAES_PARQUET_DICTIONARY;
    const auto places = walked(chunk(flags));
    const std::string names[] = {"dictionary page", "page 0", "page 1"};
    for (std::size_t i = 0; i < places.size(); ++i) {
        const std::uint64_t page = places[i].offset + places[i].header_bytes;
        for (std::uint64_t at : {places[i].offset + 4, places[i].offset + 20, page - 1, page + 4, page + 15, page + 16,
                                 page + places[i].page_bytes - 17, page + places[i].page_bytes - 1}) {
            modules_ = good;
            modules_[at] ^= 0x10;
            Bytes image, seals;
            std::vector<warpaes_parquet_page> pages;
            const warpaes_status staged = stage(flags, image, seals, pages);
            EXPECT_EQ(staged, at < page ? WARPAES_ERROR_AUTHENTICATION : WARPAES_OK) << at;
            if (staged == WARPAES_OK) {
                EXPECT_EQ(finished(flags, image, seals, pages, WARPAES_ERROR_AUTHENTICATION), Bytes(good.size()));
            }
            EXPECT_NE(std::string(warpaes_last_error()).find("row group 3, column 7, " + names[i] + ": the page"),
                      std::string::npos)
                << warpaes_last_error();
        }
    }
}

TEST_P(ParquetStaged, Refusals) {
    add_page(0, 0, 64);
    Bytes image, seals;
    std::vector<warpaes_parquet_page> pages;
    ASSERT_EQ(stage(0, image, seals, pages), WARPAES_OK);
    const auto its = chunk();
    const auto refused = [](const std::string& sentence, warpaes_status status) {
        EXPECT_EQ(status, WARPAES_ERROR_ARGUMENT) << sentence;
        EXPECT_EQ(std::string(warpaes_last_error()).find(sentence), 0U) << warpaes_last_error();
    };
    const auto stage_with = [&](warpaes_engine* engine, void* to, void* kept) {
        return warpaes_parquet_stage(engine, &its, pages.data(), 1, to, kept);
    };
    refused("engine: is null", stage_with(nullptr, image.data(), seals.data()));
    refused("image: is null", stage_with(engine_.get(), nullptr, seals.data()));
    refused("seals: is null", stage_with(engine_.get(), image.data(), nullptr));
    refused("image: must contain the chunk's modules", stage_with(engine_.get(), image.data(), seals.data()));
    warpaes_batch_entry entry = {};
    Bytes scratch(100);
    const auto entries_with = [&](void* there, const void* kept, void* room, warpaes_batch_entry* out) {
        return warpaes_parquet_staged_entries(&its, pages.data(), 1, there, kept, room, nullptr, out);
    };
    refused("image: is null", entries_with(nullptr, seals.data(), scratch.data(), &entry));
    refused("seals: is null", entries_with(image.data(), nullptr, scratch.data(), &entry));
    refused("scratch: is null", entries_with(image.data(), seals.data(), nullptr, &entry));
    refused("entries: is null", entries_with(image.data(), seals.data(), scratch.data(), nullptr));
    warpaes_table_message row = {};
    warpaes_status status = WARPAES_OK;
    warpaes_batch_table table = WARPAES_BATCH_TABLE_INIT;
    const auto table_with = [&](void* there, const void* kept, void* room, warpaes_status* of,
                                warpaes_table_message* list, warpaes_batch_table* out) {
        return warpaes_parquet_staged_table(&its, pages.data(), 1, there, kept, room, of, list, out);
    };
    refused("image: is null", table_with(nullptr, seals.data(), scratch.data(), &status, &row, &table));
    refused("seals: is null", table_with(image.data(), nullptr, scratch.data(), &status, &row, &table));
    refused("scratch: is null", table_with(image.data(), seals.data(), nullptr, &status, &row, &table));
    refused("statuses: is null", table_with(image.data(), seals.data(), scratch.data(), nullptr, &row, &table));
    refused("messages: is null", table_with(image.data(), seals.data(), scratch.data(), &status, nullptr, &table));
    refused("table: is null", table_with(image.data(), seals.data(), scratch.data(), &status, &row, nullptr));
    const auto decrypt_with = [&](warpaes_engine* engine, void* there, const void* kept) {
        return warpaes_parquet_decrypt_staged(engine, &its, pages.data(), 1, there, kept);
    };
    refused("engine: is null", decrypt_with(nullptr, image.data(), seals.data()));
    refused("image: is null", decrypt_with(engine_.get(), nullptr, seals.data()));
    refused("seals: is null", decrypt_with(engine_.get(), image.data(), nullptr));
    const warpaes_parquet_page twice[] = {pages[0], pages[0]};
    refused("pages: must be in order",
            warpaes_parquet_decrypt_staged(engine_.get(), &its, twice, 2, image.data(), seals.data()));
}

WARPAES_FOR_EVERY_BACKEND(ParquetStaged);

}  // namespace
}  // namespace abi_tests

// Tests the reader of whole pages (python/src/page_reader.cpp) with a column chunk in a file. The pages are altered in
// any way, the sizes of the output and of the window are arbitrary, and one or several threads read. The reader must
// return the same pages as decrypting them one after the other. After a failure, no plaintext must remain.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "../python/src/page_reader.hpp"
#include "handles.hpp"

namespace {

using namespace fuzz;
using warpaes::python::ChunkInFile;
using warpaes::python::PagesInFile;
using warpaes::python::PagesRead;

const Bytes aad = {1, 2, 3};
constexpr std::uint8_t data_page = 2, dictionary_page = 3, data_header = 4, dictionary_header = 5;

void append_varint(Bytes& to, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) to.push_back(static_cast<std::uint8_t>(value | 0x80));
    to.push_back(static_cast<std::uint8_t>(value));
}

/// Returns a page header with the size of its page module.
Bytes header_of(std::size_t module_bytes, bool dictionary, std::size_t padding) {
    Bytes header = {0x15, static_cast<std::uint8_t>(dictionary ? 4 : 0), 0x15, 100, 0x15};
    append_varint(header, 2 * module_bytes);
    header.push_back(0);
    header.resize(header.size() + padding);
    return header;
}

struct Chunk {
    bool ctr = false, dictionary = false;
    std::vector<Bytes> pages{};

    void add(warpaes_engine* engine, const Key& key, Input& in) {
        const bool first = dictionary && pages.empty();
        const int ordinal = static_cast<int>(pages.size()) - (dictionary ? 1 : 0);
        const std::size_t most = in.flag() ? 3000 : 60;
        const Bytes text(in.below(most), static_cast<std::uint8_t>(pages.size()));
        Bytes page;
        const Bytes header = header_of(text.size() + (ctr ? 16 : 32), first, in.below(in.flag() ? 400 : 4));
        seal(engine, key, aad, first ? dictionary_header : data_header, ordinal, header, page);
        if (ctr) {
            for (unsigned shift = 0; shift < 32; shift += 8) {
                page.push_back(static_cast<std::uint8_t>((text.size() + 12) >> shift));
            }
            page.resize(page.size() + 12, 9);
            page.insert(page.end(), text.begin(), text.end());
        } else {
            seal(engine, key, aad, first ? dictionary_page : data_page, ordinal, text, page);
        }
        pages.push_back(std::move(page));
    }
};

/// Alters the bytes in a random way.
void alter(Bytes& bytes, Input& in) {
    if (bytes.empty()) return;
    const std::size_t at = in.below(std::min<std::size_t>(bytes.size(), 65536));
    switch (in.below(4)) {
    case 0:
        bytes[at] ^= static_cast<std::uint8_t>(1 + in.below(255));
        break;
    case 1:
        bytes.resize(at);
        break;
    case 2:
        bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(at), in.below(300), in.byte());
        break;
    default: {
        const std::uint64_t value = in.number();  // a length field, if the position contains one
        for (std::size_t i = 0; i < 4 && at + i < bytes.size(); ++i) {
            bytes[at + i] = static_cast<std::uint8_t>(value >> 8 * i);
        }
    }
    }
}

/// Returns the number of bytes in the first page according to its two length fields, or 0 if the page does not end
/// within `most` bytes.
std::size_t page_bytes(const std::uint8_t* at, std::size_t most) {
    std::size_t size = 0;
    for (int module = 0; module < 2; ++module) {
        if (most - size < 4) return 0;
        std::uint32_t length = 0;
        for (int i = 3; i >= 0; --i) length = length << 8 | at[size + static_cast<std::size_t>(i)];
        if (length > most - size - 4) return 0;
        size += std::size_t{4} + length;
    }
    return size;
}

/// Returns the number of pages at the start of `modules` that fit in `room` and decrypt, and the view of these pages.
std::size_t expected(warpaes_engine* engine, warpaes_parquet_chunk chunk, const Bytes& modules, std::size_t room,
                     Bytes& view) {
    const std::size_t whole = std::min(modules.size(), room);
    for (std::size_t count = 0;; ++count) {
        const std::uint8_t* const at = modules.data() + view.size();
        const std::size_t size = page_bytes(at, whole - view.size());
        if (size == 0) return count;
        chunk.modules = at;
        chunk.modules_len = size;
        warpaes_parquet_page page{};
        Bytes one(size);
        if (warpaes_parquet_walk(&chunk, &page, 1, nullptr, nullptr) != WARPAES_OK ||
            warpaes_parquet_decrypt(engine, &chunk, &page, 1, one.data(), one.size()) != WARPAES_OK) {
            return count;
        }
        view.insert(view.end(), one.begin(), one.end());
        if ((chunk.flags & WARPAES_PARQUET_DICTIONARY) == 0) ++chunk.first_page;
        chunk.flags &= ~static_cast<std::uint32_t>(WARPAES_PARQUET_DICTIONARY);
    }
}

/// A file in memory.
class File {
public:
    explicit File(const Bytes& content) : descriptor_(memfd_create("fuzz", MFD_CLOEXEC)) {
        require(descriptor_ >= 0, "memfd_create");
        const ssize_t written = content.empty() ? 0 : pwrite(descriptor_, content.data(), content.size(), 0);
        require(written == static_cast<ssize_t>(content.size()), "pwrite");
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() { close(descriptor_); }
    [[nodiscard]] int get() const { return descriptor_; }

private:
    int descriptor_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Input in(data, size);
    static const Key key = make_key(Bytes(16, 7));
    warpaes_engine* const engine = any_engine(in);
    Chunk made;
    made.ctr = in.below(4) == 0;
    made.dictionary = in.flag();
    for (std::size_t left = in.below(24); left != 0; --left) made.add(engine, key, in);
    const std::size_t changes = in.below(4);
    if (changes != 0 && made.pages.size() > 1 && in.flag()) {
        std::swap(made.pages[in.below(made.pages.size())], made.pages[in.below(made.pages.size())]);
    }
    Bytes modules;
    for (const Bytes& page : made.pages) modules.insert(modules.end(), page.begin(), page.end());
    for (std::size_t i = 0; i < changes; ++i) alter(modules, in);

    warpaes_parquet_chunk chunk = WARPAES_PARQUET_CHUNK_INIT;
    if (made.ctr) chunk.flags |= WARPAES_PARQUET_CTR_PAGES;
    if (made.dictionary) chunk.flags |= WARPAES_PARQUET_DICTIONARY;
    chunk.key = key.get();
    chunk.aad = aad.data();
    chunk.aad_len = aad.size();
    const std::size_t before = in.below(300), length = in.flag() ? modules.size() : in.below(65536);
    Bytes content(before, 0xee);
    content.insert(content.end(), modules.begin(), modules.end());
    const File file(content);
    modules.resize(std::min(modules.size(), length));
    Bytes to(in.flag() ? modules.size() : in.below(65536), 0xaa);
    PagesInFile pages;
    pages.descriptor = file.get();
    pages.offset = before;
    pages.length = length;
    pages.to = to.data();
    pages.room = to.size();
    pages.window_bytes = in.below(65536);
    pages.part_bytes = in.below(4096);
    pages.found_bytes = in.below(4096);
    const unsigned threads = in.flag() ? static_cast<unsigned>(in.below(5)) : 1;
    // The same chunk again, as some threads read another chunk.
    Bytes again(to.size(), 0xaa);
    PagesInFile more = pages;
    more.to = again.data();
    std::vector<ChunkInFile> chunks{{chunk, pages}};
    if (in.flag()) chunks.push_back({chunk, more});
    const PagesRead read = warpaes::python::read_pages(engine, chunks, threads);

    Bytes view;
    const std::size_t most = expected(engine, chunk, modules, to.size(), view);
    require(!read.no_memory && read.read_error == 0, "a failure for lack of memory, or of a read");
    if (read.failed()) {
        require(changes != 0, "pages as they were written are refused");
        require(to == Bytes(to.size(), 0), "a failure left plaintext");
        require(chunks.size() == 1 || again == to, "a failure left plaintext of another chunk");
        require(!read.sentence.empty(), "a failure without a message");
        return 0;
    }
    require(read.sizes.front().size() <= most, "pages that do not decrypt");
    require(changes != 0 || length > modules.size() || read.sizes.front().size() == most, "pages are missing");
    std::uint64_t sum = 0;
    for (const std::uint64_t bytes : read.sizes.front()) sum += bytes;
    require(sum <= view.size(), "pages that are too long");
    require(std::equal(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(sum), view.begin()), "another view");
    if (chunks.size() > 1) {
        require(read.sizes.back() == read.sizes.front(), "other pages of the same chunk");
        require(std::equal(again.begin(), again.begin() + static_cast<std::ptrdiff_t>(sum), view.begin()),
                "another view of the same chunk");
    }
    return 0;
}

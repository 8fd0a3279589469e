// Column chunks of encrypted Parquet files (warpaes/parquet.h).
//
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>
#include <warpaes/parquet.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "message.hpp"
#include "module.hpp"
#include "view.hpp"

namespace warpaes::python {
namespace {

Object number(std::uint64_t value) {
    return Object(PyLong_FromUnsignedLongLong(value));
}

warpaes_parquet_chunk chunk_of(const View& modules, PyObject* dictionary, PyObject* row_group, PyObject* column,
                               PyObject* first_page) {
    warpaes_parquet_chunk chunk = WARPAES_PARQUET_CHUNK_INIT;
    if (PyObject_IsTrue(dictionary) == 1) chunk.flags |= WARPAES_PARQUET_DICTIONARY;
    const auto ordinal = [](PyObject* object, const char* name) {
        const std::uint64_t value = to_u64(object, name);
        if (value > 32767) raise(PyExc_ValueError, "%s: must be at most 32767, got %llu", name, value);
        return static_cast<std::uint32_t>(value);
    };
    chunk.row_group = ordinal(row_group, "row_group");
    chunk.column = ordinal(column, "column");
    chunk.first_page = ordinal(first_page, "first_page");
    chunk.modules = modules.data();
    chunk.modules_len = modules.size();
    return chunk;
}

std::vector<warpaes_parquet_page> walk(warpaes_parquet_chunk& chunk, bool ctr, std::uint64_t& walked) {
    if (ctr) chunk.flags |= WARPAES_PARQUET_CTR_PAGES;
    std::uint64_t count = 0;
    const warpaes_status status = warpaes_parquet_walk(&chunk, nullptr, 0, &count, &walked);
    if (status != WARPAES_ERROR_BUFFER_TOO_SMALL) check(status);
    std::vector<warpaes_parquet_page> pages(count);
    check(warpaes_parquet_walk(&chunk, pages.data(), count, &count, &walked));
    return pages;
}

Object parquet_walk(PyObject*, const Call& call) {
    const auto [modules_object, ctr, dictionary, row_group, column, first_page] =
        arguments(call, "parquet_walk", {"modules", "ctr", "dictionary", "row_group", "column", "first_page"});
    const View modules = host_view(modules_object, "modules");
    warpaes_parquet_chunk chunk = chunk_of(modules, dictionary, row_group, column, first_page);
    std::uint64_t walked = 0;
    const auto pages = walk(chunk, PyObject_IsTrue(ctr) == 1, walked);
    Object list(PyList_New(static_cast<Py_ssize_t>(pages.size())));
    for (std::size_t i = 0; i < pages.size(); ++i) {
        const Object header = number(pages[i].header_bytes), page = number(pages[i].page_bytes);
        check(PyList_SetItem(list.get(), static_cast<Py_ssize_t>(i),
                             Object(PyTuple_Pack(2, header.get(), page.get())).release()));
    }
    return list;
}

Object parquet_decrypt(PyObject*, const Call& call) {
    const auto [key_object, aad_object, modules_object, buf, ctr, dictionary, row_group, column, first_page] =
        arguments(call, "parquet_decrypt",
                  {"key", "aad", "modules", "buf", "ctr", "dictionary", "row_group", "column", "first_page"});
    const View key_bytes = host_view(key_object, "key"), aad = host_view(aad_object, "aad");
    const View modules = host_view(modules_object, "modules");
    const View view = host_view(buf, "buf", Access::write);
    const Key key(key_bytes.bytes(), key_bytes.size());
    warpaes_parquet_chunk chunk = chunk_of(modules, dictionary, row_group, column, first_page);
    chunk.key = key.get();
    chunk.aad = aad.data();
    chunk.aad_len = aad.size();
    std::uint64_t walked = 0;
    const auto pages = walk(chunk, PyObject_IsTrue(ctr) == 1, walked);
    if (walked != modules.size()) raise(PyExc_ValueError, "modules: the last module is cut off");
    if (view.size() != walked) raise(PyExc_ValueError, "buffer must be %zu bytes", modules.size());
    warpaes_engine* with = engine();
    check(unlocked_if(modules.size() >= long_work, [&] {
        return warpaes_parquet_decrypt(with, &chunk, pages.data(), pages.size(), view.data(), view.size());
    }));
    return none();
}

/// Reads whole pages of a column chunk from a file, decrypts them, and puts their plain view into a buffer. One call
/// does a whole chunk, without the interpreter's lock.
class PageReader {
public:
    PageReader(int descriptor, std::uint64_t offset, std::uint64_t length, const View& window, const View& to)
        : file_(fcntl(descriptor, F_DUPFD_CLOEXEC, 0)),
          at_(offset),
          end_(offset + length),
          to_(to.bytes()),
          room_(to.size()),
          window_(window.bytes()),
          window_bytes_(window.size()),
          batch_bytes_(window.size()) {
        if (file_ < 0) {
            PyErr_SetFromErrno(PyExc_OSError);
            throw Raised();
        }
    }
    PageReader(const PageReader&) = delete;
    PageReader& operator=(const PageReader&) = delete;
    ~PageReader() { close(file_); }

    /// Stops before a page that `to` has no room for, that is cut off, or whose length is wrong, and at the end of a
    /// file that is shorter than it was. On failure, `to` is
    /// wiped.
    warpaes_status run(warpaes_engine* engine, warpaes_parquet_chunk chunk) {
        warpaes_status status = WARPAES_OK;
        try {
            while (status == WARPAES_OK && step(engine, chunk, status)) {
            }
        } catch (const std::bad_alloc&) {
            no_memory_ = true;
        }
        if (no_memory_ || status != WARPAES_OK || read_error_ != 0) std::memset(to_, 0, written_);
        return status;
    }
    /// Raises errors that have no status: of reads and allocations.
    void raise_others() const {
        if (no_memory_) PyErr_NoMemory();
        if (read_error_ != 0) {
            errno = read_error_;
            PyErr_SetFromErrno(PyExc_OSError);
        }
        if (no_memory_ || read_error_ != 0) throw Raised();
    }
    /// The bytes of each page, its header included.
    [[nodiscard]] const std::vector<std::uint64_t>& sizes() const { return sizes_; }

private:
    /// Bytes that usually hold a header module and the next length field.
    static constexpr std::size_t ahead = 256;

    /// The bytes of the module at `at`. The window holds its length field.
    [[nodiscard]] std::uint64_t module_bytes(std::uint64_t at) const {
        std::uint32_t length = 0;
        for (int i = 3; i >= 0; --i) length = length << 8 | window_[at + static_cast<std::uint64_t>(i)];
        return std::uint64_t{4} + length;
    }

    /// Makes the window hold so many bytes. Hostile lengths take no more memory than the rest of the column chunk.
    bool fill(std::uint64_t bytes) {
        if (bytes > window_bytes_) {
            std::unique_ptr<std::uint8_t[]> larger(new std::uint8_t[bytes]);
            std::memcpy(larger.get(), window_, held_);
            grown_ = std::move(larger);
            window_ = grown_.get();
            window_bytes_ = bytes;
        }
        while (held_ < bytes) {
            const ssize_t got = pread(file_, window_ + held_, bytes - held_, static_cast<off_t>(at_ + held_));
            if (got > 0) {
                held_ += static_cast<std::uint64_t>(got);
            } else if (got == 0) {
                return false;
            } else if (errno != EINTR) {
                read_error_ = errno;
                return false;
            }
        }
        return true;
    }

    /// Decrypts the pages of one window.
    bool step(warpaes_engine* engine, warpaes_parquet_chunk& chunk, warpaes_status& status) {
        const std::uint64_t left = std::min(end_ - at_, room_ - written_);
        if (left < 4 || !fill(std::min<std::uint64_t>(ahead, left))) return false;
        const std::uint64_t header = module_bytes(0);
        if (header + 4 > left || !fill(header + 4)) return false;
        const std::uint64_t page = header + module_bytes(header);
        if (page > left) return false;
        if (!fill(std::min(std::max<std::uint64_t>(batch_bytes_, page + ahead), left))) return false;
        chunk.modules = window_;
        chunk.modules_len = held_;
        std::uint64_t count = 0, walked = 0;
        status = warpaes_parquet_walk(&chunk, pages_.data(), pages_.size(), &count, &walked);
        if (status == WARPAES_ERROR_BUFFER_TOO_SMALL) {
            pages_.resize(count);
            status = warpaes_parquet_walk(&chunk, pages_.data(), pages_.size(), &count, &walked);
        }
        while (count != 0 && walked > left) {
            --count;
            walked = pages_[count].offset;
        }
        if (status != WARPAES_OK || count == 0) return false;
        status = warpaes_parquet_decrypt(engine, &chunk, pages_.data(), count, to_ + written_, walked);
        if (status != WARPAES_OK) return false;
        for (std::uint64_t i = 0; i < count; ++i) {
            sizes_.push_back(std::uint64_t{pages_[i].header_bytes} + pages_[i].page_bytes);
        }
        const bool dictionary = (chunk.flags & WARPAES_PARQUET_DICTIONARY) != 0;
        chunk.first_page += static_cast<std::uint32_t>(count) - (dictionary ? 1U : 0U);
        chunk.flags &= ~static_cast<std::uint32_t>(WARPAES_PARQUET_DICTIONARY);
        held_ -= walked;
        std::memmove(window_, window_ + walked, held_);
        at_ += walked;
        written_ += walked;
        return at_ < end_ && written_ < room_ && chunk.first_page < 32768;
    }

    int file_;
    std::uint64_t at_, end_;
    std::uint8_t* to_;
    std::uint64_t room_, written_ = 0;
    std::uint8_t* window_;
    std::uint64_t window_bytes_, batch_bytes_, held_ = 0;
    std::unique_ptr<std::uint8_t[]> grown_;
    std::vector<warpaes_parquet_page> pages_ = std::vector<warpaes_parquet_page>(64);
    std::vector<std::uint64_t> sizes_;
    int read_error_ = 0;
    bool no_memory_ = false;
};

Object parquet_read(PyObject*, const Call& call) {
    const auto [key_object, aad_object, descriptor, offset, length, window_object, to_object, ctr, dictionary,
                row_group, column, first_page] =
        arguments(call, "parquet_read",
                  {"key", "aad", "descriptor", "offset", "length", "window", "to", "ctr", "dictionary", "row_group",
                   "column", "first_page"});
    const View key_bytes = host_view(key_object, "key"), aad = host_view(aad_object, "aad");
    const View window = host_view(window_object, "window", Access::write);
    const View to = host_view(to_object, "to", Access::write);
    const Key key(key_bytes.bytes(), key_bytes.size());
    warpaes_parquet_chunk chunk = chunk_of(window, dictionary, row_group, column, first_page);
    if (PyObject_IsTrue(ctr) == 1) chunk.flags |= WARPAES_PARQUET_CTR_PAGES;
    chunk.key = key.get();
    chunk.aad = aad.data();
    chunk.aad_len = aad.size();
    PageReader reader(static_cast<int>(to_u64(descriptor, "descriptor")), to_u64(offset, "offset"),
                      to_u64(length, "length"), window, to);
    warpaes_engine* with = engine();
    const warpaes_status status = unlocked([&] { return reader.run(with, chunk); });
    reader.raise_others();
    check(status);
    const auto& sizes = reader.sizes();
    Object list(PyList_New(static_cast<Py_ssize_t>(sizes.size())));
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        check(PyList_SetItem(list.get(), static_cast<Py_ssize_t>(i), number(sizes[i]).release()));
    }
    return list;
}

/// Whole pages of an image of modules, through host memory as ciphertext, to where the view lies.
Object parquet_move(PyObject*, const Call& call) {
    const auto [key_object, aad_object, image_object, to_object, offset_object, ctr, dictionary, row_group, column,
                first_page] =
        arguments(call, "parquet_move",
                  {"key", "aad", "image", "to", "offset", "ctr", "dictionary", "row_group", "column", "first_page"});
    const View key_bytes = host_view(key_object, "key"), aad = host_view(aad_object, "aad");
    const View image = host_view(image_object, "image", Access::write);
    const View to(to_object, "to", Access::write);
    const std::uint64_t offset = to_u64(offset_object, "offset");
    const Key key(key_bytes.bytes(), key_bytes.size());
    const bool in_ctr = PyObject_IsTrue(ctr) == 1;
    warpaes_parquet_chunk chunk = chunk_of(image, dictionary, row_group, column, first_page);
    if (in_ctr) chunk.flags |= WARPAES_PARQUET_CTR_PAGES;
    const std::size_t shift = WARPAES_PARQUET_SHIFT(chunk.flags);
    if (image.size() < shift) raise(PyExc_ValueError, "image: has no room for modules");
    chunk.modules = image.bytes() + shift;
    chunk.modules_len = image.size() - shift;
    chunk.key = key.get();
    chunk.aad = aad.data();
    chunk.aad_len = aad.size();
    std::uint64_t walked = 0;
    const auto pages = walk(chunk, in_ctr, walked);
    if (offset > to.size() || walked > to.size() - offset) raise(PyExc_ValueError, "to: has no room for the pages");
    std::uint8_t* const there = to.bytes() + offset;
    warpaes_engine* with = engine();
    check(unlocked([&] {
        std::vector<std::uint8_t> seals(pages.size() * WARPAES_PARQUET_SEAL_BYTES);
        const auto count = static_cast<std::uint64_t>(pages.size());
        warpaes_status status = warpaes_parquet_stage(with, &chunk, pages.data(), count, image.data(), seals.data());
        if (status == WARPAES_OK) status = warpaes_copy(with, there, image.data(), static_cast<std::size_t>(walked));
        if (status != WARPAES_OK) return status;
        return warpaes_parquet_decrypt_staged(with, &chunk, pages.data(), count, there, seals.data());
    }));
    const Object bytes = number(walked), count = number(pages.size());
    return Object(PyTuple_Pack(2, bytes.get(), count.get()));
}

Object part_or_none(const void* data, std::uint64_t length) {
    if (data == nullptr) return none();
    return Object(PyBytes_FromStringAndSize(static_cast<const char*>(data), static_cast<Py_ssize_t>(length)));
}

Object parquet_footer(PyObject*, const Call& call) {
    const auto [footer_object] = arguments(call, "parquet_footer", {"footer"});
    const View footer = host_view(footer_object, "footer");
    warpaes_parquet_footer facts = WARPAES_PARQUET_FOOTER_INIT;
    check(warpaes_parquet_inspect_footer(footer.data(), footer.size(), &facts));
    const auto flag = [&](std::uint32_t bit) { return Object(PyBool_FromLong((facts.flags & bit) != 0 ? 1 : 0)); };
    const Object encrypted = flag(WARPAES_PARQUET_ENCRYPTED), plaintext = flag(WARPAES_PARQUET_PLAINTEXT_FOOTER);
    const Object ctr = flag(WARPAES_PARQUET_CTR_PAGES), supply = flag(WARPAES_PARQUET_SUPPLY_AAD_PREFIX);
    const Object prefix = part_or_none(facts.aad_prefix, facts.aad_prefix_len);
    const Object unique = part_or_none(facts.aad_file_unique, facts.aad_file_unique_len);
    const Object key_metadata = part_or_none(facts.key_metadata, facts.key_metadata_len);
    const Object length = number(facts.metadata_len);
    return Object(PyTuple_Pack(8, encrypted.get(), plaintext.get(), ctr.get(), supply.get(), prefix.get(), unique.get(),
                               key_metadata.get(), length.get()));
}

Object parquet_open_footer(PyObject*, const Call& call) {
    const auto [key_object, aad_object, footer_object, length] =
        arguments(call, "parquet_open_footer", {"key", "aad", "footer", "length"});
    const View key_bytes = host_view(key_object, "key"), aad = host_view(aad_object, "aad");
    const View footer = host_view(footer_object, "footer");
    const Key key(key_bytes.bytes(), key_bytes.size());
    warpaes_parquet_module module = WARPAES_PARQUET_MODULE_INIT;
    module.key = key.get();
    module.aad = aad.data();
    module.aad_len = aad.size();
    module.module = footer.data();
    module.module_len = footer.size();
    Object metadata = new_bytes(static_cast<std::size_t>(to_u64(length, "length")));
    warpaes_engine* with = engine();
    void* const to = PyBytes_AsString(metadata.get());
    const auto capacity = static_cast<std::uint64_t>(PyBytes_Size(metadata.get()));
    check(unlocked_if(footer.size() >= long_work,
                      [&] { return warpaes_parquet_open_footer(with, &module, to, capacity); }));
    return metadata;
}

Object parquet_buffer(PyObject*, const Call& call) {
    const auto [length] = arguments(call, "parquet_buffer", {"length"});
    const Object bytes = new_bytes(static_cast<std::size_t>(to_u64(length, "length")));
    const Object view(PyMemoryView_FromMemory(PyBytes_AsString(bytes.get()), PyBytes_Size(bytes.get()), PyBUF_WRITE));
    return Object(PyTuple_Pack(2, bytes.get(), view.get()));
}

PyMethodDef parquet_functions[] = {
    method_def<parquet_walk>("parquet_walk",
                             "parquet_walk(modules, ctr, dictionary, row_group, column, first_page)\n--\n\n"
                             "Return the sizes of the header and page modules of the complete pages in modules."),
    method_def<parquet_decrypt>(
        "parquet_decrypt",
        "parquet_decrypt(key, aad, modules, buf, ctr, dictionary, row_group, column, first_page)\n--\n\n"
        "Write the plain view of whole pages into a buffer: as many bytes, with headers of plain pages."),
    method_def<parquet_read>("parquet_read",
                             "parquet_read(key, aad, descriptor, offset, length, window, to, ctr, dictionary, "
                             "row_group, column, first_page)\n--\n\n"
                             "Read whole pages from a file and write their plain view into a buffer; return the bytes "
                             "of each page."),
    method_def<parquet_move>(
        "parquet_move",
        "parquet_move(key, aad, image, to, offset, ctr, dictionary, row_group, column, first_page)\n--\n\n"
        "Decrypt the whole pages of an image of modules into the view's memory; return their bytes and their number."),
    method_def<parquet_footer>("parquet_footer",
                               "parquet_footer(footer)\n--\n\nReturn the fields of a footer that need no key."),
    method_def<parquet_open_footer>(
        "parquet_open_footer",
        "parquet_open_footer(key, aad, footer, length)\n--\n\nReturn FileMetaData, decrypted or verified."),
    method_def<parquet_buffer>("parquet_buffer",
                               "parquet_buffer(length)\n--\n\nReturn new bytes and a view to fill them."),
    end_of_methods,
};

}  // namespace

void add_parquet(PyObject* module) {
    check(PyModule_AddFunctions(module, parquet_functions));
}

}  // namespace warpaes::python

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
#include <utility>
#include <vector>

#include "aead.hpp"
#include "message.hpp"
#include "module.hpp"
#include "page_reader.hpp"
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
    if (walked != modules.size()) {
        raise(exceptions.format_error,
              "row group %u, column %u: the length of a page has changed, so the file was replaced or altered",
              chunk.row_group, chunk.column);
    }
    if (view.size() != walked) raise(PyExc_ValueError, "buffer must be %zu bytes", modules.size());
    warpaes_engine* with = engine();
    check(unlocked_if(modules.size() >= long_work, [&] {
        return warpaes_parquet_decrypt(with, &chunk, pages.data(), pages.size(), view.data(), view.size());
    }));
    return none();
}

/// A duplicated descriptor of a file, because another thread may close the original.
class Descriptor {
public:
    explicit Descriptor(int descriptor) : own_(fcntl(descriptor, F_DUPFD_CLOEXEC, 0)) {
        if (own_ >= 0) return;
        PyErr_SetFromErrno(PyExc_OSError);
        throw Raised();
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() { close(own_); }
    [[nodiscard]] int get() const { return own_; }

private:
    int own_;
};

/// The AES keys of a call. Each key is expanded only once, because column chunks usually share a key.
class Keys {
public:
    const warpaes_key* get(PyObject* object) {
        for (const auto& [its_object, key] : keys_) {
            if (its_object == object) return key->get();
        }
        const View bytes = host_view(object, "key");
        keys_.emplace_back(object, std::make_unique<Key>(bytes.bytes(), bytes.size()));
        return keys_.back().second->get();
    }

private:
    std::vector<std::pair<PyObject*, std::unique_ptr<Key>>> keys_;
};

PyObject* item_at(PyObject* sequence, Py_ssize_t index, bool tuple) {
    PyObject* const item = tuple ? PyTuple_GetItem(sequence, index) : PyList_GetItem(sequence, index);
    if (item == nullptr) throw Raised();
    return item;
}

[[noreturn]] void raise_failure(const PagesRead& read) {
    if (read.no_memory) {
        PyErr_NoMemory();
    } else if (read.read_error != 0) {
        errno = read.read_error;
        PyErr_SetFromErrno(PyExc_OSError);
    } else {
        raise_status(read.status, read.sentence.c_str());
    }
    throw Raised();
}

Object parquet_read(PyObject*, const Call& call) {
    const auto [aad_object, descriptor, window_bytes, to_object, threads, ctr, list] =
        arguments(call, "parquet_read", {"aad", "descriptor", "window_bytes", "to", "threads", "ctr", "chunks"});
    const View aad = host_view(aad_object, "aad"), to = host_view(to_object, "to", Access::write);
    const Descriptor file(static_cast<int>(to_u64(descriptor, "descriptor")));
    const bool ctr_pages = PyObject_IsTrue(ctr) == 1;
    const std::uint64_t window = to_u64(window_bytes, "window_bytes");
    Keys keys;
    std::vector<ChunkInFile> chunks;
    const Py_ssize_t count = PyList_Size(list);
    if (count < 0) throw Raised();
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject* const fields = item_at(list, i, false);
        const auto field = [&](Py_ssize_t index) { return item_at(fields, index, true); };
        warpaes_parquet_chunk chunk = chunk_of(View(), field(5), field(6), field(7), field(8));
        if (ctr_pages) chunk.flags |= WARPAES_PARQUET_CTR_PAGES;
        chunk.key = keys.get(field(0));
        chunk.aad = aad.data();
        chunk.aad_len = aad.size();
        const std::uint64_t at = to_u64(field(3), "at"), room = to_u64(field(4), "room");
        if (at > to.size() || room > to.size() - at) raise(PyExc_ValueError, "to: has no room for the pages");
        const PagesInFile pages{
            file.get(), to_u64(field(1), "offset"), to_u64(field(2), "length"), to.bytes() + at, room, window};
        chunks.push_back({chunk, pages});
    }
    const auto most = static_cast<unsigned>(std::min<std::uint64_t>(to_u64(threads, "threads"), 64));
    warpaes_engine* with = engine();
    const PagesRead read = unlocked([&] { return read_pages(with, chunks, most); });
    if (read.failed()) raise_failure(read);
    Object all(PyList_New(count));
    for (Py_ssize_t i = 0; i < count; ++i) {
        const auto& sizes = read.sizes[static_cast<std::size_t>(i)];
        Object list_of_chunk(PyList_New(static_cast<Py_ssize_t>(sizes.size())));
        for (std::size_t page = 0; page < sizes.size(); ++page) {
            check(PyList_SetItem(list_of_chunk.get(), static_cast<Py_ssize_t>(page), number(sizes[page]).release()));
        }
        check(PyList_SetItem(all.get(), i, list_of_chunk.release()));
    }
    return all;
}

/// A buffer with a copy of consecutive modules, and with room before them so that the pages can be decrypted in place.
struct Image {
    Image(const View& view, const View& aad, const warpaes_key* key, bool ctr, PyObject* dictionary,
          PyObject* row_group, PyObject* column, PyObject* first_page)
        : bytes(view.bytes()), chunk(chunk_of(view, dictionary, row_group, column, first_page)) {
        if (ctr) chunk.flags |= WARPAES_PARQUET_CTR_PAGES;
        const std::size_t shift = WARPAES_PARQUET_SHIFT(chunk.flags);
        if (view.size() < shift) raise(PyExc_ValueError, "image: has no room for modules");
        chunk.modules = bytes + shift;
        chunk.modules_len = view.size() - shift;
        chunk.key = key;
        chunk.aad = aad.data();
        chunk.aad_len = aad.size();
        pages = walk(chunk, ctr, walked);
        count = static_cast<std::uint64_t>(pages.size());
    }
    /// Returns the address at `offset` in a view. Throws ValueError if the pages do not fit there.
    [[nodiscard]] std::uint8_t* place_in(const View& to, PyObject* offset_object) const {
        const std::uint64_t offset = to_u64(offset_object, "offset");
        if (offset > to.size() || walked > to.size() - offset) raise(PyExc_ValueError, "to: has no room for the pages");
        return to.bytes() + offset;
    }
    /// Decrypts the headers, copies the image, and wipes the headers, because they contain statistics.
    [[nodiscard]] warpaes_status copy_staged(warpaes_engine* with, std::uint8_t* there, std::uint8_t* seals) const {
        warpaes_status status = warpaes_parquet_stage(with, &chunk, pages.data(), count, bytes, seals);
        if (status == WARPAES_OK) status = warpaes_copy(with, there, bytes, static_cast<std::size_t>(walked));
        const std::size_t before_text = WARPAES_PARQUET_SHIFT(chunk.flags) + 16;  // after the header: length and nonce
        for (const auto& page : pages) std::memset(bytes + page.offset, 0, page.header_bytes + before_text);
        return status;
    }
    [[nodiscard]] Object result() const {
        const Object its_bytes = number(walked), its_count = number(count);
        return Object(PyTuple_Pack(2, its_bytes.get(), its_count.get()));
    }

    std::uint8_t* bytes;
    warpaes_parquet_chunk chunk;
    std::vector<warpaes_parquet_page> pages;
    std::uint64_t count = 0, walked = 0;
};

/// Copies the complete pages of an image of modules to the view `to` as ciphertext, and decrypts them there.
Object parquet_move(PyObject*, const Call& call) {
    const auto [key_object, aad_object, image_object, to_object, offset_object, ctr, dictionary, row_group, column,
                first_page] =
        arguments(call, "parquet_move",
                  {"key", "aad", "image", "to", "offset", "ctr", "dictionary", "row_group", "column", "first_page"});
    const View key_bytes = host_view(key_object, "key"), aad = host_view(aad_object, "aad");
    const View view = host_view(image_object, "image", Access::write);
    const View to(to_object, "to", Access::write);
    const Key key(key_bytes.bytes(), key_bytes.size());
    const Image image(view, aad, key.get(), PyObject_IsTrue(ctr) == 1, dictionary, row_group, column, first_page);
    std::uint8_t* const there = image.place_in(to, offset_object);
    warpaes_engine* with = engine();
    check(unlocked([&] {
        std::vector<std::uint8_t> seals(image.pages.size() * WARPAES_PARQUET_SEAL_BYTES);
        const warpaes_status status = image.copy_staged(with, there, seals.data());
        if (status != WARPAES_OK) return status;
        return warpaes_parquet_decrypt_staged(with, &image.chunk, image.pages.data(), image.count, there, seals.data());
    }));
    return image.result();
}

/// Copies the complete pages of an image of modules to a device, and enqueues their decryption there. The work runs on
/// the calling thread's stream (cudaStreamPerThread), so that pages of different threads do not wait for one another.
Object parquet_enqueue(PyObject* module, const Call& call) {
    const auto [cipher, aad_object, image_object, to_object, offset_object, ctr, dictionary, row_group, column,
                first_page, statuses_object, first_status] =
        arguments(call, "parquet_enqueue",
                  {"cipher", "aad", "image", "to", "offset", "ctr", "dictionary", "row_group", "column", "first_page",
                   "statuses", "first_status"});
    const View aad = host_view(aad_object, "aad"), view = host_view(image_object, "image", Access::write);
    const View to(to_object, "to", Access::write), statuses(statuses_object, "statuses", Access::write);
    if (!to.on_device() || !statuses.on_device()) raise(PyExc_ValueError, "to, statuses: must be in device memory");
    const Object type(PyObject_GetAttrString(module, "AESGCM"));
    if (reinterpret_cast<PyObject*>(Py_TYPE(cipher)) != type.get()) raise(PyExc_TypeError, "cipher: must be AESGCM");
    const warpaes_key* const key = state_of<Aead>(cipher).key.get();
    const Image image(view, aad, key, PyObject_IsTrue(ctr) == 1, dictionary, row_group, column, first_page);
    std::uint8_t* const there = image.place_in(to, offset_object);
    const std::uint64_t first = to_u64(first_status, "first_status"), room = statuses.size() / sizeof(warpaes_status);
    if (first > room || image.count > room - first) return none();
    auto* const its_statuses = reinterpret_cast<warpaes_status*>(statuses.bytes()) + first;
    warpaes_engine* with = engine();
    check(unlocked([&] {
        if (image.count == 0) return WARPAES_OK;
        std::vector<std::uint8_t> seals(image.pages.size() * WARPAES_PARQUET_SEAL_BYTES);
        const warpaes_status copied = image.copy_staged(with, there, seals.data());
        if (copied != WARPAES_OK) return copied;
        std::vector<std::uint8_t> scratch(image.pages.size() * WARPAES_PARQUET_SCRATCH_BYTES(aad.size()));
        std::vector<warpaes_table_message> messages(image.pages.size());
        warpaes_batch_table table = WARPAES_BATCH_TABLE_INIT;
        const warpaes_status listed =
            warpaes_parquet_staged_table(&image.chunk, image.pages.data(), image.count, there, seals.data(),
                                         scratch.data(), its_statuses, messages.data(), &table);
        if (listed != WARPAES_OK) return listed;
        void* const stream_of_thread = reinterpret_cast<void*>(std::uintptr_t{2});
        return warpaes_batch_enqueue_table(with, &table, stream_of_thread);
    }));
    return image.result();
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
    method_def<parquet_walk>(
        "parquet_walk",
        "parquet_walk(modules, ctr, dictionary, row_group, column, first_page)\n--\n\n"
        "Return the sizes of the header module and the page module of each complete page in modules."),
    method_def<parquet_decrypt>(
        "parquet_decrypt",
        "parquet_decrypt(key, aad, modules, buf, ctr, dictionary, row_group, column, first_page)\n--\n\n"
        "Write the plain view of complete pages to a buffer."),
    method_def<parquet_read>(
        "parquet_read",
        "parquet_read(aad, descriptor, window_bytes, to, threads, ctr, chunks)\n--\n\n"
        "Read complete pages of column chunks from a file, write their plain view to a buffer, and return the sizes of "
        "the pages of each column chunk."),
    method_def<parquet_move>(
        "parquet_move",
        "parquet_move(key, aad, image, to, offset, ctr, dictionary, row_group, column, first_page)\n--\n\n"
        "Decrypt the complete pages in an image of modules into the view's memory, and return their size and number."),
    method_def<parquet_enqueue>(
        "parquet_enqueue",
        "parquet_enqueue(cipher, aad, image, to, offset, ctr, dictionary, row_group, column, first_page, statuses, "
        "first_status)\n--\n\n"
        "Do the same as parquet_move for a device, without waiting for the decryption. Each page gets a status."),
    method_def<parquet_footer>("parquet_footer",
                               "parquet_footer(footer)\n--\n\nReturn the fields of a footer that need no key."),
    method_def<parquet_open_footer>(
        "parquet_open_footer",
        "parquet_open_footer(key, aad, footer, length)\n--\n\nReturn FileMetaData, decrypted or verified."),
    method_def<parquet_buffer>(
        "parquet_buffer",
        "parquet_buffer(length)\n--\n\nReturn a new bytes object and a view through which to fill it."),
    end_of_methods,
};

}  // namespace

void add_parquet(PyObject* module) {
    check(PyModule_AddFunctions(module, parquet_functions));
}

}  // namespace warpaes::python

// AESGCM, AESCCM and AESGCMSIV, with the interfaces of pyca/cryptography's classes. They pass pyca's tests.
//
// SPDX-License-Identifier: Apache-2.0
#include "aead.hpp"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <vector>

#include "pickles.hpp"

namespace warpaes::python {

const AeadKind gcm_kind = {"AESGCM", WARPAES_GCM, 8, 128, true};
const AeadKind ccm_kind = {"AESCCM", WARPAES_CCM, 7, 13, true};
const AeadKind gcm_siv_kind = {"AESGCMSIV", WARPAES_GCM_SIV, 12, 12, false};

Object random_bytes(std::size_t count) {
    Object bytes = new_bytes(count);
    std::size_t filled = 0;
    while (filled < count) {
        const ssize_t got = getrandom(bytes_of(bytes) + filled, count - filled, 0);
        if (got > 0) {
            filled += static_cast<std::size_t>(got);
        } else if (errno != EINTR) {
            PyErr_SetFromErrno(PyExc_OSError);
            throw Raised();
        }
    }
    return bytes;
}

void check_nonce(const Aead& aead, std::size_t nonce) {
    const AeadKind& kind = *aead.kind;
    if (nonce < kind.least_nonce || nonce > kind.most_nonce) {
        if (kind.least_nonce == kind.most_nonce) {
            raise(PyExc_ValueError, "Nonce must be %zu bytes long", kind.least_nonce);
        }
        raise(PyExc_ValueError, "Nonce must be between %zu and %zu bytes", kind.least_nonce, kind.most_nonce);
    }
}

void check_length(const Aead& aead, std::size_t nonce, std::size_t data) {
    if (aead.kind->mode == WARPAES_CCM && nonce > 7 && data >> (8 * (15 - nonce)) != 0) {
        raise(PyExc_ValueError, "Data too long for nonce: with a nonce of %zu bytes, it must be less than 2^%zu bytes",
              nonce, 8 * (15 - nonce));
    }
}

namespace {

warpaes_message aead_message(const Aead& aead, warpaes_direction direction, const View& nonce, const View& aad,
                             const void* input, std::size_t size, void* output, void* tag) {
    warpaes_message message = WARPAES_MESSAGE_INIT;
    message.mode = aead.kind->mode;
    message.direction = direction;
    message.key = aead.key.get();
    message.iv = nonce.bytes();
    message.iv_len = nonce.size();
    message.aad = aad.data();
    message.aad_len = aad.size();
    message.input = input;
    message.input_len = message.output_capacity = size;
    message.output = output;
    message.tag = tag;
    message.tag_len = aead.tag_bytes;
    return message;
}

const Aead& aead_of(PyObject* self) {
    return state_of<Aead>(self);
}

View optional_view(PyObject* object, const char* name) {
    return object == nullptr || object == Py_None ? View() : View(object, name);
}

/// The nonce, data and associated data of a call. The constructor checks the length of the nonce.
struct Operands {
    Operands(const Aead& aead, PyObject* nonce_object, PyObject* data_object, PyObject* aad_object,
             Layout layout = Layout::contiguous)
        : nonce(host_view(nonce_object, "nonce")),
          data(data_object, "data", Access::read, layout),
          aad(optional_view(aad_object, "associated_data")) {
        check_nonce(aead, nonce.size());
    }
    void must_lie_here(const char* instead) const {
        if (data.on_device() || aad.on_device()) {
            raise(PyExc_TypeError, "data is in device memory, but the result would be bytes in host memory; use %s",
                  instead);
        }
    }
    View nonce;
    View data;
    View aad;
};

Object encrypt_aead(PyObject* self, const Call& call) {
    const auto [nonce, data, aad] = arguments(call, "encrypt", {"nonce", "data", "associated_data"});
    const Aead& aead = aead_of(self);
    const Operands in(aead, nonce, data, aad);
    in.must_lie_here("encrypt_into");
    check_length(aead, in.nonce.size(), in.data.size());
    Object out = new_bytes(in.data.size() + aead.tag_bytes);
    const warpaes_message message = aead_message(aead, WARPAES_ENCRYPT, in.nonce, in.aad, in.data.data(),
                                                 in.data.size(), bytes_of(out), bytes_of(out) + in.data.size());
    check(run_here(message, in.data.size() + in.aad.size()));
    return out;
}

Object decrypt_aead(PyObject* self, const Call& call) {
    const auto [nonce, data, aad] = arguments(call, "decrypt", {"nonce", "data", "associated_data"});
    const Aead& aead = aead_of(self);
    const Operands in(aead, nonce, data, aad);
    in.must_lie_here("decrypt_into");
    if (in.data.size() < aead.tag_bytes) raise_status(WARPAES_ERROR_AUTHENTICATION, "data is shorter than a tag");
    const std::size_t size = in.data.size() - aead.tag_bytes;
    check_length(aead, in.nonce.size(), size);
    Object out = new_bytes(size);
    const warpaes_message message = aead_message(aead, WARPAES_DECRYPT, in.nonce, in.aad, in.data.data(), size,
                                                 bytes_of(out), in.data.bytes() + size);
    check(run_here(message, size + in.aad.size()));
    return out;
}

void check_buffer(std::size_t found, std::size_t expected) {
    if (found != expected) raise(PyExc_ValueError, "buffer must be %zu bytes", expected);
}

/// The optional arguments `tag` and `status` of a call.
struct Extras {
    Extras(const Aead& aead, PyObject* tag_object, Access access, PyObject* status_object)
        : has_tag(tag_object != nullptr && tag_object != Py_None),
          has_status(status_object != nullptr && status_object != Py_None) {
        if (has_tag) {
            tag = View(tag_object, "tag", access);
            if (tag.size() != aead.tag_bytes) raise(PyExc_ValueError, "tag must be %zu bytes", aead.tag_bytes);
        }
        if (has_status) {
            status = View(status_object, "status", Access::write);
            if (!status.on_device() || status.size() != sizeof(warpaes_status)) {
                raise(PyExc_ValueError, "status must be a 32-bit integer in memory of the same device as data");
            }
        }
    }
    bool has_tag;
    bool has_status;
    View tag;
    View status;
};

/// Runs a message whose data, output and tag are set.
void run_aead(const Aead& aead, warpaes_message& message, const Operands& in, const View& out, const Extras& extras,
              PyObject* stream) {
    const Place place = place_of(in.data, out, stream, {&in.aad, &extras.tag, &extras.status});
    // Decryption on a device also accepts a tag in host memory.
    const bool either = place.device && message.direction == WARPAES_DECRYPT;
    if (extras.has_tag && !either && extras.tag.on_device() != place.device) {
        raise(PyExc_ValueError, "tag must be in the same memory as data");
    }
    if (!place.device) {
        if (extras.has_status) {
            raise(PyExc_ValueError,
                  "status applies only to tensors in device memory; in host memory, a wrong tag raises InvalidTag");
        }
        check(run_here(message, message.input_len + in.aad.size()));
        return;
    }
    if (!aead.kind->enqueued) {
        if (extras.has_status) {
            raise(PyExc_ValueError,
                  "status applies only to calls that do not wait; %s waits, and a wrong tag raises InvalidTag",
                  aead.kind->name);
        }
        check(run_waiting(message, place));
        return;
    }
    if (extras.has_status) message.device_status = static_cast<warpaes_status*>(extras.status.data());
    check(run_on_device(message, place));
}

Object encrypt_aead_into(PyObject* self, const Call& call) {
    const auto [nonce, data, aad, buf, tag, stream] =
        arguments(call, "encrypt_into", {"nonce", "data", "associated_data", "buf", "tag", "stream"}, 4, 2);
    const Aead& aead = aead_of(self);
    const Operands in(aead, nonce, data, aad, Layout::dense);
    const View out(buf, "buf", Access::write, Layout::dense);
    const Extras extras(aead, tag, Access::write, nullptr);
    const std::size_t size = in.data.size();
    check_length(aead, in.nonce.size(), size);
    check_buffer(out.size(), extras.has_tag ? size : size + aead.tag_bytes);
    require_same_layout(in.data, "data", out, "buf");
    warpaes_message message = aead_message(aead, WARPAES_ENCRYPT, in.nonce, in.aad, in.data.data(), size, out.data(),
                                           extras.has_tag ? extras.tag.data() : out.bytes() + size);
    run_aead(aead, message, in, out, extras, stream);
    return Object(PyLong_FromSize_t(out.size()));
}

Object decrypt_aead_into(PyObject* self, const Call& call) {
    const auto [nonce, data, aad, buf, tag, status, stream] =
        arguments(call, "decrypt_into", {"nonce", "data", "associated_data", "buf", "tag", "status", "stream"}, 4, 3);
    const Aead& aead = aead_of(self);
    const Operands in(aead, nonce, data, aad, Layout::dense);
    const View out(buf, "buf", Access::write, Layout::dense);
    const Extras extras(aead, tag, Access::read, status);
    const std::size_t behind = extras.has_tag ? 0 : aead.tag_bytes;
    if (in.data.size() < behind) raise_status(WARPAES_ERROR_AUTHENTICATION, "data is shorter than a tag");
    const std::size_t size = in.data.size() - behind;
    check_length(aead, in.nonce.size(), size);
    check_buffer(out.size(), size);
    require_same_layout(in.data, "data", out, "buf");
    warpaes_message message = aead_message(aead, WARPAES_DECRYPT, in.nonce, in.aad, in.data.data(), size, out.data(),
                                           extras.has_tag ? extras.tag.data() : in.data.bytes() + size);
    run_aead(aead, message, in, out, extras, stream);
    return Object(PyLong_FromSize_t(size));
}

Object generate_aead_key(PyObject*, const Call& call) {
    const auto [bit_length] = arguments(call, "generate_key", {"bit_length"});
    const std::uint64_t bits = to_u64(bit_length, "bit_length");
    if (bits != 128 && bits != 192 && bits != 256) raise(PyExc_ValueError, "bit_length must be 128, 192, or 256");
    return random_bytes(bits / 8);
}

/// Unlike pyca's AESGCMSIV, refuses 192-bit keys, which RFC 8452 does not define.
Object generate_gcm_siv_key(PyObject*, const Call& call) {
    const auto [bit_length] = arguments(call, "generate_key", {"bit_length"});
    const std::uint64_t bits = to_u64(bit_length, "bit_length");
    if (bits != 128 && bits != 256) raise(PyExc_ValueError, "bit_length must be 128 or 256 for AES-GCM-SIV (RFC 8452)");
    return random_bytes(bits / 8);
}

template <const AeadKind& kind>
void init_aead(AeadObject& self, PyObject* args, PyObject* kwargs) {
    constexpr bool is_ccm = &kind == &ccm_kind;
    PyObject* key_object = nullptr;
    PyObject* tag_length = nullptr;
    static const char* names[] = {"key", is_ccm ? "tag_length" : nullptr, nullptr};
    if (PyArg_ParseTupleAndKeywords(args, kwargs, is_ccm ? "O|O" : "O", const_cast<char**>(names), &key_object,
                                    &tag_length) == 0) {
        throw Raised();
    }
    Aead& aead = self.state;
    aead.kind = &kind;
    const View key = host_view(key_object, "key");
    if (key.size() != 16 && key.size() != 24 && key.size() != 32) {
        raise(PyExc_ValueError, "%s key must be 128, 192, or 256 bits.", kind.name);
    }
    if (kind.mode == WARPAES_GCM_SIV && key.size() == 24) {
        raise(exceptions.unsupported_algorithm, "AES-GCM-SIV keys have 128 or 256 bits (RFC 8452), not 192");
    }
    if (tag_length != nullptr) {
        const long bytes = PyLong_AsLong(tag_length);
        if (bytes == -1 && PyErr_Occurred() != nullptr) throw Raised();
        if (bytes < 4 || bytes > 16 || bytes % 2 != 0) {
            raise(PyExc_ValueError, "Invalid tag_length: it is 4, 6, 8, 10, 12, 14 or 16");
        }
        aead.tag_bytes = static_cast<std::size_t>(bytes);
    }
    aead.key = Key(key.bytes(), key.size());
}

}  // namespace

/// `tag_length` applies to AESCCM; the constructors of the other classes reject it.
Object load_aead(PyObject* type, const Call& call) {
    const auto [place, tag_length] = arguments(call, "load", {"place", "tag_length"}, 1);
    const Object key = from_places("read_key", place);
    Object made(PyObject_CallFunctionObjArgs(type, key.get(), tag_length, nullptr));
    const Object lasting = from_places("lasting_place", place);
    if (lasting.get() != Py_None) {
        state_of<Aead>(made.get()).origin =
            Object(tag_length != nullptr ? PyTuple_Pack(2, lasting.get(), tag_length) : PyTuple_Pack(1, lasting.get()));
    }
    return made;
}

Object reduce_aead(PyObject* self, const Call&) {
    return reduced(self, state_of<Aead>(self).origin,
                   "create it with load('file:PATH'), load('env:NAME') or load('exec:COMMAND'), so that each process "
                   "reads the key itself, or create it from the key in the other process");
}

namespace {

const PyMethodDef load_def =
    method_def<load_aead>("load", "Read the key from a place and return an object with this key.", METH_CLASS);
const PyMethodDef reduce_def = method_def<reduce_aead>("__reduce__", nullptr);
const PyMethodDef generate_def = method_def<generate_aead_key>(
    "generate_key", "generate_key(bit_length)\n--\n\nReturn a random key of 128, 192 or 256 bits.", METH_STATIC);
const PyMethodDef encrypt_def =
    method_def<encrypt_aead>("encrypt",
                             "encrypt($self, nonce, data, associated_data)\n--\n\nEncrypt data "
                             "and return the ciphertext followed by its tag, as bytes.");
const PyMethodDef decrypt_def = method_def<decrypt_aead>(
    "decrypt",
    "decrypt($self, nonce, data, associated_data)\n--\n\nDecrypt a ciphertext followed by its tag "
    "and return the plaintext. Raises InvalidTag if the ciphertext is not authentic.");
const PyMethodDef encrypt_into_def = method_def<encrypt_aead_into>(
    "encrypt_into",
    "encrypt_into($self, nonce, data, associated_data, buf, *, tag=None, stream=None)\n--\n\nEncrypt data into buf, "
    "followed by the tag unless `tag` is given; return the bytes written to buf. On a GPU, the work is enqueued on the "
    "tensors' stream. AESGCMSIV waits for the stream and for the result.");
const PyMethodDef decrypt_into_def = method_def<decrypt_aead_into>(
    "decrypt_into",
    "decrypt_into($self, nonce, data, associated_data, buf, *, tag=None, status=None, stream=None)\n--\n\nDecrypt data "
    "into buf and return the length of the plaintext. If data is not authentic, wipes buf and raises InvalidTag.");

PyMethodDef single_methods[] = {
    method_def<generate_gcm_siv_key>(
        "generate_key", "generate_key(bit_length)\n--\n\nReturn a random key of 128 or 256 bits.", METH_STATIC),
    encrypt_def,
    decrypt_def,
    encrypt_into_def,
    decrypt_into_def,
    load_def,
    reduce_def,
    copy_def,
    deepcopy_def,
    end_of_methods,
};
PyMethodDef aead_methods[] = {
    generate_def,
    encrypt_def,
    decrypt_def,
    encrypt_into_def,
    decrypt_into_def,
    load_def,
    reduce_def,
    copy_def,
    deepcopy_def,
    method_def<encrypt_batch>("encrypt_batch",
                              "encrypt_batch($self, nonces, data, associated_data=None, *, return_exceptions=False, "
                              "check_nonces=True)\n--\n\nEncrypt a list of messages at once and return a list of "
                              "ciphertexts, each followed by its tag."),
    method_def<decrypt_batch>(
        "decrypt_batch",
        "decrypt_batch($self, nonces, data, associated_data=None, *, return_exceptions=False, "
        "check_nonces=True)\n--\n\nDecrypt a list of messages at once and return a list of plaintexts."),
    method_def<submit_batch>(
        "submit",
        "submit($self, direction, nonces, data, associated_data=None, *, check_nonces=True)\n--\n\nBegin to 'encrypt' "
        "or 'decrypt' a list of messages and return a Batch to wait for or to await."),
    method_def<submit_batch_into>("submit_into",
                                  "submit_into($self, direction, nonces, data, offsets, lengths, buf, tags, "
                                  "associated_data=None, *, check_nonces=True)\n--\n\nBegin to 'encrypt' or 'decrypt' "
                                  "messages in one buffer, with results at the same offsets in another."),
    method_def<enqueue_batch_into>(
        "enqueue_into",
        "enqueue_into($type, direction, ciphers, nonces, data, offsets, lengths, buf, tags, associated_data=None, *, "
        "statuses=None, stream=None, host=None, first_copied=0, more=False)\n--\n\nEnqueue messages in device memory "
        "on a stream, each under the key of its own object.",
        METH_CLASS),
    end_of_methods,
};

/// Consecutive chunks of a CryptoTensors tensor, starting with chunk `first`, and the tensor's key. Only the last chunk
/// may be shorter than the others.
struct ChunkRun {
    View key;
    std::array<std::uint8_t, 12> base;
    std::uint32_t first;
    View data, out, tags;
};
constexpr std::size_t chunk_tag_bytes = 16;

ChunkRun run_of(PyObject* object, std::uint64_t chunk, Access tags_access) {
    if (PyTuple_Check(object) == 0 || PyTuple_Size(object) != 6)
        raise(PyExc_TypeError, "a part must be a tuple of six values");
    const View base = host_view(PyTuple_GetItem(object, 1), "base");
    ChunkRun made{host_view(PyTuple_GetItem(object, 0), "key"),
                  {},
                  static_cast<std::uint32_t>(to_u64(PyTuple_GetItem(object, 2), "first")),
                  host_view(PyTuple_GetItem(object, 3), "data"),
                  host_view(PyTuple_GetItem(object, 4), "buf", Access::write),
                  host_view(PyTuple_GetItem(object, 5), "tags", tags_access)};
    const std::size_t size = made.data.size(), chunks = size == 0 ? 1 : size / chunk + (size % chunk != 0);
    if (base.size() != made.base.size()) raise(PyExc_ValueError, "base must be %zu bytes", made.base.size());
    check_buffer(made.out.size(), size);
    if (made.tags.size() / chunk_tag_bytes != chunks) raise(PyExc_ValueError, "there must be %zu tags", chunks);
    std::copy_n(base.bytes(), made.base.size(), made.base.begin());
    return made;
}

/// Processes the chunks of a run in order on this thread. Returns the number and the status of the first chunk that
/// fails.
std::pair<std::uint64_t, warpaes_status> crypt_chunks(warpaes_engine* with, warpaes_direction direction,
                                                      std::uint64_t chunk, const ChunkRun& run) {
    warpaes_key* handle = nullptr;
    const warpaes_status made = warpaes_key_create(run.key.bytes(), run.key.size(), &handle);
    if (made != WARPAES_OK) return {0, made};
    const std::unique_ptr<warpaes_key, decltype(&warpaes_key_destroy)> key(handle, warpaes_key_destroy);
    std::array<std::uint8_t, 12> nonce = run.base;
    std::uint32_t counter = run.first;
    for (unsigned i = 0; i < 4; ++i) counter += std::uint32_t{run.base[8 + i]} << (24 - 8 * i);
    warpaes_message message = WARPAES_MESSAGE_INIT;
    message.mode = WARPAES_GCM;
    message.direction = direction;
    message.key = key.get();
    message.iv = nonce.data();
    message.iv_len = nonce.size();
    message.tag_len = chunk_tag_bytes;
    std::uint64_t number = 0, at = 0;
    do {
        for (unsigned i = 0; i < 4; ++i) nonce[8 + i] = static_cast<std::uint8_t>(counter >> (24 - 8 * i));
        message.input = run.data.bytes() + at;
        message.output = run.out.bytes() + at;
        message.input_len = message.output_capacity = std::min<std::uint64_t>(chunk, run.data.size() - at);
        message.tag = run.tags.bytes() + number * chunk_tag_bytes;
        const warpaes_status status = warpaes_crypt(with, &message, nullptr);
        if (status != WARPAES_OK) return {number, status};
        at += message.input_len;
        ++number;
        ++counter;
    } while (at < run.data.size());
    return {0, WARPAES_OK};
}

Object crypt_parts(PyObject*, const Call& call) {
    const auto [direction_object, chunk_object, parts] = arguments(call, "_chunks", {"direction", "chunk", "parts"});
    const warpaes_direction direction = to_direction(direction_object);
    const std::uint64_t chunk = to_u64(chunk_object, "chunk");
    if (chunk == 0) raise(PyExc_ValueError, "chunk must be at least 1");
    if (PyList_Check(parts) == 0) raise(PyExc_TypeError, "parts must be a list");
    const auto count = static_cast<std::size_t>(PyList_Size(parts));
    std::vector<ChunkRun> runs;
    runs.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        const Object part(PySequence_GetItem(parts, static_cast<Py_ssize_t>(i)));
        runs.push_back(run_of(part.get(), chunk, direction == WARPAES_ENCRYPT ? Access::write : Access::read));
    }
    warpaes_engine* with = engine();
    std::size_t part = 0;
    const auto [number, status] = unlocked([&] {
        std::pair<std::uint64_t, warpaes_status> found{0, WARPAES_OK};
        for (part = 0; part < runs.size(); ++part) {
            found = crypt_chunks(with, direction, chunk, runs[part]);
            if (found.second != WARPAES_OK) break;
        }
        return found;
    });
    if (status == WARPAES_OK) return none();
    if (status != WARPAES_ERROR_AUTHENTICATION) check(status);
    return Object(Py_BuildValue("nK", static_cast<Py_ssize_t>(part), static_cast<unsigned long long>(number)));
}

PyMethodDef aead_functions[] = {
    method_def<crypt_parts>("_chunks", "_chunks(direction, chunk, parts)\n--\n\n"),
    end_of_methods,
};

template <const AeadKind& kind>
void add_kind(PyObject* module, const char* name, const char* doc, PyMethodDef* all) {
    static PyType_Slot slots[] = {
        {Py_tp_doc, const_cast<char*>(doc)},
        {Py_tp_new, reinterpret_cast<void*>(construct<AeadObject, init_aead<kind>>)},
        {Py_tp_dealloc, reinterpret_cast<void*>(destruct<AeadObject>)},
        {Py_tp_methods, all},
        {0, nullptr},
    };
    static PyType_Spec spec = {name, sizeof(AeadObject), 0, Py_TPFLAGS_DEFAULT, slots};
    add_type(module, spec);
}

}  // namespace

void add_aead(PyObject* module) {
    add_kind<gcm_kind>(module, "warpaes.aead.AESGCM", "AESGCM(key)\n--\n\nAES-GCM (SP 800-38D) with tags of 16 bytes.",
                       aead_methods);
    add_kind<ccm_kind>(module, "warpaes.aead.AESCCM",
                       "AESCCM(key, tag_length=16)\n--\n\nAES-CCM (SP 800-38C) with tags of 4 to 16 bytes.",
                       aead_methods);
    add_kind<gcm_siv_kind>(
        module, "warpaes.aead.AESGCMSIV",
        "AESGCMSIV(key)\n--\n\nAES-GCM-SIV (RFC 8452): a repeated nonce reveals only which messages are equal.",
        single_methods);
    add_siv(module);
    check(PyModule_AddFunctions(module, aead_functions));
}

}  // namespace warpaes::python

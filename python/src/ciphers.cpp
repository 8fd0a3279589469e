// Messages processed in pieces, like pyca/cryptography's encryptors and decryptors, and whole messages in one call.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <memory>

#include "message.hpp"
#include "module.hpp"
#include "pickles.hpp"

namespace warpaes::python {
namespace {

/// The parameters of a cipher: a mode with its keys and IV.
struct Setting {
    warpaes_mode mode{};
    Key key;
    Key tweak_key;  ///< only for XTS
    std::string iv;

    [[nodiscard]] bool whole_blocks() const { return mode == WARPAES_ECB || mode == WARPAES_CBC; }
    [[nodiscard]] const std::uint8_t* iv_bytes() const {
        return iv.empty() ? nullptr : reinterpret_cast<const std::uint8_t*>(iv.data());
    }
};

Setting setting_of(PyObject* mode_object, PyObject* key_object, PyObject* iv_object) {
    Setting setting;
    setting.mode = static_cast<warpaes_mode>(to_u64(mode_object, "mode"));
    const View key = host_view(key_object, "key");
    if (setting.mode == WARPAES_XTS) {
        const std::size_t half = key.size() / 2;
        if (key.size() % 2 == 0 && std::memcmp(key.bytes(), key.bytes() + half, half) == 0) {
            raise(PyExc_ValueError, "In XTS mode duplicated keys are not allowed");
        }
        setting.key = Key(key.bytes(), half);
        setting.tweak_key = Key(key.bytes() + half, key.size() - half);
    } else {
        setting.key = Key(key.bytes(), key.size());
    }
    if (iv_object != Py_None) {
        const View iv = host_view(iv_object, "initialization_vector");
        setting.iv.assign(reinterpret_cast<const char*>(iv.bytes()), iv.size());
    }
    return setting;
}

struct Context {
    Setting setting;
    warpaes_direction direction{};
    warpaes_context* handle = nullptr;
    unsigned forks = 0;
    std::size_t pending = 0;  ///< number of bytes in the incomplete block (ECB and CBC)
    bool updated = false;
    bool finished = false;
    bool busy = false;
    std::size_t least_tag = 16;
    std::string tag;  ///< the expected tag or, after encryption, the message's tag

    Context() = default;
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    // In a child of fork(), the parent's context is leaked, because its engine does not exist there.
    ~Context() {
        if (forks == python::forks()) warpaes_context_destroy(handle);
    }
};
using ContextObject = Instance<Context>;

void check_context(const Context& context, warpaes_status status) {
    if (status != WARPAES_OK) raise_status(status, warpaes_context_error(context.handle));
}

Context& live_context(PyObject* self) {
    Context& context = state_of<Context>(self);
    if (context.finished) raise(exceptions.already_finalized, "Context was already finalized.");
    check_process(context.forks, "this context");
    return context;
}

/// Returns a view of a piece, which must be in host memory.
View piece_view(PyObject* object, const char* name, Access access = Access::read) {
    View view(object, name, access);
    if (view.on_device()) {
        raise(PyExc_TypeError,
              "%s is in device memory, but pieces must be in host memory; Cipher.encrypt_into and decrypt_into accept "
              "whole tensors in device memory",
              name);
    }
    return view;
}

/// Processes a piece and returns the number of bytes written.
std::size_t piece(Context& context, const View& data, std::uint8_t* output, std::size_t capacity) {
    std::size_t written = 0;
    const warpaes_status status = unlocked_if(data.size() >= long_work, [&] {
        return warpaes_context_update(context.handle, data.data(), data.size(), output, capacity, &written);
    });
    if (status == WARPAES_ERROR_DATA_LENGTH && context.setting.mode == WARPAES_XTS && data.size() < 16) {
        raise(PyExc_ValueError,
              "In XTS mode you must supply at least a full block in the first update call. For AES "
              "this is 16 bytes.");
    }
    check_context(context, status);
    context.updated = true;
    if (context.setting.whole_blocks()) context.pending = (context.pending + data.size()) % 16;
    return written;
}

Object update_context(PyObject* self, const Call& call) {
    const auto [object] = arguments(call, "update", {"data"});
    const View data = piece_view(object, "data");
    Context& context = live_context(self);
    const Turn turn(context.busy, "this context");
    std::size_t size = data.size();
    if (context.setting.whole_blocks()) size = (context.pending + size) / 16 * 16;
    Object out = new_bytes(size);
    piece(context, data, bytes_of(out), size);
    return out;
}

Object update_into(PyObject* self, const Call& call) {
    const auto [object, buf] = arguments(call, "update_into", {"data", "buf"});
    const View data = piece_view(object, "data");
    const View out = piece_view(buf, "buf", Access::write);
    Context& context = live_context(self);
    const Turn turn(context.busy, "this context");
    const std::size_t needed = data.size() + (context.setting.whole_blocks() ? 15 : 0);
    if (out.size() < needed) raise(PyExc_ValueError, "buffer must be at least %zu bytes for this payload", needed);
    return Object(PyLong_FromSize_t(piece(context, data, out.bytes(), out.size())));
}

/// Ends the message. In ECB and CBC modes, an incomplete block is an error, because there is no padding.
Object end_context(Context& context) {
    std::size_t written = 0;
    std::uint8_t nothing[16];
    const warpaes_status status = warpaes_context_final(context.handle, nothing, sizeof nothing, &written);
    if (status == WARPAES_ERROR_DATA_LENGTH && context.setting.whole_blocks()) {
        raise(PyExc_ValueError, "The length of the provided data is not a multiple of the block length.");
    }
    check_context(context, status);
    return Object(PyBytes_FromStringAndSize(nullptr, 0));
}

Object finalize_context(PyObject* self, const Call& call) {
    read_call(call, "finalize", nullptr, nullptr, 0, 0, 0);
    Context& context = live_context(self);
    const Turn turn(context.busy, "this context");
    const bool gcm = context.setting.mode == WARPAES_GCM;
    if (gcm && context.direction == WARPAES_DECRYPT && context.tag.empty()) {
        raise(PyExc_ValueError, "Authentication tag must be provided when decrypting.");
    }
    Object nothing = end_context(context);
    if (gcm && context.direction == WARPAES_ENCRYPT) {
        std::uint8_t tag[16];
        check_context(context, warpaes_context_get_tag(context.handle, tag, sizeof tag));
        context.tag.assign(reinterpret_cast<const char*>(tag), sizeof tag);
    }
    context.finished = true;
    return nothing;
}

Object finalize_with_tag(PyObject* self, const Call& call) {
    const auto [object] = arguments(call, "finalize_with_tag", {"tag"});
    const View tag = host_view(object, "tag");
    Context& context = live_context(self);
    const Turn turn(context.busy, "this context");
    if (!context.tag.empty()) raise(PyExc_ValueError, "Authentication tag must be provided only once.");
    if (tag.size() < context.least_tag) {
        raise(PyExc_ValueError, "Authentication tag must be %zu bytes or longer.", context.least_tag);
    }
    if (tag.size() > 16) raise(PyExc_ValueError, "Authentication tag cannot be more than 16 bytes.");
    check_context(context, warpaes_context_set_tag(context.handle, tag.bytes(), tag.size()));
    Object nothing = end_context(context);
    context.finished = true;
    return nothing;
}

Object authenticate(PyObject* self, const Call& call) {
    const auto [object] = arguments(call, "authenticate_additional_data", {"data"});
    const View data = piece_view(object, "data");
    Context& context = live_context(self);
    const Turn turn(context.busy, "this context");
    if (context.updated) raise(exceptions.already_updated, "Update has been called on this context.");
    check_context(context, unlocked_if(data.size() >= long_work,
                                       [&] { return warpaes_context_aad(context.handle, data.data(), data.size()); }));
    return none();
}

Object reset_nonce(PyObject* self, const Call& call) {
    const auto [object] = arguments(call, "reset_nonce", {"nonce"});
    Context& context = live_context(self);
    const Turn turn(context.busy, "this context");
    if (context.setting.mode != WARPAES_CTR) {
        raise(exceptions.unsupported_algorithm, "This algorithm or mode does not support resetting the nonce.");
    }
    const View nonce = host_view(object, "nonce");
    if (nonce.size() != 16) raise(PyExc_ValueError, "Nonce must be 16 bytes long");
    check_context(context, warpaes_context_set_iv(context.handle, nonce.bytes(), nonce.size()));
    return none();
}

Object seek(PyObject* self, const Call& call) {
    const auto [object] = arguments(call, "seek", {"offset"});
    Context& context = live_context(self);
    const Turn turn(context.busy, "this context");
    if (context.setting.mode != WARPAES_CTR) {
        raise(exceptions.unsupported_algorithm, "Only CTR can start at any position.");
    }
    check_context(context, warpaes_context_seek(context.handle, to_u64(object, "offset")));
    return none();
}

PyObject* get_tag(PyObject* self, void*) {
    return guarded(static_cast<PyObject*>(nullptr), [&] {
        const Context& context = state_of<Context>(self);
        if (!context.finished) {
            raise(exceptions.not_yet_finalized, "You must finalize encryption before getting the tag.");
        }
        return PyBytes_FromStringAndSize(context.tag.data(), static_cast<Py_ssize_t>(context.tag.size()));
    });
}

const PyMethodDef update_def = method_def<update_context>(
    "update", "update($self, data)\n--\n\nProcess the next piece and return the output, as bytes.");
const PyMethodDef update_into_def =
    method_def<update_into>("update_into",
                            "update_into($self, data, buf)\n--\n\nProcess the next piece into a buffer and return the "
                            "number of bytes written.");
const PyMethodDef finalize_def = method_def<finalize_context>("finalize", "finalize($self)\n--\n\nEnd the message.");
const PyMethodDef reset_def =
    method_def<reset_nonce>("reset_nonce", "reset_nonce($self, nonce)\n--\n\nBegin another message in CTR mode.");
const PyMethodDef authenticate_def = method_def<authenticate>(
    "authenticate_additional_data",
    "authenticate_additional_data($self, data)\n--\n\nAdd associated data, before the first call of update.");

PyMethodDef cipher_methods[] = {
    update_def,
    update_into_def,
    finalize_def,
    reset_def,
    method_def<seek>("seek", "seek($self, offset)\n--\n\nIn CTR mode, continue at byte `offset` of the message."),
    refuse_pickle_def,
    end_of_methods};
PyMethodDef encryption_methods[] = {update_def,       update_into_def,   finalize_def,  reset_def,
                                    authenticate_def, refuse_pickle_def, end_of_methods};
PyMethodDef decryption_methods[] = {
    update_def,
    update_into_def,
    finalize_def,
    reset_def,
    authenticate_def,
    method_def<finalize_with_tag>(
        "finalize_with_tag",
        "finalize_with_tag($self, tag)\n--\n\nEnd the message and compare its tag with the given tag."),
    refuse_pickle_def,
    end_of_methods};
PyGetSetDef tag_property[] = {
    {"tag", get_tag, nullptr, "The message's tag, available once the message is finalized.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyTypeObject* cipher_type;
PyTypeObject* encryption_type;
PyTypeObject* decryption_type;

/// context(mode, encrypt, key, iv, tag, least_tag)
Object make_context(PyObject*, const Call& call) {
    const auto [mode, encrypt, key, iv, tag, least_tag] =
        arguments(call, "context", {"mode", "encrypt", "key", "iv", "tag", "least_tag"});
    Setting setting = setting_of(mode, key, iv);
    const int encrypts = PyObject_IsTrue(encrypt);
    check(encrypts);
    PyTypeObject* type = setting.mode != WARPAES_GCM ? cipher_type : encrypts != 0 ? encryption_type : decryption_type;
    const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
    Object made(allocate(type, 0));
    Context& context = *new (&state_of<Context>(made.get())) Context();
    context.setting = std::move(setting);
    context.direction = encrypts != 0 ? WARPAES_ENCRYPT : WARPAES_DECRYPT;
    context.forks = forks();
    context.least_tag = to_u64(least_tag, "least_tag");
    check(warpaes_context_create(engine(), &context.handle));
    warpaes_context_options options = WARPAES_CONTEXT_OPTIONS_INIT;
    options.mode = context.setting.mode;
    options.direction = context.direction;
    options.key = context.setting.key.get();
    options.tweak_key = context.setting.tweak_key.get();
    options.iv = context.setting.iv_bytes();
    options.iv_len = context.setting.iv.size();
    check_context(context, warpaes_context_init(context.handle, &options));
    if (tag != Py_None) {
        const View expected = host_view(tag, "tag");
        context.tag.assign(reinterpret_cast<const char*>(expected.bytes()), expected.size());
        check_context(context, warpaes_context_set_tag(context.handle, expected.bytes(), expected.size()));
    }
    return made;
}

/// crypt(mode, encrypt, key, iv, data, buf, data_unit_bytes, stream): processes a whole message in a mode without tags.
Object crypt(PyObject*, const Call& call) {
    const auto [mode, encrypt, key, iv, data_object, buf, unit, stream] =
        arguments(call, "crypt", {"mode", "encrypt", "key", "iv", "data", "buf", "data_unit_bytes", "stream"});
    const Setting setting = setting_of(mode, key, iv);
    const View data(data_object, "data", Access::read, Layout::dense);
    const View out(buf, "buf", Access::write, Layout::dense);
    if (out.size() != data.size()) raise(PyExc_ValueError, "buffer must be %zu bytes", data.size());
    require_same_layout(data, "data", out, "buf");
    const int encrypts = PyObject_IsTrue(encrypt);
    check(encrypts);
    warpaes_message message = WARPAES_MESSAGE_INIT;
    message.mode = setting.mode;
    message.direction = encrypts != 0 ? WARPAES_ENCRYPT : WARPAES_DECRYPT;
    message.key = setting.key.get();
    message.tweak_key = setting.tweak_key.get();
    message.iv = setting.iv_bytes();
    message.iv_len = setting.iv.size();
    message.input = data.data();
    message.input_len = message.output_capacity = data.size();
    message.output = out.data();
    message.data_unit_len = to_u64(unit, "data_unit_bytes");
    const Place place = place_of(data, out, stream);
    check(place.device ? run_on_device(message, place) : run_here(message, data.size()));
    return Object(PyLong_FromSize_t(data.size()));
}

PyMethodDef cipher_functions[] = {
    method_def<make_context>("context", "context(mode, encrypt, key, iv, tag, least_tag)\n--\n\n"),
    method_def<crypt>("crypt", "crypt(mode, encrypt, key, iv, data, buf, data_unit_bytes, stream)\n--\n\n"),
    end_of_methods,
};

template <int index>
PyTypeObject* add_context_type(PyObject* module, const char* name, const char* doc, PyMethodDef* methods,
                               PyGetSetDef* properties) {
    static PyType_Slot slots[] = {
        {Py_tp_doc, const_cast<char*>(doc)},
        {Py_tp_dealloc, reinterpret_cast<void*>(destruct<ContextObject>)},
        {Py_tp_methods, methods},
        {properties != nullptr ? Py_tp_getset : 0, properties},
        {0, nullptr},
    };
    static PyType_Spec spec = {name, sizeof(ContextObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                               slots};
    return reinterpret_cast<PyTypeObject*>(add_type(module, spec).release());
}

}  // namespace

void add_ciphers(PyObject* module) {
    cipher_type =
        add_context_type<0>(module, "warpaes.ciphers.CipherContext",
                            "A message that is processed in pieces, in a mode without a tag.", cipher_methods, nullptr);
    encryption_type = add_context_type<1>(module, "warpaes.ciphers.AEADEncryptionContext",
                                          "A message that is processed in pieces and encrypted with a tag.",
                                          encryption_methods, tag_property);
    decryption_type =
        add_context_type<2>(module, "warpaes.ciphers.AEADDecryptionContext",
                            "A message with a tag that is processed in pieces. The output of update is not "
                            "authentic until finalize has returned.",
                            decryption_methods, nullptr);
    check(PyModule_AddFunctions(module, cipher_functions));
}

}  // namespace warpaes::python

// AESSIV: the associated data is a list, and the tag, V in RFC 5297, precedes the ciphertext.
//
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "aead.hpp"
#include "pickles.hpp"

namespace warpaes::python {

const AeadKind siv_kind = {"AESSIV", WARPAES_SIV, 0, 0, false};

namespace {

constexpr std::size_t siv_tag_bytes = 16;

/// The components of the associated data. This object keeps their memory alive during the call.
struct Components {
    explicit Components(PyObject* list) {
        if (list == nullptr || list == Py_None) return;
        if (!PyList_Check(list)) raise(PyExc_TypeError, "associated_data must be a list of buffers, or None");
        const Py_ssize_t count = PyList_Size(list);
        views.reserve(static_cast<std::size_t>(count));
        for (Py_ssize_t i = 0; i < count; ++i) {
            // This is a new reference, because opening a view can run Python code and let another thread change the
            // list.
            const Object item(PySequence_GetItem(list, i));
            views.push_back(host_view(item.get(), "associated_data"));
            parts.push_back({views.back().data(), views.back().size()});
            bytes += views.back().size();
        }
    }
    std::vector<View> views;
    std::vector<warpaes_part> parts;
    std::size_t bytes = 0;
};

void run_siv(PyObject* self, warpaes_direction direction, const Components& components, const void* input, void* output,
             std::size_t size, std::uint8_t* tag) {
    const Aead& aead = state_of<Aead>(self);
    warpaes_message message = WARPAES_MESSAGE_INIT;
    message.mode = WARPAES_SIV;
    message.direction = direction;
    message.key = aead.key.get();
    message.mac_key = aead.mac_key.get();
    message.input = input;
    message.input_len = message.output_capacity = size;
    message.output = output;
    message.aad_list = components.parts.data();
    message.aad_count = components.parts.size();
    message.tag = tag;
    message.tag_len = siv_tag_bytes;
    check(run_here(message, size + components.bytes));
}

Object encrypt_siv(PyObject* self, const Call& call) {
    const auto [data_object, list] = arguments(call, "encrypt", {"data", "associated_data"});
    const View data = host_view(data_object, "data");
    const Components components(list);
    Object out = new_bytes(data.size() + siv_tag_bytes);
    run_siv(self, WARPAES_ENCRYPT, components, data.data(), bytes_of(out) + siv_tag_bytes, data.size(), bytes_of(out));
    return out;
}

void check_siv_length(const View& data) {
    if (data.size() < siv_tag_bytes) raise_status(WARPAES_ERROR_AUTHENTICATION, "data is shorter than a tag");
}

Object decrypt_siv(PyObject* self, const Call& call) {
    const auto [data_object, list] = arguments(call, "decrypt", {"data", "associated_data"});
    const View data = host_view(data_object, "data");
    const Components components(list);
    check_siv_length(data);
    const std::size_t size = data.size() - siv_tag_bytes;
    Object out = new_bytes(size);
    run_siv(self, WARPAES_DECRYPT, components, data.bytes() + siv_tag_bytes, bytes_of(out), size, data.bytes());
    return out;
}

Object encrypt_siv_into(PyObject* self, const Call& call) {
    const auto [data_object, list, buf] = arguments(call, "encrypt_into", {"data", "associated_data", "buf"});
    const View data = host_view(data_object, "data");
    const Components components(list);
    const View out = host_view(buf, "buf", Access::write);
    const std::size_t expected = data.size() + siv_tag_bytes;
    if (out.size() != expected) raise(PyExc_ValueError, "buffer must be %zu bytes", expected);
    run_siv(self, WARPAES_ENCRYPT, components, data.data(), out.bytes() + siv_tag_bytes, data.size(), out.bytes());
    return Object(PyLong_FromSize_t(expected));
}

Object decrypt_siv_into(PyObject* self, const Call& call) {
    const auto [data_object, list, buf] = arguments(call, "decrypt_into", {"data", "associated_data", "buf"});
    const View data = host_view(data_object, "data");
    const Components components(list);
    const View out = host_view(buf, "buf", Access::write);
    check_siv_length(data);
    const std::size_t size = data.size() - siv_tag_bytes;
    if (out.size() != size) raise(PyExc_ValueError, "buffer must be %zu bytes", size);
    run_siv(self, WARPAES_DECRYPT, components, data.bytes() + siv_tag_bytes, out.data(), size, data.bytes());
    return Object(PyLong_FromSize_t(size));
}

Object generate_siv_key(PyObject*, const Call& call) {
    const auto [bit_length] = arguments(call, "generate_key", {"bit_length"});
    const std::uint64_t bits = to_u64(bit_length, "bit_length");
    if (bits != 256 && bits != 384 && bits != 512) raise(PyExc_ValueError, "bit_length must be 256, 384, or 512");
    return random_bytes(bits / 8);
}

void init_siv(AeadObject& self, PyObject* args, PyObject* kwargs) {
    PyObject* object = nullptr;
    static const char* names[] = {"key", nullptr};
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "O", const_cast<char**>(names), &object) == 0) throw Raised();
    const View key = host_view(object, "key");
    if (key.size() != 32 && key.size() != 48 && key.size() != 64) {
        raise(PyExc_ValueError, "AESSIV key must be 256, 384, or 512 bits.");
    }
    const std::size_t half = key.size() / 2;
    self.state.kind = &siv_kind;
    self.state.mac_key = Key(key.bytes(), half);
    self.state.key = Key(key.bytes() + half, half);
}

PyMethodDef siv_methods[] = {
    method_def<generate_siv_key>(
        "generate_key", "generate_key(bit_length)\n--\n\nReturn a random key of 256, 384 or 512 bits.", METH_STATIC),
    method_def<encrypt_siv>(
        "encrypt",
        "encrypt($self, data, associated_data)\n--\n\nEncrypt data and return the tag followed by the "
        "ciphertext, as bytes."),
    method_def<decrypt_siv>("decrypt",
                            "decrypt($self, data, associated_data)\n--\n\nDecrypt a tag followed by its ciphertext and "
                            "return the plaintext. Raises InvalidTag if the ciphertext is not authentic."),
    method_def<encrypt_siv_into>("encrypt_into",
                                 "encrypt_into($self, data, associated_data, buf)\n--\n\nEncrypt data and write the "
                                 "tag, then the ciphertext, to buf."),
    method_def<decrypt_siv_into>("decrypt_into",
                                 "decrypt_into($self, data, associated_data, buf)\n--\n\nDecrypt data into buf."),
    method_def<load_aead>("load", "Read the key from a place and return an object with this key.", METH_CLASS),
    method_def<reduce_aead>("__reduce__", nullptr),
    copy_def,
    deepcopy_def,
    end_of_methods,
};

PyType_Slot siv_slots[] = {
    {Py_tp_doc, const_cast<char*>("AESSIV(key)\n--\n\nAES-SIV (RFC 5297), with keys of 32, 48 or 64 bytes.")},
    {Py_tp_new, reinterpret_cast<void*>(construct<AeadObject, init_siv>)},
    {Py_tp_dealloc, reinterpret_cast<void*>(destruct<AeadObject>)},
    {Py_tp_methods, siv_methods},
    {0, nullptr},
};
PyType_Spec siv_spec = {"warpaes.aead.AESSIV", sizeof(AeadObject), 0, Py_TPFLAGS_DEFAULT, siv_slots};

}  // namespace

void add_siv(PyObject* module) {
    add_type(module, siv_spec);
}

}  // namespace warpaes::python

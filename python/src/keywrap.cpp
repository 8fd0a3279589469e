// Key wrapping: RFC 3394, and RFC 5649 with padding.
//
// SPDX-License-Identifier: Apache-2.0
#include "message.hpp"
#include "module.hpp"

namespace warpaes::python {
namespace {

Key wrapping_key(const View& view) {
    if (view.size() != 16 && view.size() != 24 && view.size() != 32) {
        raise(PyExc_ValueError, "The wrapping key must be a valid AES key length");
    }
    return Key(view.bytes(), view.size());
}

warpaes_message message_of(warpaes_mode mode, warpaes_direction direction, const Key& key, const View& data,
                           const Object& out, std::size_t capacity) {
    warpaes_message message = WARPAES_MESSAGE_INIT;
    message.mode = mode;
    message.direction = direction;
    message.key = key.get();
    message.input = data.data();
    message.input_len = data.size();
    message.output = bytes_of(out);
    message.output_capacity = capacity;
    return message;
}

Object wrap(const Call& call, const char* function, warpaes_mode mode) {
    const auto [wrapping, plain, backend] = arguments(call, function, {"wrapping_key", "key_to_wrap", "backend"}, 2);
    const View key_view = host_view(wrapping, "wrapping_key");
    const View data = host_view(plain, "key_to_wrap");
    const Key key = wrapping_key(key_view);
    if (mode == WARPAES_KW) {
        if (data.size() < 16) raise(PyExc_ValueError, "The key to wrap must be at least 16 bytes");
        if (data.size() % 8 != 0) raise(PyExc_ValueError, "The key to wrap must be a multiple of 8 bytes");
    } else if (data.size() == 0 || data.size() > UINT32_MAX) {
        // The message begins like pyca's, which names 2^32 as the limit.
        raise(PyExc_ValueError, "key_to_wrap must be between 1 and 2^32 bytes, and at most 2^32 - 1");
    }
    const std::size_t size = (data.size() + 7) / 8 * 8 + 8;
    Object out = new_bytes(size);
    check(run_here(message_of(mode, WARPAES_ENCRYPT, key, data, out, size), size));
    return out;
}

Object unwrap(const Call& call, const char* function, warpaes_mode mode) {
    const auto [wrapping, wrapped, backend] = arguments(call, function, {"wrapping_key", "wrapped_key", "backend"}, 2);
    const View key_view = host_view(wrapping, "wrapping_key");
    const View data = host_view(wrapped, "wrapped_key");
    const std::size_t least = mode == WARPAES_KW ? 24 : 16;
    if (data.size() < least) raise(exceptions.invalid_unwrap, "Must be at least %zu bytes", least);
    if (data.size() % 8 != 0) raise(exceptions.invalid_unwrap, "The wrapped key must be a multiple of 8 bytes");
    const Key key = wrapping_key(key_view);
    const std::size_t size = data.size() - 8;
    Object out = new_bytes(size);
    const warpaes_message message = message_of(mode, WARPAES_DECRYPT, key, data, out, size);
    warpaes_result result = WARPAES_RESULT_INIT;
    const warpaes_status status = warpaes_crypt(engine(), &message, &result);
    if (status == WARPAES_ERROR_AUTHENTICATION) raise(exceptions.invalid_unwrap, "%s", result.error);
    check(status);
    if (result.output_len == size) return out;
    return Object(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(bytes_of(out)),
                                            static_cast<Py_ssize_t>(result.output_len)));
}

Object aes_key_wrap(PyObject*, const Call& call) {
    return wrap(call, "aes_key_wrap", WARPAES_KW);
}
Object aes_key_unwrap(PyObject*, const Call& call) {
    return unwrap(call, "aes_key_unwrap", WARPAES_KW);
}
Object aes_key_wrap_with_padding(PyObject*, const Call& call) {
    return wrap(call, "aes_key_wrap_with_padding", WARPAES_KWP);
}
Object aes_key_unwrap_with_padding(PyObject*, const Call& call) {
    return unwrap(call, "aes_key_unwrap_with_padding", WARPAES_KWP);
}

PyMethodDef keywrap_functions[] = {
    method_def<aes_key_wrap>("aes_key_wrap",
                             "aes_key_wrap(wrapping_key, key_to_wrap, backend=None)\n--\n\nWrap a key whose length is "
                             "a multiple of 8 bytes (RFC 3394)."),
    method_def<aes_key_unwrap>("aes_key_unwrap",
                               "aes_key_unwrap(wrapping_key, wrapped_key, backend=None)\n--\n\nUnwrap a key (RFC "
                               "3394). Raises InvalidUnwrap if the wrapped key is not authentic."),
    method_def<aes_key_wrap_with_padding>(
        "aes_key_wrap_with_padding",
        "aes_key_wrap_with_padding(wrapping_key, key_to_wrap, backend=None)\n--\n\nWrap a key of any length, padded "
        "with zeros to a multiple of 8 bytes (RFC 5649)."),
    method_def<aes_key_unwrap_with_padding>(
        "aes_key_unwrap_with_padding",
        "aes_key_unwrap_with_padding(wrapping_key, wrapped_key, backend=None)\n--\n\nUnwrap a key and remove its "
        "padding (RFC 5649). Raises InvalidUnwrap if the wrapped key is not authentic."),
    end_of_methods,
};

}  // namespace

void add_keywrap(PyObject* module) {
    check(PyModule_AddFunctions(module, keywrap_functions));
}

}  // namespace warpaes::python

// Random numbers generated from a key, in host or device memory (warpaes/numbers.h).
//
// SPDX-License-Identifier: Apache-2.0
#include <warpaes/numbers.h>

#include "message.hpp"
#include "module.hpp"

namespace warpaes::python {
namespace {

double to_double(PyObject* object) {
    const double value = PyFloat_AsDouble(object);
    if (value == -1.0 && PyErr_Occurred() != nullptr) throw Raised();
    return value;
}

/// Generates numbers, starting at the counter block that `take(bytes)` returns. `take` reserves that many bytes of the
/// key stream.
void fill(warpaes_numbers& wanted, PyObject* key, PyObject* take, const Place& place) {
    const View key_bytes = host_view(key, "key");
    const Key handle(key_bytes.bytes(), key_bytes.size());
    const std::uint64_t in_block = wanted.kind >= WARPAES_NORMAL_FLOAT16 ? 8 : 16;  // output bytes per block
    const Object stream_bytes(PyLong_FromUnsignedLongLong((wanted.output_len + in_block - 1) / in_block * 16));
    const Object given(PyObject_CallFunctionObjArgs(take, stream_bytes.get(), nullptr));
    const View counter = host_view(given.get(), "counter");
    if (counter.size() != 16) raise(PyExc_ValueError, "counter must be 16 bytes, not %zu", counter.size());
    wanted.key = handle.get();
    wanted.counter = counter.data();
    warpaes_engine* with = engine();
    if (place.device) {
        check(warpaes_numbers_fill_async(with, &wanted, place.stream, nullptr));
    } else {
        check(
            unlocked_if(wanted.output_len >= long_work, [&] { return warpaes_numbers_fill(with, &wanted, nullptr); }));
    }
}

Object numbers(PyObject*, const Call& call) {
    const auto [kind, key, take, buf, first, second, low, range, stream] =
        arguments(call, "numbers", {"kind", "key", "take", "buf", "first", "second", "low", "range", "stream"});
    const View out(buf, "buf", Access::write);
    warpaes_numbers wanted = WARPAES_NUMBERS_INIT;
    wanted.kind = static_cast<warpaes_number>(to_u64(kind, "kind"));
    wanted.first = to_double(first);
    wanted.second = to_double(second);
    wanted.low = to_u64(low, "low");
    wanted.range = to_u64(range, "range");
    wanted.output = out.data();
    wanted.output_len = out.size();
    fill(wanted, key, take, place_of(out, out, stream));
    return none();
}

Object bits(PyObject*, const Call& call) {
    const auto [key, take, length] = arguments(call, "bits", {"key", "take", "length"});
    const std::uint64_t size = to_u64(
        length, "length");  // converted once, because a second call of an object's __index__ may return another number
    Object made = new_bytes(static_cast<std::size_t>(size));
    warpaes_numbers wanted = WARPAES_NUMBERS_INIT;
    wanted.output = bytes_of(made);
    wanted.output_len = size;
    fill(wanted, key, take, {});
    return made;
}

PyMethodDef random_functions[] = {
    method_def<numbers>("numbers",
                        "numbers(kind, key, take, buf, first, second, low, range, stream)\n--\n\nFill a buffer or a "
                        "tensor with random numbers generated from a key."),
    method_def<bits>("bits", "bits(key, take, length)\n--\n\nReturn bytes of a key's key stream."),
    end_of_methods,
};

}  // namespace

void add_random(PyObject* module) {
    check(PyModule_AddFunctions(module, random_functions));
}

}  // namespace warpaes::python

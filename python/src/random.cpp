// Random numbers of a key's stream, in host or device memory (warpaes/numbers.h).
//
// SPDX-License-Identifier: Apache-2.0
#include <warpaes/numbers.h>

#include <cstring>

#include "message.hpp"
#include "module.hpp"

namespace warpaes::python {
namespace {

/// What `take(bytes)` gives: the counter block at which so many bytes of the key stream begin.
void take_counter(PyObject* take, std::size_t bytes, std::uint8_t (&counter)[16]) {
    const Object size(PyLong_FromSize_t(bytes));
    const Object given(PyObject_CallFunctionObjArgs(take, size.get(), nullptr));
    const View view(given.get(), "counter");
    if (view.size() != sizeof counter) raise(PyExc_ValueError, "counter must be 16 bytes, not %zu", view.size());
    std::memcpy(counter, view.data(), sizeof counter);
}

double to_double(PyObject* object) {
    const double value = PyFloat_AsDouble(object);
    if (value == -1.0 && PyErr_Occurred() != nullptr) throw Raised();
    return value;
}

/// Of the key stream, in a block of which there are `in_block` bytes of numbers.
std::size_t stream_bytes(std::size_t bytes, std::size_t in_block) {
    return (bytes + in_block - 1) / in_block * 16;
}

Object numbers(PyObject*, const Call& call) {
    const auto [kind, in_block, key, take, buf, first, second, low, range, stream] = arguments(
        call, "numbers", {"kind", "in_block", "key", "take", "buf", "first", "second", "low", "range", "stream"});
    warpaes_numbers wanted = WARPAES_NUMBERS_INIT;
    wanted.kind = static_cast<warpaes_number>(to_u64(kind, "kind"));
    wanted.first = to_double(first);
    wanted.second = to_double(second);
    wanted.low = to_u64(low, "low");
    wanted.range = to_u64(range, "range");
    const View key_bytes(key, "key"), out(buf, "buf", Access::write);
    const Key handle(key_bytes.bytes(), key_bytes.size());
    const Place place = place_of(out, out, stream);
    std::uint8_t counter[16];
    take_counter(take, stream_bytes(out.size(), to_u64(in_block, "in_block")), counter);
    wanted.key = handle.get();
    wanted.counter = counter;
    wanted.output = out.data();
    wanted.output_len = out.size();
    warpaes_engine* with = engine();
    if (place.device) {
        check(warpaes_numbers_fill_async(with, &wanted, place.stream, nullptr));
    } else {
        check(unlocked_if(out.size() >= long_work, [&] { return warpaes_numbers_fill(with, &wanted, nullptr); }));
    }
    return none();
}

Object bits(PyObject*, const Call& call) {
    const auto [key, take, length] = arguments(call, "bits", {"key", "take", "length"});
    const View key_bytes(key, "key");
    const Key handle(key_bytes.bytes(), key_bytes.size());
    const auto size = static_cast<std::size_t>(to_u64(length, "length"));
    Object made = new_bytes(size);
    std::uint8_t counter[16];
    take_counter(take, stream_bytes(size, 16), counter);
    warpaes_numbers wanted = WARPAES_NUMBERS_INIT;
    wanted.key = handle.get();
    wanted.counter = counter;
    wanted.output = bytes_of(made);
    wanted.output_len = size;
    warpaes_engine* with = engine();
    check(unlocked_if(size >= long_work, [&] { return warpaes_numbers_fill(with, &wanted, nullptr); }));
    return made;
}

PyMethodDef functions[] = {
    method_def<numbers>("numbers",
                        "numbers(kind, in_block, key, take, buf, first, second, low, range, stream)\n--\n\n"
                        "Fill a buffer or a tensor with random numbers of a key."),
    method_def<bits>("bits", "bits(key, take, length)\n--\n\nReturn bytes of a key's stream."),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_random(PyObject* module) {
    check(PyModule_AddFunctions(module, functions));
}

}  // namespace warpaes::python

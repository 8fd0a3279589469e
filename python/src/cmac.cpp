// CMAC (SP 800-38B).
//
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "message.hpp"
#include "module.hpp"
#include "pickles.hpp"

namespace warpaes::python {
namespace {

constexpr std::size_t mac_tag_bytes = 16;

struct Mac {
    std::shared_ptr<const Key> key;  ///< shared with copies of the object
    warpaes_context* handle = nullptr;
    unsigned forks = 0;
    bool finished = false;
    bool busy = false;

    Mac() = default;
    Mac(const Mac&) = delete;
    Mac& operator=(const Mac&) = delete;
    ~Mac() {
        if (forks == python::forks()) warpaes_context_destroy(handle);
    }
};
using MacObject = Instance<Mac>;

Mac& live_mac(PyObject* self) {
    Mac& mac = state_of<Mac>(self);
    if (mac.finished) raise(exceptions.already_finalized, "Context was already finalized.");
    check_process(mac.forks, "this CMAC");
    return mac;
}

void check_mac(const Mac& mac, warpaes_status status) {
    if (status != WARPAES_OK) raise_status(status, warpaes_context_error(mac.handle));
}

void init_mac(MacObject& self, PyObject* args, PyObject* kwargs) {
    PyObject* object = nullptr;
    static const char* names[] = {"key", nullptr};
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "O", const_cast<char**>(names), &object) == 0) throw Raised();
    const View key = host_view(object, "key");
    Mac& mac = self.state;
    mac.forks = forks();
    mac.key = std::make_shared<const Key>(key.bytes(), key.size());
    check(warpaes_context_create(engine(), &mac.handle));
    warpaes_context_options options = WARPAES_CONTEXT_OPTIONS_INIT;
    options.mode = WARPAES_CMAC;
    options.direction = WARPAES_ENCRYPT;
    options.key = mac.key->get();
    check_mac(mac, warpaes_context_init(mac.handle, &options));
    check_mac(mac, warpaes_context_set_iv(mac.handle, nullptr, 0));
}

Object update_mac(PyObject* self, const Call& call) {
    const auto [object] = arguments(call, "update", {"data"});
    const View data = host_view(object, "data");
    Mac& mac = live_mac(self);
    const Turn turn(mac.busy, "this CMAC");
    std::size_t written = 0;
    check_mac(mac, unlocked_if(data.size() >= long_work / 8, [&] {
                  return warpaes_context_update(mac.handle, data.data(), data.size(), nullptr, 0, &written);
              }));
    return none();
}

void end_mac(Mac& mac, std::uint8_t* tag) {
    std::size_t written = 0;
    check_mac(mac, warpaes_context_final(mac.handle, nullptr, 0, &written));
    check_mac(mac, warpaes_context_get_tag(mac.handle, tag, mac_tag_bytes));
    mac.finished = true;
}

Object finalize_mac(PyObject* self, const Call& call) {
    read_call(call, "finalize", nullptr, nullptr, 0, 0, 0);
    std::uint8_t tag[mac_tag_bytes];
    Mac& mac = live_mac(self);
    const Turn turn(mac.busy, "this CMAC");
    end_mac(mac, tag);
    return Object(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(tag), mac_tag_bytes));
}

Object verify_mac(PyObject* self, const Call& call) {
    const auto [object] = arguments(call, "verify", {"signature"});
    const View signature = host_view(object, "signature");
    std::uint8_t tag[mac_tag_bytes];
    Mac& mac = live_mac(self);
    const Turn turn(mac.busy, "this CMAC");
    end_mac(mac, tag);
    std::uint8_t different = signature.size() != mac_tag_bytes ? 1 : 0;
    if (different == 0) {
        for (std::size_t i = 0; i < mac_tag_bytes; ++i) {
            different = static_cast<std::uint8_t>(different | (tag[i] ^ signature.bytes()[i]));
        }
    }
    if (different != 0) raise(exceptions.invalid_signature, "Signature did not match digest.");
    return none();
}

Object copy_mac(PyObject* self, const Call& call) {
    read_call(call, "copy", nullptr, nullptr, 0, 0, 0);
    Mac& mac = live_mac(self);
    const Turn turn(mac.busy, "this CMAC");
    PyTypeObject* type = Py_TYPE(self);
    const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
    Object made(allocate(type, 0));
    Mac& other = *new (&state_of<Mac>(made.get())) Mac();
    other.forks = mac.forks;
    other.key = mac.key;
    check_mac(mac, warpaes_context_copy(mac.handle, &other.handle));
    return made;
}

PyMethodDef mac_methods[] = {
    method_def<update_mac>("update", "update($self, data)\n--\n\nProcess the next bytes of the message."),
    method_def<finalize_mac>("finalize", "finalize($self)\n--\n\nEnd the message and return its tag, 16 bytes."),
    method_def<verify_mac>("verify",
                           "verify($self, signature)\n--\n\nCompare the message's tag with a signature. Raises "
                           "InvalidSignature if they differ."),
    method_def<copy_mac>("copy", "copy($self)\n--\n\nReturn a copy that continues independently from this point."),
    refuse_pickle_def,
    end_of_methods,
};

PyType_Slot mac_slots[] = {
    {Py_tp_doc, const_cast<char*>("CMAC with an AES key.")},
    {Py_tp_new, reinterpret_cast<void*>(construct<MacObject, init_mac>)},
    {Py_tp_dealloc, reinterpret_cast<void*>(destruct<MacObject>)},
    {Py_tp_methods, mac_methods},
    {0, nullptr},
};
PyType_Spec mac_spec = {"warpaes._native.Mac", sizeof(MacObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                        mac_slots};

}  // namespace

void add_cmac(PyObject* module) {
    add_type(module, mac_spec);
}

}  // namespace warpaes::python

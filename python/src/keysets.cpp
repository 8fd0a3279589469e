// Keysets in Tink's format.
//
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <vector>

#include "files.hpp"
#include "pickles.hpp"

namespace warpaes::python {
namespace {

using KeysetObject = Instance<KeysetState>;

PyTypeObject* keyset_type;

warpaes_keyset* handle_of(PyObject* self) {
    return state_of<KeysetState>(self).handle;
}

/// Returns the handle so that the keyset can be changed. Throws if another thread is using the keyset. Callers convert
/// arguments first, because conversion can run Python code and let another thread begin to use the keyset.
warpaes_keyset* own(PyObject* self) {
    KeysetState& keyset = state_of<KeysetState>(self);
    if (keyset.users != 0)
        raise(exceptions.error, "another thread is using this keyset; change it after that thread has finished");
    keyset.origin = Object();
    return keyset.handle;
}

Object new_keyset(PyObject* type) {
    auto* cls = reinterpret_cast<PyTypeObject*>(type);
    const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(cls, Py_tp_alloc));
    Object made(allocate(cls, 0));
    new (&state_of<KeysetState>(made.get())) KeysetState();
    return made;
}

void init_keyset(KeysetObject& self, PyObject* args, PyObject* kwargs) {
    static const char* names[] = {nullptr};
    if (PyArg_ParseTupleAndKeywords(args, kwargs, "", const_cast<char**>(names)) == 0) throw Raised();
    check(warpaes_keyset_create(&self.state.handle));
}

Object generate(PyObject* type, const Call& call) {
    const auto [name] = arguments(call, "generate", {"template"}, 0);
    Object made = new_keyset(type);
    KeysetState& keyset = state_of<KeysetState>(made.get());
    const std::string text = name == nullptr ? "AES256_GCM_HKDF_1MB" : to_text(name, "template");
    check(warpaes_keyset_create(&keyset.handle));
    check(warpaes_keyset_add(keyset.handle, text.c_str(), nullptr));
    return made;
}

Object parse(PyObject* type, const Call& call) {
    const auto [json] = arguments(call, "parse", {"json"});
    Object made = new_keyset(type);
    warpaes_keyset*& handle = state_of<KeysetState>(made.get()).handle;
    if (PyUnicode_Check(json)) {
        Py_ssize_t length = 0;
        const char* text = PyUnicode_AsUTF8AndSize(json, &length);
        if (text == nullptr) throw Raised();
        check(warpaes_keyset_parse(text, static_cast<std::size_t>(length), &handle));
    } else {
        const View view = host_view(json, "json");
        check(warpaes_keyset_parse(static_cast<const char*>(view.data()), view.size(), &handle));
    }
    return made;
}

Object from_raw(PyObject* type, const Call& call) {
    const auto [name, key] = arguments(call, "from_raw", {"template", "key"});
    const std::string text = to_text(name, "template");
    const View view = host_view(key, "key");
    Object made = new_keyset(type);
    check(warpaes_keyset_from_raw(text.c_str(), view.bytes(), view.size(), &state_of<KeysetState>(made.get()).handle));
    return made;
}

Object check_raw(PyObject*, const Call& call) {
    const auto [key] = arguments(call, "check_raw", {"key"});
    const View view = host_view(key, "key");
    check(warpaes_keyset_check_raw(view.bytes(), view.size()));
    return none();
}

std::uint32_t to_key_id(PyObject* object) {
    const std::uint64_t id = to_u64(object, "key_id");
    if (id > UINT32_MAX) raise(PyExc_ValueError, "key_id must be less than 2^32");
    return static_cast<std::uint32_t>(id);
}

Object add_key(PyObject* self, const Call& call) {
    const auto [name] = arguments(call, "add", {"template"});
    std::uint32_t id = 0;
    const std::string text = to_text(name, "template");
    check(warpaes_keyset_add(own(self), text.c_str(), &id));
    return Object(PyLong_FromUnsignedLong(id));
}

Object promote(PyObject* self, const Call& call) {
    const auto [id] = arguments(call, "promote", {"key_id"});
    const std::uint32_t key_id = to_key_id(id);
    check(warpaes_keyset_promote(own(self), key_id));
    return none();
}

Object remove(PyObject* self, const Call& call) {
    const auto [id] = arguments(call, "remove", {"key_id"});
    const std::uint32_t key_id = to_key_id(id);
    check(warpaes_keyset_remove(own(self), key_id));
    return none();
}

Object set_state(PyObject* self, const Call& call, const char* function, warpaes_key_state state) {
    const auto [id] = arguments(call, function, {"key_id"});
    const std::uint32_t key_id = to_key_id(id);
    check(warpaes_keyset_set_state(own(self), key_id, state));
    return none();
}

Object enable(PyObject* self, const Call& call) {
    return set_state(self, call, "enable", WARPAES_KEY_ENABLED);
}

Object disable(PyObject* self, const Call& call) {
    return set_state(self, call, "disable", WARPAES_KEY_DISABLED);
}

Object destroy(PyObject* self, const Call& call) {
    return set_state(self, call, "destroy", WARPAES_KEY_DESTROYED);
}

/// Adds a new key and makes it the primary key. The previous primary key is kept for decryption.
Object rotate(PyObject* self, const Call& call) {
    const auto [name] = arguments(call, "rotate", {"template"}, 0);
    warpaes_keyset* keyset = own(self);
    std::string text;
    if (name != nullptr) {
        text = to_text(name, "template");
    } else {
        for (std::size_t i = 0; i < warpaes_keyset_count(keyset); ++i) {
            warpaes_key_info info = WARPAES_KEY_INFO_INIT;
            check(warpaes_keyset_query(keyset, i, &info));
            if (info.primary != 0) text = info.template_name;
        }
        if (text.empty())
            raise(PyExc_ValueError, "template: required, because the keyset has no primary key with a known template");
    }
    std::uint32_t id = 0;
    check(warpaes_keyset_add(keyset, text.c_str(), &id));
    check(warpaes_keyset_promote(keyset, id));
    return Object(PyLong_FromUnsignedLong(id));
}

const char* name_of(warpaes_key_state state) {
    switch (state) {
    case WARPAES_KEY_ENABLED:
        return "enabled";
    case WARPAES_KEY_DISABLED:
        return "disabled";
    case WARPAES_KEY_DESTROYED:
        return "destroyed";
    }
    return "";
}

Object keys(PyObject* self, const Call& call) {
    read_call(call, "keys", nullptr, nullptr, 0, 0, 0);
    const warpaes_keyset* keyset = handle_of(self);
    Object list(PyList_New(0));
    for (std::size_t i = 0; i < warpaes_keyset_count(keyset); ++i) {
        warpaes_key_info info = WARPAES_KEY_INFO_INIT;
        check(warpaes_keyset_query(keyset, i, &info));
        const Object entry(Py_BuildValue("{s:I,s:s,s:O,s:s,s:I,s:I}", "key_id", info.key_id, "state",
                                         name_of(info.state), "primary", info.primary != 0 ? Py_True : Py_False,
                                         "template", info.template_name, "key_bits", info.key_bits, "segment_bytes",
                                         info.segment_bytes));
        check(PyList_Append(list.get(), entry.get()));
    }
    return list;
}

Object to_json(PyObject* self, const Call& call) {
    read_call(call, "to_json", nullptr, nullptr, 0, 0, 0);
    std::size_t length = 0;
    const warpaes_status status = warpaes_keyset_write(handle_of(self), nullptr, 0, &length);
    if (status != WARPAES_ERROR_BUFFER_TOO_SMALL) check(status);
    Object json(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(length)));
    check(warpaes_keyset_write(handle_of(self), PyBytes_AsString(json.get()), length, &length));
    return json;
}

Object templates(PyObject*, const Call& call) {
    read_call(call, "templates", nullptr, nullptr, 0, 0, 0);
    Object list(PyList_New(0));
    for (std::size_t i = 0; i < warpaes_template_count(); ++i) {
        check(PyList_Append(list.get(), Object(PyUnicode_FromString(warpaes_template_name(i))).get()));
    }
    return list;
}

Object load(PyObject*, const Call& call) {
    const auto [place, kek, passphrase] = arguments(call, "load", {"place", "kek", "passphrase"}, 1);
    PyObject* source = kek != nullptr ? kek : Py_None;
    Object made = from_keyset_places("load_keyset", place, source, passphrase != nullptr ? passphrase : Py_None);
    const Object lasting = from_keyset_places("lasting_keyset_place", place);
    if (lasting.get() != Py_None) keyset_of(made.get()).origin = Object(PyTuple_Pack(2, lasting.get(), source));
    return made;
}

Object save(PyObject* self, const Call& call) {
    const auto [place, passphrase] = arguments(call, "save", {"place", "passphrase"}, 1);
    return from_keyset_places("save_keyset", self, place, passphrase != nullptr ? passphrase : Py_None);
}

/// Returns the number of bytes of memory needed to test a passphrase, or 0 for a keyset that is encrypted under a
/// key-encryption key. Throws unless the JSON is an encrypted keyset whose cost is within the limits.
Object check_wrapped(PyObject*, const Call& call) {
    const auto [json] = arguments(call, "_check_wrapped", {"json"});
    const View view = host_view(json, "json");
    warpaes_scrypt cost = WARPAES_SCRYPT_INIT;
    check(warpaes_keyset_peek(static_cast<const char*>(view.data()), view.size(), &cost, nullptr));
    return Object(PyLong_FromUnsignedLongLong(128 * cost.n * cost.r * cost.p));
}

Object unwrap(PyObject* type, const Call& call) {
    const auto [json, passphrase] = arguments(call, "_unwrap", {"json", "passphrase"});
    const View text = host_view(json, "json");
    const View word = host_view(passphrase, "passphrase");
    Object made = new_keyset(type);
    warpaes_keyset*& handle = state_of<KeysetState>(made.get()).handle;
    check(unlocked([&] {
        return warpaes_keyset_unwrap(static_cast<const char*>(text.data()), text.size(),
                                     static_cast<const char*>(word.data()), word.size(), &handle);
    }));
    return made;
}

Object wrap(PyObject* self, const Call& call) {
    const auto [passphrase, seconds] = arguments(call, "_wrap", {"passphrase", "seconds"});
    const View word = host_view(passphrase, "passphrase");
    const double time = PyFloat_AsDouble(seconds);
    if (PyErr_Occurred() != nullptr) throw Raised();
    const KeysetUse use(self);
    warpaes_scrypt cost = WARPAES_SCRYPT_INIT;
    std::size_t length = 0;
    const auto write = [&](char* json, std::size_t capacity) {
        return warpaes_keyset_wrap(handle_of(self), static_cast<const char*>(word.data()), word.size(), &cost, json,
                                   capacity, &length);
    };
    check(unlocked([&] { return warpaes_scrypt_choose(time, &cost); }));
    const warpaes_status status = write(nullptr, 0);
    if (status != WARPAES_ERROR_BUFFER_TOO_SMALL) check(status);
    Object json(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(length)));
    char* const bytes = PyBytes_AsString(json.get());
    check(unlocked([&] { return write(bytes, length); }));
    return json;
}

Object reduce(PyObject* self, const Call&) {
    return reduced(
        self, state_of<KeysetState>(self).origin,
        "create it with Keyset.load(PLACE) from a file, 'env:NAME' or 'exec:COMMAND', so that each process reads the "
        "keyset itself, and do not change it; or send the result of to_json() over a channel that you trust");
}

/// Memory for a keyset's JSON. The destructor wipes it.
struct Json {
    explicit Json(std::size_t size) : text(size, '\0') {}
    Json(const Json&) = delete;
    Json& operator=(const Json&) = delete;
    ~Json() { explicit_bzero(text.data(), text.size()); }
    std::vector<char> text;
};

Object copy_keyset(PyObject* self, const Call&) {
    KeysetState& keyset = state_of<KeysetState>(self);
    std::size_t length = 0;
    const warpaes_status status = warpaes_keyset_write(keyset.handle, nullptr, 0, &length);
    if (status != WARPAES_ERROR_BUFFER_TOO_SMALL) check(status);
    Json json(length);
    check(warpaes_keyset_write(keyset.handle, json.text.data(), length, &length));
    Object made = new_keyset(reinterpret_cast<PyObject*>(keyset_type));
    KeysetState& copied = state_of<KeysetState>(made.get());
    check(warpaes_keyset_parse(json.text.data(), length, &copied.handle));
    if (keyset.origin) copied.origin = Object::borrowed(keyset.origin.get());
    return made;
}

Py_ssize_t keyset_length(PyObject* self) {
    return static_cast<Py_ssize_t>(warpaes_keyset_count(handle_of(self)));
}

PyMethodDef keyset_methods[] = {
    method_def<generate>(
        "generate", "generate($type, template='AES256_GCM_HKDF_1MB')\n--\n\nReturn a keyset with one new random key.",
        METH_CLASS),
    method_def<parse>("parse", "parse($type, json)\n--\n\nParse an unencrypted keyset in Tink's JSON format.",
                      METH_CLASS),
    method_def<from_raw>("from_raw", "from_raw($type, template, key)\n--\n\nReturn a keyset that contains one raw key.",
                         METH_CLASS),
    method_def<check_raw>("check_raw", "check_raw(key)\n--\n\nRaise an exception if a raw key looks like text.",
                          METH_STATIC),
    method_def<templates>("templates", "templates()\n--\n\nReturn the names of the templates.", METH_STATIC),
    method_def<add_key>("add", "add($self, template)\n--\n\nAdd a new random key and return its ID."),
    method_def<rotate>("rotate",
                       "rotate($self, template=None)\n--\n\nAdd a new random key, make it the primary and return its "
                       "ID. If the template is None, that of the previous primary is used."),
    method_def<promote>("promote", "promote($self, key_id)\n--\n\nMake a key the primary."),
    method_def<remove>("remove", "remove($self, key_id)\n--\n\nRemove a key that is not the primary."),
    method_def<enable>("enable", "enable($self, key_id)\n--\n\nEnable a key again."),
    method_def<disable>("disable",
                        "disable($self, key_id)\n--\n\nDisable a key: it stays in the keyset but is not used."),
    method_def<destroy>("destroy", "destroy($self, key_id)\n--\n\nDestroy a key; its ID stays in the keyset."),
    method_def<keys>("keys", "keys($self)\n--\n\nReturn the public properties of the keys, as a list of dictionaries."),
    method_def<load>("load", "load(place, kek=None, passphrase=None)\n--\n\nRead a keyset from a place.", METH_STATIC),
    method_def<save>(
        "save",
        "save($self, place, passphrase=None)\n--\n\nWrite the keyset to a new file that only its owner can read."),
    method_def<check_wrapped>("_check_wrapped", nullptr, METH_STATIC),
    method_def<unwrap>("_unwrap", nullptr, METH_CLASS),
    method_def<wrap>("_wrap", nullptr),
    method_def<reduce>("__reduce__", nullptr),
    method_def<copy_keyset>("__copy__", nullptr),
    method_def<copy_keyset>("__deepcopy__", nullptr),
    method_def<to_json>(
        "to_json",
        "to_json($self)\n--\n\nReturn the keyset in Tink's JSON format, including the secret keys, as bytes."),
    end_of_methods,
};

PyType_Slot keyset_slots[] = {
    {Py_tp_doc,
     const_cast<char*>("Keyset()\n--\n\nKeys for files. The primary key encrypts, and all enabled keys decrypt.")},
    {Py_tp_new, reinterpret_cast<void*>(construct<KeysetObject, init_keyset>)},
    {Py_tp_dealloc, reinterpret_cast<void*>(destruct<KeysetObject>)},
    {Py_tp_methods, keyset_methods},
    {Py_sq_length, reinterpret_cast<void*>(keyset_length)},
    {0, nullptr},
};
PyType_Spec keyset_spec = {"warpaes.Keyset", sizeof(KeysetObject), 0, Py_TPFLAGS_DEFAULT, keyset_slots};

}  // namespace

KeysetState& keyset_of(PyObject* object) {
    // PyObject_IsInstance is not used because it accepts an object's __class__, and Mock(spec=Keyset) has no state.
    if (PyObject_TypeCheck(object, keyset_type) == 0) raise(PyExc_TypeError, "keyset must be a warpaes.Keyset");
    return state_of<KeysetState>(object);
}

void add_keysets(PyObject* module) {
    keyset_type = reinterpret_cast<PyTypeObject*>(add_type(module, keyset_spec).release());
}

}  // namespace warpaes::python

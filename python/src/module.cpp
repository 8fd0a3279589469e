// warpaes._native: the C ABI for Python.
//
// SPDX-License-Identifier: Apache-2.0
#include "module.hpp"

namespace warpaes::python {
namespace {

void find_exceptions() {
    const Object module(PyImport_ImportModule("warpaes.exceptions"));
    const auto find = [&](const char* name) { return Object(PyObject_GetAttrString(module.get(), name)).release(); };
    exceptions.error = find("Error");
    exceptions.invalid_tag = find("InvalidTag");
    exceptions.invalid_signature = find("InvalidSignature");
    exceptions.invalid_unwrap = find("InvalidUnwrap");
    exceptions.already_finalized = find("AlreadyFinalized");
    exceptions.already_updated = find("AlreadyUpdated");
    exceptions.not_yet_finalized = find("NotYetFinalized");
    exceptions.unsupported_algorithm = find("UnsupportedAlgorithm");
    exceptions.format_error = find("FormatError");
    exceptions.keyset_error = find("KeysetError");
}

/// Refuses subinterpreters: the library's threads call Python in the main interpreter, which cannot use another
/// interpreter's exceptions and buffers. Python does not run initialize() again in a subinterpreter, so the package
/// calls this function.
Object refuse_subinterpreters(PyObject*, const Call&) {
    if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
        raise(PyExc_ImportError, "warpaes works only in the main interpreter; use a thread or a process");
    }
    return none();
}

PyMethodDef module_functions[] = {
    method_def<refuse_subinterpreters>("_refuse_subinterpreters", nullptr),
    end_of_methods,
};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "warpaes._native",
    "Bindings to warpaes's C ABI.",
    -1,
    module_functions,
    nullptr,
    nullptr,
    nullptr,
    nullptr,
};

PyObject* initialize() {
    return guarded(static_cast<PyObject*>(nullptr), [] {
        refuse_subinterpreters(nullptr, {});
        if (warpaes_abi_version() != WARPAES_ABI_VERSION) {
            raise(PyExc_ImportError, "libwarpaes has ABI version %u, but this extension requires version %d",
                  warpaes_abi_version(), WARPAES_ABI_VERSION);
        }
        Object module(PyModule_Create(&definition));
        find_exceptions();
        watch_end(module.get());
        check(PyModule_AddStringConstant(module.get(), "version", warpaes_version()));
        for (const auto add : {add_engine, add_aead, add_ciphers, add_cmac, add_keywrap, add_files, add_batches,
                               add_memory, add_names, add_random, add_parquet, add_thrift, add_simple_footer}) {
            add(module.get());
        }
        return module.release();
    });
}

}  // namespace
}  // namespace warpaes::python

PyMODINIT_FUNC PyInit__native() {
    return warpaes::python::initialize();
}

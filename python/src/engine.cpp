// SPDX-License-Identifier: Apache-2.0
#include "engine.hpp"

#include <pthread.h>

#include <atomic>
#include <cstdint>

namespace warpaes::python {
namespace {

std::atomic<warpaes_engine*> current{nullptr};
std::atomic<unsigned> fork_count{0};

/// The arguments of configure().
struct Wanted {
    std::string backend;
    std::uint32_t threads = 0;
    std::int32_t device = -1;
} wanted;

bool is_gpu(const std::string& backend) {
    return warpaes_backend_is_gpu(backend.c_str()) != 0;
}

/// Returns the best CPU backend that this machine supports.
std::string best_cpu_backend() {
    std::string best = "libcrypto";
    for (std::size_t i = 0; i < warpaes_backend_count(); ++i) {
        warpaes_backend_info info = WARPAES_BACKEND_INFO_INIT;
        check(warpaes_backend_query(i, &info));
        if (info.usable != 0 && info.device < 0) best = info.name;
    }
    return best;
}

warpaes_engine* create() {
    std::string backend = wanted.backend;
    if (fork_count.load() != 0 && (backend.empty() || is_gpu(backend))) backend = best_cpu_backend();
    char error[WARPAES_ERROR_BYTES] = "";
    warpaes_engine_options options = WARPAES_ENGINE_OPTIONS_INIT;
    options.threads = wanted.threads;
    options.backend = backend.empty() ? nullptr : backend.c_str();
    options.device = wanted.device;
    options.error = error;
    warpaes_engine* made = nullptr;
    const warpaes_status status = warpaes_engine_create(&options, &made);
    if (status != WARPAES_OK) raise_status(status, error);
    current.store(made);
    return made;
}

Object configure(PyObject*, const Call& call) {
    const auto [backend, threads, device] = arguments(call, "configure", {"backend", "threads", "device"}, 0, 0);
    const Wanted before = wanted;
    Wanted next = before;
    if (backend != nullptr) next.backend = backend == Py_None ? "" : to_text(backend, "backend");
    if (threads != nullptr) {
        const std::uint64_t number = to_u64(threads, "threads");
        if (number > 65536) raise(PyExc_ValueError, "threads must be at most 65536; 0 means one per processor");
        next.threads = static_cast<std::uint32_t>(number);
    }
    if (device != nullptr) {
        const long number = PyLong_AsLong(device);
        if (number == -1 && PyErr_Occurred() != nullptr) throw Raised();
        if (number < -1 || number > INT32_MAX) {
            raise(PyExc_ValueError, "device must be -1 (all devices) or a device number, not %ld", number);
        }
        next.device = static_cast<std::int32_t>(number);
    }
    if (current.load() != nullptr) {
        raise(exceptions.error, "this process already has an engine; call configure() before any other operation");
    }
    wanted = next;
    try {
        create();
    } catch (...) {
        wanted = before;  // an unavailable option must not cause all later calls to fail
        throw;
    }
    return none();
}

Object backends(PyObject*, const Call& call) {
    read_call(call, "backends", nullptr, nullptr, 0, 0, 0);
    Object list(PyList_New(0));
    for (std::size_t i = 0; i < warpaes_backend_count(); ++i) {
        warpaes_backend_info info = WARPAES_BACKEND_INFO_INIT;
        check(warpaes_backend_query(i, &info));
        const Object entry(Py_BuildValue("{s:s,s:s,s:O,s:s,s:i,s:K}", "name", info.name, "description",
                                         info.description, "usable", info.usable != 0 ? Py_True : Py_False, "reason",
                                         info.reason, "device", info.device, "memory_bytes",
                                         static_cast<unsigned long long>(info.memory_bytes)));
        check(PyList_Append(list.get(), entry.get()));
    }
    return list;
}

Object says_whether_it_reaches(PyObject*, const Call& call) {
    const auto [number] = arguments(call, "_reaches", {"device"}, 1, 0);
    const long device = PyLong_AsLong(number);
    if (device == -1 && PyErr_Occurred() != nullptr) throw Raised();
    return Object(PyBool_FromLong(device >= 0 && device <= INT32_MAX && python::reaches(static_cast<int>(device))));
}

Object says_whether_it_is_a_gpu(PyObject*, const Call& call) {
    const auto [name] = arguments(call, "_is_gpu", {"backend"}, 1, 0);
    return Object(PyBool_FromLong(is_gpu(to_text(name, "backend"))));
}

PyMethodDef engine_functions[] = {
    method_def<configure>(
        "configure",
        "configure(backend=None, threads=0, device=-1)\n--\n\nCreate this process's engine with a backend, a number of "
        "host threads (0: one per processor) and a CUDA device (-1: all devices). Call it before any other operation."),
    method_def<backends>(
        "backends", "backends()\n--\n\nReturn the backends and devices of this machine, as a list of dictionaries."),
    method_def<says_whether_it_reaches>("_reaches", "_reaches(device)\n--\n\n"),
    method_def<says_whether_it_is_a_gpu>("_is_gpu", "_is_gpu(backend)\n--\n\n"),
    end_of_methods,
};

}  // namespace

warpaes_engine* engine() {
    warpaes_engine* found = current.load(std::memory_order_acquire);
    return found != nullptr ? found : create();
}

unsigned forks() noexcept {
    return fork_count.load(std::memory_order_relaxed);
}

bool reaches(int device) {
    const bool can = forks() == 0 && (wanted.backend.empty() || wanted.backend == "auto" || is_gpu(wanted.backend)) &&
                     (wanted.device < 0 || wanted.device == device);
    bool there = false;
    for (std::size_t i = 0; can && !there && i < warpaes_backend_count(); ++i) {
        warpaes_backend_info info = WARPAES_BACKEND_INFO_INIT;
        check(warpaes_backend_query(i, &info));
        there = is_gpu(info.name) && info.usable != 0 && info.device == device;
    }
    return there;
}

void check_device_memory(const char* thing) {
    if (forks() == 0) return;
    raise(exceptions.error,
          "%s is in device memory, but a process created by fork computes on the CPU; start processes with spawn or "
          "forkserver, or copy the data to host memory first",
          thing);
}

void check_process(unsigned made, const char* thing) {
    if (made != forks()) {
        raise(exceptions.error,
              "%s was created before fork() and cannot be used in the child process; create it in the child process",
              thing);
    }
}

void add_engine(PyObject* module) {
    pthread_atfork(nullptr, nullptr, [] {
        ++fork_count;
        current.store(nullptr);  // leaked, because its threads and GPU contexts belong to the parent
    });
    check(PyModule_AddFunctions(module, engine_functions));
}

}  // namespace warpaes::python

// Replaces batch.cpp and message.cpp, which the library of `make demo` lacks.
#include "capi/guard.hpp"
#include "capi/handles.hpp"

warpaes_engine::warpaes_engine(const warpaes::EngineOptions& options) : impl(options) {}

warpaes_engine::~warpaes_engine() = default;

extern "C" warpaes_status warpaes_crypt(warpaes_engine* /*engine*/, const warpaes_message* /*message*/,
                                        warpaes_result* /*result*/) {
    return warpaes::capi::guarded([] {
        throw warpaes::Error(
            WARPAES_ERROR_BACKEND,
            "message: the library of `make demo` encrypts only files; `make install` builds all of it");
    });
}

// Replaces batch.cpp and message.cpp, which `make demo` does not build.
#include "capi/guard.hpp"
#include "capi/handles.hpp"

warpaes_engine::warpaes_engine(const warpaes::EngineOptions& options) : impl(options) {}

warpaes_engine::~warpaes_engine() = default;

extern "C" warpaes_status warpaes_crypt(warpaes_engine* /*engine*/, const warpaes_message* /*message*/,
                                        warpaes_result* /*result*/) {
    return warpaes::capi::guarded([] {
        throw warpaes::Error(WARPAES_ERROR_BACKEND,
                             "message: the library built by `make demo` processes only files; `make install` builds "
                             "the complete library");
    });
}

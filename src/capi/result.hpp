// Reports a call's outcome to a caller that passed a result.
#pragma once

#include "capi/guard.hpp"
#include "message/message.hpp"

namespace warpaes::capi {

inline void fill(warpaes_result& to, warpaes_status status, const MessageResult& result) {
    to.status = status;
    to.output_len = status == WARPAES_OK || status == WARPAES_ERROR_BUFFER_TOO_SMALL ? result.output_length : 0;
    to.notes = result.notes;
    to.device = result.device;
    to.backend = result.backend.empty() ? "" : result.backend.data();
    if (status == WARPAES_OK) {
        to.error[0] = '\0';
    } else {
        write_error(status, to.error);
    }
}

/// Must run on the thread on which the call ended with `status`. `to` may be null, or have the size of another version.
inline void tell(warpaes_result* to, warpaes_status status, const MessageResult& result) {
    if (to == nullptr) return;
    if (to->struct_size == sizeof(warpaes_result)) return fill(*to, status, result);
    warpaes_result copy{};
    fill(copy, status, result);
    write_result(copy, to);
}

}  // namespace warpaes::capi

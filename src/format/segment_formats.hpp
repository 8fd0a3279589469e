// The formats of authenticated segments. To add a format, write a file like c2sp_segments.cpp, and add the format to
// this list.
#pragma once

#include <array>

#include "format/stream_key.hpp"

namespace warpaes {

extern const SegmentFormat gcm_hkdf;  ///< Tink AES-GCM-HKDF streaming
extern const SegmentFormat ctr_hmac;  ///< Tink AES-CTR-HMAC streaming
extern const SegmentFormat c2sp;      ///< C2SP chunked encryption

/// The first template of the first format is the default.
inline constexpr std::array segment_formats{&gcm_hkdf, &ctr_hmac, &c2sp};

}  // namespace warpaes

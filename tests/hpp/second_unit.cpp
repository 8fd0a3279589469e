// Includes the headers in a second translation unit. The program links only if their definitions are inline.
#include <warpaes/drbg.hpp>
#include <warpaes/gcm.hpp>
#include <warpaes/numbers.hpp>
#include <warpaes/streams.hpp>
#include <warpaes/warpaes.hpp>

warpaes::Key make_key_elsewhere(warpaes::ConstBytes bytes) {
    return warpaes::Key(bytes);
}

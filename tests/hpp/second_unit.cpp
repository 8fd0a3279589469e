// The header in a second translation unit: what it defines must be inline.
#include <warpaes/gcm.hpp>
#include <warpaes/warpaes.hpp>

warpaes::Key make_key_elsewhere(warpaes::ConstBytes bytes) {
    return warpaes::Key(bytes);
}

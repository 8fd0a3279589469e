#include "batch_oracle.hpp"

#include "xts_oracle.hpp"

namespace oracle {

Bytes crypt(const Message& m, bool encrypt) {
    if (m.text.empty()) return {};
    if (m.mode == "XTS") return xts(encrypt, m.key, m.tweak_key, m.iv, m.data_unit, m.text, m.unit_step);
    return *evp(m.mode, encrypt, m.key, m.iv, m.text, false, m.bits);
}

std::pair<Bytes, Bytes> seal(const Message& m) {
    if (m.mode == "CMAC") {
        Bytes tag = evp_cmac(m.key, m.text);
        tag.resize(m.tag_bytes);
        return {m.text, tag};
    }
    const Bytes both =
        m.mode == "CCM" ? evp_ccm(m.key, m.iv, m.text, m.aad, m.tag_bytes) : evp_gcm(m.key, m.iv, m.text, m.aad);
    const auto middle = both.begin() + static_cast<std::ptrdiff_t>(m.text.size());
    return {Bytes(both.begin(), middle), Bytes(middle, middle + static_cast<std::ptrdiff_t>(m.tag_bytes))};
}

}  // namespace oracle

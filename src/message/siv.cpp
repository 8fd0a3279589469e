// SIV (RFC 5297).
#include "aes/siv.hpp"

#include <algorithm>

#include "aes/counter.hpp"
#include "base/secret.hpp"
#include "message/composed.hpp"
#include "message/mac_stream.hpp"

namespace warpaes {

namespace {

/// S2V (RFC 5297, 2.4).
class S2v {
public:
    S2v(Engine& engine, const ExpandedKey& key) : engine_(engine), key_(key) {
        constexpr Block zero{};
        d_ = mac(zero, {});
    }
    void add(std::span<const std::uint8_t> component) { *d_ = siv_next(*d_, *mac(component, {})); }
    /// Returns V, with `last` as the last component.
    [[nodiscard]] Secret<Block> value(std::span<const std::uint8_t> last) const {
        const std::size_t rest = std::min(last.size(), block_bytes);
        const Secret<Block> end(siv_end(*d_, last.last(rest)));
        return mac(last.first(last.size() - rest), *end);
    }

private:
    [[nodiscard]] Secret<Block> mac(std::span<const std::uint8_t> bytes, std::span<const std::uint8_t> more) const {
        MacStream stream(engine_, key_);
        stream.update(bytes.data(), bytes.size());
        stream.update(more.data(), more.size());
        return stream.cmac();
    }

    Engine& engine_;
    const ExpandedKey& key_;
    Secret<Block> d_;
};

}  // namespace

std::optional<std::uint64_t> crypt_siv(const ComposedMessage& m) {
    S2v s2v(m.engine, *m.mac_key);
    for (const auto& component : m.aad) s2v.add(component);
    if (m.iv.data() != nullptr) s2v.add(m.iv);
    if (m.encrypts()) m.tag = *s2v.value(m.text(m.input));
    const Block first = siv_counter(m.tag);
    m.for_each_chunk([&](Lane& lane, std::uint64_t /*chunk*/, std::uint64_t at, std::uint64_t bytes) {
        const Block counter = add(first, at / block_bytes);
        MessageGroup stretch =
            stretch_of(Mode::ctr, Direction::encrypt, m.key, counter, m.input + at, m.output + at, bytes);
        stretch.direct = true;
        lane.run(stretch);
    });
    const bool authentic = m.encrypts() || is_tag(*s2v.value(m.text(m.output)), m.tag);
    return authentic ? std::optional(m.length) : std::nullopt;
}

}  // namespace warpaes

#include <algorithm>
#include <array>
#include <span>

#include "base/error.hpp"
#include "engine/run/executor.hpp"
#include "message/checks.hpp"
#include "message/message.hpp"
#include "message/xts.hpp"

namespace warpaes {

namespace {

/// The parts of a message, in processing order. A range consists of whole blocks and, at either end, bytes of a block.
/// With padding, the last block is a separate part. It is decrypted first: if its padding is wrong, nothing else is
/// decrypted, so a forged message costs no more than zeroing its output.
class Parts {
public:
    Parts(const Request& r, bool may_wait) {
        const MessageGroup& m = r.message;
        const std::uint64_t body = m.length / block_bytes * block_bytes;
        if (r.pkcs7 && m.direction == Direction::encrypt) {
            add({.offset = 0, .length = body});
            add({.offset = body,
                 .length = m.length - body,
                 .to = body,
                 .local = true,
                 .padding = MessagePart::Padding::add});
        } else if (r.pkcs7) {
            add({.offset = body - block_bytes,
                 .length = block_bytes,
                 .to = body - block_bytes,
                 .local = true,
                 .padding = MessagePart::Padding::remove});
            add({.offset = 0, .length = body - block_bytes});
        } else if (r.range && m.mode != Mode::xts) {
            cut(m, *r.range, may_wait);
        } else {
            add({.offset = r.range ? r.range->offset : 0, .length = r.range ? r.range->length : m.length});
        }
    }
    operator std::span<const MessagePart>() const { return {parts_.data(), count_}; }

private:
    void add(const MessagePart& part) { parts_[count_++] = part; }

    void cut(const MessageGroup& m, const Range& range, bool may_wait) {
        const std::uint64_t unit = (m.mode == Mode::cfb8 || m.mode == Mode::cfb1) ? 1 : block_bytes;
        std::uint64_t at = range.offset;
        const std::uint64_t end = at + range.length;
        const bool ends_in_block = needs_whole_blocks(m.mode) && end % unit != 0;
        if (!may_wait && (at % unit != 0 || ends_in_block)) {
            throw Error(WARPAES_ERROR_RANGE, "range: an asynchronous call accepts only ranges of whole 16-byte blocks");
        }
        const auto partial = [&](std::uint64_t stop) {
            const std::uint64_t block = at / block_bytes * block_bytes;
            add({.offset = block,
                 .length = std::min<std::uint64_t>(block_bytes, m.length - block),
                 .to = at - range.offset,
                 .local = true,
                 .skip = at - block,
                 .keep = stop - at});
            at = stop;
        };
        const std::uint64_t first_whole = std::min((at + unit - 1) / unit * unit, end);
        if (at < first_whole) partial(first_whole);
        const std::uint64_t whole_end = ends_in_block ? end / unit * unit : end;
        if (at < whole_end) {
            add({.offset = at, .length = whole_end - at, .to = at - range.offset});
            at = whole_end;
        }
        if (at < end) partial(end);
    }

    std::array<MessagePart, 3> parts_;
    std::size_t count_ = 0;
};

}  // namespace

void crypt_parts(Engine& engine, const Request& r, const Places& places, MessageResult& result,
                 std::optional<CallerStream> stream) {
    const MessageGroup& m = r.message;
    Block iv{};
    std::copy_n(m.iv.first, m.iv_length, iv.begin());
    MessageGroup message = m;
    if (m.mode == Mode::xts) message.data_units = xts_units_of(m);
    const Parts parts(r, !stream);
    Executor executor(engine, places, stream);
    const std::optional<std::uint64_t> written = executor.run_parts(message, iv, parts);
    if (!written) result.refusal = wrong_padding;
    result.output_length = written.value_or(result.output_length);
    result.merge(executor.ran());
}

}  // namespace warpaes

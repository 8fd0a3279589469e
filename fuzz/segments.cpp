// Tests GCM segments (gcm.hpp), which are entries of a batch, with any strides, gaps and tags. Some segments are
// damaged. Each segment is compared with libcrypto.
#include <warpaes/gcm.hpp>

#include "engines.hpp"
#include "evp_oracle.hpp"
#include "handles.hpp"

namespace {

using namespace fuzz;

constexpr std::size_t key_lengths[] = {16, 24, 32};
constexpr std::size_t tag_bytes = 16;

/// A batch with libcrypto's output for every segment.
struct Batch {
    explicit Batch(Input& in) : key_bytes(in.bytes(in.pick(key_lengths))), key(key_bytes), engine(engine_of(in)) {
        count = in.below(9);
        segment = in.below(in.below(8) == 0 ? 700 : 100);
        last = in.below(segment + 1);
        inline_tags = in.flag();
        aad = in.bytes(in.below(4) == 0 ? in.below(60) : 0);
        if (in.below(3) == 0) plain_stride = segment + in.below(40);
        if (in.below(3) == 0) cipher_stride = segment + (inline_tags ? tag_bytes : 0) + in.below(40);
        nonces = in.bytes(12 * count);
        // Makes all nonces distinct.
        for (std::size_t i = 0; i < count; ++i) nonces[12 * i] = static_cast<std::uint8_t>(i);
        for (std::size_t i = 0; i < count; ++i) {
            texts.push_back(in.bytes(length(i)));
            const auto nonce = nonces.begin() + static_cast<std::ptrdiff_t>(12 * i);
            sealed.push_back(oracle::seal(
                {.mode = "GCM", .key = key_bytes, .iv = Bytes(nonce, nonce + 12), .aad = aad, .text = texts.back()}));
        }
    }
    [[nodiscard]] std::size_t length(std::size_t i) const { return i + 1 == count ? last : segment; }
    [[nodiscard]] std::size_t plain_at(std::size_t i) const { return i * (plain_stride != 0 ? plain_stride : segment); }
    [[nodiscard]] std::size_t cipher_at(std::size_t i) const {
        return i * (cipher_stride != 0 ? cipher_stride : segment + (inline_tags ? tag_bytes : 0));
    }
    /// The buffers end at the end of the last segment.
    [[nodiscard]] Bytes plaintext() const {
        Bytes bytes(count == 0 ? 0 : plain_at(count - 1) + last, 0xa5);
        for (std::size_t i = 0; i < count; ++i) put(bytes, plain_at(i), texts[i]);
        return bytes;
    }
    [[nodiscard]] Bytes ciphertext() const {
        Bytes bytes(count == 0 ? 0 : cipher_at(count - 1) + last + (inline_tags ? tag_bytes : 0), 0xa5);
        for (std::size_t i = 0; i < count; ++i) {
            put(bytes, cipher_at(i), sealed[i].text);
            if (inline_tags) put(bytes, cipher_at(i) + length(i), sealed[i].tag);
        }
        return bytes;
    }
    [[nodiscard]] Bytes tags() const {
        Bytes bytes(tag_bytes * count);
        for (std::size_t i = 0; i < count; ++i) put(bytes, tag_bytes * i, sealed[i].tag);
        return bytes;
    }
    static void put(Bytes& bytes, std::size_t at, const Bytes& what) {
        std::copy(what.begin(), what.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
    }

    Bytes key_bytes;
    warpaes::Key key;
    const warpaes::Engine& engine;
    std::size_t count, segment, last;
    bool inline_tags;
    Bytes aad, nonces;
    std::size_t plain_stride = 0, cipher_stride = 0;
    std::vector<Bytes> texts;
    std::vector<oracle::Sealed> sealed;
};

warpaes::Segments request(const Batch& b, warpaes::Direction direction, const Bytes& from, Bytes& to, Bytes& tags) {
    warpaes::Segments s;
    s.direction = direction;
    s.key = &b.key;
    s.nonces = b.nonces;
    s.segment_len = b.segment;
    s.last_len = b.last;
    s.aad = b.aad;
    s.input = from;
    s.output = to;
    s.plaintext_stride = b.plain_stride;
    s.ciphertext_stride = b.cipher_stride;
    if (!b.inline_tags) s.tags = tags;
    return s;
}

bool is_at(const Bytes& whole, std::size_t at, const Bytes& part) {
    return std::equal(part.begin(), part.end(), whole.begin() + static_cast<std::ptrdiff_t>(at));
}

void seal(const Batch& b) {
    const Bytes from = b.plaintext();
    Bytes to(b.ciphertext().size(), 0x5a), tags(tag_bytes * b.count, 0x5a);
    require(warpaes::crypt_segments(b.engine, request(b, warpaes::Direction::encrypt, from, to, tags)) == to.size(),
            "the length of sealed segments");
    for (std::size_t i = 0; i < b.count; ++i) {
        require(is_at(to, b.cipher_at(i), b.sealed[i].text), "a sealed segment");
        require(b.inline_tags ? is_at(to, b.cipher_at(i) + b.length(i), b.sealed[i].tag)
                              : is_at(tags, tag_bytes * i, b.sealed[i].tag),
                "a tag");
    }
}

void open(Input& in, const Batch& b) {
    Bytes from = b.ciphertext(), tags = b.tags();
    Bytes to(b.plaintext().size(), 0x5a);
    std::vector<bool> damaged(b.count);
    for (std::size_t i = 0; i < b.count; ++i) {
        if (in.below(8) != 0) continue;
        damaged[i] = true;
        const std::size_t at = in.below(b.length(i) + tag_bytes);
        const auto bit = static_cast<std::uint8_t>(1U << in.below(8));
        std::uint8_t& byte =
            at < b.length(i) || b.inline_tags ? from[b.cipher_at(i) + at] : tags[tag_bytes * i + at - b.length(i)];
        byte ^= bit;
    }
    const auto failures = static_cast<std::uint64_t>(std::count(damaged.begin(), damaged.end(), true));
    try {
        (void)warpaes::crypt_segments(b.engine, request(b, warpaes::Direction::decrypt, from, to, tags));
        require(failures == 0, "damage was not detected");
    } catch (const warpaes::SegmentsError& error) {
        require(error.failures() == failures, "the number of failures");
        const auto first = std::find(damaged.begin(), damaged.end(), true) - damaged.begin();
        require(error.first_failure() == static_cast<std::uint64_t>(first), "the first failure");
    }
    for (std::size_t i = 0; i < b.count; ++i) {
        require(is_at(to, b.plain_at(i), damaged[i] ? Bytes(b.length(i), 0) : b.texts[i]),
                damaged[i] ? "unauthenticated bytes are left in the output" : "an opened segment");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Input in(data, size);
    const Batch batch(in);
    in.flag() ? seal(batch) : open(in, batch);
    return 0;
}

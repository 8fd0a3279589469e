#include "message/composed.hpp"

#include <openssl/crypto.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "aes/counter.hpp"
#include "aes/gcm_siv.hpp"
#include "aes/key_wrap.hpp"
#include "aes/siv.hpp"
#include "base/clean_stack.hpp"
#include "base/error.hpp"
#include "engine/pipeline/memory.hpp"
#include "message/checks.hpp"
#include "message/mac_stream.hpp"
#include "message/short.hpp"
#include "message/tagged.hpp"

namespace warpaes {

namespace {

std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

/// The cost of the mode's parallel part, as a multiple of CTR's.
std::uint64_t times_ctr(ComposedMode mode) {
    return mode == ComposedMode::gcm_siv ? 4 : 1;
}

/// The largest size that the output can have.
std::uint64_t output_length(const ComposedRequest& r) {
    const ModeTraits& mode = traits_of(r.mode);
    return r.direction == Direction::encrypt ? round_up(r.input_length, mode.sealed_unit) + mode.growth
                                             : r.input_length - mode.growth;
}

void check_data_length(const ComposedRequest& r) {
    const ModeTraits& mode = traits_of(r.mode);
    const bool encrypt = r.direction == Direction::encrypt;
    const std::uint64_t n = r.input_length, unit = encrypt ? mode.text_unit : mode.sealed_unit;
    const std::uint64_t growth = encrypt ? 0 : mode.growth;
    const std::uint64_t least = (encrypt ? mode.least_text : round_up(mode.least_text, unit)) + growth;
    const std::uint64_t most = (encrypt ? mode.most_text : round_up(mode.most_text, unit)) + growth;
    if (n >= least && n <= most && n % unit == 0) return;
    throw Error(WARPAES_ERROR_DATA_LENGTH, std::string("input_len: ") +
                                               (encrypt ? mode.text_lengths : mode.sealed_lengths) + ", got " +
                                               std::to_string(n));
}

void check_keys(const ComposedRequest& r) {
    const ModeTraits& mode = traits_of(r.mode);
    if (!mode.aes_192 && r.key->bits() == 192) {
        throw Error(WARPAES_ERROR_KEY_LENGTH,
                    std::string("key: is one of AES-192, which ") + mode.name + " does not have; use 16 or 32 bytes");
    }
    if (r.mode != ComposedMode::siv) return;
    if (r.mac_key == nullptr) throw Error(WARPAES_ERROR_ARGUMENT, "mac_key: is null; SIV takes two keys");
    if (r.mac_key->bits() != r.key->bits()) {
        throw Error(WARPAES_ERROR_KEY_LENGTH, "mac_key: has " + std::to_string(r.mac_key->bytes().size()) +
                                                  " bytes, but key has " + std::to_string(r.key->bytes().size()));
    }
}

void check_tagged(const ComposedRequest& r) {
    const ModeTraits& mode = traits_of(r.mode);
    check_tag_length(mode, r.tag_length);
    if (r.tag == nullptr) throw Error(WARPAES_ERROR_ARGUMENT, "tag: is null");
    if (overlap(r.tag, r.tag_length, r.output, r.input_length)) {
        throw Error(WARPAES_ERROR_OVERLAP, "tag: lies in the output");
    }
    if (r.mode == ComposedMode::siv) {
        const std::uint64_t most = siv_most_components - 1 - (r.iv.data() != nullptr ? 1 : 0);
        if (r.aad.size() > most) {
            throw Error(WARPAES_ERROR_ARGUMENT, "aad_count: at most " + std::to_string(most) + " parts, with iv " +
                                                    std::to_string(siv_most_components - 1) + ", got " +
                                                    std::to_string(r.aad.size()));
        }
    }
    for (const warpaes_part& part : r.aad) {
        check_aad_length(mode, part.length);
        if (part.data == nullptr && part.length != 0) throw Error(WARPAES_ERROR_ARGUMENT, "aad: is null");
        check_memory(part.data, part.length, "aad");
    }
}

/// Makes all checks that do not depend on where the buffers lie. Sets `result.output_length`.
void check(const ComposedRequest& r, MessageResult& result) {
    const ModeTraits& mode = traits_of(r.mode);
    check_keys(r);
    check_iv_length(mode, r.iv.size(), "iv");
    check_data_length(r);
    result.output_length = output_length(r);
    if (r.input == nullptr && r.input_length != 0) throw Error(WARPAES_ERROR_ARGUMENT, "input: is null");
    if (r.output == nullptr && result.output_length != 0) throw Error(WARPAES_ERROR_ARGUMENT, "output: is null");
    check_memory(r.iv.data(), r.iv.size(), "iv");
    check_memory(r.input, r.input_length, "input");
    check_memory(r.output, result.output_length, "output");
    if (r.output_capacity < result.output_length) {
        throw Error(WARPAES_ERROR_BUFFER_TOO_SMALL,
                    "output_capacity: the output takes " + std::to_string(result.output_length) +
                        " bytes, there is room for " + std::to_string(r.output_capacity));
    }
    check_overlap(r.input, r.input_length, r.output, result.output_length);
    if (mode.tags != 0) check_tagged(r);
}

int device_of(const void* data, std::uint64_t bytes) {
    return bytes == 0 ? -1 : warpaes::device_of(data);
}

/// Bytes that a CPU can read: the caller's own, or a copy of them if they lie in device memory.
class HostBytes {
public:
    HostBytes(const std::uint8_t* data, std::uint64_t bytes) : HostBytes(data, bytes, device_of(data, bytes)) {}
    HostBytes(const std::uint8_t* data, std::uint64_t bytes, int device)
        : bytes_(data, static_cast<std::size_t>(bytes)) {
        if (device < 0) return;
        copy_.resize(bytes_.size());
        copy_memory(copy_.data(), data, bytes_.size(), device);
        bytes_ = copy_;
    }
    [[nodiscard]] std::span<const std::uint8_t> span() const noexcept { return bytes_; }

private:
    std::span<const std::uint8_t> bytes_;
    SecretVector copy_;
};

/// The same for output: finish() copies what was written to device memory.
class HostOutput {
public:
    /// `stays`: the device writes the caller's memory itself, so there is no copy. `wipes`: unless finish() is called,
    /// the output is wiped; in the destructor, because catching an exception and throwing it again takes microseconds.
    HostOutput(Engine& engine, std::uint8_t* data, std::uint64_t bytes, int device, bool stays, bool wipes)
        : engine_(engine), caller_(data), bytes_(static_cast<std::size_t>(bytes)), device_(device), wipes_(wipes) {
        if (device_ >= 0 && !stays) copy_.resize(bytes_);
    }
    HostOutput(const HostOutput&) = delete;
    HostOutput& operator=(const HostOutput&) = delete;
    ~HostOutput() {
        if (wipes_) clear_after_failure(engine_, caller_, bytes_, device_);
    }
    [[nodiscard]] std::uint8_t* data() noexcept { return copy_.empty() ? caller_ : copy_.data(); }
    void finish() {
        if (!copy_.empty()) copy_memory(caller_, copy_.data(), bytes_, device_);
        wipes_ = false;
    }

private:
    Engine& engine_;
    std::uint8_t* caller_;
    std::size_t bytes_;
    int device_;
    bool wipes_;
    SecretVector copy_;
};

/// S2V (RFC 5297, 2.4).
class S2v {
public:
    S2v(Engine& engine, const ExpandedKey& key) : engine_(engine), key_(key) {
        constexpr Block zero{};
        d_ = mac(zero, {});
    }
    void add(std::span<const std::uint8_t> component) { *d_ = siv_next(*d_, *mac(component, {})); }
    /// V, with `last` as the last component.
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

/// GCM-SIV under the keys of one nonce (RFC 8452, 4 and 5).
class GcmSiv {
public:
    /// `encrypt(blocks)`: encrypts under the key-generating key. `run`: the backend's function for GCM-SIV, or null.
    template <typename Cipher>
    GcmSiv(GcmSivNonce nonce, std::size_t key_bytes, const Cipher& encrypt, GcmSivFunction run)
        : key_(derive(nonce, key_bytes, encrypt)), run_(run) {}

    [[nodiscard]] const ExpandedKey& key() const noexcept { return key_.key; }
    [[nodiscard]] FieldElement h() const noexcept { return *key_.h; }

    /// digest() or crypt() for the whole text, in memory of `device`. Without an output it computes the digest alone.
    FieldElement on_device(CudaBackend& gpu, int device, const Block& tag, const std::uint8_t* input,
                           std::uint8_t* output, std::uint64_t bytes, bool hashed) const {
        Secret<Block> sum;
        Block first;
        gcm_siv_counters(tag, 0, first.data(), 1);
        gpu.run({&key(), first, input, output, bytes, hashed ? &*sum : nullptr}, device);
        return load_element(*sum);
    }

    /// The digest of `bytes` bytes alone.
    [[nodiscard]] FieldElement digest(Lane& lane, const std::uint8_t* data, std::uint64_t bytes) const {
        if (bytes <= by_hand) return digest_by_hand(data, bytes);
        if (run_ != nullptr) return run(Block{}, data, nullptr, bytes, true);
        Secret<Piece> piece;
        FieldElement digest;
        for (std::uint64_t at = 0; at < bytes; at += piece_bytes) {
            digest = add_piece(lane, digest, data + at, std::min<std::uint64_t>(piece_bytes, bytes - at), *piece);
        }
        return digest;
    }

    /// Encrypts or decrypts `bytes` bytes starting at byte `at` of the message; with `hashed`, returns the digest of
    /// the output.
    FieldElement crypt(Lane& lane, const Block& tag, std::uint64_t at, const std::uint8_t* input, std::uint8_t* output,
                       std::uint64_t bytes, bool hashed) const {
        if (run_ != nullptr) {
            const bool beside = hashed && bytes > by_hand;
            Block first;
            gcm_siv_counters(tag, at / block_bytes, first.data(), 1);
            const FieldElement sum = run(first, input, output, bytes, beside);
            return hashed && !beside ? digest(lane, output, bytes) : sum;
        }
        Secret<Piece> stream;
        FieldElement digest;
        for (std::uint64_t done = 0; done < bytes; done += piece_bytes) {
            const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(piece_bytes, bytes - done));
            const std::uint64_t blocks = blocks_of(n);
            gcm_siv_counters(tag, (at + done) / block_bytes, stream->data(), static_cast<std::size_t>(blocks));
            MessageGroup group = stretch_of(Mode::ecb, Direction::encrypt, key(), tag, stream->data(), stream->data(),
                                            blocks * block_bytes);
            group.direct = true;
            lane.run(group);
            exclusive_or(output + done, input + done, stream->data(), n);
            if (hashed) digest = add_piece(lane, digest, output + done, n, *stream);
        }
        return digest;
    }

private:
    /// Small enough to stay in the first-level cache together with the input and the output.
    static constexpr std::size_t piece_bytes = 8192;
    using Piece = std::array<std::uint8_t, piece_bytes>;
    /// Up to this length a table of powers costs more than it saves.
    static constexpr std::size_t by_hand = 256;

    struct Derived {
        Derived(std::span<const std::uint8_t> bytes, FieldElement subkey) : key(bytes, subkey), h(subkey) {}
        ExpandedKey key;
        Secret<FieldElement> h;
    };

    template <typename Cipher>
    static Derived derive(GcmSivNonce nonce, std::size_t key_bytes, const Cipher& encrypt) {
        Secret<Block> authentication;
        Secret<std::array<std::uint8_t, 32>> encryption;
        Secret<std::array<Block, 6>> blocks;
        const std::size_t count = 2 + key_bytes / 8;
        for (unsigned i = 0; i < count; ++i) (*blocks)[i] = gcm_siv_key_block(nonce, i);
        encrypt(std::span(blocks->front().data(), count * block_bytes));
        for (unsigned i = 0; i < count; ++i) {
            const auto half = (*blocks)[i].begin();
            std::copy_n(half, 8, i < 2 ? authentication->begin() + 8 * i : encryption->begin() + 8 * (i - 2));
        }
        return {std::span<const std::uint8_t>(*encryption).first(key_bytes), polyval_subkey(*authentication)};
    }

    FieldElement run(const Block& counter, const std::uint8_t* input, std::uint8_t* output, std::uint64_t bytes,
                     bool hashed) const {
        Secret<Block> sum;
        run_({&key(), counter, input, output, bytes, hashed ? &*sum : nullptr});
        return load_element(*sum);
    }

    [[nodiscard]] FieldElement digest_by_hand(const std::uint8_t* data, std::uint64_t bytes) const {
        FieldElement digest;
        if (bytes == 0) return digest;
        Secret<std::array<std::uint8_t, by_hand>> reversed;
        reverse_blocks(reversed->data(), data, static_cast<std::size_t>(bytes));
        hash_blocks(h(), reversed->data(), blocks_of(bytes) * block_bytes, digest);
        return digest;
    }

    FieldElement add_piece(Lane& lane, FieldElement digest, const std::uint8_t* data, std::uint64_t bytes,
                           Piece& work) const {
        reverse_blocks(work.data(), data, static_cast<std::size_t>(bytes));
        const std::uint64_t blocks = blocks_of(bytes);
        Secret<Block> sum;
        lane.run({.mode = Mode::gcm,
                  .direction = Direction::encrypt,
                  .length = blocks * block_bytes,
                  .input = Elements::of(work.data()),
                  .output = {},
                  .iv = {},
                  .aad = {},
                  .tag = {},
                  .key = &key(),
                  .keys = {},
                  .digest = &*sum,
                  .direct = true});
        const bool whole = bytes == piece_bytes;
        return multiply(digest, whole ? *piece_power_ : power(h(), blocks)) ^ load_element(*sum);
    }

    /// `to` may equal `a`. The two cases are separate functions, because the compiler does not vectorize one function
    /// for both.
    static void exclusive_or(std::uint8_t* to, const std::uint8_t* a, const std::uint8_t* b, std::size_t bytes) {
        if (to == a) {
            add_to(to, b, bytes);
        } else {
            add(to, a, b, bytes);
        }
    }
    static void add_to(std::uint8_t* __restrict to, const std::uint8_t* __restrict b, std::size_t bytes) {
        for (std::size_t i = 0; i < bytes; ++i) to[i] = static_cast<std::uint8_t>(to[i] ^ b[i]);
    }
    static void add(std::uint8_t* __restrict to, const std::uint8_t* __restrict a, const std::uint8_t* __restrict b,
                    std::size_t bytes) {
        for (std::size_t i = 0; i < bytes; ++i) to[i] = static_cast<std::uint8_t>(a[i] ^ b[i]);
    }

    Derived key_;
    const GcmSivFunction run_;
    const Secret<FieldElement> piece_power_{run_ == nullptr ? power(*key_.h, piece_bytes / block_bytes)
                                                            : FieldElement{}};
};

/// A message in host memory, or with its text on `device`, and the CPU backend that runs it.
class HostMessage {
public:
    struct Buffers {
        std::span<const std::uint8_t> iv;
        std::span<const std::uint8_t> input;
        std::uint8_t* output;
        std::span<const std::span<const std::uint8_t>> aad;
        Block* tag;  ///< output when encrypting, expected value when decrypting
        int device;  ///< where input and output lie, or -1: host memory
    };

    HostMessage(Engine& engine, const ComposedRequest& request, const Plan& plan, const Buffers& buffers)
        : engine_(engine),
          r_(request),
          plan_(plan),
          iv_(buffers.iv),
          input_(buffers.input.data()),
          output_(buffers.output),
          aad_(buffers.aad),
          tag_(*buffers.tag),
          device_(buffers.device),
          encrypt_(request.direction == Direction::encrypt) {}

    /// Returns the length of the output; nothing if the message is not authentic.
    std::optional<std::uint64_t> run() {
        bool authentic = true;
        switch (r_.mode) {
        case ComposedMode::kw:
        case ComposedMode::kwp:
            return encrypt_ ? wrap_key() : unwrap_key();
        case ComposedMode::siv:
            authentic = siv();
            break;
        case ComposedMode::gcm_siv:
            authentic = gcm_siv();
            break;
        }
        return authentic ? std::optional(r_.input_length) : std::nullopt;
    }

private:
    /// Chunk size that takes about as long as a chunk of CTR.
    [[nodiscard]] std::uint64_t chunk_bytes() const {
        if (device_ >= 0) return r_.input_length;
        return std::max<std::uint64_t>(plan_.chunk_bytes / times_ctr(r_.mode), 4096);
    }
    /// Calls `work(lane, chunk, first byte, bytes)` for each chunk of the message, in parallel where that pays.
    template <typename Work>
    void for_each_chunk(const Work& work) const {
        const std::uint64_t n = r_.input_length, chunk = chunk_bytes(), chunks = n / chunk + (n % chunk != 0);
        const auto lanes = static_cast<std::size_t>(std::min<std::uint64_t>(plan_.lanes, chunks));
        std::atomic<std::uint64_t> next{0};
        const auto take = [&](std::size_t worker) {
            const LaneLease lane = engine_.lease(plan_, static_cast<unsigned>(worker), 0);
            for (std::uint64_t i = next++; i < chunks; i = next++) {
                work(*lane, i, i * chunk, std::min(chunk, n - i * chunk));
            }
        };
        if (lanes <= 1) return take(0);
        engine_.pool().for_each(lanes, take);
    }
    [[nodiscard]] auto cipher() const {
        return [this](Block& block) { run_blocks(*plan_.backend, r_.direction, *r_.key, block); };
    }

    /// The check value of KW; for KWP its first four bytes.
    [[nodiscard]] Semiblock check_value() const {
        Semiblock icv = kw_icv;
        if (r_.mode == ComposedMode::kwp) std::copy(kwp_icv.begin(), kwp_icv.end(), icv.begin());
        std::copy(iv_.begin(), iv_.end(), icv.begin());
        return icv;
    }

    std::uint64_t wrap_key() {
        const std::uint64_t n = r_.input_length, padded = round_up(n, semiblock_bytes);
        std::uint8_t* const text = output_ + semiblock_bytes;
        Secret<Semiblock> a(check_value());
        if (r_.mode == ComposedMode::kwp) *a = kwp_first(std::span<const std::uint8_t>(*a).first<4>(), n);
        std::memmove(text, input_, static_cast<std::size_t>(n));
        std::fill(text + n, text + padded, std::uint8_t{0});
        Secret<Block> work;
        if (padded == semiblock_bytes) {  // a single block, which only KWP allows
            std::copy(a->begin(), a->end(), work->begin());
            std::copy_n(text, semiblock_bytes, work->begin() + semiblock_bytes);
            cipher()(*work);
            std::copy(work->begin(), work->end(), output_);
        } else {
            wrap(*a, text, padded / semiblock_bytes, cipher(), *work);
            std::copy(a->begin(), a->end(), output_);
        }
        return padded + semiblock_bytes;
    }

    std::optional<std::uint64_t> unwrap_key() {
        const std::uint64_t padded = r_.input_length - semiblock_bytes;
        const Semiblock icv = check_value();  // a copy, because it may lie in the output
        Secret<Semiblock> a;
        Secret<Block> work;
        std::copy_n(input_, semiblock_bytes, a->begin());
        if (padded == semiblock_bytes) {
            std::copy_n(input_, block_bytes, work->begin());
            cipher()(*work);
            std::copy_n(work->begin(), semiblock_bytes, a->begin());
            std::copy_n(work->begin() + semiblock_bytes, semiblock_bytes, output_);
        } else {
            std::memmove(output_, input_ + semiblock_bytes, static_cast<std::size_t>(padded));
            unwrap(*a, output_, padded / semiblock_bytes, cipher(), *work);
        }
        if (r_.mode == ComposedMode::kw) {
            if (CRYPTO_memcmp(a->data(), icv.data(), semiblock_bytes) != 0) return std::nullopt;
            return padded;
        }
        using Last = std::span<const std::uint8_t, semiblock_bytes>;
        const Secret<KwpEnd> end(kwp_end(*a, std::span<const std::uint8_t>(icv).first<4>(),
                                         Last(output_ + padded - semiblock_bytes, semiblock_bytes), padded));
        const std::uint8_t right = 0;
        if (CRYPTO_memcmp(&end->wrong, &right, 1) != 0) return std::nullopt;
        return end->bytes;
    }

    /// False: decrypted, and not authentic.
    bool siv() {
        S2v s2v(engine_, *r_.mac_key);
        for (const auto& component : aad_) s2v.add(component);
        if (iv_.data() != nullptr) s2v.add(iv_);
        const auto text = [&](const std::uint8_t* data) {
            return std::span(data, static_cast<std::size_t>(r_.input_length));
        };
        if (encrypt_) tag_ = *s2v.value(text(input_));
        const Block first = siv_counter(tag_);
        for_each_chunk([&](Lane& lane, std::uint64_t /*chunk*/, std::uint64_t at, std::uint64_t bytes) {
            const Block counter = add(first, at / block_bytes);
            MessageGroup stretch =
                stretch_of(Mode::ctr, Direction::encrypt, *r_.key, counter, input_ + at, output_ + at, bytes);
            stretch.direct = true;
            lane.run(stretch);
        });
        return encrypt_ || is_tag(*s2v.value(text(output_)), tag_);
    }

    /// The same.
    bool gcm_siv() {
        std::array<std::uint8_t, gcm_siv_nonce_bytes> nonce;  // a copy, because it may lie in the output
        std::copy_n(iv_.begin(), nonce.size(), nonce.begin());
        const auto encrypt_blocks = [this](std::span<std::uint8_t> blocks) {
            run_blocks(*plan_.backend, Direction::encrypt, *r_.key, blocks);
        };
        const GcmSiv siv(nonce, r_.key->bytes().size(), encrypt_blocks, plan_.backend->gcm_siv_function());
        const std::uint64_t n = r_.input_length, chunk = chunk_bytes();
        const auto aad = aad_.empty() ? std::span<const std::uint8_t>() : aad_.front();
        Secret<FieldElement> digest;
        *digest = siv.digest(*engine_.lease(plan_, 0, 0), aad.data(), aad.size());
        // Each chunk has its own digest. GCM-SIV hashes the plaintext, so decryption hashes the output.
        SecretVector digests(static_cast<std::size_t>((n / chunk + 1) * sizeof(FieldElement)));
        const auto add = [&] {
            for (std::uint64_t at = 0; at < n; at += chunk) {
                FieldElement part;
                std::memcpy(&part, digests.data() + at / chunk * sizeof part, sizeof part);
                *digest = multiply(*digest, power(siv.h(), blocks_of(std::min(chunk, n - at)))) ^ part;
            }
            *digest = multiply(*digest ^ gcm_siv_lengths(aad.size(), n), siv.h());
            Secret<Block> tag(gcm_siv_tag_block(*digest, nonce));
            run_blocks(*plan_.backend, Direction::encrypt, siv.key(), *tag);
            return tag;
        };
        const auto note = [&](std::uint64_t i, FieldElement part) {
            std::memcpy(digests.data() + i * sizeof part, &part, sizeof part);
        };
        if (encrypt_) {
            for_each_chunk([&](Lane& lane, std::uint64_t i, std::uint64_t at, std::uint64_t bytes) {
                note(i, device_ >= 0 ? siv.on_device(engine_.gpu(), device_, {}, input_, nullptr, bytes, true)
                                     : siv.digest(lane, input_ + at, bytes));
            });
            tag_ = *add();
        }
        for_each_chunk([&](Lane& lane, std::uint64_t i, std::uint64_t at, std::uint64_t bytes) {
            const FieldElement part =
                device_ >= 0 ? siv.on_device(engine_.gpu(), device_, tag_, input_, output_, bytes, !encrypt_)
                             : siv.crypt(lane, tag_, at, input_ + at, output_ + at, bytes, !encrypt_);
            if (!encrypt_) note(i, part);
        });
        return encrypt_ || is_tag(*add(), tag_);
    }

    Engine& engine_;
    const ComposedRequest& r_;
    const Plan& plan_;
    const std::span<const std::uint8_t> iv_;
    const std::uint8_t* const input_;
    std::uint8_t* const output_;
    const std::span<const std::span<const std::uint8_t>> aad_;
    Block& tag_;
    const int device_;
    const bool encrypt_;
};

void run(Engine& engine, const ComposedRequest& r, MessageResult& result) {
    // Queried once: after a failure the driver may not recognize its own memory.
    const int from = device_of(r.input, r.input_length), to = device_of(r.output, result.output_length);
    // Where input and output of GCM-SIV lie on one device, the GPU processes the text there; keys, associated data and
    // the tag are the CPU's.
    const bool stays = r.mode == ComposedMode::gcm_siv && from >= 0 && from == to && engine.may_use_gpu();
    const int device = stays ? from : -1;
    // Without text there is nothing for a GPU, so an engine that is for GPUs alone takes the message too.
    const bool only_tag = r.mode == ComposedMode::gcm_siv && r.input_length == 0 && engine.forced_is_gpu();
    const Plan plan = stays || only_tag ? Engine::replacement({})
                                        : engine.plan_on_cpu({.mode = Mode::ctr,
                                                              .direction = Direction::encrypt,
                                                              .key_bits = r.key->bits(),
                                                              .bytes = r.input_length * times_ctr(r.mode)},
                                                             traits_of(r.mode).name);
    const HostBytes iv(r.iv.data(), r.iv.size()), input(r.input, r.input_length, stays ? -1 : from);
    std::vector<HostBytes> parts;
    std::vector<std::span<const std::uint8_t>> aad;
    parts.reserve(r.aad.size());
    for (const warpaes_part& part : r.aad) {
        parts.emplace_back(static_cast<const std::uint8_t*>(part.data), part.length);
        aad.push_back(parts.back().span());
    }
    const bool decrypt = r.direction == Direction::decrypt;
    const ReadyToClear ready(engine, r.direction, result.output_length);
    HostOutput output(engine, r.output, result.output_length, to, stays, decrypt);
    const auto tag_bytes = static_cast<std::size_t>(r.tag_length);
    Secret<Block> tag;
    if (decrypt) copy_anywhere(tag->data(), r.tag, tag_bytes);
    const auto written =
        HostMessage(engine, r, plan, {iv.span(), input.span(), output.data(), aad, &*tag, device}).run();
    result.backend = stays ? engine.gpu().name() : plan.backend->name();
    result.device = device;
    if (!written) {
        constexpr Refusal wrong_check_value{WARPAES_ERROR_AUTHENTICATION,
                                            "input: its check value is wrong: wrong key, wrong iv or altered data"};
        result.refusal = traits_of(r.mode).tags != 0 ? wrong_tag : wrong_check_value;
        return;
    }
    result.output_length = *written;
    output.finish();
    if (!decrypt) copy_anywhere(r.tag, tag->data(), tag_bytes);
}

}  // namespace

void crypt_composed(Engine& engine, const ComposedRequest& r, MessageResult& result) {
    check(r, result);
    clean_stack([&] { run(engine, r, result); });
}

}  // namespace warpaes

#include "message/composed.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "engine/pipeline/memory.hpp"
#include "message/checks.hpp"

namespace warpaes {

namespace {

/// Returns the cost of the mode's parallel part, as a multiple of the cost of CTR.
std::uint64_t times_ctr(Mode mode) {
    return mode == Mode::gcm_siv ? 4 : 1;
}

/// Bytes that a CPU can read: the caller's bytes, or a copy of them if they are in device memory.
class HostBytes {
public:
    HostBytes(const std::uint8_t* data, std::uint64_t bytes)
        : HostBytes(data, bytes, bytes != 0 ? device_of(data) : -1) {}
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

/// Output bytes that a CPU can write; finish() copies them to device memory.
class HostOutput {
public:
    /// `stays` means that the device writes the caller's memory itself, so there is no copy. `wipes` means that the
    /// destructor wipes the output unless finish() was called. Catching and rethrowing an exception instead would take
    /// microseconds.
    HostOutput(Engine& engine, std::uint8_t* data, std::uint64_t bytes, int device, bool stays, bool wipes)
        : engine_(engine), caller_(data), bytes_(static_cast<std::size_t>(bytes)), device_(device), wipes_(wipes) {
        if (device_ >= 0 && !stays) copy_.resize(bytes_);
    }
    HostOutput(const HostOutput&) = delete;
    HostOutput& operator=(const HostOutput&) = delete;
    ~HostOutput() {
        if (!wipes_) return;
        if (!owners_) {
            clear_after_failure(engine_, caller_, bytes_, device_);
            return;
        }
        // Up to twice the size of the cores' private caches, most of the written data is still in these caches.
        const bool beyond_caches = bytes_ / std::max(engine_.options().threads, 1U) > 2 * core_cached_bytes();
        owners_->wipe(engine_, {caller_, bytes_}, chunk_bytes_, beyond_caches);
    }
    /// Returns the owners of the chunks, for a message in host memory that is cut into chunks.
    ChunkOwners& chunks_of(const ComposedMessage& message) {
        chunk_bytes_ = static_cast<std::size_t>(message.chunk_bytes());
        return owners_.emplace(message.chunks(), message.plan.lanes);
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
    std::size_t chunk_bytes_ = 0;
    std::optional<ChunkOwners> owners_;
};

}  // namespace

std::uint64_t ComposedMessage::chunk_bytes() const {
    return device >= 0 ? length : std::max<std::uint64_t>(plan.chunk_bytes / times_ctr(mode), 4096);
}

void crypt_composed(Engine& engine, const Request& r, const Places& places, MessageResult& result) {
    const MessageGroup& m = r.message;
    const int from = m.length != 0 ? places.input.device : -1;
    const int to = result.output_length != 0 ? places.output.device : -1;
    // If the input and output of GCM-SIV are on one device, the GPU processes the text; the CPU processes keys,
    // associated data and the tag.
    const bool stays = m.mode == Mode::gcm_siv && from >= 0 && from == to && engine.may_use_gpu();
    const int device = stays ? from : -1;
    // A message without text requires no work on a GPU, so an engine that uses only GPUs also accepts it.
    const bool only_tag = m.mode == Mode::gcm_siv && m.length == 0 && engine.forced_is_gpu();
    const Plan plan = stays || only_tag ? Engine::replacement({})
                                        : engine.plan_on_cpu({.mode = Mode::ctr,
                                                              .direction = Direction::encrypt,
                                                              .key_bits = m.key->bits(),
                                                              .bytes = m.length * times_ctr(m.mode)},
                                                             traits_of(m.mode).name);
    const HostBytes iv(m.iv.first, m.iv_length), input(m.input.first, m.length, stays ? -1 : from);
    const warpaes_part one{m.aad.first, m.aad_length};
    const std::span<const warpaes_part> given = m.aad.first != nullptr ? std::span(&one, 1) : r.aad_list;
    std::vector<HostBytes> parts;
    std::vector<std::span<const std::uint8_t>> aad;
    parts.reserve(given.size());
    for (const warpaes_part& part : given) {
        parts.emplace_back(static_cast<const std::uint8_t*>(part.data), part.length);
        aad.push_back(parts.back().span());
    }
    const bool decrypt = m.direction == Direction::decrypt;
    const ReadyToClear ready(engine, m.direction, result.output_length);
    HostOutput output(engine, m.output.first, result.output_length, to, stays, decrypt);
    const auto tag_bytes = static_cast<std::size_t>(m.tag_length);
    Secret<Block> tag;
    if (decrypt) copy_memory(tag->data(), m.tag.first, tag_bytes, places.tag.device);
    ComposedMessage message{
        engine,   plan,          m.mode, m.direction, *m.key, r.mac_key, iv.span(), input.span().data(),
        m.length, output.data(), aad,    *tag,        device};
    const bool in_chunks = m.mode == Mode::siv || m.mode == Mode::gcm_siv;
    if (decrypt && in_chunks && device < 0 && to < 0 && m.length != 0) message.owners = &output.chunks_of(message);
    const auto written = m.mode == Mode::siv       ? crypt_siv(message)
                         : m.mode == Mode::gcm_siv ? crypt_gcm_siv(message)
                                                   : crypt_key_wrap(message);
    result.backend = stays ? engine.gpu().name() : plan.backend->name();
    result.device = device;
    if (!written) {
        constexpr Refusal wrong_check_value{
            WARPAES_ERROR_AUTHENTICATION,
            "input: the check value is wrong, so the key or the IV is wrong or the data was altered"};
        result.refusal = uses_tag(m.mode) ? wrong_tag : wrong_check_value;
        return;
    }
    result.output_length = *written;
    output.finish();
    if (!decrypt) copy_memory(m.tag.first, tag->data(), tag_bytes, places.tag.device);
}

}  // namespace warpaes

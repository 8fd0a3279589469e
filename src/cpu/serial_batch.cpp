#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "aes/cmac.hpp"
#include "backend/tag.hpp"
#include "cpu/batch.hpp"
#include "cpu/message_keys.hpp"

namespace warpaes::cpu {

namespace {

StreamKind kind_of(Mode mode) {
    switch (mode) {
    case Mode::cbc:
        return StreamKind::cbc;
    case Mode::cfb128:
        return StreamKind::cfb128;
    case Mode::ofb:
        return StreamKind::ofb;
    default:
        return StreamKind::mac;
    }
}

/// Messages up to this length stay in a core's private caches.
constexpr std::uint64_t near_bytes = 2048;

/// Number of lanes that a single message uses: those of a vector.
constexpr std::size_t single = 4;

/// Processes messages of the same kind and number of rounds on `Most` lanes until no message is left. With fewer than
/// SimdStreams::most lanes, only for a single message with a key handle.
template <std::size_t Most>
class Streams {
public:
    Streams(const SimdBatchKernels& kernels, StreamKind kind, int rounds)
        : kernels_(kernels),
          kind_(kind),
          rounds_(rounds),
          keyed_(kernels.keyed_vectors * kernels.lanes),
          window_(kernels) {}
    Streams(const Streams&) = delete;
    Streams& operator=(const Streams&) = delete;

    void run(std::span<const MessageGroup* const> groups) {
        groups_ = groups;
        const std::size_t lanes = std::min(streams_at_once(groups), Most);
        while (streams_ < lanes && start(streams_)) ++streams_;
        while (streams_ != 0) {
            const std::size_t steps = step();
            for (std::size_t s = 0; s < streams_; ++s) {
                left_[s] -= steps;
                inputs_[s] += 16 * steps;
                outputs_[s] += 16 * steps;
            }
            // In descending order, so that drop() never moves a finished stream.
            for (std::size_t s = streams_; s-- != 0;) {
                if (left_[s] == 0 && !go_on(s)) drop(s);
            }
        }
    }

private:
    struct Piece {
        const std::uint8_t* input;
        std::uint8_t* output;
        std::size_t blocks;
    };
    /// The message of a lane. Pieces of the message that are not whole blocks in the caller's memory are copied here.
    struct Message {
        const MessageGroup* group;
        std::uint64_t index;
        const std::uint8_t* keys;  ///< CCM: the round keys
        unsigned next, pieces;
        std::array<Piece, 6> piece;
        std::uint8_t head[128], aad_tail[16], tail[16];
        std::array<std::uint8_t, round_keys_bytes> own_keys;
    };

    /// Eight vectors keep the AES units busy. Streams that exceed the core's private caches, and short streams in a
    /// batch that is not in the caches, wait for memory instead. Half as many of these streams at a time are faster,
    /// because prefetched lines stay cached until they are used.
    [[nodiscard]] std::size_t streams_at_once(std::span<const MessageGroup* const> groups) const {
        const bool all_near = std::all_of(groups.begin(), groups.end(),
                                          [](const auto* g) { return g->length <= near_bytes && !g->beyond_caches; });
        const std::size_t most = SimdStreams::vectors * kernels_.lanes;
        return all_near ? most : std::max(most / 2, SimdStreams::vectors);
    }

    /// Processes as many blocks of every stream as the shortest current piece has, and returns the number of blocks.
    std::size_t step() {
        const std::size_t steps =
            std::min(*std::min_element(left_.begin(), left_.begin() + static_cast<std::ptrdiff_t>(streams_)),
                     sizeof idle_ / block_bytes);
        if (have_one_key(0, streams_)) {
            step(0, streams_, steps, true);
            return steps;
        }
        for (std::size_t first = 0; first < streams_; first += keyed_) {
            const std::size_t n = std::min(keyed_, streams_ - first);
            step(first, n, steps, have_one_key(first, n));
        }
        return steps;
    }

    /// Processes `steps` blocks of each of the streams [first, first + n).
    void step(std::size_t first, std::size_t n, std::size_t steps, bool one_key) {
        const std::size_t needed = (n + kernels_.lanes - 1) / kernels_.lanes;
        const std::size_t vectors = needed == 1 ? 1 : needed <= 4 ? 4 : 8;
        for (std::size_t s = n; s < vectors * kernels_.lanes; ++s) inputs_[first + s] = outputs_[first + s] = idle_;
        for (std::size_t s = first; !one_key && s < first + n; ++s) {
            if (!has_own_keys_[s]) set_own_keys(s, round_keys_of(*key_of_[s]), block_bytes);
        }
        kernels_.step_streams({.kind = kind_,
                               .rounds = rounds_,
                               .vectors_used = vectors,
                               .chains = chain(first),
                               .key = one_key ? round_keys_of(*key_of_[first]) : nullptr,
                               .keys = own_keys(first),
                               .inputs = &inputs_[first],
                               .outputs = &outputs_[first],
                               .steps = steps});
    }

    [[nodiscard]] bool have_one_key(std::size_t first, std::size_t n) const {
        const ExpandedKey* const key = key_of_[first];
        bool one = key != nullptr;
        for (std::size_t s = first; s < first + n; ++s) one &= key_of_[s] == key;
        return one;
    }

    [[nodiscard]] std::uint8_t* chain(std::size_t s) { return chains_ + block_bytes * s; }
    /// The first round key in the layout of SimdStreams::keys for the streams of one call; the other round keys follow
    /// at distances of `keyed_` blocks.
    [[nodiscard]] std::uint8_t* own_keys(std::size_t s) {
        return keys_ + block_bytes * (s / keyed_ * (max_rounds + 1) * keyed_ + s % keyed_);
    }
    void set_own_keys(std::size_t s, const std::uint8_t* round_keys, std::size_t distance) {
        has_own_keys_[s] = true;
        std::uint8_t* to = own_keys(s);
        for (int r = 0; r <= rounds_; ++r, to += block_bytes * keyed_, round_keys += distance) {
            std::memcpy(to, round_keys, block_bytes);
        }
    }

    /// Starts the next message that has blocks on lane `s`; returns false if no message is left.
    bool start(std::size_t s) {
        while (begin(s)) {
            if (is_plain_[s] || next_piece(s)) return true;
            finish(s, message(s));
        }
        return false;
    }

    /// Selects the next piece of the lane's message, or of the next message; returns false if no message is left.
    bool go_on(std::size_t s) {
        if (!is_plain_[s]) {
            if (next_piece(s)) return true;
            finish(s, message(s));
        }
        return start(s);
    }

    /// Starts the next message; returns false if no message is left.
    bool begin(std::size_t s) {
        for (;; ++group_, index_ = 0) {
            if (group_ == groups_.size()) return false;
            if (index_ < groups_[group_]->count) break;
        }
        const MessageGroup& g = *groups_[group_];
        if (index_ == 0) {
            constexpr std::size_t ahead = 8;
            if (group_ + ahead < groups_.size() && groups_[group_ + ahead]->key != nullptr) {
                groups_[group_ + ahead]->key->prefetch(g.mode, 0);
            }
            window_.take(g);
            plain_ = kind_ != StreamKind::mac && g.length != 0 && g.length <= near_bytes && g.length % block_bytes == 0;
        }
        const std::uint64_t index = index_++;
        is_plain_[s] = plain_;
        if (plain_) {
            set_keys(s, g, window_.encrypt(index));
            std::memcpy(chain(s), g.iv.at(index), block_bytes);
            inputs_[s] = g.input.at(index);
            outputs_[s] = g.output.at(index);
            left_[s] = static_cast<std::size_t>(g.length / block_bytes);
        } else {
            begin_pieces(s, g, index);
        }
        return true;
    }

    /// Not inlined, because its many temporaries would make short CCM messages take a tenth longer.
    [[gnu::noinline]] void begin_pieces(std::size_t s, const MessageGroup& g, std::uint64_t index) {
        Message& m = message(s);
        m.group = &g;
        m.index = index;
        m.next = m.pieces = 0;
        m.keys = window_.encrypt(index);
        set_keys(s, g, m.keys);
        if (g.mode == Mode::ccm) {
            if (g.key == nullptr) {
                std::memcpy(m.own_keys.data(), m.keys, m.own_keys.size());
                m.keys = m.own_keys.data();
            }
            begin_ccm(m);
        } else if (g.mode == Mode::cmac) {
            begin_cmac(m);
        } else {
            begin_stream(m);
        }
        if (kind_ == StreamKind::mac) {
            std::memset(chain(s), 0, block_bytes);
        } else {
            std::memcpy(chain(s), g.iv.at(index), block_bytes);
        }
    }

    /// Selects the next piece of the lane's message; returns false if the message has no piece left.
    bool next_piece(std::size_t s) {
        Message& m = message(s);
        if (m.next == m.pieces) return false;
        const Piece& piece = m.piece[m.next++];
        inputs_[s] = piece.input;
        outputs_[s] = piece.output;
        left_[s] = piece.blocks;
        return true;
    }

    /// Removes a stream and moves the last stream to its lane.
    void drop(std::size_t s) {
        const std::size_t last = --streams_;
        if (s == last) return;
        inputs_[s] = inputs_[last];
        outputs_[s] = outputs_[last];
        left_[s] = left_[last];
        key_of_[s] = key_of_[last];
        is_plain_[s] = is_plain_[last];
        std::swap(place_[s], place_[last]);
        std::memcpy(chain(s), chain(last), block_bytes);
        has_own_keys_[s] = has_own_keys_[last];
        if (has_own_keys_[s]) set_own_keys(s, own_keys(last), block_bytes * keyed_);
    }

    void set_keys(std::size_t s, const MessageGroup& g, const std::uint8_t* round_keys) {
        if (g.key == nullptr) {
            set_own_keys(s, round_keys, block_bytes);
        } else if (key_of_[s] != g.key) {
            has_own_keys_[s] = false;
        }
        key_of_[s] = g.key;
    }

    static void add_piece(Message& m, const std::uint8_t* input, std::uint8_t* output, std::uint64_t bytes) {
        if (bytes >= block_bytes) m.piece[m.pieces++] = {input, output, static_cast<std::size_t>(bytes / block_bytes)};
    }
    /// Splits a long text so that its main part begins at a cache line boundary of `aligned`: four blocks are processed
    /// at a time, and an access across two cache lines takes twice as long.
    static void add_text(Message& m, const std::uint8_t* input, std::uint8_t* output, std::uint64_t bytes,
                         const std::uint8_t* aligned) {
        constexpr std::uintptr_t line = 64;
        const std::uintptr_t first = (line - reinterpret_cast<std::uintptr_t>(aligned) % line) % line;
        const bool few = bytes <= near_bytes || first % block_bytes != 0;
        const std::uint64_t before = few ? 0 : first;
        add_piece(m, input, output, before);
        add_piece(m, input + before, output + before, bytes - before);
    }
    /// Adds less than a block, padded with zeros in the buffer `place`.
    static void add_part(Message& m, std::uint8_t* place, const std::uint8_t* input, std::uint64_t bytes) {
        if (bytes == 0) return;
        std::memset(place, 0, block_bytes);
        std::memcpy(place, input, static_cast<std::size_t>(bytes));
        m.piece[m.pieces++] = {place, place, 1};
    }

    static void begin_stream(Message& m) {
        const MessageGroup& g = *m.group;
        const std::uint64_t rest = g.length % block_bytes, whole = g.length - rest;
        const std::uint8_t* const input = g.input.at(m.index);
        std::uint8_t* const output = g.output.at(m.index);
        add_text(m, input, output, whole, output);
        add_part(m, m.tail, input + whole, rest);
    }

    void begin_cmac(Message& m) {
        const MessageGroup& g = *m.group;
        if (g.key == nullptr || g.key != subkeys_of_) {
            *subkeys_ = cmac_subkeys(*Secret<Block>(encrypted(m.keys, Block{})));
            subkeys_of_ = g.key;
        }
        const std::size_t rest = cmac_rest(g.length);
        const std::uint8_t* const input = g.input.at(m.index);
        add_text(m, input, idle_, g.length - rest, input);
        const std::span<const std::uint8_t> end(input + (g.length - rest), rest);
        const Secret<Block> last(cmac_last_block(*subkeys_, end));
        add_piece(m, static_cast<std::uint8_t*>(std::memcpy(m.tail, last->data(), block_bytes)), idle_, block_bytes);
    }

    void begin_ccm(Message& m) {
        const MessageGroup& g = *m.group;
        const std::span<const std::uint8_t> nonce(g.iv.at(m.index), g.iv_length);
        const CcmStart start(nonce, g.aad_length, g.length, g.tag_length);
        std::memcpy(m.head, start.head.data(), start.head_bytes);
        std::size_t used = start.head_bytes;
        const std::uint8_t* const aad = g.aad.at(m.index);
        const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(sizeof m.head - used, g.aad_length));
        if (n != 0) std::memcpy(m.head + used, aad, n);
        used += n;
        const std::size_t padding = (block_bytes - used % block_bytes) % block_bytes;
        std::memset(m.head + used, 0, padding);
        add_piece(m, m.head, idle_, used + padding);
        const std::uint64_t more = g.aad_length - n, more_rest = more % block_bytes;
        if (more != 0) {
            add_piece(m, aad + n, idle_, more);
            add_part(m, m.aad_tail, aad + n + (more - more_rest), more_rest);
        }
        const bool encrypts = g.direction == Direction::encrypt;
        if (!encrypts) ccm_counter_mode(m);
        const std::uint8_t* const text = encrypts ? g.input.at(m.index) : g.output.at(m.index);
        const std::uint64_t rest = g.length % block_bytes, whole = g.length - rest;
        add_text(m, text, idle_, whole, text);
        add_part(m, m.tail, text + whole, rest);
    }

    void finish(std::size_t s, Message& m) {
        const MessageGroup& g = *m.group;
        if (kind_ == StreamKind::mac) {
            Secret<Block> tag;
            std::memcpy(tag->data(), chain(s), block_bytes);
            if (g.mode == Mode::ccm) {
                *tag ^= encrypted(m.keys, ccm_counter0({g.iv.at(m.index), g.iv_length}));
                if (g.direction == Direction::encrypt) ccm_counter_mode(m);
            }
            settle_tag(g, m.index, *tag);
        } else if (const std::uint64_t rest = g.length % block_bytes; rest != 0) {
            std::memcpy(g.output.at(m.index) + (g.length - rest), m.tail, static_cast<std::size_t>(rest));
        }
    }

    void ccm_counter_mode(const Message& m) const {
        const MessageGroup& g = *m.group;
        if (g.length == 0) return;
        Block counter = ccm_counter0({g.iv.at(m.index), g.iv_length});
        counter[15] = 1;
        run_with(m.keys, Mode::ctr, counter, g.input.at(m.index), g.output.at(m.index), g.length);
    }

    [[nodiscard]] Block encrypted(const std::uint8_t* keys, const Block& block) const {
        Block out;
        run_with(keys, Mode::ecb, Block{}, block.data(), out.data(), block_bytes);
        return out;
    }

    void run_with(const std::uint8_t* keys, Mode mode, const Block& chain, const std::uint8_t* input,
                  std::uint8_t* output, std::uint64_t length) const {
        kernels_.run({.mode = mode,
                      .direction = Direction::encrypt,
                      .rounds = rounds_,
                      .keys = keys,
                      .input = input,
                      .output = output,
                      .length = static_cast<std::size_t>(length),
                      .chain = chain.data()});
    }

    [[nodiscard]] Message& message(std::size_t s) { return messages_[place_[s]]; }

    const SimdBatchKernels& kernels_;
    StreamKind kind_;
    int rounds_;
    std::size_t keyed_;  ///< maximum number of streams with different keys in one call
    std::span<const MessageGroup* const> groups_;
    std::size_t group_ = 0;  ///< together with index_, the next message to start
    std::uint64_t index_ = 0;
    bool plain_ = false;  ///< is_plain_ for the messages of this group
    MessageKeys window_;
    const ExpandedKey* subkeys_of_ = nullptr;
    Secret<CmacSubkeys> subkeys_;

    std::size_t streams_ = 0;
    std::array<const std::uint8_t*, Most> inputs_;
    std::array<std::uint8_t*, Most> outputs_;
    std::array<std::size_t, Most> left_;
    std::array<const ExpandedKey*, Most> key_of_{};  ///< null: the message has its own key
    /// Whether keys_ holds the stream's keys. They are copied only if the streams of a call have different keys.
    std::array<bool, Most> has_own_keys_{};
    std::array<bool, Most> is_plain_{};  ///< a short message of whole blocks, without a Message
    std::array<std::uint8_t, Most> place_ = in_order();
    alignas(64) std::uint8_t chains_[Most * block_bytes];
    alignas(64) std::uint8_t keys_[Most == SimdStreams::most ? (max_rounds + 1) * Most * block_bytes : block_bytes];
    alignas(64) std::uint8_t idle_[4096];  ///< memory for lanes without a message, and for unused output
    std::array<Message, Most> messages_;

    static std::array<std::uint8_t, Most> in_order() {
        std::array<std::uint8_t, Most> places{};
        for (std::size_t s = 0; s < places.size(); ++s) places[s] = static_cast<std::uint8_t>(s);
        return places;
    }
};

}  // namespace

bool is_stream(Mode mode, Direction direction) {
    switch (mode) {
    case Mode::cbc:
    case Mode::cfb128:
        return direction == Direction::encrypt;
    case Mode::ofb:
    case Mode::ccm:
    case Mode::cmac:
        return true;
    default:
        return false;
    }
}

void run_serial(const SimdBatchKernels& kernels, std::span<const MessageGroup* const> groups) {
    constexpr std::size_t of_a_kernel = 12288;  // room for the texts that a kernel keeps on its stack
    const auto batch_of = [](const MessageGroup& g) {
        return 3 * static_cast<unsigned>(kind_of(g.mode)) + static_cast<unsigned>(g.rounds() - 10) / 2;
    };
    std::array<std::vector<const MessageGroup*>, 12> batches;
    for (const MessageGroup* g : groups) batches[batch_of(*g)].push_back(g);
    for (const auto& batch : batches) {
        if (batch.empty()) continue;
        note_stack_depth(of_a_kernel);
        const MessageGroup& first = *batch.front();
        const StreamKind kind = kind_of(first.mode);
        if (batch.size() == 1 && first.count == 1 && first.key != nullptr) {
            Streams<single>(kernels, kind, first.rounds()).run(batch);
        } else {
            using All = Streams<SimdStreams::most>;  // too large for the stacks of small threads
            std::allocate_shared<All>(WipingAllocator<All>(), kernels, kind, first.rounds())->run(batch);
        }
    }
}

}  // namespace warpaes::cpu

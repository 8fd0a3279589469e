// Tests batches of the C ABI that use offsets into an arena, with arbitrary numbers in the entries. Accepted entries
// write only to their outputs. They produce the same bytes as libcrypto does for each entry.
#include <sanitizer/asan_interface.h>

#include <cstring>

#include "handles.hpp"
#include "sleeping_workers.hpp"

namespace {

using namespace fuzz;

constexpr std::size_t arena_bytes = 2048;

struct ArenaDestroy {
    void operator()(warpaes_arena* arena) const { warpaes_arena_destroy(arena); }
};
using Arena = std::unique_ptr<warpaes_arena, ArenaDestroy>;

Arena make_arena(warpaes_engine* engine) {
    warpaes_arena* arena = nullptr;
    expect_ok(warpaes_arena_create(engine, WARPAES_MEMORY_PAGE_LOCKED, 0, arena_bytes, &arena), "an arena");
    // The allocation covers the whole page.
    ASAN_POISON_MEMORY_REGION(static_cast<std::uint8_t*>(warpaes_arena_data(arena)) + arena_bytes, 4096 - arena_bytes);
    return Arena(arena);
}

std::uint8_t* data_of(const Arena& arena) {
    return static_cast<std::uint8_t*>(warpaes_arena_data(arena.get()));
}

Bytes contents(const Arena& arena) {
    return {data_of(arena), data_of(arena) + arena_bytes};
}

/// One engine per process, with its arena.
struct Place {
    Engine engine;
    Arena arena;

    explicit Place(Engine made) : engine(std::move(made)), arena(make_arena(engine.get())) {}
};

Engine make_reference() {
    warpaes_engine_options options = WARPAES_ENGINE_OPTIONS_INIT;
    options.backend = "libcrypto";
    options.threads = 1;
    warpaes_engine* made = nullptr;
    expect_ok(warpaes_engine_create(&options, &made), "an engine");
    return Engine(made);
}

class Places {
public:
    Places() : reference_(make_reference()) {
        for (std::vector<Place>* places : {&asleep_, &awake_}) {
            for (Engine& engine : make_engines()) places->emplace_back(std::move(engine));
        }
        put_workers_to_sleep(reference_.engine.get(), 1);
        for (const Place& place : asleep_) put_workers_to_sleep(place.engine.get(), 1);
    }
    ~Places() { wake_workers(); }
    Places(const Places&) = delete;
    Places& operator=(const Places&) = delete;

    /// Returns an engine of one backend. The workers of some of these engines are awake.
    [[nodiscard]] const Place& any(Input& in) const {
        const std::size_t which = in.byte();
        return (which < 0xf0 ? asleep_ : awake_)[which % asleep_.size()];
    }
    /// Returns the second engine, which processes the entries one by one.
    [[nodiscard]] const Place& reference() const { return reference_; }

private:
    Place reference_;
    std::vector<Place> asleep_, awake_;
};

const warpaes_key* any_key(Input& in) {
    static const Key keys[] = {make_key(Bytes(16, 1)), make_key(Bytes(16, 2)), make_key(Bytes(24, 3)),
                               make_key(Bytes(32, 4)), make_key(Bytes(32, 5))};
    return in.pick(keys).get();
}

warpaes_elements any_elements(Input& in, std::uint64_t bytes) {
    warpaes_elements e{};
    e.at.offset = in.below(16) == 0 ? in.number() : in.below(arena_bytes);
    e.stride = in.below(4) == 0 ? in.below(64) : bytes + (in.flag() ? in.below(64) : 0);
    return e;
}

warpaes_batch_entry any_entry(Input& in) {
    warpaes_batch_entry e{};
    e.mode = static_cast<warpaes_mode>(in.below(32) == 0 ? in.byte() : 1 + in.below(11));
    e.direction = static_cast<warpaes_direction>(in.below(32) == 0 ? in.byte() : 1 + in.below(2));
    e.count = in.below(8);
    e.length = in.flag() ? 16 * in.below(6) : in.below(100);
    const std::uint64_t bytes = e.mode == WARPAES_CFB1 ? (e.length + 7) / 8 : e.length;
    const bool aead = e.mode == WARPAES_GCM || e.mode == WARPAES_CCM;
    e.iv_len = in.below(16) == 0 ? in.byte() : aead ? 12 : e.mode == WARPAES_ECB || e.mode == WARPAES_CMAC ? 0 : 16;
    e.tag_len = in.below(16) == 0 ? in.byte() : aead || e.mode == WARPAES_CMAC ? 16 : 0;
    e.aad_len = aead ? in.below(3) * in.below(40) : 0;
    if (in.below(4) != 0) e.key = any_key(in);
    e.key_len = in.below(32) == 0 ? in.byte() : e.key == nullptr ? 16 : 0;
    if (e.mode == WARPAES_XTS) {
        e.tweak_key = any_key(in);
        e.data_unit_len = in.flag() ? 0 : in.below(64);
    }
    e.input = any_elements(in, bytes);
    e.output = in.below(3) == 0 ? e.input : any_elements(in, bytes);
    e.iv = any_elements(in, e.iv_len);
    e.aad = any_elements(in, e.aad_len);
    e.tag = any_elements(in, e.tag_len);
    e.keys = any_elements(in, e.key_len);
    if (in.below(64) == 0) e.length = in.number();
    // Huge counts are used only with messages that do not all fit in the arena. Otherwise, the run would not end.
    if (in.below(32) == 0 && e.length != 0) {
        e.count = in.number();
        e.input.stride = in.number() | 1;
    }
    return e;
}

std::vector<warpaes_entry_result> run(const Place& place, const warpaes_batch_entry* entries, std::size_t count,
                                      std::uint32_t flags) {
    warpaes_batch_options options = WARPAES_BATCH_OPTIONS_INIT;
    options.flags = WARPAES_BATCH_OFFSETS | flags;
    options.arena = place.arena.get();
    std::vector<warpaes_entry_result> results(count);
    options.results = results.data();
    warpaes_batch* batch = nullptr;
    expect_ok(warpaes_batch_submit(place.engine.get(), &options, entries, count, &batch), "submitting");
    (void)warpaes_batch_wait(batch, WARPAES_UNKNOWN);
    for (std::size_t i = 0; i < count; ++i) {
        const bool silent = *warpaes_batch_entry_error(batch, i) == '\0';
        require(silent == (results[i].status == WARPAES_OK),
                "an error without a message, or a message without an error");
    }
    warpaes_batch_destroy(batch);
    return results;
}

/// Records which entries write and read each byte of the arena.
class Use {
public:
    void add(const warpaes_batch_entry& e) {
        const std::uint64_t bytes = e.mode == WARPAES_CFB1 ? (e.length + 7) / 8 : e.length;
        ++entries_;
        if (e.mode != WARPAES_CMAC) mark(writers_, e.output, e.count, bytes);
        mark(e.direction == WARPAES_ENCRYPT ? writers_ : readers_, e.tag, e.count, e.tag_len);
        mark(readers_, e.input, e.count, bytes);
        mark(readers_, e.iv, e.count, e.iv_len);
        mark(readers_, e.aad, e.count, e.aad_len);
        if (e.key == nullptr) mark(readers_, e.keys, e.count, e.key_len);
    }
    [[nodiscard]] bool is_written(std::size_t at) const { return writers_[at] != 0; }
    /// Returns whether a byte has two writers, or has a reader other than its writer.
    [[nodiscard]] bool depends_on_order() const {
        for (std::size_t i = 0; i < arena_bytes; ++i) {
            if (writers_[i] == several) return true;
            if (writers_[i] != 0 && readers_[i] != 0 && readers_[i] != writers_[i]) return true;
        }
        return false;
    }

private:
    static constexpr int several = -1;
    using Map = std::vector<int>;
    void mark(Map& map, const warpaes_elements& e, std::uint64_t count, std::uint64_t bytes) const {
        for (std::uint64_t i = 0; bytes != 0 && i < count; ++i) {
            for (std::uint64_t b = 0; b < bytes; ++b) {
                int& by = map.at(static_cast<std::size_t>(e.at.offset + i * e.stride + b));
                by = by == 0 || by == entries_ ? entries_ : several;
            }
        }
    }
    Map writers_ = Map(arena_bytes), readers_ = Map(arena_bytes);
    int entries_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Places places;
    Input in(data, size);
    const Place& place = places.any(in);
    const std::uint32_t flags = in.flag() ? WARPAES_BATCH_CHECK_NONCES : 0;
    std::vector<warpaes_batch_entry> entries(1 + in.below(5));
    for (auto& e : entries) e = any_entry(in);

    const Arena &arena = place.arena, &other = places.reference().arena;
    for (std::size_t i = 0; i < arena_bytes; ++i) data_of(arena)[i] = static_cast<std::uint8_t>(i * i + i / 7);
    std::memcpy(data_of(other), data_of(arena), arena_bytes);
    const Bytes before = contents(arena);

    const auto results = run(place, entries.data(), entries.size(), flags);
    const Bytes after = contents(arena);

    Use use;
    const auto done = [&](std::size_t i) {
        return results[i].status == WARPAES_OK || results[i].status == WARPAES_ERROR_AUTHENTICATION;
    };
    for (std::size_t i = 0; i < entries.size(); ++i) {
        if (done(i)) use.add(entries[i]);
    }
    for (std::size_t i = 0; i < arena_bytes; ++i) {
        require(before[i] == after[i] || use.is_written(i), "a byte outside all outputs was written");
    }
    if (use.depends_on_order()) return 0;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        if (!done(i)) continue;
        const auto alone = run(places.reference(), &entries[i], 1, 0);
        require(alone[0].status == results[i].status && alone[0].failures == results[i].failures,
                "libcrypto's status differs");
    }
    require(contents(other) == after, "libcrypto's output differs");
    return 0;
}

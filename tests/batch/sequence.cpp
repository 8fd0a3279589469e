#include "sequence.hpp"

#include <algorithm>
#include <sstream>

#include "evp_oracle.hpp"

namespace warpaes::test {

namespace {

using oracle::Bytes;

constexpr std::size_t key_lengths[] = {16, 24, 32};

/// Compares the status of a single message with the expected status. Returns "" or the difference, which the case also
/// records.
std::string settle(const MessageGroup& g, warpaes_status status, std::uint64_t false_messages) {
    if (status == WARPAES_ERROR_AUTHENTICATION && g.failed != nullptr) g.failed[0] = 1;
    const warpaes_status expected = false_messages != 0 ? WARPAES_ERROR_AUTHENTICATION : WARPAES_OK;
    if (status == expected) return "";
    return "status " + std::to_string(status) + ": " + warpaes_last_error() + "; ";
}

std::string described(const char* what, std::span<const GroupSpec> specs, const std::string& wrong) {
    if (wrong.empty()) return "";
    std::ostringstream out;
    out << what << " of\n";
    for (const GroupSpec& spec : specs) out << "  " << spec << "\n";
    out << wrong;
    return out.str();
}

}  // namespace

Sequence::Sequence(warpaes_engine* engine, Random random, std::uint32_t seed, const Limits& limits, BatchMemory* device)
    : engine_(engine), random_(std::move(random)), seed_(seed), limits_(limits), device_(device), pool_(seed) {}

std::string Sequence::step() {
    switch (random_.below(32)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
        keys();
        return "";
    case 5:
    case 6:
    case 7:
    case 8:
    case 9:
    case 10:
        return message();
    case 11:
    case 12:
    case 13:
    case 14:
        return context();
    case 15:
        if (warpaes_engine_flush_keys(engine_) != WARPAES_OK) return warpaes_last_error();
        return "";
    default:
        return batch();
    }
}

GroupSpec Sequence::any_group(Mode mode) {
    const auto direction = random_.chance(50) ? Direction::encrypt : Direction::decrypt;
    GroupSpec spec = allowed(random_group(random_, mode, direction, limits_));
    spec.key = static_cast<unsigned>(random_.below(KeyPool::keys_each));
    return spec;
}

/// Returns the shape of one message under a key with a handle.
GroupSpec Sequence::any_single(Mode mode) {
    GroupSpec spec = any_group(mode);
    spec.count = 1;
    spec.raw_keys = false;
    spec.null_if_empty = false;
    if (mode == Mode::xts) spec.length = std::max<std::uint64_t>(spec.length, 16);
    return spec;
}

BatchMemory& Sequence::any_memory() {
    return device_ != nullptr && random_.chance(40) ? *device_ : guarded_memory();
}

std::string Sequence::batch() {
    std::vector<GroupSpec> specs;
    // Keys are in a table only if several groups differ only in their keys.
    const auto any_mode = [&] { return batch_modes()[random_.below(batch_modes().size())]; };
    const bool alike = random_.chance(50);
    const Mode one = any_mode();
    for (std::uint64_t n = 1 + random_.below(6); n != 0; --n) {
        GroupSpec& spec = specs.emplace_back(any_group(alike ? one : any_mode()));
        if (alike && random_.chance(80)) spec.key_bytes = specs.front().key_bytes;
    }
    BatchMemory& memory = any_memory();
    const BatchCase cases(specs, ++seed_, memory, memory, pool_);
    AbiEntries entries(cases, handles_);
    return described("batch", specs, complaints_of_entries(engine_, cases, entries));
}

std::string Sequence::message() {
    const GroupSpec spec = any_single(batch_modes()[random_.below(batch_modes().size())]);
    const BatchCase cases({&spec, 1}, ++seed_, any_memory(), guarded_memory(), pool_);
    const MessageGroup& g = cases.groups()[0];
    const warpaes_message m = message_of(g, handles_);
    const std::string wrong = settle(g, warpaes_crypt(engine_, &m, nullptr), cases.false_messages(0));
    return described("message", {&spec, 1}, wrong + cases.complaints());
}

std::string Sequence::context() {
    GroupSpec spec = any_single(batch_modes()[random_.below(batch_modes().size())]);
    if (spec.mode == Mode::cfb1) spec.length = spec.length / 8 * 8;
    BatchMemory& text = any_memory();
    const BatchCase cases({&spec, 1}, ++seed_, text, guarded_memory(), pool_);
    const MessageGroup& g = cases.groups()[0];
    if (context_ == nullptr) {
        warpaes_context* made = nullptr;
        if (warpaes_context_create(engine_, &made) != WARPAES_OK) return warpaes_last_error();
        context_.reset(made);
    }
    warpaes_context_options options = WARPAES_CONTEXT_OPTIONS_INIT;
    options.mode = static_cast<warpaes_mode>(g.mode);
    options.direction = static_cast<warpaes_direction>(g.direction);
    options.key = handles_.of(*g.key);
    options.iv = g.iv.first;
    options.iv_len = g.iv_length;
    if (g.tweak_key != nullptr) options.tweak_key = handles_.of(*g.tweak_key);
    options.data_unit_len = g.data_units.bytes;
    options.data_unit_step = g.mode == Mode::xts ? g.data_units.step : 0;
    if (g.mode == Mode::ccm) {
        options.text_len = g.length;
        options.aad_len = g.aad_length;
        options.tag_len = g.tag_length;
    }
    if (warpaes_context_init(context_.get(), &options) != WARPAES_OK) {
        return described("context", {&spec, 1}, warpaes_last_error());
    }
    std::string wrong = pieces(g, text, cases.false_messages(0));
    if (!spec.in_place && random_.chance(30)) {
        if (warpaes_context_set_iv(context_.get(), g.iv.first, g.iv_length) != WARPAES_OK) wrong += "set_iv; ";
        wrong += pieces(g, text, cases.false_messages(0));
    }
    return described("context", {&spec, 1}, wrong + cases.complaints());
}

/// Passes the message to the context, which has started it, in pieces.
std::string Sequence::pieces(const MessageGroup& g, BatchMemory& text, std::uint64_t false_messages) {
    warpaes_context* const c = context_.get();
    std::string wrong;
    const auto expect_ok = [&](const char* what, warpaes_status status) {
        if (status != WARPAES_OK) wrong += std::string(what) + ": " + warpaes_last_error() + "; ";
    };
    const bool encrypts = g.direction == Direction::encrypt, has_tag = uses_tag(g.mode);
    if (g.aad_length != 0) {
        const std::uint64_t first = random_.below(g.aad_length + 1);
        expect_ok("aad", warpaes_context_aad(c, g.aad.first, first));
        expect_ok("aad", warpaes_context_aad(c, g.aad.first + first, g.aad_length - first));
    }
    if (has_tag && !encrypts) expect_ok("set_tag", warpaes_context_set_tag(c, g.tag.first, g.tag_length));
    const std::uint64_t bytes = g.length;
    const bool in_place = g.input.first == g.output.first;
    std::uint64_t unit = in_place ? block_bytes : 1;
    if (g.mode == Mode::xts && (in_place || g.data_units.bytes == 0))
        unit = g.data_units.bytes != 0 ? g.data_units.bytes : bytes;
    std::uint64_t read = 0, written = 0;
    while (read < bytes && wrong.empty()) {
        const std::uint64_t n = std::min(bytes - read, unit * (1 + random_.below(200)));
        std::size_t now = 0;
        expect_ok("update",
                  warpaes_context_update(c, g.input.first + read, n, g.output.first + written, bytes - written, &now));
        read += n;
        written += now;
    }
    std::size_t now = 0;
    wrong += settle(g, warpaes_context_final(c, g.output.first + written, bytes - written, &now), false_messages);
    // Only the caller knows where the pieces are, so it wipes them.
    if (false_messages != 0 && bytes != 0 && g.mode != Mode::cmac) text.write(g.output.first, Bytes(bytes));
    if (has_tag && encrypts) expect_ok("get_tag", warpaes_context_get_tag(c, g.tag.first, g.tag_length));
    return wrong;
}

std::string Sequence::flood(std::uint32_t keys) {
    constexpr std::uint32_t at_once = 500;  // so few that a batch uses the tables
    constexpr std::size_t key_bytes = 16, bytes = 2 * block_bytes;
    std::mt19937 generator(++seed_);
    Random contents(generator);
    std::vector<AbiKey> handles;
    for (std::uint32_t done = 0; done < keys; done += at_once) {
        Bytes texts = contents.bytes(at_once * bytes), raw = contents.bytes(at_once * key_bytes);
        Bytes outputs(2 * texts.size());
        std::vector<warpaes_batch_entry> entries;
        for (const bool with_handle : {true, false}) {
            for (std::uint32_t i = 0; i < at_once; ++i) {
                warpaes_batch_entry& e = entries.emplace_back();
                e.mode = WARPAES_ECB;
                e.direction = WARPAES_ENCRYPT;
                e.count = 2;
                e.length = e.input.stride = e.output.stride = block_bytes;
                e.input.at.pointer = texts.data() + i * bytes;
                e.output.at.pointer = outputs.data() + (with_handle ? 0 : texts.size()) + i * bytes;
                e.keys.at.pointer = raw.data() + i * key_bytes;
                e.key_len = key_bytes;
                if (with_handle) {
                    e.key = handles.emplace_back(make_key(std::span(raw).subspan(i * key_bytes, key_bytes))).get();
                    e.keys = {};
                    e.key_len = 0;
                }
            }
        }
        warpaes_batch* handle = nullptr;
        if (warpaes_batch_submit(engine_, nullptr, entries.data(), entries.size(), &handle) != WARPAES_OK) {
            return warpaes_last_error();
        }
        const AbiBatchHandle batch(handle);
        if (warpaes_batch_wait(handle, WARPAES_UNKNOWN) != WARPAES_OK) return warpaes_last_error();
        Bytes expected;
        for (std::uint32_t i = 0; i < at_once; ++i) {
            const auto text = texts.begin() + i * bytes, key = raw.begin() + i * key_bytes;
            const Bytes one = *oracle::evp("ECB", true, {key, key + key_bytes}, {}, {text, text + bytes});
            expected.insert(expected.end(), one.begin(), one.end());
        }
        expected.insert(expected.end(), expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(texts.size()));
        if (outputs != expected) return "keys " + std::to_string(done) + " and after: wrong";
    }
    return "";
}

void Sequence::keys() {
    const std::size_t length = key_lengths[random_.below(std::size(key_lengths))];
    const auto number = static_cast<unsigned>(random_.below(KeyPool::keys_each));
    handles_.destroy(pool_.key(length, number));
    const std::uint64_t what = random_.below(3);
    QuickGenerator generator(++seed_);
    if (what == 0) pool_.renew(length, number, generator);
    if (what == 1) pool_.make_again(length, number);
}

}  // namespace warpaes::test

#include "own_keyset.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/descriptor.hpp"
#include "foreign_file.hpp"
#include "interrupt.hpp"
#include "places/content.hpp"
#include "templates.hpp"

namespace cli {

using warpaes::Descriptor;

namespace {

constexpr std::size_t digits = 6, first_line = own_mark.size() + digits + 1;
constexpr std::size_t page = 4096, most_front = std::size_t{64} << 10, most_slots = 16;
/// The limit for the sum of 128 n r p bytes over all slots of a front. It equals the library's limit for one keyset.
constexpr std::uint64_t most_work = std::uint64_t{8} << 30;
constexpr std::size_t most_kept = 1024;

std::string_view rest_of(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(' ');
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

void read_all(const std::string& what, int fd, char* at, std::size_t length) {
    while (length != 0) {
        const ssize_t n = read_or_interrupted(fd, at, length);
        if (n < 0 && errno == EINTR) throw Failure(WARPAES_ERROR_CANCELLED, what + ": interrupted");
        if (n < 0) throw Failure(WARPAES_ERROR_READ, fmt::format("{}: cannot read: {}", what, std::strerror(errno)));
        if (n == 0) throw Failure(WARPAES_ERROR_FORMAT, what + ": ends inside the keyset at its start");
        at += n;
        length -= static_cast<std::size_t>(n);
    }
}

/// Fills `slots` from `text`. Lines that are not encrypted keysets are skipped, because an interrupted change leaves
/// such a line.
void find_slots(const std::string& what, Front& front) {
    std::uint64_t work = 0;
    for (std::size_t at = first_line; at < front.text.size();) {
        const std::size_t end = std::min(front.text.find('\n', at), front.text.size());
        const std::string_view line = std::string_view(front.text).substr(at, end - at), json = rest_of(line);
        const std::size_t begin = at + (json.empty() ? 0 : static_cast<std::size_t>(json.data() - line.data()));
        at = end + 1;
        if (json.empty()) continue;
        Front::Slot slot{.at = begin, .json = std::string(json)};
        const warpaes_status status = warpaes_keyset_peek(json.data(), json.size(), &slot.cost, nullptr);
        if (status != WARPAES_OK) {
            // A keyset whose cost exceeds the limits is refused, not skipped. The incomplete line that an interrupted
            // change leaves lacks closing braces.
            const bool whole = json.back() == '}' && std::ranges::count(json, '{') == std::ranges::count(json, '}');
            if (!whole || !warpaes::places::is_encrypted(json)) continue;
            throw Failure(status,
                          fmt::format("{}: the keyset at its start is invalid: {}", what, warpaes_last_error()));
        }
        if (slot.has_passphrase()) work += 128 * slot.cost.n * slot.cost.r * slot.cost.p;
        front.slots.push_back(std::move(slot));
        if (front.slots.size() > most_slots) {
            throw Failure(
                WARPAES_ERROR_FORMAT,
                fmt::format("{}: more than {} keysets at its start, so the file was altered", what, most_slots));
        }
    }
    if (work > most_work) {
        throw Failure(WARPAES_ERROR_KEYSET,
                      fmt::format("{}: testing a passphrase would require {} MiB of memory, but the limit is {} MiB",
                                  what, work >> 20, most_work >> 20));
    }
    if (front.slots.empty()) {
        throw Failure(WARPAES_ERROR_FORMAT, what + ": no encrypted keyset at its start, so the file was altered");
    }
}

std::string one_line_json(const SecretText& text) {
    return nlohmann::json::parse(text.view()).dump();
}

std::string build(const std::vector<std::string>& slots) {
    std::size_t used = first_line, longest = 0;
    for (const std::string& slot : slots) {
        used += slot.size() + 1;
        longest = std::max(longest, slot.size() + 64);  // room for a new passphrase, whose cost may have more digits
    }
    const std::size_t size = (used + longest + 1 + page - 1) / page * page;
    if (size > most_front || slots.size() > most_slots) {
        throw UsageError(
            fmt::format("--to: a file can contain at most {} encrypted keysets, {} bytes in total; give fewer keys",
                        most_slots, most_front));
    }
    std::string text = fmt::format("{}{:0{}}\n", own_mark, size, digits);
    for (const std::string& slot : slots) text += slot + "\n";
    text.resize(size - 1, ' ');
    return text + "\n";
}

}  // namespace

bool has_own_keyset(const std::string& path) {
    if (!can_be_read_again(path)) return false;
    const Descriptor file(path.c_str(), O_RDONLY);
    char begin[own_mark.size()];
    return file.get() >= 0 && ::pread(file.get(), begin, sizeof begin, 0) == static_cast<ssize_t>(sizeof begin) &&
           std::string_view(begin, sizeof begin) == own_mark;
}

Front read_front(const std::string& what, int fd, const std::string& option) {
    Front front;
    front.text.resize(first_line);
    try {
        read_all(what, fd, front.text.data(), own_mark.size());
    } catch (const Failure& failure) {
        if (failure.status() != WARPAES_ERROR_FORMAT) throw;
    }
    if (!front.text.starts_with(own_mark)) {
        throw Failure(WARPAES_ERROR_FORMAT,
                      fmt::format("{}: does not begin with its own keyset, which {} requires; another file may have "
                                  "replaced yours. For a file under a separate keyset, give -k KEYSET",
                                  what, option));
    }
    read_all(what, fd, front.text.data() + own_mark.size(), digits + 1);
    std::size_t size = 0;
    const char* end = front.text.data() + first_line - 1;
    const auto [at, error] = std::from_chars(front.text.data() + own_mark.size(), end, size);
    if (error != std::errc() || at != end || *end != '\n' || size % page != 0 || size == 0 || size > most_front) {
        throw Failure(WARPAES_ERROR_FORMAT, what + ": the first line has no valid length, so the file was altered");
    }
    front.text.resize(size);
    read_all(what, fd, front.text.data() + first_line, size - first_line);
    find_slots(what, front);
    return front;
}

std::string OwnKeysets::option() const {
    if (options_.passphrase_from) return options_.passphrase_option;
    if (options_.kek.place) return options_.kek.option;
    return options_.asks ? "--passphrase" : "a command without -k or WARPAES_KEYSET";
}

std::shared_ptr<const Keys> OwnKeysets::open(const std::string& what, const Front& front) {
    const std::lock_guard lock(mutex_);
    for (const Front::Slot& slot : front.slots) {
        const auto known = opened_.find(slot.json);
        if (known != opened_.end()) return known->second;
    }
    const bool by_kek = options_.kek.place.has_value();
    const bool by_passphrase = options_.asks || options_.passphrase_from;
    std::optional<Failure> refusal;
    for (const Front::Slot& slot : front.slots) {
        if (slot.has_passphrase() ? by_kek && !by_passphrase : !by_kek) continue;
        try {
            return open_slot(what, slot);
        } catch (const Failure& failure) {
            if (failure.status() != WARPAES_ERROR_AUTHENTICATION) throw;
            refusal = failure;
        }
    }
    if (refusal) throw *refusal;
    throw Failure(
        WARPAES_ERROR_KEYSET,
        by_passphrase || by_kek
            ? fmt::format("{}: its own keyset is not encrypted under a {}; give {}", what,
                          by_passphrase ? "passphrase" : "key-encryption key",
                          by_passphrase ? "--kek PLACE" : "--passphrase")
            : fmt::format("{}: its own keyset is encrypted under a key-encryption key; give --kek PLACE", what));
}

std::shared_ptr<const Keys> OwnKeysets::open_slot(const std::string& what, const Front::Slot& slot) {
    auto& passphrase = *options_.passphrase;
    if (slot.has_passphrase() && !passphrase) {
        passphrase =
            take_passphrase(options_.passphrase_option, options_.passphrase_from, "Passphrase of " + what, false);
    }
    if (opened_.size() >= most_kept) opened_.clear();
    return opened_[slot.json] = std::make_shared<const Keys>(unwrap_keyset(what, slot.json, options_));
}

NewOwnKeyset make_own_keyset(const KeyOptions& options, const std::vector<std::string>& to,
                             std::optional<double> seconds) {
    const std::string format = options.template_name.value_or(default_template());
    refuse_unknown_template(format);
    if (is_raw_only(format))
        throw UsageError(fmt::format("--template: {} uses raw keys, which keysets cannot contain", format));
    std::vector<KekOptions> keks;
    if (options.kek.place) keks.push_back(options.kek);
    for (const std::string& place : to) {
        KekOptions kek;
        kek.option = "--to";
        kek.place = place;
        kek.aad = options.kek.aad;
        keks.push_back(kek);
    }
    const bool under_passphrase = options.asks || options.passphrase_from;
    if (!under_passphrase && seconds) {
        throw UsageError("--passphrase-seconds: applies only to a new passphrase; omit it");
    }
    if (!under_passphrase && keks.empty()) {
        throw UsageError(
            "'own:': requires a passphrase or a key for the keyset in the file; give --passphrase, or --to with the "
            "place "
            "of a key-encryption key");
    }
    warpaes_keyset* made = nullptr;
    check(warpaes_keyset_create(&made));
    NewOwnKeyset own{{Keyset(made)}, {}};
    check(warpaes_keyset_add(made, format.c_str(), nullptr));
    std::vector<std::string> slots;
    if (under_passphrase) {
        Lock lock;
        lock.passphrase =
            take_passphrase(options.passphrase_option, options.passphrase_from, "New passphrase of the files", true);
        check(warpaes_scrypt_choose(seconds.value_or(1), &lock.cost));
        slots.push_back(one_line_json(keyset_text(made, lock)));
    }
    for (const KekOptions& kek : keks) slots.push_back(one_line_json(keyset_text(made, Lock{.kek = kek.take()})));
    own.front = build(slots);
    return own;
}

namespace {

void write_at(const std::string& what, int fd, std::size_t at, std::string_view text) {
    while (!text.empty()) {
        const ssize_t n = ::pwrite(fd, text.data(), text.size(), static_cast<off_t>(at));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) throw Failure(WARPAES_ERROR_WRITE, fmt::format("{}: cannot write: {}", what, std::strerror(errno)));
        at += static_cast<std::size_t>(n);
        text.remove_prefix(static_cast<std::size_t>(n));
    }
    if (::fdatasync(fd) != 0) {
        throw Failure(WARPAES_ERROR_WRITE, fmt::format("{}: cannot sync: {}", what, std::strerror(errno)));
    }
}

/// Returns a position at the beginning of a line where `length` bytes and a line feed fit in place of spaces and empty
/// lines.
std::optional<std::size_t> free_room(const Front& front, std::size_t length) {
    const std::string& text = front.text;
    for (std::size_t at = first_line; at < text.size(); ++at) {
        if (text[at - 1] != '\n') continue;
        std::size_t end = text.find_first_not_of(" \n", at);
        if (end == std::string::npos) end = text.size();
        // The additional byte is the line feed that ends the new line.
        if (end - at >= length + 1) return at;
    }
    return std::nullopt;
}

}  // namespace

void change_own_passphrase(const std::string& path, const KeyOptions& options, const NewPassphrase& passphrase) {
    const std::string what = fmt::format("'{}'", path);
    const Descriptor file(path.c_str(), O_RDWR);
    if (file.get() < 0) {
        throw Failure(WARPAES_ERROR_NOT_FOUND, fmt::format("cannot open {}: {}", what, std::strerror(errno)));
    }
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
        throw Failure(WARPAES_ERROR_STATE, what + ": another process is changing its passphrase; try again");
    }
    const Front front = read_front(what, file.get(), "`warpaes keys passphrase`");
    KeyOptions how = options;
    if (!how.kek.place) how.asks = !how.passphrase_from;
    const auto is_opened_by = [&](const Front::Slot& slot) { return slot.has_passphrase() == !how.kek.place; };
    std::shared_ptr<const Keys> keys;
    const Front::Slot* old = nullptr;
    OwnKeysets opener(how);
    for (const Front::Slot& slot : front.slots) {  // one at a time, to find the slot that the passphrase or key opens
        if (!is_opened_by(slot)) continue;
        try {
            Front only{front.text, {slot}};
            keys = opener.open(what, only);
            old = &slot;
            break;
        } catch (const Failure& failure) {
            if (failure.status() != WARPAES_ERROR_AUTHENTICATION || &slot == &front.slots.back()) throw;
        }
    }
    if (keys == nullptr) (void)opener.open(what, front);  // throws
    const Lock lock = passphrase.take(what);
    const std::string slot = one_line_json(keyset_text(keys->keyset.get(), lock));
    const auto room = free_room(front, slot.size());
    if (!room) {
        throw Failure(WARPAES_ERROR_WRITE,
                      what + ": no room for another keyset; decrypt the file and encrypt it with the new passphrase");
    }
    if (caught_signal() != 0) throw Failure(WARPAES_ERROR_CANCELLED, "interrupted; nothing was changed");
    write_at(what, file.get(), *room, slot + "\n");
    // Only an old passphrase slot is erased. A slot under a key-encryption key is kept: that key was only used to open
    // the keyset in order to add a passphrase.
    if (old != nullptr && old->has_passphrase()) {
        write_at(what, file.get(), old->at, std::string(old->json.size(), ' '));
    }
}

}  // namespace cli

// The published ways to compute AES on a GPU as points in one design space. A variant is a value and a template
// argument of the kernels (variants.cuh), so each kernel is compiled for exactly one variant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lab::gpu {

/// The memory of the lookup tables.
enum class TableMemory : std::uint8_t {
    constant,   ///< one address per clock: lanes that read different entries are serialized
    shared,     ///< one copy: lanes that read different words of one bank conflict
    global,     ///< through the first-level cache
    texture,    ///< through the texture unit
    replicated  ///< shared memory, one copy for each of the 32 banks: no bank conflicts
};
enum class KeyMemory : std::uint8_t { constant, shared, global };
/// Where the 16 bytes of a block are stored between rounds. In shared memory, word c of block b is at 4 b + c (an array
/// of structures) or at c * blocks + b (a structure of arrays).
enum class StateMemory : std::uint8_t { registers, shared_aos, shared_soa };
/// How threads that share a block exchange its columns.
enum class Exchange : std::uint8_t {
    none,
    barrier,           ///< through shared memory, with a barrier for the thread block
    warp_synchronous,  ///< through shared memory, with a barrier for the warp
    shuffle            ///< through registers
};
enum class Access : std::uint8_t {
    words,
    bytes  ///< the text, and any state in shared memory, is read and written one byte at a time
};
/// How the text is read. It is always written by ordinary stores.
enum class TextMemory : std::uint8_t {
    global,     ///< by ordinary loads
    read_only,  ///< by loads of read-only memory (__ldg)
    texture     ///< through a texture object
};
/// Which part of the text a thread block processes.
enum class Order : std::uint8_t {
    natural,
    reversed,  ///< the first thread block processes the last part
    striped    ///< the work of neighbouring groups of 32 threads goes to different thread blocks
};

struct Variant {
    int bytes = 16;  ///< bytes of a block per thread: 16, 8, 4 or 1
    TableMemory tables = TableMemory::shared;
    int table_count = 4;  ///< T-tables: 4, or 1 with rotations, or 0: S-box lookups, and MixColumns by arithmetic
    KeyMemory keys = KeyMemory::constant;
    StateMemory state = StateMemory::registers;
    Exchange exchange = Exchange::none;
    Access access = Access::words;
    Order order = Order::natural;
    bool persistent = false;  ///< threads loop until the text is done; otherwise one thread block per part
    bool staged = false;      ///< the thread block copies its text through shared memory with coalesced word accesses
    TextMemory text = TextMemory::global;
    constexpr bool operator==(const Variant&) const = default;
};

/// The operation of a kernel. The text consists of whole blocks.
struct Cipher {
    int rounds = 10;       ///< 10, 12 or 14
    bool inverse = false;  ///< decryption
    bool counter = false;  ///< CTR instead of ECB
    constexpr bool operator==(const Cipher&) const = default;
};

struct Entry {
    Variant variant;
    Cipher cipher;
    constexpr bool operator==(const Entry&) const = default;
};

constexpr int key_bits(const Cipher& c) {
    return 32 * (c.rounds - 6);
}

/// Returns the reason why a variant is not supported, or an empty string if it is supported.
constexpr std::string_view objection(const Variant& v) {
    const bool alone = v.bytes == 16, in_shared = v.state != StateMemory::registers;
    if (v.bytes != 16 && v.bytes != 8 && v.bytes != 4 && v.bytes != 1) {
        return "a round can be divided only into columns and bytes";
    }
    if (v.table_count != 4 && v.table_count != 1 && v.table_count != 0) {
        return "T2 and T3 are as far from T0 as T1 is, so two tables save no more rotations than one";
    }
    if (alone != (v.exchange == Exchange::none)) return "an exchange is needed if and only if threads share a block";
    if (v.exchange == Exchange::shuffle && in_shared) return "a shuffle moves registers";
    if (!alone && v.exchange != Exchange::shuffle && !in_shared)
        return "other threads cannot read a thread's registers";
    if (v.tables == TableMemory::replicated) {
        if (v.table_count == 0) return "a copy per bank has 32-bit entries, and a T-table fills them at the same cost";
        if (!v.persistent) return "a thread that encrypts one block would write more table entries than it reads";
        if (v.bytes == 1) return "the four tables are at constant offsets of a load, but each lane needs another table";
    }
    if (v.bytes == 1) {
        if (v.table_count == 0) return "without a table, a byte is not a share of a column that could be added up";
        if (v.state == StateMemory::shared_soa)
            return "with an array for each byte, 32 lanes access the banks of 8 words";
        if (v.access != Access::bytes) return "a byte is no word";
    }
    if (v.bytes < 16 && v.bytes > 1 && v.access == Access::bytes && !in_shared) {
        return "a column's bytes are adjacent in a register";
    }
    if (v.staged) {
        if (!alone) return "threads that share a block read neighbouring words already";
        if (in_shared) return "the state is in shared memory already";
        if (v.access == Access::bytes) return "staging serves to read words";
        if (v.order == Order::striped) return "a thread block's text must be contiguous to be moved together";
    }
    if (v.text != TextMemory::global && (!alone || v.staged || v.access == Access::bytes)) {
        return "text that is read by another path comes one block at a time";
    }
    return {};
}

constexpr std::string_view objection(const Entry& e) {
    const Cipher& c = e.cipher;
    if (c.rounds != 10 && c.rounds != 12 && c.rounds != 14) return "AES has 10, 12 or 14 rounds";
    if (c.inverse && c.counter) return "CTR decrypts with the cipher itself";
    return objection(e.variant);
}

constexpr bool valid(const Variant& v) {
    return objection(v).empty();
}
constexpr bool valid(const Entry& e) {
    return objection(e).empty();
}

/// The name of a variant, such as "16B shared.4 keys.constant registers": bytes, tables, keys and state. Other fields
/// follow only if they differ from their defaults. No name is longer than 96 characters.
struct Name {
    char text[96] = {};
    std::size_t length = 0;
    constexpr Name& operator<<(std::string_view part) {
        for (const char c : part) text[length++] = c;
        return *this;
    }
    [[nodiscard]] constexpr std::string_view view() const { return {text, length}; }
};

constexpr std::string_view name_of(TableMemory m) {
    constexpr std::string_view names[] = {"constant", "shared", "global", "texture", "replicated"};
    return names[static_cast<int>(m)];
}
constexpr std::string_view name_of(KeyMemory m) {
    constexpr std::string_view names[] = {"constant", "shared", "global"};
    return names[static_cast<int>(m)];
}
constexpr std::string_view name_of(StateMemory m) {
    constexpr std::string_view names[] = {"registers", "AoS", "SoA"};
    return names[static_cast<int>(m)];
}
constexpr std::string_view name_of(Exchange e) {
    constexpr std::string_view names[] = {"none", "barrier", "warp", "shuffle"};
    return names[static_cast<int>(e)];
}
constexpr std::string_view name_of(TextMemory m) {
    constexpr std::string_view names[] = {"global", "read-only", "texture"};
    return names[static_cast<int>(m)];
}
constexpr std::string_view name_of(Order o) {
    constexpr std::string_view names[] = {"natural", "reversed", "striped"};
    return names[static_cast<int>(o)];
}

constexpr Name name_of(const Variant& v) {
    Name n;
    n << (v.bytes == 16 ? "16B" : v.bytes == 8 ? "8B" : v.bytes == 4 ? "4B" : "1B");
    n << " " << name_of(v.tables) << (v.table_count == 4 ? ".4" : v.table_count == 1 ? ".1" : ".sbox");
    n << " keys." << name_of(v.keys) << " " << name_of(v.state);
    if (v.exchange != Exchange::none) n << " " << name_of(v.exchange);
    if (v.access == Access::bytes && v.bytes != 1) n << " bytes";
    if (v.order != Order::natural) n << " " << name_of(v.order);
    if (v.persistent) n << " persistent";
    if (v.staged) n << " staged";
    if (v.text != TextMemory::global) n << " text." << name_of(v.text);
    return n;
}

constexpr Name name_of(const Entry& e) {
    Name n = name_of(e.variant);
    n << (e.cipher.rounds == 10 ? " AES-128" : e.cipher.rounds == 12 ? " AES-192" : " AES-256");
    n << (e.cipher.counter ? "-CTR" : "-ECB") << (e.cipher.inverse ? " decryption" : "");
    return n;
}

}  // namespace lab::gpu

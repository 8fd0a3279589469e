// The catalogue of compiled variants: everything that the experiments compare, each kernel once.
#pragma once

#include <algorithm>
#include <array>

#include "lab/gpu/variant.hpp"

namespace lab::gpu {

/// [N]'s thirteen implementations, in the order of the paper's table.
inline constexpr std::array<Variant, 13> thirteen{{
    {.tables = TableMemory::constant},
    {},
    {.keys = KeyMemory::shared},
    {.table_count = 1, .keys = KeyMemory::shared},
    {.keys = KeyMemory::shared, .state = StateMemory::shared_soa},
    {.keys = KeyMemory::shared, .state = StateMemory::shared_aos},
    {.bytes = 8, .state = StateMemory::shared_aos, .exchange = Exchange::barrier},
    {.bytes = 8, .keys = KeyMemory::shared, .state = StateMemory::shared_aos, .exchange = Exchange::barrier},
    {.bytes = 8, .state = StateMemory::shared_soa, .exchange = Exchange::barrier},
    {.bytes = 4, .state = StateMemory::shared_aos, .exchange = Exchange::barrier},
    {.bytes = 4, .keys = KeyMemory::shared, .state = StateMemory::shared_aos, .exchange = Exchange::barrier},
    {.bytes = 4, .state = StateMemory::shared_soa, .exchange = Exchange::barrier},
    {.bytes = 1,
     .keys = KeyMemory::shared,
     .state = StateMemory::shared_aos,
     .exchange = Exchange::barrier,
     .access = Access::bytes},
}};

/// Variants with 16, 8, 4 and 1 bytes of a block per thread, and with each of the three ways to exchange columns. All
/// have tables in shared memory and keys in constant memory.
inline constexpr std::array<Variant, 10> granularities{{
    {},
    {.bytes = 8, .state = StateMemory::shared_aos, .exchange = Exchange::barrier},
    {.bytes = 8, .state = StateMemory::shared_aos, .exchange = Exchange::warp_synchronous},
    {.bytes = 8, .exchange = Exchange::shuffle},
    {.bytes = 4, .state = StateMemory::shared_aos, .exchange = Exchange::barrier},
    {.bytes = 4, .state = StateMemory::shared_aos, .exchange = Exchange::warp_synchronous},
    {.bytes = 4, .exchange = Exchange::shuffle},
    {.bytes = 1, .state = StateMemory::shared_aos, .exchange = Exchange::barrier, .access = Access::bytes},
    {.bytes = 1, .state = StateMemory::shared_aos, .exchange = Exchange::warp_synchronous, .access = Access::bytes},
    {.bytes = 1, .exchange = Exchange::shuffle, .access = Access::bytes},
}};

/// Every combination of the memory and the number of tables, with persistent threads.
inline constexpr std::array<Variant, 14> table_places{{
    {.tables = TableMemory::constant, .table_count = 4, .persistent = true},
    {.tables = TableMemory::constant, .table_count = 1, .persistent = true},
    {.tables = TableMemory::constant, .table_count = 0, .persistent = true},
    {.tables = TableMemory::shared, .table_count = 4, .persistent = true},
    {.tables = TableMemory::shared, .table_count = 1, .persistent = true},
    {.tables = TableMemory::shared, .table_count = 0, .persistent = true},
    {.tables = TableMemory::global, .table_count = 4, .persistent = true},
    {.tables = TableMemory::global, .table_count = 1, .persistent = true},
    {.tables = TableMemory::global, .table_count = 0, .persistent = true},
    {.tables = TableMemory::texture, .table_count = 4, .persistent = true},
    {.tables = TableMemory::texture, .table_count = 1, .persistent = true},
    {.tables = TableMemory::texture, .table_count = 0, .persistent = true},
    {.tables = TableMemory::replicated, .table_count = 4, .persistent = true},
    {.tables = TableMemory::replicated, .table_count = 1, .persistent = true},
}};

/// Variants with the state in registers and in shared memory (AoS and SoA), and with keys in constant memory.
inline constexpr std::array<Variant, 3> layouts{{
    {},
    {.state = StateMemory::shared_aos},
    {.state = StateMemory::shared_soa},
}};

/// [G]'s three schemes with tables in constant memory.
inline constexpr std::array<Variant, 3> schemes{{
    {.tables = TableMemory::constant, .staged = true},
    {.bytes = 4,
     .tables = TableMemory::constant,
     .state = StateMemory::shared_aos,
     .exchange = Exchange::warp_synchronous},
    {.bytes = 1,
     .tables = TableMemory::constant,
     .state = StateMemory::shared_aos,
     .exchange = Exchange::warp_synchronous,
     .access = Access::bytes},
}};

/// The same schemes with tables in shared memory, as in the work of Bos, Osvik and Stefan, which [G] cites.
inline constexpr std::array<Variant, 3> schemes_in_shared{{
    {.tables = TableMemory::shared, .staged = true},
    {.bytes = 4, .state = StateMemory::shared_aos, .exchange = Exchange::warp_synchronous},
    {.bytes = 1, .state = StateMemory::shared_aos, .exchange = Exchange::warp_synchronous, .access = Access::bytes},
}};

/// [G]'s best scheme with tables in every kind of memory. The variant with a copy for each bank requires persistent
/// threads.
inline constexpr std::array<Variant, 4> scheme_tables{{
    {.bytes = 4,
     .tables = TableMemory::constant,
     .state = StateMemory::shared_aos,
     .exchange = Exchange::warp_synchronous},
    {.bytes = 4,
     .tables = TableMemory::texture,
     .state = StateMemory::shared_aos,
     .exchange = Exchange::warp_synchronous},
    {.bytes = 4, .state = StateMemory::shared_aos, .exchange = Exchange::warp_synchronous},
    {.bytes = 4,
     .tables = TableMemory::replicated,
     .state = StateMemory::shared_aos,
     .exchange = Exchange::warp_synchronous,
     .persistent = true},
}};

/// [P]: 1, 2, 4 and 16 threads per block, which exchange columns through registers.
inline constexpr std::array<Variant, 4> teams{{
    {},
    {.bytes = 8, .exchange = Exchange::shuffle},
    {.bytes = 4, .exchange = Exchange::shuffle},
    {.bytes = 1, .exchange = Exchange::shuffle, .access = Access::bytes},
}};

/// [H]: one table and four tables, each in texture, constant and shared memory, and in shared memory with a copy for
/// each bank.
inline constexpr std::array<Variant, 8> table_study{{
    {.tables = TableMemory::texture, .table_count = 1, .persistent = true},
    {.tables = TableMemory::texture, .table_count = 4, .persistent = true},
    {.tables = TableMemory::constant, .table_count = 1, .persistent = true},
    {.tables = TableMemory::constant, .table_count = 4, .persistent = true},
    {.tables = TableMemory::shared, .table_count = 1, .persistent = true},
    {.tables = TableMemory::shared, .table_count = 4, .persistent = true},
    {.tables = TableMemory::replicated, .table_count = 1, .persistent = true},
    {.tables = TableMemory::replicated, .table_count = 4, .persistent = true},
}};

/// [P]: tables and keys, each in every kind of memory.
inline constexpr std::array<Variant, 9> memories{{
    {.tables = TableMemory::constant, .keys = KeyMemory::constant},
    {.tables = TableMemory::constant, .keys = KeyMemory::shared},
    {.tables = TableMemory::constant, .keys = KeyMemory::global},
    {.tables = TableMemory::shared, .keys = KeyMemory::constant},
    {.tables = TableMemory::shared, .keys = KeyMemory::shared},
    {.tables = TableMemory::shared, .keys = KeyMemory::global},
    {.tables = TableMemory::global, .keys = KeyMemory::constant},
    {.tables = TableMemory::global, .keys = KeyMemory::shared},
    {.tables = TableMemory::global, .keys = KeyMemory::global},
}};

/// [P]'s byte accesses instead of word accesses, with the state in registers and in shared memory.
inline constexpr std::array<Variant, 2> byte_access{{
    {.access = Access::bytes},
    {.state = StateMemory::shared_aos, .access = Access::bytes},
}};

/// [P]: the orders in which thread blocks process the text.
inline constexpr std::array<Variant, 3> orders{{
    {},
    {.order = Order::reversed},
    {.order = Order::striped},
}};

/// [D]: one thread per block; tables, keys and text in shared memory; 16 persistent thread blocks.
inline constexpr Variant damjanovic{.keys = KeyMemory::shared, .persistent = true, .staged = true};

/// [D]'s kernel by memory. There are six placements: tables and keys, each in shared or global memory (four), and the
/// S-box and keys, both in shared or both in global memory (two, with MixColumns by arithmetic). The first six variants
/// stage text in shared memory, and the last six do not.
inline constexpr std::array<Variant, 12> damjanovic_memories = [] {
    constexpr std::array<Variant, 6> places{{
        {.tables = TableMemory::shared, .keys = KeyMemory::shared},
        {.tables = TableMemory::shared, .keys = KeyMemory::global},
        {.tables = TableMemory::global, .keys = KeyMemory::shared},
        {.tables = TableMemory::global, .keys = KeyMemory::global},
        {.tables = TableMemory::shared, .table_count = 0, .keys = KeyMemory::shared},
        {.tables = TableMemory::global, .table_count = 0, .keys = KeyMemory::global},
    }};
    std::array<Variant, 12> all{};
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i] = places[i % places.size()];
        all[i].persistent = true;
        all[i].staged = i < places.size();
    }
    return all;
}();

/// [H]: text read by ordinary loads, by read-only loads (__ldg), and through textures. The first three variants have
/// tables in shared memory. The last three have tables in textures, which use the same cache as the read-only loads.
inline constexpr std::array<Variant, 6> text_paths{{
    {.persistent = true},
    {.persistent = true, .text = TextMemory::read_only},
    {.persistent = true, .text = TextMemory::texture},
    {.tables = TableMemory::texture, .persistent = true},
    {.tables = TableMemory::texture, .persistent = true, .text = TextMemory::read_only},
    {.tables = TableMemory::texture, .persistent = true, .text = TextMemory::texture},
}};

/// [T]: one table with a copy for each bank, rotated.
inline constexpr Variant tezcan{.tables = TableMemory::replicated, .table_count = 1, .persistent = true};

namespace detail {

inline constexpr std::size_t most_entries = 160;

struct Collected {
    std::array<Entry, most_entries> entries{};
    std::size_t size = 0;

    constexpr void add(const Variant& variant, const Cipher& cipher = {}) {
        const Entry entry{variant, cipher};
        for (std::size_t i = 0; i < size; ++i) {
            if (entries[i] == entry) return;
        }
        entries[size++] = entry;
    }
    template <std::size_t N>
    constexpr void add(const std::array<Variant, N>& variants, const Cipher& cipher = {}) {
        for (const Variant& variant : variants) add(variant, cipher);
    }
};

constexpr Collected collect() {
    Collected all;
    all.add(thirteen);
    all.add(granularities);
    all.add(table_places);
    all.add(layouts);
    all.add(schemes);
    all.add(schemes, {.counter = true});
    all.add(schemes_in_shared);
    all.add(memories);
    all.add(byte_access);
    all.add(orders);
    for (const int rounds : {10, 12, 14}) {
        for (const bool inverse : {false, true}) all.add(damjanovic, {.rounds = rounds, .inverse = inverse});
    }
    all.add(scheme_tables);
    all.add(teams);
    all.add(teams, {.inverse = true});
    all.add(table_study, {.counter = true});
    all.add(damjanovic_memories);
    all.add(text_paths, {.counter = true});
    for (const int rounds : {10, 14}) all.add(tezcan, {.rounds = rounds});
    return all;
}

}  // namespace detail

/// All variants, without duplicates.
inline constexpr auto catalogue = [] {
    constexpr detail::Collected all = detail::collect();
    std::array<Entry, all.size> entries{};
    std::copy_n(all.entries.begin(), all.size, entries.begin());
    return entries;
}();

// tools/profile_lab.py identifies kernels by their index, and expects [N]'s thirteen kernels first.
static_assert(std::equal(thirteen.begin(), thirteen.end(), catalogue.begin(), [](const Variant& v, const Entry& e) {
    return e == Entry{v, {}};
}));
static_assert(std::all_of(catalogue.begin(), catalogue.end(), [](const Entry& e) { return valid(e); }));

}  // namespace lab::gpu

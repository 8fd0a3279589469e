// Measures the payload of mixed messages that Harrison and Waldron used to measure their data model (2008): 960
// messages of 512 blocks and 992 messages of 32 blocks in a parallel mode (CTR), and 1,024 messages of eight sizes from
// 16 to 2,048 blocks in a serial mode (CBC encryption). The same messages are submitted as a batch in seven orders, in
// device memory if there is a GPU. Prints the median seconds from submission to completion for every order as JSON.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <span>
#include <warpaes/batch.hpp>

namespace {

using namespace warpaes;

constexpr std::size_t block = 16, samples = 101;

struct Message {
    std::uint64_t blocks;
    bool serial;
    std::uint64_t offset = 0;  ///< offset of the message's data in the buffers
};

using List = std::vector<Message>;

/// Alternates `a` items of one list with `b` items of the other list until both are used up.
template <typename T>
std::vector<T> alternate(const std::vector<T>& one, std::size_t a, const std::vector<T>& other, std::size_t b) {
    std::vector<T> list;
    for (std::size_t i = 0, j = 0; i < one.size() || j < other.size();) {
        for (std::size_t n = 0; n < a && i < one.size(); ++n) list.push_back(one[i++]);
        for (std::size_t n = 0; n < b && j < other.size(); ++n) list.push_back(other[j++]);
    }
    return list;
}

std::vector<List> groups_of_32(const List& list) {
    std::vector<List> groups;
    for (std::size_t i = 0; i < list.size(); i += 32) {
        groups.emplace_back(list.begin() + static_cast<std::ptrdiff_t>(i),
                            list.begin() + static_cast<std::ptrdiff_t>(std::min(list.size(), i + 32)));
    }
    return groups;
}

/// Returns the messages in an order of the paper: (1) one serial message in each group, with the groups packed; (2) one
/// serial message in each group, with the groups spread evenly; (3) serial messages packed; (4) random; (5) random
/// groups of 32; (6) groups of 32, spread evenly; (7) as (6), with the serial messages sorted by size.
List in_order(int order, List parallel, List serial, std::mt19937& random) {
    std::shuffle(serial.begin(), serial.end(), random);
    if (order == 1) return alternate(serial, 1, parallel, 1);
    if (order == 2) return alternate(serial, 1, parallel, 2);
    if (order == 3 || order == 4) {
        List list = serial;
        list.insert(list.end(), parallel.begin(), parallel.end());
        if (order == 4) std::shuffle(list.begin(), list.end(), random);
        return list;
    }
    if (order == 7) {
        std::stable_sort(serial.begin(), serial.end(),
                         [](const Message& a, const Message& b) { return a.blocks > b.blocks; });
    }
    std::vector<List> groups = alternate(groups_of_32(serial), 1, groups_of_32(parallel), 2);
    if (order == 5) std::shuffle(groups.begin(), groups.end(), random);
    List list;
    for (const List& group : groups) list.insert(list.end(), group.begin(), group.end());
    return list;
}

int run() {
    List parallel, serial;
    for (int i = 0; i < 960; ++i) parallel.push_back({512, false});
    for (int i = 0; i < 992; ++i) parallel.push_back({32, false});
    for (int i = 0; i < 1024; ++i) serial.push_back({std::uint64_t{16} << (i % 8), true});
    std::uint64_t bytes = 0;
    for (List* list : {&parallel, &serial}) {
        for (Message& m : *list) {
            m.offset = bytes;
            bytes += m.blocks * block;
        }
    }

    const Engine engine;
    const auto all = backends();
    const bool gpu = std::any_of(all.begin(), all.end(), [](const auto& b) { return b.name == "cuda" && b.usable; });
    const Arena arena(engine, 2 * bytes + block, gpu ? Memory::device : Memory::host);
    std::vector<std::uint8_t> text(bytes + block), first(bytes), now(bytes), key_bytes(16, 7);
    std::mt19937 random(1);
    for (auto& b : text) b = static_cast<std::uint8_t>(random());
    engine.copy({arena.data(), text.size()}, text);
    const Key key(key_bytes);

    std::vector<std::vector<Entry>> orders;
    for (int order = 1; order <= 7; ++order) {
        auto& entries = orders.emplace_back();
        for (const Message& m : in_order(order, parallel, serial, random)) {
            entries.push_back({.mode = m.serial ? Mode::cbc : Mode::ctr,
                               .direction = Direction::encrypt,
                               .length = m.blocks * block,
                               .key = &key,
                               .input = at_offset(m.offset),
                               .output = at_offset(bytes + block + m.offset),
                               .iv = at_offset(bytes),
                               .iv_len = 16});
        }
    }
    const std::span<std::uint8_t> output(arena.data() + bytes + block, bytes);
    const std::vector<std::uint8_t> poison(bytes, 0xa5);
    for (const auto& entries : orders) {
        engine.copy(output, poison);
        Batch(engine, entries, Batch::offsets, &arena).get();
        engine.copy(&entries == &orders.front() ? first : now, output);
        if (&entries != &orders.front() && now != first) {
            std::fprintf(stderr, "mixed_payload: order %d produces a different output\n",
                         static_cast<int>(&entries - orders.data()) + 1);
            return 1;
        }
    }

    // The orders take turns, so that other load on the machine affects all of them equally.
    std::vector<std::vector<double>> seconds(orders.size());
    for (std::size_t i = 0; i < samples; ++i) {
        for (std::size_t order = 0; order < orders.size(); ++order) {
            const auto begin = std::chrono::steady_clock::now();
            Batch(engine, orders[order], Batch::offsets, &arena).get();
            const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
            seconds[order].push_back(time.count());
        }
    }
    std::printf("{\"payload\": {\"gpu\": %s, \"bytes\": %llu, \"messages\": %zu, \"samples\": %zu, \"orders\": [",
                gpu ? "true" : "false", static_cast<unsigned long long>(bytes), parallel.size() + serial.size(),
                samples);
    for (auto& of_order : seconds) {
        std::sort(of_order.begin(), of_order.end());
        std::printf("%s%.6g", &of_order == seconds.data() ? "" : ", ", of_order[samples / 2]);
    }
    std::printf("]}}\n");
    return 0;
}

}  // namespace

int main() {
    try {
        return run();
    } catch (const std::exception& e) {
        std::fprintf(stderr, "mixed_payload: %s\n", e.what());
        return 1;
    }
}

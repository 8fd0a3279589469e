// H.mixing repeats [H]'s mixed payload in device memory: parallel messages (AES-128-CTR) of two sizes and serial
// messages (AES-128-CBC) of eight sizes, in seven orders. It then repeats the payload with up to 64 (--quick: 16) times
// as many messages. It compares the data model's kernel with natural and with striped threads, timed by events, with
// production's batch of one entry per message, timed by the host's clock from submission to completion. Preparation of
// the payload is excluded. All orders are measured in turn.
#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "lab/experiments/experiments.hpp"
#include "lab/experiments/messages.hpp"
#include "lab/published.hpp"

namespace lab::experiments {

namespace {

namespace harrison = published::harrison;

constexpr std::uint64_t group = 32;
constexpr const char* order_names[harrison::mixed_orders] = {"1: a serial one in each group, packed",
                                                             "2: the same, spread",
                                                             "3: serial ones packed",
                                                             "4: random",
                                                             "5: random groups of 32",
                                                             "6: groups of 32, spread",
                                                             "7: as 6, sorted by size"};

struct Message {
    std::uint64_t blocks;
    bool serial;
    std::uint64_t offset = 0;  ///< offset of its text in the data
};
using List = std::vector<Message>;

/// The paper's messages (32 periods), or the same fraction of each kind (fewer periods).
struct Messages32 {
    List longs, shorts, serials;
};

Messages32 all_messages(std::uint64_t periods) {
    Messages32 m;
    for (std::uint64_t i = 0; i < harrison::mixed_long_messages / 32 * periods; ++i) {
        m.longs.push_back({harrison::mixed_long_blocks, false});
    }
    for (std::uint64_t i = 0; i < harrison::mixed_short_messages / 32 * periods; ++i) {
        m.shorts.push_back({harrison::mixed_short_blocks, false});
    }
    for (std::uint64_t i = 0; i < harrison::mixed_serial_messages / 32 * periods; ++i) {
        m.serials.push_back({harrison::mixed_serial_least_blocks << (i % 8), true});
    }
    std::uint64_t offset = 0;
    for (List* list : {&m.longs, &m.shorts, &m.serials}) {
        for (Message& message : *list) {
            message.offset = offset;
            offset += block_bytes * message.blocks;
        }
    }
    return m;
}

/// Orders 1 and 2. 32 serial messages that alternate with 31 short messages make 1,024 threads: 32 groups of 32 threads
/// with one serial message each. `spread` means that the long messages are distributed among the other messages.
List one_in_each_group(const Messages32& m, bool spread) {
    List list;
    auto next_long = m.longs.begin(), next_short = m.shorts.begin();
    for (std::size_t i = 0; i < m.serials.size(); ++i) {
        list.push_back(m.serials[i]);
        const std::size_t in_period = i % group;
        if (in_period != group - 1) list.push_back(*next_short++);
        // There are 960 long messages for 1,024 serial messages.
        if (spread && in_period < m.longs.size() * group / m.serials.size()) list.push_back(*next_long++);
    }
    list.insert(list.end(), next_long, m.longs.end());
    return list;
}

/// Orders 5 to 7. The units of an order are groups of 32 serial messages, and single parallel messages.
List by_groups(const Messages32& m, const List& serials, std::mt19937* random) {
    std::vector<List> groups, parallel;
    for (std::size_t i = 0; i < serials.size(); i += group) {
        groups.emplace_back(
            serials.begin() + static_cast<std::ptrdiff_t>(i),
            serials.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(serials.size(), i + group)));
    }
    for (const List* list : {&m.longs, &m.shorts}) {
        for (const Message& message : *list) parallel.push_back({message});
    }
    std::vector<List> units;
    if (random != nullptr) {
        units = parallel;
        units.insert(units.end(), groups.begin(), groups.end());
        std::shuffle(units.begin(), units.end(), *random);
    } else {
        // Distributes the groups evenly by threads, not by messages.
        std::uint64_t threads = 0, passed = 0;
        for (const List& unit : parallel) threads += unit.front().blocks;
        std::size_t next = 0;
        for (const List& unit : parallel) {
            while (next < groups.size() && passed * groups.size() >= next * threads) units.push_back(groups[next++]);
            units.push_back(unit);
            passed += unit.front().blocks;
        }
        while (next < groups.size()) units.push_back(groups[next++]);
    }
    List list;
    for (const List& unit : units) list.insert(list.end(), unit.begin(), unit.end());
    return list;
}

List in_order(int order, Messages32 m, std::mt19937& random) {
    std::shuffle(m.serials.begin(), m.serials.end(), random);
    if (order <= 2) return one_in_each_group(m, order == 2);
    if (order <= 4) {
        List list = m.serials;
        list.insert(list.end(), m.longs.begin(), m.longs.end());
        list.insert(list.end(), m.shorts.begin(), m.shorts.end());
        if (order == 4) std::shuffle(list.begin(), list.end(), random);
        return list;
    }
    if (order == 7) {
        std::stable_sort(m.serials.begin(), m.serials.end(),
                         [](const Message& a, const Message& b) { return a.blocks > b.blocks; });
    }
    return by_groups(m, m.serials, order == 5 ? &random : nullptr);
}

/// The texts, one IV for all messages, the key, and the expected output.
struct Data {
    explicit Data(const Messages32& m) {
        for (const List* list : {&m.longs, &m.shorts, &m.serials}) {
            for (const Message& message : *list) bytes += block_bytes * message.blocks;
        }
        host = random_bytes(bytes + block_bytes, 31);
        key = random_bytes(16, 32);
        std::vector<std::uint8_t> out(bytes);
        Reference ctr(Mode::ctr, Direction::encrypt, key), cbc(Mode::cbc, Direction::encrypt, key);
        for (const List* list : {&m.longs, &m.shorts, &m.serials}) {
            for (const Message& message : *list) {
                (message.serial ? cbc : ctr)
                    .run(std::span(host).subspan(bytes, block_bytes),
                         std::span(host).subspan(message.offset, block_bytes * message.blocks),
                         std::span(out).subspan(message.offset, block_bytes * message.blocks));
            }
        }
        expected = gpu::on_device(out);
        input = gpu::on_device(host);
        output = gpu::DeviceMemory(bytes);
    }
    void poison() { gpu::fill(output.get(), 0x5c, bytes); }
    void check(const std::string& what) const {
        const std::size_t at = gpu::first_difference(expected.get(), output.get(), bytes, stream);
        if (at != bytes) throw Mismatch(fmt::format("{}: byte {} of {} is wrong", what, at, bytes));
    }

    std::uint64_t bytes = 0;
    std::vector<std::uint8_t> host, key;
    gpu::DeviceMemory input, output, expected;
    gpu::Stream stream;
};

PayloadDescriptor payload_of(const List& list, std::uint64_t iv) {
    PayloadDescriptor payload{1, {}};
    for (const Message& m : list) {
        MessageDescriptor d;
        d.mode = m.serial ? Mode::cbc : Mode::ctr;
        d.messages = {m.offset, block_bytes * m.blocks, 1, 0};
        d.ivs = {iv, block_bytes, 1, 0};
        payload.messages.push_back(d);
    }
    return payload;
}

std::vector<warpaes_batch_entry> entries_of(const List& list, const Data& data, const warpaes::Key& key) {
    std::vector<warpaes_batch_entry> entries;
    for (const Message& m : list) {
        warpaes_batch_entry e{};
        e.mode = m.serial ? WARPAES_CBC : WARPAES_CTR;
        e.direction = WARPAES_ENCRYPT;
        e.count = 1;
        e.length = block_bytes * m.blocks;
        e.input.at.pointer = data.input.get() + m.offset;
        e.output.at.pointer = data.output.get() + m.offset;
        e.iv.at.pointer = data.input.get() + data.bytes;
        e.iv_len = block_bytes;
        e.key = key.get();
        entries.push_back(e);
    }
    return entries;
}

/// One order, prepared for the data model and for production.
struct Prepared {
    KeySchedules schedules;
    gpu::PayloadOnDevice payload;
    std::vector<warpaes_batch_entry> entries;
};

/// Results of the seven orders of one payload.
struct Orders {
    Series natural{"[H]'s model, natural threads", Series::Role::measured, {}, {}};
    Series striped{"[H]'s model, striped threads", Series::Role::measured, {}, {}};
    Series production{"production: the engine orders", Series::Role::measured, {}, {}};
    std::string messages;  ///< description of the messages
};

Orders measure_orders(const Context& context, std::uint64_t periods) {
    const Messages32 messages = all_messages(periods);
    Data data(messages);
    const warpaes::Engine engine({.backend = "cuda", .device = context.gpu});
    const warpaes::Key key(data.key);
    const double amount = static_cast<double>(data.bytes) / 1e9;
    std::mt19937 random(1);
    Orders out;
    // Measured in turn, so that other load on the machine affects all orders equally.
    std::vector<Prepared> orders;
    orders.reserve(harrison::mixed_orders);
    std::vector<std::function<double()>> works;
    for (int order = 1; order <= harrison::mixed_orders; ++order) {
        const List list = in_order(order, messages, random);
        Prepared& p = orders.emplace_back();
        p.entries = entries_of(list, data, key);
        p.payload.load(prepare(payload_of(list, data.bytes), data.host.size(), data.key, p.schedules), p.schedules);
        for (const auto mapping : {gpu::ThreadMapping::natural, gpu::ThreadMapping::striped}) {
            works.emplace_back([&, mapping] {
                return gpu::seconds_of(
                    data.stream, [&] { p.payload.run(data.input.get(), data.output.get(), mapping, {}, data.stream); });
            });
        }
        works.emplace_back([&] { return time_batch(engine, p.entries); });
    }
    const auto verify = [&] {
        for (std::size_t i = 0; i < works.size(); ++i) {
            data.poison();
            works[i]();
            data.check(fmt::format("order {}", order_names[i / 3]));
        }
    };
    verify();
    const std::vector<Summary> seconds = sample_in_turns(effort(context.quick), works);
    verify();
    for (std::size_t i = 0; i < works.size(); ++i) {
        add(i % 3 == 0 ? out.natural : i % 3 == 1 ? out.striped : out.production, rate(amount, seconds[i]));
    }
    out.messages = fmt::format(
        "{} parallel messages of 512 blocks and {} of 32 in CTR, {} serial ones of 16 to 2,048 blocks in CBC, AES-128, "
        "{} "
        "in device memory. The model's kernel by events; production's batch, an entry a message, by the host's clock "
        "from "
        "submitting to the end.",
        messages.longs.size(), messages.shorts.size(), messages.serials.size(), size_name(data.bytes));
    return out;
}

Result run_mixing(const Context& context) {
    use_gpu(context);
    // 32 periods are 16 MiB, the full payload. A test may set a lower limit.
    std::uint64_t periods = 32;
    while (periods > 1 && periods * (std::uint64_t{1} << 19) > context.most_bytes) periods /= 2;
    // With enough messages, the chain of the longest message takes less time than all other messages together.
    const std::uint64_t times =
        std::clamp<std::uint64_t>(context.most_bytes / (periods << 19), 1, context.quick ? 16 : 64);
    Result result;
    Progress progress(context, 2);
    for (const bool many : {false, true}) {
        progress.next(many ? "seven orders, many times the messages" : "seven orders");
        Orders o = measure_orders(context, many ? periods * times : periods);
        if (!many) {
            result.facts.push_back({"the best order over the worst, engine ordering off",
                                    **std::max_element(o.natural.values.begin(), o.natural.values.end()) /
                                        **std::min_element(o.natural.values.begin(), o.natural.values.end()),
                                    "",
                                    {}});
            result.facts.push_back({"the best order over the worst, engine ordering on",
                                    **std::max_element(o.production.values.begin(), o.production.values.end()) /
                                        **std::min_element(o.production.values.begin(), o.production.values.end()),
                                    "",
                                    {}});
        }
        result.panels.push_back(
            {many ? "Seven orders, many times the messages" : "Seven orders of the same messages",
             Panel::Kind::bars,
             categories("order", {std::begin(order_names), std::end(order_names)}),
             {"throughput", "GB/s", Axis::Scale::linear, {}, {}},
             {},
             {o.natural, o.striped, o.production},
             o.messages + (many ? fmt::format(" {} times the paper's messages, so that the longest "
                                              "chain of blocks does not hide the order.",
                                              times)
                                : " The messages are the paper's, which gives no figures in its text.")});
    }
    return result;
}

}  // namespace

const Experiment h_mixing{"H.mixing",
                          Paper::harrison,
                          "Serial and parallel messages in one payload",
                          "Does the order of a client's serial and parallel messages matter?",
                          Experiment::Needs::gpu,
                          10,
                          1,
                          run_mixing};

}  // namespace lab::experiments

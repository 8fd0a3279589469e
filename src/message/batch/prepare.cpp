// Checks a batch's entries and cuts them into tasks.
#include <algorithm>
#include <bit>
#include <numeric>
#include <set>

#include "message/batch/batch.hpp"
#include "message/batch/clashes.hpp"
#include "message/batch/nonces.hpp"

namespace warpaes {

namespace {

/// A longer message in a parallel mode is a separate task, which the pipeline cuts and distributes over all workers.
constexpr std::uint64_t solo_bytes = std::uint64_t{16} << 20;

/// The fixed cost of a message, expressed in bytes, so that tasks of tiny messages do not take longer than other tasks.
constexpr std::uint64_t message_cost = 64;

/// Serial modes are fast when a lane interleaves many messages. These constants limit the number of messages in a task:
/// a minimum, if there are enough messages for all workers, and a maximum. A task may contain more short messages, up
/// to a number of bytes, because starting and ending a task and wiping its stack takes as long as processing about ten
/// kilobytes. With a multiple of serial_least messages, a CPU's lanes are busy until the end of the task.
constexpr std::uint64_t serial_least = 16, serial_most = 64, serial_most_short = 2048;
constexpr std::uint64_t short_task_bytes = std::uint64_t{512} << 10;
constexpr std::uint64_t serial_task_bytes = std::uint64_t{64} << 20;
constexpr std::size_t serial_task_entries = 256;  // their groups stay in the core's own caches

constexpr std::uint64_t least_task_bytes = std::uint64_t{16} << 10;

/// The number of entries that justifies another thread for the checks, and the maximum number of threads. Checking an
/// entry takes 0.1 to 0.2 us; starting a thread and waiting for it takes 20 us, or 100 us in a virtual machine.
constexpr std::uint64_t piece_entries = 2048;
constexpr unsigned most_pieces = 8;

/// Classes of entries that run best together: entries with the same mode, direction and key length. In serial modes,
/// the entries of a class also have about the same length, and classes with longer entries come first.
constexpr std::size_t lengths = 256, classes = mode_values * 2 * 3 * lengths;
std::size_t class_of(const MessageGroup& g) {
    const auto mode = static_cast<std::size_t>(g.mode), direction = static_cast<std::size_t>(g.direction) - 1;
    const auto rounds = static_cast<std::size_t>((g.rounds() - 10) / 2);
    std::size_t length = 0;
    if (!is_parallel(g.mode, g.direction)) {
        const std::uint64_t n = g.length + 8;  // there are four classes between consecutive powers of two
        const auto width = static_cast<unsigned>(std::bit_width(n));
        length = lengths - 1 - (4 * std::size_t{width} + static_cast<std::size_t>((n >> (width - 3)) & 3));
    }
    return ((mode * 2 + direction) * 3 + rounds) * lengths + length;
}

/// Sums and products saturate at this value.
constexpr std::uint64_t most_counted = std::uint64_t{1} << 62;
std::uint64_t saturating_product(std::uint64_t a, std::uint64_t b) {
    std::uint64_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? most_counted : std::min(product, most_counted);
}
void add_saturating(std::uint64_t& sum, std::uint64_t more) {
    sum = std::min(sum + more, most_counted);
}

/// Returns the number of bytes that must be processed.
std::uint64_t work_of(const MessageGroup& g) {
    return g.length + g.aad_length;
}

bool has_work(const MessageGroup& g) {
    return g.count != 0 && (g.length != 0 || uses_tag(g.mode));
}

}  // namespace

/// The facts about the entries that the planner and make_tasks() need.
struct Batch::Survey {
    std::vector<Work> parts;
    std::uint64_t cost = 0;
    std::uint64_t serial_messages = 0;
    bool in_place = false;
    bool one_shape = true;                  ///< whether all entries are like the first
    bool on_device = false;                 ///< whether any entry is on a device
    std::vector<std::uint32_t> by_address;  ///< entries that write, unless they already are in that order

    void add(const MessageGroup& g) {
        Work& part = part_for(g.mode, g.direction, static_cast<unsigned>(32 * (g.rounds() - 6)), g.input.first);
        const std::uint64_t bytes = saturating_product(work_of(g), g.count);
        const bool stays = g.output.first != nullptr && g.input.first == g.output.first;
        part.messages += g.count;
        add_saturating(part.bytes, bytes);
        part.longest = std::max(part.longest, work_of(g));
        if (g.key == nullptr) part.keys += g.count;
        add_saturating(cost, bytes);
        add_saturating(cost, saturating_product(message_cost, g.count));
        if (!is_parallel(g.mode, g.direction)) serial_messages += g.count;
        in_place = in_place || stays;
        last_ = {.part = static_cast<std::size_t>(&part - parts.data()),
                 .bytes = work_of(g),
                 .has_raw_keys = g.key == nullptr,
                 .is_serial = !is_parallel(g.mode, g.direction)};
    }
    /// Adds the messages of entries that differ from the one added before only in addresses, the key and the count.
    void add_alike(std::uint64_t messages) {
        Work& part = parts[last_.part];
        const std::uint64_t bytes = saturating_product(last_.bytes, messages);
        part.messages += messages;
        add_saturating(part.bytes, bytes);
        add_saturating(cost, bytes);
        add_saturating(cost, saturating_product(message_cost, messages));
        if (last_.has_raw_keys) part.keys += messages;
        if (last_.is_serial) serial_messages += messages;
    }

    void add(const Survey& other) {
        for (const Work& p : other.parts) {
            Work& part = part_for(p.mode, p.direction, p.key_bits, p.memory);
            part.messages += p.messages;
            add_saturating(part.bytes, p.bytes);
            part.longest = std::max(part.longest, p.longest);
            part.keys += p.keys;
        }
        add_saturating(cost, other.cost);
        serial_messages += other.serial_messages;
        in_place = in_place || other.in_place;
        one_shape = false;
        on_device = on_device || other.on_device;
    }

private:
    /// The last entry that add() added.
    struct Last {
        std::size_t part = 0;
        std::uint64_t bytes = 0;  ///< per message
        bool has_raw_keys = false, is_serial = false;
    };
    Last last_;

    static Memory memory_of(const std::uint8_t* input) { return place_of(input).kind; }
    static Memory memory_of(Memory memory) { return memory; }

    /// `lies` is a kind of memory, or a pointer into the memory. The memory of a part's first message represents the
    /// memory of all its messages.
    template <typename Lies>
    Work& part_for(Mode mode, Direction direction, unsigned key_bits, Lies lies) {
        const auto it = std::find_if(parts.begin(), parts.end(), [&](const Work& p) {
            return p.mode == mode && p.direction == direction && p.key_bits == key_bits;
        });
        if (it != parts.end()) return *it;
        return parts.emplace_back(Work{.mode = mode,
                                       .direction = direction,
                                       .key_bits = key_bits,
                                       .memory = memory_of(lies),
                                       .messages = 0,
                                       .keys = 0,
                                       .batch = true});
    }
};

/// The results of checking adjacent entries.
struct Batch::Piece {
    Survey survey;
    Clashes clashes;
    Shape
        shape;  ///< the last entry's shape; kept here, because the compiler would otherwise assemble it for each entry
    std::uint64_t messages = 0;
    std::vector<std::pair<std::uint32_t, std::shared_ptr<const ExpandedKey>>> keys;  ///< for table_keys_
};

bool Batch::prepare() {
    try {
        Survey survey;
        check_entries(survey);
        check_nonces();
        if (!cancelled_) {
            make_tasks(survey);
            return left_ == 0;
        }
        abandon(WARPAES_ERROR_CANCELLED, "cancelled by the caller");
    } catch (...) {
        const Error error = current_error();
        abandon(error.status(), error.what());
    }
    return true;
}

void Batch::refuse(std::uint32_t entry, const Error& error) {
    refuse(entry, error.status(), error.what());
}

void Batch::refuse(std::uint32_t entry, warpaes_status status, const char* sentence) noexcept {
    shapes_[entry].place = refused;
    outcomes_.fail(entry, status, sentence);
}

std::uint32_t Batch::pass_alike(std::uint32_t begin, std::uint32_t end, EntryChecker& checker, Piece& piece) {
    const Shape& shape = piece.shape;
    std::uint64_t messages = 0;
    std::uint32_t i = begin;
    for (; i < end; ++i) {
        const warpaes_batch_entry& e = request_.entry(i);
        __builtin_prefetch(request_.entry(std::min(i + 4, end - 1)).key);
        if (!checker.passes_alike(e)) break;
        outcomes_.begin(i);
        shapes_[i] = shape;
        shapes_[i].count = e.count;
        messages += e.count;
        piece.clashes.add(i, checker.extent_of_output(), checker.extent_of_tag(),
                          [&] { return writes_of(group_of(request_, e)); });
    }
    piece.messages += messages;
    if (shape.work != Shape::Work::none && shape.place < 0 && i != begin) piece.survey.add_alike(messages);
    return i;
}

void Batch::check_piece(std::uint32_t begin, std::uint32_t end, Piece& piece) {
    EntryChecker checker(engine_, request_);
    Shape& shape = piece.shape;
    for (std::uint32_t i = begin; i < end; ++i) {
        if (shape.alike) {
            i = pass_alike(i, end, checker, piece);
            if (i == end) break;
        }
        outcomes_.begin(i);
        const warpaes_batch_entry& e = request_.entry(i);
        __builtin_prefetch(request_.entry(std::min(i + 4, end - 1)).key);
        piece.messages += e.count;
        try {
            const EntryChecker::Checked& checked = checker.check(e);
            const MessageGroup& g = checked.group;
            const bool in_host = checked.device < 0;
            if (!checked.alike) {
                shape = {.count = g.count,
                         .cost = work_of(g) + message_cost,
                         .kind = static_cast<std::uint16_t>(class_of(g)),
                         .place = static_cast<std::int16_t>(checked.device),
                         .work = !has_work(g)                        ? Shape::Work::none
                                 : !is_parallel(g.mode, g.direction) ? Shape::Work::serial
                                 : in_host && g.length > solo_bytes  ? Shape::Work::solo
                                                                     : Shape::Work::parallel,
                         .split = checked.split(),
                         .output_on_host = checked.lies_on_host(EntryChecker::output),
                         .iv_on_host = checked.lies_on_host(EntryChecker::iv)};
                piece.survey.one_shape = i == 0;
                piece.survey.on_device = piece.survey.on_device || !in_host;
            }
            shapes_[i] = shape;
            shapes_[i].count = g.count;
            if (!checked.alike) shape.alike = true;  // for the next entries
            if (e.statuses != nullptr) outcomes_.admit(i);
            if (checked.alike) {
                piece.clashes.add(i, checker.extent_of_output(), checker.extent_of_tag(),
                                  [&] { return writes_of(group_of(request_, e)); });
            } else {
                piece.clashes.add(i, writes_of(g));
            }
            if (shape.work != Shape::Work::none && in_host) {
                checked.alike ? piece.survey.add_alike(g.count) : piece.survey.add(g);
            }
            // A raw key that all messages share should be expanded only once.
            if (g.key == nullptr && g.count != 0 && in_host) {
                const Elements keys = request_.elements(e, &warpaes_batch_entry::keys);
                const std::span<const std::uint8_t> bytes(keys.first, g.key_bytes);
                auto key = g.count == 1 ? keys_.get_if_seen(bytes) : g.keys.stride == 0 ? keys_.get(bytes) : nullptr;
                if (key != nullptr) piece.keys.emplace_back(i, std::move(key));
            }
        } catch (const Error& error) {
            checker.forget();
            refuse(i, error);
        } catch (const std::bad_alloc&) {
            checker.forget();
            refuse(i, WARPAES_ERROR_OUT_OF_MEMORY, "out of host memory");
        }
    }
}

void Batch::check_entries(Survey& survey) {
    std::vector<Piece> pieces(
        std::clamp<std::size_t>(request_.count / piece_entries, 1, std::min(engine_.options().threads, most_pieces)));
    const auto border = [&](std::size_t i) { return static_cast<std::uint32_t>(request_.count * i / pieces.size()); };
    if (pieces.size() == 1) {
        check_piece(0, border(1), pieces.front());
    } else {
        engine_.pool().for_each(pieces.size(),
                                [&](std::size_t i) { check_piece(border(i), border(i + 1), pieces[i]); });
    }
    survey = std::move(pieces.front().survey);
    Clashes clashes = std::move(pieces.front().clashes);
    for (Piece& piece : pieces) {
        if (&piece != &pieces.front()) {
            survey.add(piece.survey);
            clashes.append(piece.clashes);
        }
        messages_ += piece.messages;
        for (auto& [entry, key] : piece.keys) table_keys_.emplace(entry, std::move(key));
    }
    survey.by_address =
        clashes.find([&](std::uint32_t i) { return writes_of(group_of(request_, request_.entry(i))); },
                     [&](std::uint32_t i) {
                         if (shapes_[i].place == refused) return;
                         refuse(i, WARPAES_ERROR_OVERLAP, "output, tag: overlap the output or tag of another entry");
                     },
                     [&] { return cancelled_.load(); });
}

void Batch::check_nonces() {
    if (!request_.check_nonces) return;
    NonceCheck nonces;
    for (std::uint32_t i = 0; i < request_.count; ++i) {
        if (cancelled_) return;
        if (shapes_[i].place == refused) continue;
        try {
            nonces.add(i, group_of(request_, request_.entry(i)), shapes_[i].place);
        } catch (const Error& error) {
            refuse(i, error);
        }
    }
    nonces.find([&](std::uint32_t i) { return group_of(request_, request_.entry(i)); },
                [&](std::uint32_t i) {
                    if (shapes_[i].place == refused) return;
                    refuse(i, WARPAES_ERROR_IV_REUSED, "iv: is used twice with the same key in this batch");
                });
}

/// Sorts entries by class, and within a class by address: a GPU merges messages at equal distances into one group,
/// regardless of the client's order. Returns no entries if all entries remain in their order.
std::vector<std::uint32_t> Batch::in_order(const Survey& survey) const {
    std::vector<std::uint32_t> order;
    if (survey.one_shape && survey.by_address.empty() && outcomes_.failed_entries() == 0) return order;
    order.reserve(request_.count);
    std::size_t least = classes, most = 0;
    const auto take = [&](std::uint32_t i) {
        if (shapes_[i].place == refused) return;
        order.push_back(i);
        least = std::min<std::size_t>(least, shapes_[i].kind);
        most = std::max<std::size_t>(most, shapes_[i].kind);
    };
    std::vector<bool> taken(survey.by_address.empty() ? 0 : request_.count);
    for (const std::uint32_t i : survey.by_address) {
        take(i);
        taken[i] = true;
    }
    for (std::uint32_t i = 0; i < request_.count; ++i) {
        if (taken.empty() || !taken[i]) take(i);
    }
    if (least >= most) return order;
    if (order.size() < (most - least) / 128) {  // counting would mostly visit empty classes
        std::stable_sort(order.begin(), order.end(),
                         [this](std::uint32_t a, std::uint32_t b) { return shapes_[a].kind < shapes_[b].kind; });
        return order;
    }
    std::vector<std::uint32_t> begins(most - least + 2);
    for (const std::uint32_t i : order) ++begins[shapes_[i].kind - least + 1];
    std::partial_sum(begins.begin(), begins.end(), begins.begin());
    std::vector<std::uint32_t> sorted(order.size());
    for (const std::uint32_t i : order) sorted[begins[shapes_[i].kind - least]++] = i;
    return sorted;
}

std::set<int> Batch::devices_with_long_chains() const {
    constexpr std::uint64_t long_chain = 4096, many_entries = 256;
    std::map<int, std::pair<std::uint64_t, std::uint64_t>> seen;  ///< per device: longest chain, number of parallel
                                                                  ///< entries
    for (const Shape& shape : shapes_) {
        if (shape.place < 0) continue;
        auto& [longest, others] = seen[shape.place];
        if (shape.work == Shape::Work::serial) longest = std::max(longest, shape.cost);
        if (shape.work == Shape::Work::parallel) ++others;
    }
    std::set<int> devices;
    for (const auto& [device, what] : seen) {
        if (what.first >= long_chain && what.second >= many_entries) devices.insert(device);
    }
    return devices;
}

void Batch::make_tasks(const Survey& survey) {
    const std::vector<std::uint32_t> order = in_order(survey);
    const bool is_in_order = order.empty() && outcomes_.failed_entries() == 0;
    const std::size_t entries = is_in_order ? request_.count : order.size();
    const auto entry_at = [&](std::size_t n) { return is_in_order ? static_cast<std::uint32_t>(n) : order[n]; };
    stages_ = survey.in_place;
    crew_ = engine_.crew(survey.parts);
    replaceable_ = engine_.forced() == nullptr;

    std::vector<unsigned> workers;
    const unsigned threads = engine_.options().threads;
    for (unsigned w = 0; crew_.cpu != nullptr && w < threads; ++w) workers.push_back(w);
    for (std::size_t device = 0; device < crew_.gpus.size(); ++device) {
        for (unsigned lane = 0; lane < crew_.gpu_lanes; ++lane) {
            workers.push_back(gpu_worker(threads, static_cast<unsigned>(device), lane));
        }
    }
    const std::uint64_t shares = 4 * std::max<std::uint64_t>(1, workers.size());
    // A single worker waits for no other, so its tasks are larger.
    const bool is_single = workers.size() <= 1;
    const std::uint64_t portions = is_single ? 1 : shares, most_bytes = (is_single ? 4 : 1) * crew_.cpu_task_bytes;
    const TaskList::Limits parallel{.bytes = std::clamp(survey.cost / portions + 1, least_task_bytes, most_bytes),
                                    .messages = std::uint64_t{1} << 20};
    const std::uint64_t fair = std::max<std::uint64_t>(1, survey.serial_messages * 4 / shares);
    const auto serial = [&](const Shape& shape) {
        const std::uint64_t most = std::clamp(short_task_bytes / shape.cost, serial_most, serial_most_short);
        const std::uint64_t least = std::min(serial_least, fair);
        const std::uint64_t messages = std::clamp(survey.serial_messages / portions + 1, least, most);
        return TaskList::Limits{.bytes = serial_task_bytes,
                                .messages = (messages + least - 1) / least * least,
                                .slices = serial_task_entries};
    };
    constexpr TaskList::Limits whole{
        .bytes = std::uint64_t{1} << 62, .messages = std::uint64_t{1} << 62, .slices = std::size_t{1} << 16};

    // On a GPU, a long chain of blocks takes longer than preparing many entries. Such chains are a separate task, which
    // is created first and runs while another worker prepares the rest.
    const std::set<int> chains_first = survey.on_device ? devices_with_long_chains() : std::set<int>{};
    const auto is_begun = [&](const Shape& shape) {
        return shape.work == Shape::Work::serial && chains_first.contains(shape.place);
    };
    const auto add_to_device = [&](std::uint32_t i) {
        const Shape& shape = shapes_[i];
        device_tasks_[shape.place].list.add(i, shape.count, shape.cost, whole);
    };
    for (std::size_t n = 0; !chains_first.empty() && n < entries; ++n) {
        if (is_begun(shapes_[entry_at(n)])) add_to_device(entry_at(n));
    }
    for (const int device : chains_first) device_tasks_[device].list.close();
    host_.reserve(entries);
    std::uint64_t serial_cost = 0;  // `serial_limits` are for messages of this cost; computing them takes divisions
    TaskList::Limits serial_limits;
    constexpr TaskList::Limits alone{.bytes = std::uint64_t{1} << 62, .messages = 1};
    for (std::size_t n = 0; n < entries; ++n) {
        const std::uint32_t i = entry_at(n);
        if (cancelled_) throw Error(WARPAES_ERROR_CANCELLED, "cancelled by the caller");
        const Shape& shape = shapes_[i];
        if (shape.work == Shape::Work::none) {
            on_cpu_ += shape.count;
        } else if (shape.place >= 0) {
            if (!is_begun(shape)) add_to_device(i);
        } else if (shape.work == Shape::Work::solo) {
            solos_.list.add(i, shape.count, shape.cost, alone);
        } else {
            if (shape.work == Shape::Work::serial && shape.cost != serial_cost) {
                serial_cost = shape.cost;
                serial_limits = serial(shape);
            }
            host_.add(i, shape.count, shape.cost, shape.work == Shape::Work::serial ? serial_limits : parallel);
        }
    }
    host_.close();
    solos_.list.close();
    std::uint64_t all = host_.size() + std::uint64_t{solos_.list.size()};
    for (auto& [device, tasks] : device_tasks_) {
        tasks.list.close();
        all += tasks.list.size();
    }
    shares_.emplace(host_.size(), gpu_worker(threads, static_cast<unsigned>(engine_.gpus().size()), 0), workers);
    // Handling a failed GPU must not allocate memory: each of its workers returns its claim, possibly twice.
    returned_.reserve(2 * most_gpu_lanes * crew_.gpus.size());
    lost_.reserve(crew_.gpus.size());
    left_ = all;
    on_gpus_alone_ = !needs_cpu();
}

}  // namespace warpaes

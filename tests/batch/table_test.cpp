// Tests tables of scattered messages, including hostile messages. Each message has the same status and text as in a
// single call, or the status of its fault. No other byte changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <random>

#include "abi_batch.hpp"
#include "device_memory.hpp"

namespace warpaes::test {
namespace {

using Bytes = std::vector<std::uint8_t>;

/// Where the data is, and which kind of call runs the table.
enum class Way { submit_on_host, submit_on_device, enqueue, enqueue_table_on_device };

/// The order of a table's rows in memory.
enum class Order { shuffled, ascending, equal_steps };

struct Range {
    std::size_t extent;  ///< position in Tables::images_
    std::uint64_t begin, bytes;

    [[nodiscard]] bool meets(const Range& other) const {
        return extent == other.extent && bytes != 0 && other.bytes != 0 && begin < other.begin + other.bytes &&
               other.begin < begin + bytes;
    }
};

class Tables : public testing::TestWithParam<std::string> {
protected:
    void SetUp() override {
        engine_ = make_engine(GetParam());
        const auto backends = usable_backends();
        reference_ = make_engine(*std::find_if(backends.begin(), backends.end(), [](auto& b) { return b != "cuda"; }));
        ASSERT_NE(engine_, nullptr);
        key_ = make_key(Bytes(16, 5));
        table_.key = key_.get();
    }
    [[nodiscard]] bool on_gpu() const { return GetParam() == "cuda"; }

    /// Makes one allocation for all data, two (for the text and for the rest), or separate allocations for input and
    /// output.
    void make_extents(std::size_t bytes, std::size_t count) {
        images_.assign(count, Bytes(bytes));
        for (Bytes& image : images_) {
            std::generate(image.begin(), image.end(), [&] { return static_cast<std::uint8_t>(random_()); });
        }
    }
    [[nodiscard]] std::size_t extent_of(int kind) const {
        if (images_.size() == 2) return kind == 2 ? 1 : 0;
        return images_.size() == 1 ? 0 : static_cast<std::size_t>(kind);
    }
    [[nodiscard]] bool may_be_in_place() const { return images_.size() != 3; }
    [[nodiscard]] std::uint64_t below(std::uint64_t n) { return random_() % n; }

    /// Returns the ranges of input, output, IV, associated data and tag.
    [[nodiscard]] std::array<Range, 5> parts_of(const warpaes_table_message& m) const {
        return {{{extent_of(0), m.input, m.length},
                 {extent_of(1), m.output, m.length},
                 {extent_of(2), m.iv, table_.iv_len},
                 {extent_of(2), m.aad, m.aad_len},
                 {extent_of(2), m.tag, table_.tag_len}}};
    }
    [[nodiscard]] bool in_range(const warpaes_table_message& m) const {
        const auto parts = parts_of(m);
        return std::all_of(parts.begin(), parts.end(), [this](const Range& r) {
            const std::uint64_t size = images_[r.extent].size();
            return r.bytes == 0 || (r.bytes <= size && r.begin <= size - r.bytes);
        });
    }
    [[nodiscard]] bool encrypts() const { return table_.direction == WARPAES_ENCRYPT; }
    /// Returns whether `a` writes bytes that `b` writes or reads.
    [[nodiscard]] bool disturbs(const warpaes_table_message& a, const warpaes_table_message& b) const {
        const auto mine = parts_of(a), its = parts_of(b);
        for (const int i : {1, 4}) {
            if (i == 4 && !encrypts()) continue;
            for (int j = 0; j < 5; ++j) {
                if (&a == &b && (i == j || (i == 1 && j == 0 && may_be_in_place() && a.input == a.output))) continue;
                if (mine[static_cast<std::size_t>(i)].meets(its[static_cast<std::size_t>(j)])) return true;
            }
        }
        return false;
    }
    /// Returns the expected fault of a message, by comparing it with every other message.
    [[nodiscard]] warpaes_status fault_of(const warpaes_table_message& m) const {
        if (table_.mode == WARPAES_CBC && m.length % 16 != 0) return WARPAES_ERROR_DATA_LENGTH;
        if (!in_range(m)) return WARPAES_ERROR_RANGE;
        if (m.reserved != 0) return WARPAES_ERROR_ARGUMENT;
        bool shares = false;
        for (const warpaes_table_message& other : messages_) {
            if (&other == &m || !in_range(other)) continue;
            if (disturbs(m, other)) return WARPAES_ERROR_OVERLAP;
            shares = shares || other.iv == m.iv;
        }
        if (shares && encrypts() && table_.mode == WARPAES_GCM) return WARPAES_ERROR_IV_REUSED;
        return disturbs(m, m) ? WARPAES_ERROR_OVERLAP : WARPAES_OK;
    }
    /// Processes one message of `images` in a separate call.
    warpaes_status alone(const warpaes_table_message& m, std::vector<Bytes>& images) const {
        warpaes_message one = WARPAES_MESSAGE_INIT;
        one.mode = table_.mode;
        one.direction = table_.direction;
        one.key = key_.get();
        const auto at = [&](int kind, std::uint64_t offset) { return images[extent_of(kind)].data() + offset; };
        one.iv = table_.iv_len != 0 ? at(2, m.iv) : nullptr;
        one.iv_len = table_.iv_len;
        one.aad = m.aad_len != 0 ? at(2, m.aad) : nullptr;
        one.aad_len = m.aad_len;
        one.tag = table_.tag_len != 0 ? at(2, m.tag) : nullptr;
        one.tag_len = table_.tag_len;
        one.input = m.length != 0 ? at(0, m.input) : nullptr;
        one.output = m.length != 0 ? at(1, m.output) : nullptr;
        one.input_len = one.output_capacity = m.length;
        return warpaes_crypt(reference_.get(), &one, nullptr);
    }

    /// Runs the table and compares the statuses and all bytes. Returns the statuses.
    std::vector<warpaes_status> check(Way way) {
        table_.count = messages_.size();
        std::vector<Bytes> expected = images_;
        std::vector<warpaes_status> right, got(messages_.size(), WARPAES_ERROR_INTERNAL);
        for (const auto& m : messages_) right.push_back(fault_of(m));
        for (std::size_t i = 0; i < messages_.size(); ++i) {
            if (right[i] == WARPAES_OK) right[i] = alone(messages_[i], expected);
        }
        std::vector<Bytes> images = images_;
        if (way == Way::submit_on_host) {
            for (std::size_t i = 0; i < images.size(); ++i) place(i, images[i].data());
            table_.messages = messages_.data();
            table_.statuses = got.data();
            submit();
        } else {
            DeviceMemory memory(engine_, 0);
            std::vector<std::uint8_t*> there;
            for (std::size_t i = 0; i < images.size(); ++i) {
                there.push_back(memory.allocate(images[i].size()));
                memory.write(there[i], images[i]);
                place(i, there[i]);
            }
            const std::size_t bytes = got.size() * sizeof got[0], rows = messages_.size() * sizeof messages_[0];
            std::uint8_t *const statuses = memory.allocate(bytes), *const table = memory.allocate(rows);
            const auto* const first = reinterpret_cast<const std::uint8_t*>(messages_.data());
            memory.write(statuses, Bytes(bytes, 0x5a));
            memory.write(table, Bytes(first, first + rows));
            const bool rows_there = way != Way::enqueue;
            table_.messages = rows_there ? reinterpret_cast<const warpaes_table_message*>(table) : messages_.data();
            if (way == Way::submit_on_device) {
                table_.statuses = got.data();
                submit();
            } else {
                table_.statuses = reinterpret_cast<warpaes_status*>(statuses);
                EXPECT_EQ(warpaes_batch_enqueue_table(engine_.get(), &table_, nullptr), WARPAES_OK)
                    << warpaes_last_error();
                memory.read({reinterpret_cast<std::uint8_t*>(got.data()), bytes}, statuses);
            }
            for (std::size_t i = 0; i < images.size(); ++i) {
                memory.read(images[i], there[i]);
                memory.release(there[i], images[i].size());
            }
            memory.release(statuses, bytes);
            memory.release(table, rows);
        }
        EXPECT_EQ(got, right);
        EXPECT_TRUE(images == expected) << "bytes differ, way " << static_cast<int>(way);
        return got;
    }
    void place(std::size_t image, std::uint8_t* memory) {
        const warpaes_extent extent{memory, images_[image].size()};
        if (extent_of(0) == image) table_.input = extent;
        if (extent_of(1) == image) table_.output = extent;
        if (extent_of(2) == image) table_.iv = table_.aad = table_.tag = extent;
    }
    void submit() {
        warpaes_batch* handle = nullptr;
        ASSERT_EQ(warpaes_batch_submit_table(engine_.get(), nullptr, &table_, &handle), WARPAES_OK)
            << warpaes_last_error();
        const AbiBatchHandle batch(handle);
        (void)warpaes_batch_wait(handle, WARPAES_UNKNOWN);
    }
    [[nodiscard]] std::vector<Way> ways() const {
        if (on_gpu()) return {Way::submit_on_device, Way::enqueue, Way::enqueue_table_on_device};
        return {Way::submit_on_host};
    }

    /// Creates messages of up to `longest` bytes that do not touch each other.
    void scatter(std::size_t count, std::uint64_t longest, Order order) {
        messages_.assign(count, {});
        std::array<std::uint64_t, 3> next{};
        const bool equal = order == Order::equal_steps;
        const std::uint64_t gap = below(20), unit = table_.mode == WARPAES_CBC ? 16 : 1;
        const auto take = [&](int kind, std::uint64_t bytes) {
            std::uint64_t& at = next[extent_of(kind)];
            at += equal ? gap : below(20);
            return std::exchange(at, at + bytes);
        };
        const bool in_place = may_be_in_place() && below(2) == 0;
        for (auto& m : messages_) {
            const warpaes_table_message& before = &m == messages_.data() ? m : *(&m - 1);
            const bool as_before = equal && &m != messages_.data() && below(8) != 0;
            m.length = as_before ? before.length : below(longest + 1) / unit * unit;
            m.aad_len = as_before ? before.aad_len : table_.mode == WARPAES_GCM ? below(50) : 0;
            m.input = take(0, m.length);
            m.output = may_be_in_place() && (order == Order::shuffled ? below(2) == 0 : in_place) ? m.input
                                                                                                  : take(1, m.length);
            m.iv = take(2, table_.iv_len);
            m.aad = take(2, m.aad_len);
            m.tag = take(2, table_.tag_len);
        }
        if (order == Order::shuffled) std::shuffle(messages_.begin(), messages_.end(), random_);
    }
    void set(warpaes_mode mode, warpaes_direction direction) {
        table_.mode = mode;
        table_.direction = direction;
        table_.iv_len = mode == WARPAES_GCM ? 12 : 16;
        table_.tag_len = mode == WARPAES_GCM ? 16 : 0;
    }

    AbiEngine engine_, reference_;
    AbiKey key_;
    std::mt19937 random_{7};
    std::vector<Bytes> images_;
    std::vector<warpaes_table_message> messages_;
    warpaes_batch_table table_ = WARPAES_BATCH_TABLE_INIT;
};

/// The messages have any length and any address. Decryption processes the output of encryption, some of it forged.
TEST_P(Tables, MessagesAreThoseOfSingleCalls) {
    for (const Way way : ways()) {
        for (const warpaes_mode mode : {WARPAES_GCM, WARPAES_CTR, WARPAES_CBC}) {
            for (const auto& [memories, order] :
                 {std::pair{3, Order::shuffled}, std::pair{1, Order::shuffled}, std::pair{3, Order::ascending},
                  std::pair{2, Order::ascending}, std::pair{3, Order::equal_steps}, std::pair{2, Order::equal_steps},
                  std::pair{1, Order::equal_steps}}) {
                set(mode, WARPAES_ENCRYPT);
                make_extents(std::size_t{1} << 18, static_cast<std::size_t>(memories));
                scatter(60, simulated() ? 900 : 1500, order);
                check(way);
                // The output of encryption becomes the input of decryption.
                for (const auto& m : messages_) ASSERT_EQ(alone(m, images_), WARPAES_OK) << warpaes_last_error();
                set(mode, WARPAES_DECRYPT);
                if (memories == 3) std::swap(images_[0], images_[1]);
                for (auto& m : messages_) std::swap(m.input, m.output);
                if (mode == WARPAES_GCM) {
                    for (std::size_t i = 0; i < messages_.size(); i += 7) images_.back()[messages_[i].tag] ^= 1;
                }
                const auto statuses = check(way);
                EXPECT_EQ(std::count(statuses.begin(), statuses.end(), WARPAES_ERROR_AUTHENTICATION),
                          mode == WARPAES_GCM ? 9 : 0);
            }
        }
    }
}

/// Tests random rows in little memory. The rows extend past the memory, overlap, and share IVs.
TEST_P(Tables, HostileRowsHarmNoOthers) {
    std::array<std::size_t, 2> seen{};  // numbers of accepted and of refused rows
    for (int round = 0; round < (simulated() ? 40 : 400); ++round) {
        for (const Way way : ways()) {
            const warpaes_mode modes[] = {WARPAES_GCM, WARPAES_CTR, WARPAES_CBC};
            set(modes[below(3)], below(2) == 0 ? WARPAES_ENCRYPT : WARPAES_DECRYPT);
            make_extents(4000, 1 + below(3));
            scatter(1 + below(24), 100, static_cast<Order>(below(3)));
            const std::uint64_t numbers[] = {0, 1, 16, 3990, 4000, 4001, UINT64_MAX, UINT64_MAX - 15, 1ULL << 63};
            for (std::uint64_t n = below(8); n != 0; --n) {
                auto& m = messages_[below(messages_.size())];
                std::uint64_t* const fields[] = {&m.input, &m.output, &m.iv, &m.aad, &m.tag, &m.reserved, &m.length};
                std::uint64_t& field = *fields[below(7)];
                field = &field != &m.length && below(2) == 0 ? numbers[below(9)] : below(200);
            }
            for (const warpaes_status status : check(way)) {
                ++seen[status == WARPAES_OK || status == WARPAES_ERROR_AUTHENTICATION ? 0 : 1];
            }
            if (HasFailure()) return;
        }
    }
    for (const std::size_t n : seen) EXPECT_GT(n, 200U);
}

/// Tests a part that shares one byte with a part of the same row or of another row, and an IV that two rows use.
TEST_P(Tables, PartsOfRowsThatShareAByte) {
    using Row = warpaes_table_message;
    constexpr std::uint64_t Row::*offsets[] = {&Row::input, &Row::output, &Row::iv, &Row::aad, &Row::tag};
    for (const auto direction : {WARPAES_ENCRYPT, WARPAES_DECRYPT}) {
        set(WARPAES_GCM, direction);
        const std::uint64_t bytes[] = {40, 40, table_.iv_len, 20, table_.tag_len};
        make_extents(4000, 1);
        std::vector<Row> fine(2);
        for (std::size_t i = 0; i < 10; ++i) fine[i / 5].*offsets[i % 5] = 100 + 300 * i;
        for (Row& row : fine) {
            row.length = 40;
            row.aad_len = 20;
        }
        for (std::size_t written = 0; written < 5; ++written) {
            for (std::size_t other = 0; other < 10; ++other) {
                if (other == written) continue;
                for (const std::uint64_t shared : {0U, 1U}) {
                    for (const bool after : {false, true}) {
                        messages_ = fine;
                        messages_[other / 5].*offsets[other % 5] =
                            fine[0].*offsets[written] + (after ? bytes[written] - shared : shared - bytes[other % 5]);
                        for (const Way way : ways()) check(way);
                        ASSERT_FALSE(HasFailure()) << written << " " << other << " " << shared << after;
                    }
                }
            }
        }
        messages_ = fine;
        messages_[1].iv = fine[0].iv;
        const auto expected = direction == WARPAES_ENCRYPT ? WARPAES_ERROR_IV_REUSED : WARPAES_ERROR_AUTHENTICATION;
        for (const Way way : ways()) EXPECT_EQ(check(way), std::vector(2, expected));
    }
}

TEST_P(Tables, FaultsOfATable) {
    set(WARPAES_CTR, WARPAES_ENCRYPT);
    make_extents(256, 1);
    messages_ = {{.input = 0, .output = 0, .length = 16, .iv = 32, .aad = 0, .aad_len = 0, .tag = 0, .reserved = 0}};
    place(0, images_[0].data());
    std::array<warpaes_status, 2> statuses{};
    table_.messages = messages_.data();
    table_.statuses = statuses.data();
    table_.count = 1;
    const auto refused = [&](const char* name, const warpaes_batch_table& table, std::uint32_t flags = 0) {
        warpaes_batch_options options = WARPAES_BATCH_OPTIONS_INIT;
        options.flags = flags;
        warpaes_batch* handle = nullptr;
        EXPECT_NE(warpaes_batch_submit_table(engine_.get(), &options, &table, &handle), WARPAES_OK) << name;
        EXPECT_EQ(std::string(warpaes_last_error()).find(name), 0U) << warpaes_last_error();
        EXPECT_EQ(handle, nullptr);
    };
    const auto with = [&](const auto& change) {
        warpaes_batch_table table = table_;
        change(table);
        return table;
    };
    refused("options", table_, WARPAES_BATCH_OFFSETS);
    refused("table", with([](auto& t) { t.struct_size = 8; }));
    refused("key", with([](auto& t) { t.key = nullptr; }));
    refused("mode", with([](auto& t) { t.mode = std::bit_cast<warpaes_mode>(99); }));
    refused("messages", with([](auto& t) { t.messages = nullptr; }));
    refused("statuses", with([](auto& t) { t.statuses = nullptr; }));
    refused("statuses", with([&](auto& t) { t.statuses = reinterpret_cast<warpaes_status*>(images_[0].data() + 8); }));
    using Table = warpaes_batch_table;
    for (const auto extent : {&Table::input, &Table::output, &Table::iv, &Table::aad, &Table::tag}) {
        refused("statuses", with([&](auto& t) {
                    t.input = t.output = t.iv = t.aad = t.tag = {images_[0].data(), images_[0].size()};
                    t.*extent = {statuses.data(), 5};
                }));
    }
    refused("output", with([](auto& t) { t.output.pointer = nullptr; }));
    refused("iv", with([](auto& t) { t.iv.bytes = UINT64_MAX; }));
    refused("count", with([](auto& t) { t.count = UINT64_MAX; }));
    const std::array<warpaes_status, 2> untouched{};
    EXPECT_EQ(statuses, untouched);
}

INSTANTIATE_TEST_SUITE_P(All, Tables, testing::ValuesIn(usable_backends()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace warpaes::test

// Tests clients that do everything that the rules permit. Six threads on one engine submit batches, and poll, wait for,
// cancel, query and destroy each other's batches in any order. Callbacks submit more batches. Keys are destroyed as
// early as permitted.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <random>
#include <thread>

#include "abi_batch.hpp"

namespace warpaes::test {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t message = 80, messages = 5, text = message * messages;

/// Encrypts `bytes` zero bytes as one message in place and returns the result.
Bytes encrypted_zeros(const AbiEngine& engine, warpaes_mode mode, std::size_t bytes) {
    const AbiKey key = make_key(Bytes(16, 9));
    const Bytes iv(16);
    Bytes data(bytes);
    warpaes_message m = WARPAES_MESSAGE_INIT;
    m.mode = mode;
    m.direction = WARPAES_ENCRYPT;
    m.key = key.get();
    m.iv = iv.data();
    m.iv_len = 16;
    m.input = m.output = data.data();
    m.input_len = m.output_capacity = data.size();
    EXPECT_EQ(warpaes_crypt(engine.get(), &m, nullptr), WARPAES_OK) << warpaes_last_error();
    return data;
}

/// The expected results of a job's entries.
struct Expected {
    explicit Expected(const AbiEngine& engine)
        : ctr(encrypted_zeros(engine, WARPAES_CTR, message)), cbc(encrypted_zeros(engine, WARPAES_CBC, message)) {}
    Bytes ctr, cbc;
};

class Clients;

/// A batch and its buffers, freed when the last client releases it.
class Job {
public:
    Job(Clients& clients, std::shared_ptr<AbiKey> key, unsigned chained)
        : clients_(clients), key_(std::move(key)), chained_(chained) {
        const warpaes_mode modes[] = {WARPAES_CTR, WARPAES_CBC, WARPAES_GCM, WARPAES_ECB};
        for (std::size_t i = 0; i < entries_.size(); ++i) {
            warpaes_batch_entry& e = entries_[i];
            e.mode = modes[i];
            e.direction = i == 2 ? WARPAES_DECRYPT : WARPAES_ENCRYPT;
            e.count = messages;
            e.length = i == 3 ? 5 : message;  // the last entry is refused
            e.key = key_->get();
            e.input.at.pointer = e.output.at.pointer = texts_[i].data();
            e.input.stride = e.output.stride = message;
            e.iv.at.pointer = zeros_.data();
            e.iv_len = i == 3 ? 0 : i == 2 ? 12 : 16;
            e.tag.at.pointer = zeros_.data();
            e.tag_len = i == 2 ? 16 : 0;
            e.statuses = statuses_[i].data();
        }
    }
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;
    ~Job() {
        warpaes_batch_destroy(batch_);
        check();
    }

    void submit(warpaes_engine* engine, bool calls_back);
    [[nodiscard]] warpaes_batch* batch() const noexcept { return batch_; }

private:
    static void finished(void* user, warpaes_batch* batch);
    void check() const;

    Clients& clients_;
    std::shared_ptr<AbiKey> key_;
    unsigned chained_;
    Bytes zeros_ = Bytes(16);
    std::vector<Bytes> texts_ = std::vector(4, Bytes(text));
    std::vector<std::vector<warpaes_status>> statuses_ = std::vector(4, std::vector(messages, WARPAES_ERROR_STATE));
    std::vector<warpaes_batch_entry> entries_ = std::vector<warpaes_batch_entry>(4);
    std::vector<warpaes_entry_result> results_ = std::vector<warpaes_entry_result>(4);
    std::atomic<int> calls_{0};
    bool calls_back_ = false;
    warpaes_batch* batch_ = nullptr;
};

/// Returns an engine that divides a message of more than a page.
AbiEngine make_small_chunks(const std::string& backend, std::uint32_t threads) {
    warpaes_engine_options options = WARPAES_ENGINE_OPTIONS_INIT;
    options.backend = backend.c_str();
    options.threads = threads;
    options.chunk_bytes = 4096;
    warpaes_engine* engine = nullptr;
    EXPECT_EQ(warpaes_engine_create(&options, &engine), WARPAES_OK) << warpaes_last_error();
    return AbiEngine(engine);
}

class Clients {
public:
    Clients(const std::string& backend, std::uint32_t threads)
        : engine_(make_small_chunks(backend, threads)), expected(engine_) {}

    void run(unsigned rounds) {
        std::vector<std::thread> threads;
        for (unsigned t = 0; t < 6; ++t) threads.emplace_back([this, t, rounds] { live(t, rounds); });
        for (std::thread& thread : threads) thread.join();
        // No call may follow the engine's destruction, so callbacks must stop submitting.
        for (std::size_t i = 0; const auto job = at(i); ++i) (void)warpaes_batch_wait(job->batch(), WARPAES_UNKNOWN);
        // The engine finishes pending work. The batches outlive the engine.
        for (int i = 0; i < 8; ++i) submit(0);
        const auto left = std::move(jobs_);
        engine_.reset();
        for (const auto& job : left) EXPECT_EQ(warpaes_batch_poll(job->batch()), 1);
    }

    /// Submits a batch and shares it with all threads.
    void submit(unsigned chained) {
        std::shared_ptr<AbiKey> key;
        {
            const std::lock_guard lock(mutex_);
            if (key_ == nullptr || ++uses_ % 4 == 0) key_ = std::make_shared<AbiKey>(make_key(Bytes(16, 9)));
            key = key_;  // several batches share a key, which is destroyed with the last of them
        }
        auto job = std::make_shared<Job>(*this, std::move(key), chained);
        job->submit(engine_.get(), chained != 0 || uses_ % 2 == 0);
        const std::lock_guard lock(mutex_);
        jobs_.push_back(std::move(job));
    }

private:
    [[nodiscard]] std::shared_ptr<Job> at(std::size_t i) {
        const std::lock_guard lock(mutex_);
        return i < jobs_.size() ? jobs_[i] : nullptr;
    }
    std::shared_ptr<Job> any(std::mt19937& random, bool remove) {
        const std::lock_guard lock(mutex_);
        if (jobs_.empty()) return nullptr;
        const auto at = jobs_.begin() + static_cast<std::ptrdiff_t>(random() % jobs_.size());
        std::shared_ptr<Job> job = *at;
        if (remove) jobs_.erase(at);
        return job;
    }

    /// Encrypts the same text as one message on several lanes, or in pieces with a context.
    void crypt(std::mt19937& random, bool in_pieces) {
        Bytes data(message);
        if (in_pieces) {
            const AbiKey key = make_key(Bytes(16, 9));
            const Bytes iv(16);
            warpaes_context* context = nullptr;
            ASSERT_EQ(warpaes_context_create(engine_.get(), &context), WARPAES_OK);
            warpaes_context_options options = WARPAES_CONTEXT_OPTIONS_INIT;
            options.mode = WARPAES_CTR;
            options.direction = WARPAES_ENCRYPT;
            options.key = key.get();
            options.iv = iv.data();
            options.iv_len = iv.size();
            EXPECT_EQ(warpaes_context_init(context, &options), WARPAES_OK);
            for (std::size_t at = 0, n = 0; at < message; at += n) {
                n = std::min<std::size_t>(1 + random() % 40, message - at);
                std::size_t written = 0;
                EXPECT_EQ(warpaes_context_update(context, data.data() + at, n, data.data() + at, n, &written),
                          WARPAES_OK);
            }
            warpaes_context_destroy(context);
        } else {
            data = encrypted_zeros(engine_, WARPAES_CTR, 3 * message + 10000);
        }
        EXPECT_TRUE(std::equal(expected.ctr.begin(), expected.ctr.end(), data.begin()));
    }

    void live(unsigned seed, unsigned rounds) {
        std::mt19937 random(seed);
        for (unsigned round = 0; round < rounds; ++round) {
            if (random() % 4 == 0) crypt(random, random() % 2 == 0);
            submit(random() % 3 == 0 ? 2 : 0);
            for (int k = 0; k < 3; ++k) {
                const auto what = static_cast<unsigned>(random() % 7);
                const std::shared_ptr<Job> job = any(random, what == 6);
                if (job == nullptr) continue;
                warpaes_batch* const batch = job->batch();
                switch (what) {
                case 0:
                    (void)warpaes_batch_poll(batch);
                    break;
                case 1:
                    warpaes_batch_cancel(batch);
                    break;
                case 2:
                    (void)warpaes_batch_wait(batch, random() % 3);
                    break;
                case 3:
                    (void)warpaes_batch_wait(batch, WARPAES_UNKNOWN);
                    EXPECT_EQ(warpaes_batch_poll(batch), 1);
                    break;
                case 4: {
                    warpaes_batch_result result = WARPAES_BATCH_RESULT_INIT;
                    const bool over = warpaes_batch_poll(batch) == 1;
                    const warpaes_status status = warpaes_batch_query(batch, &result);
                    EXPECT_TRUE(status == WARPAES_OK || (!over && status == WARPAES_ERROR_STATE));
                    EXPECT_TRUE(status != WARPAES_OK || result.messages == 4 * messages);
                    warpaes_entry_result entry = {};
                    const warpaes_status of_entry = warpaes_batch_query_entry(batch, 3, &entry);
                    EXPECT_TRUE(of_entry == WARPAES_OK || (!over && of_entry == WARPAES_ERROR_STATE));
                    EXPECT_TRUE(of_entry != WARPAES_OK || entry.status == WARPAES_ERROR_DATA_LENGTH);
                    break;
                }
                case 5:
                    (void)std::string(warpaes_batch_entry_error(batch, random() % 5));
                    break;
                default:
                    break;  // the context is destroyed here or by the thread that uses it
                }
            }
        }
    }

    AbiEngine engine_;
    std::mutex mutex_;
    std::deque<std::shared_ptr<Job>> jobs_;
    std::shared_ptr<AbiKey> key_;
    std::atomic<unsigned> uses_{0};

public:
    const Expected expected;
};

void Job::submit(warpaes_engine* engine, bool calls_back) {
    calls_back_ = calls_back;
    warpaes_batch_options options = WARPAES_BATCH_OPTIONS_INIT;
    options.finished = calls_back ? finished : nullptr;
    options.user = this;
    options.results = results_.data();
    EXPECT_EQ(warpaes_batch_submit(engine, &options, entries_.data(), entries_.size(), &batch_), WARPAES_OK)
        << warpaes_last_error();
}

void Job::finished(void* user, warpaes_batch* batch) {
    auto& job = *static_cast<Job*>(user);
    ++job.calls_;
    EXPECT_EQ(warpaes_batch_poll(batch), 0) << "the batch does not count as finished earlier";
    if (job.chained_ != 0) job.clients_.submit(job.chained_ - 1);
}

void Job::check() const {
    EXPECT_EQ(calls_, calls_back_ ? 1 : 0);
    EXPECT_EQ(complaints_of_statuses(entries_, results_), "");
    EXPECT_EQ(results_[3].status, WARPAES_ERROR_DATA_LENGTH);
    for (std::size_t i = 0; i < 3; ++i) {
        const warpaes_status status = results_[i].status, good = i == 2 ? WARPAES_ERROR_AUTHENTICATION : WARPAES_OK;
        EXPECT_TRUE(status == good || status == WARPAES_ERROR_CANCELLED) << status;
        if (status != good) continue;
        const Bytes wiped(message);
        const Bytes& want = i == 0 ? clients_.expected.ctr : i == 1 ? clients_.expected.cbc : wiped;
        for (std::size_t m = 0; m < messages; ++m) {
            EXPECT_TRUE(
                std::equal(want.begin(), want.end(), texts_[i].begin() + static_cast<std::ptrdiff_t>(m * message)));
        }
    }
}

class Hostile : public testing::TestWithParam<std::string> {};

TEST_P(Hostile, ClientsOfOneEngine) {
    for (const std::uint32_t threads : {1U, 3U}) Clients(GetParam(), threads).run(simulated() ? 20 : 400);
}

INSTANTIATE_TEST_SUITE_P(Backend, Hostile, testing::ValuesIn(usable_backends()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace warpaes::test

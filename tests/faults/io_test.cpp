// Makes each system call of a job fail, transfer less than requested or take longer, at every position.
#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <regex>
#include <set>
#include <tuple>
#include <utility>

#include "faulty_os.hpp"
#include "runs.hpp"
#include "stage.hpp"

namespace faults {
namespace {

/// An effect on a call and on the given number of later calls.
struct Fault {
    Effect effect;
    int error = 0;
    unsigned times = 1;
};

std::vector<Fault> failures(std::initializer_list<int> errors) {
    std::vector<Fault> list;
    for (const int error : errors) {
        list.push_back({Effect::fail, error});
        // An interrupted call is repeated, so permanent interruption would never end.
        list.push_back({Effect::fail, error, error == EINTR ? 3 : for_ever});
    }
    return list;
}

std::vector<Fault> transfer_faults(std::initializer_list<int> errors) {
    std::vector<Fault> list = failures(errors);
    list.insert(list.end(), {{Effect::fail, EINTR, 3},
                             {Effect::fail, EAGAIN, 2},
                             {Effect::one_byte},
                             {Effect::one_byte, 0, 20},
                             {Effect::half},
                             {Effect::half, 0, 3},
                             {Effect::slow}});
    return list;
}

std::vector<Fault> faults_of(const std::string& call) {
    const Fault interrupted{Effect::fail, EINTR}, slow{Effect::slow};
    std::vector<Fault> list;
    if (call == "read") list = transfer_faults({EIO});
    if (call == "pread") {
        list = transfer_faults({EIO});
        list.push_back({Effect::end});  // the file became shorter, or the pipe ended
        list.push_back({Effect::end, 0, for_ever});
    }
    if (call == "write" || call == "pwrite") list = transfer_faults({ENOSPC, EIO, EPIPE, EFBIG});
    if (call == "open") list = failures({EACCES, EMFILE, ENOENT, EINTR});
    if (call == "stat" || call == "lstat") list = failures({EIO, EACCES});
    if (call == "fstat") list = failures({EIO});
    if (call == "lseek" || call == "status_flags") list = failures({EIO});
    if (call == "poll") {
        list = failures({ENOMEM});
        list.insert(list.end(), {interrupted, {Effect::fail, EINTR, 3}, {Effect::end}, slow});
    }
    if (call == "fchmod" || call == "fchown") list = failures({EPERM});
    if (call.ends_with("xattr")) list = failures({ENODATA, EOPNOTSUPP, EIO});
    if (call == "fsync") {
        list = failures({EIO, ENOSPC, EINVAL});
        list.insert(list.end(), {{Effect::fail, EINTR, 3}, slow});
    }
    if (call == "fstatfs") list = failures({EIO, ENOSYS});
    if (call == "copy_to_pages") list = failures({ENOMEM, EINVAL, ENOSPC});
    if (call == "begin_writing") list = failures({EIO, ENOSPC, ESPIPE});
    if (call == "rename") list = failures({EIO, EXDEV, EEXIST, EINVAL});
    if (call == "link") list = failures({EIO, EEXIST, EPERM});
    if (call == "unlink" || call == "close") list = failures({EIO, EINTR});
    return list;
}

class Io : public testing::TestWithParam<std::tuple<Work, std::uint32_t>> {
protected:
    void SetUp() override {
        std::signal(SIGPIPE, SIG_IGN);
        const auto& [work, threads] = GetParam();
        case_ = work.work;
        stage_ = std::make_unique<Stage>(work.ends);
        engine_ = make_engine("libcrypto", threads);
        work_ = name_of(work);
    }
    void TearDown() override { reset(); }

    /// Runs once with these faults.
    warpaes_status check(const std::string& call, const std::vector<Injection>& injections,
                         const std::string& description) {
        reset();
        for (const Injection& injection : injections) inject(injection);
        Result result;
        {
            const Watchdog watchdog(description);
            result = stage_->run(*case_, engine_.get());
        }
        const bool happened = faults::happened();
        missed_ = !happened;
        EXPECT_FALSE(exposed()) << description;
        // The name is hidden, recognizable after a SIGKILL and unpredictable, so that another process cannot create the
        // file first.
        static const std::regex temporary(R"(\.warpaes-[a-z0-9]{10})");
        for (const std::string& name : earlier_names()) {
            EXPECT_TRUE(std::regex_match(name, temporary)) << description << ": " << name;
        }
        reset();
        // A file that cannot be removed remains.
        if (call == "unlink") result.left_over = false;
        const std::string wrong = stage_->fault_in(*case_, result);
        EXPECT_EQ(wrong, "") << description << ": " << warpaes_status_message(result.status) << ": " << result.sentence;
        count(work_, call,
              !wrong.empty()                ? Outcome::wrong
              : !happened                   ? Outcome::missed
              : result.status == WARPAES_OK ? Outcome::completed
                                            : Outcome::refused);
        return result.status;
    }

    bool missed_ = false;  ///< whether the last check missed its fault
    const Case* case_ = nullptr;
    std::unique_ptr<Stage> stage_;
    Engine engine_;
    std::string work_;
};

std::string describe(const Injection& i) {
    return i.call + " " + std::to_string(i.nth) + " effect " + std::to_string(static_cast<int>(i.effect)) + " " +
           (i.error != 0 ? std::strerror(i.error) : "") + " times " + std::to_string(i.times);
}

TEST_P(Io, EveryCallAtEveryPosition) {
    check("none", {}, "clean");
    reset();
    ASSERT_EQ(stage_->run(*case_, engine_.get()).status, WARPAES_OK) << warpaes_last_error();
    const auto calls = counts();
    const EndKind ends = std::get<0>(GetParam()).ends;
    if (ends == EndKind::file || ends == EndKind::replacement) {
        EXPECT_EQ(calls.at("fsync"), 2U) << "the file and the folder that contains its name";
    }
    std::set<std::string> seen;
    for (const auto& [call, n] : calls) {
        if (call == "*") continue;
        seen.insert(call);
        const std::vector<Fault> faults = faults_of(call);
        ASSERT_FALSE(faults.empty()) << call;
        for (unsigned nth = 1; nth <= n; ++nth) {
            for (const Fault& f : faults) {
                const Injection injection{call, nth, f.effect, f.error, f.times};
                const warpaes_status status = check(call, {injection}, describe(injection));
                // Threads may make one call fewer than in the run that counted the calls, so the last fault may not
                // occur.
                EXPECT_TRUE(!missed_ || nth == n) << describe(injection) << ": no fault was injected";
                // The content is right but not on the disk.
                if (call == "fsync" && nth == 1 && (f.error == EIO || f.error == ENOSPC)) {
                    EXPECT_EQ(status, WARPAES_ERROR_WRITE) << describe(injection);
                }
            }
        }
    }
    if (!seen.contains("link")) return;
    // On a file system without unnamed files, the calls that work with a named temporary file fail in turn, with and
    // without RENAME_NOREPLACE.
    std::vector<Injection> named{{"open", 2, Effect::fail, EOPNOTSUPP}};  // the first call opens the input
    // The third call determines the permissions of new files.
    if (ends == EndKind::file) named.push_back({"open", 4, Effect::fail, EOPNOTSUPP});
    for (const std::string call : {"open", "rename", "link", "unlink"}) {
        for (const Fault& f : faults_of(call)) {
            for (unsigned nth = 1; nth <= 2; ++nth) {
                const Injection injection{call, nth, f.effect, f.error, f.times};
                std::vector<Injection> all = named;
                all.push_back(injection);
                check(call, all, "named, " + describe(injection));
                if (call == "open" || call == "rename") continue;
                all.push_back({"rename", 1, Effect::fail, EINVAL});
                check(call, all, "named, no rename, " + describe(injection));
            }
        }
    }
}

TEST(IoSentences, AFailedWriteSaysWhatToDo) {
    const Case& work = cases().front();
    Stage stage(EndKind::file);
    const Engine engine = make_engine("libcrypto", 1);
    const std::string space = "; free some space or choose another location";
    for (const auto& [error, advice] : {std::pair<int, std::string>{ENOSPC, space},
                                        {EDQUOT, space},
                                        {EPIPE, "; its reader closed it"},
                                        {EFBIG, "; the maximum file size was reached"},
                                        {EIO, ""}}) {
        reset();
        inject({"pwrite", 1, Effect::fail, error});
        const Result result = stage.run(work, engine.get());
        EXPECT_EQ(result.status, WARPAES_ERROR_WRITE);
        const std::string words = std::strerror(error);
        EXPECT_TRUE(result.sentence.ends_with(words + advice)) << result.sentence;
    }
    reset();
}

INSTANTIATE_TEST_SUITE_P(Cases, Io, testing::Combine(testing::ValuesIn(all_work()), testing::Values(1u, 3u)),
                         [](const auto& info) {
                             return name_of(std::get<0>(info.param)) + "_" + std::to_string(std::get<1>(info.param)) +
                                    "_threads";
                         });

}  // namespace
}  // namespace faults

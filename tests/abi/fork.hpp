// Runs code in children of a process that holds handles of the ABI.
#pragma once

#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

#include "folder.hpp"
#include "support.hpp"

namespace abi_tests {

inline constexpr std::uint64_t long_text = std::uint64_t{3} << 20;

enum class Way {
    fork,       ///< libc's fork(), which runs the fork handlers
    raw_clone,  ///< the system call, which runs no handlers
    same_id,    ///< clone() into another PID namespace, so that parent and child both have PID 1
    twice       ///< a child of a child, as after daemon()
};

inline constexpr const char* names_of_ways[] = {"Fork", "RawClone", "SameId", "Twice"};

inline pid_t clone_raw(unsigned long flags) {
    return static_cast<pid_t>(syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0));
}

/// Runs `body` in a child of this process and returns its result, or a description if the child hangs or crashes.
inline std::string in_child(const std::function<std::string()>& body, Way way = Way::fork) {
    int ends[2];
    if (pipe(ends) != 0) return "no pipe";
    const pid_t child = way == Way::fork || way == Way::twice ? ::fork()
                        : way == Way::raw_clone               ? clone_raw(0)
                                                              : clone_raw(CLONE_NEWPID);
    if (child < 0) return "no child";
    if (child == 0) {
        alarm(60);
        const std::string said = way == Way::twice ? in_child(body) : body();
        _exit(write(ends[1], said.data(), said.size()) == static_cast<ssize_t>(said.size()) ? 0 : 1);
    }
    close(ends[1]);
    std::string said;
    char part[256];
    for (ssize_t n = 0; (n = read(ends[0], part, sizeof part)) > 0;) said.append(part, static_cast<std::size_t>(n));
    close(ends[0]);
    int status = -1;
    if (waitpid(child, &status, 0) != child || status != 0) said += " [ended with " + std::to_string(status) + "]";
    return said;
}

inline bool may_make_namespaces() {
    return in_child([] { return std::string(); }, Way::same_id).empty();
}

/// Collects the faults that a child finds.
struct Faults {
    std::string text;
    void expect(bool right, const std::string& what) {
        if (!right) text += what + " (" + warpaes_last_error() + "); ";
    }
    /// Checks that a call was refused because its object belongs to the process that forked this process.
    void refused(warpaes_status status, const std::string& thing) {
        const std::string sentence = warpaes_last_error();
        expect(status == WARPAES_ERROR_STATE, thing + " is not refused: " + std::to_string(status));
        expect(sentence.starts_with(thing + ": belongs to the process that forked this one; "), thing + "'s sentence");
    }
};

inline int append(void* to, const void* bytes, std::uint64_t length) {
    const auto* const begin = static_cast<const std::uint8_t*>(bytes);
    static_cast<Bytes*>(to)->insert(static_cast<Bytes*>(to)->end(), begin, begin + length);
    return 0;
}

/// Creates every kind of handle that a parent can hold when it forks.
class Fork : public testing::TestWithParam<std::tuple<Way, std::uint32_t>> {
protected:
    void SetUp() override {
        if (way() == Way::same_id && !may_make_namespaces()) {
            GTEST_SKIP() << "needs permission to create PID namespaces (root, or CAP_SYS_ADMIN)";
        }
        warpaes_engine_options options = WARPAES_ENGINE_OPTIONS_INIT;
        options.threads = std::get<1>(GetParam());
        options.chunk_bytes = 65536;
        warpaes_engine* engine = nullptr;
        ASSERT_EQ(warpaes_engine_create(&options, &engine), WARPAES_OK) << warpaes_last_error();
        engine_.reset(engine);
        ASSERT_EQ(warpaes_keyset_create(&keyset_), WARPAES_OK);
        ASSERT_EQ(warpaes_keyset_add(keyset_, "AES256_GCM_HKDF_4KB", nullptr), WARPAES_OK) << warpaes_last_error();
    }
    void TearDown() override { warpaes_keyset_destroy(keyset_); }

    static Way way() { return std::get<0>(GetParam()); }

    /// Runs `body` in a child. With Way::same_id, `body` runs in a grandchild, and the child runs `before`. Both are
    /// process 1 of their namespaces.
    template <typename Body>
    static void in_a_child(const Body& body) {
        EXPECT_EQ(in_child(
                      [&] {
                          Faults faults;
                          body(faults);
                          return faults.text;
                      },
                      way()),
                  "");
    }

    Bytes gcm(const warpaes_engine* engine, const Bytes& text, Bytes& tag) const {
        Bytes out(text.size());
        tag.assign(16, 0);
        Call m = make_message(WARPAES_GCM, WARPAES_ENCRYPT, key_, Bytes(12, 5), text.data(), text.size(), out.data(),
                              out.size());
        m.iv = iv_.data();
        m.iv_len = 12;
        m.tag = tag.data();
        m.tag_len = 16;
        return warpaes_crypt(const_cast<warpaes_engine*>(engine), &m, nullptr) == WARPAES_OK ? out : Bytes{};
    }

    warpaes_writer* open_writer(const warpaes_sink& sink) const {
        warpaes_writer* writer = nullptr;
        EXPECT_EQ(warpaes_writer_open(engine_.get(), &sink, keyset_, nullptr, 0, &writer), WARPAES_OK)
            << warpaes_last_error();
        return writer;
    }
    /// Opens a writer that appends to `file`.
    warpaes_writer* open_writer(Bytes& file) const {
        warpaes_sink sink = WARPAES_SINK_INIT;
        sink.write = append;
        sink.user = &file;
        return open_writer(sink);
    }
    warpaes_reader* open_reader(const warpaes_source& source) const {
        warpaes_reader* reader = nullptr;
        EXPECT_EQ(warpaes_reader_open(engine_.get(), &source, keyset_, nullptr, 0, &reader), WARPAES_OK)
            << warpaes_last_error();
        return reader;
    }
    Bytes sealed(const Bytes& text) const {
        Bytes file;
        warpaes_writer* const writer = open_writer(file);
        EXPECT_EQ(warpaes_writer_write(writer, text.data(), text.size()), WARPAES_OK);
        EXPECT_EQ(warpaes_writer_finish(writer), WARPAES_OK);
        warpaes_writer_close(writer);
        return file;
    }
    Bytes opened(const Bytes& file) const {
        warpaes_source source = WARPAES_SOURCE_INIT;
        source.memory = file.data();
        source.memory_len = file.size();
        warpaes_reader* const reader = open_reader(source);
        Bytes text(warpaes_reader_size(reader));
        std::uint64_t n = 0;
        EXPECT_EQ(warpaes_reader_read(reader, 0, text.data(), text.size(), &n), WARPAES_OK) << warpaes_last_error();
        warpaes_reader_close(reader);
        return text;
    }

    Engine engine_;
    Key key_ = make_key(Bytes(32, 1));
    const Bytes iv_ = Bytes(16, 5);
    warpaes_keyset* keyset_ = nullptr;
    Random random_{7};
    oracle::Folder folder_;
};

}  // namespace abi_tests

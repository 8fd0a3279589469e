#include "stage.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

namespace faults {

namespace fs = std::filesystem;

namespace {

void write_file(const std::string& path, const Bytes& bytes) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

std::optional<Bytes> read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return std::nullopt;
    return Bytes(std::istreambuf_iterator<char>(file), {});
}

Result result_of(const Case& c, warpaes_engine* engine, const Ends& ends) {
    Result result;
    result.status = c.run(engine, ends, result.notes);
    if (result.status != WARPAES_OK) result.sentence = warpaes_last_error();
    return result;
}

/// Returns whether every byte is right or was never written.
bool is_part(const Bytes& exact, const Bytes& output) {
    if (output.size() > exact.size()) return false;
    for (std::size_t i = 0; i < output.size(); ++i) {
        if (output[i] != exact[i] && output[i] != 0) return false;
    }
    return true;
}

struct Pipe {
    int read_end = -1;
    int write_end = -1;
    Pipe() {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
        read_end = ends[0];
        write_end = ends[1];
    }
};

}  // namespace

std::vector<Work> all_work() {
    std::vector<Work> list;
    for (const Case& c : cases()) {
        for (const EndKind ends : c.ends) list.push_back({&c, ends});
    }
    return list;
}

std::string name_of(const Work& work) {
    return work.work->name + "_" + name_of(work.ends);
}

// The tests call fsync() thousands of times, so the folder is in memory if possible.
Stage::Stage(EndKind ends)
    : ends_(ends),
      folder_(::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : fs::temp_directory_path()),
      old_(some_bytes(100, 77)) {}

Result Stage::run(const Case& c, warpaes_engine* engine) {
    if (!fs::exists(path("in"))) write_file(path("in"), c.input);
    if (ends_ == EndKind::pipe) return run_on_pipes(c, engine);
    if (ends_ == EndKind::memory) return run_into_memory(c, engine);
    if (ends_ == EndKind::descriptor) return run_on_descriptors(c, engine);
    return run_on_files(c, engine);
}

Result Stage::run_on_files(const Case& c, warpaes_engine* engine) const {
    const std::string in = path("in"), out = path("out");
    if (ends_ == EndKind::replacement) write_file(out, old_);
    Result result = result_of(
        c, engine, {.input_path = in.c_str(), .output_path = out.c_str(), .replace = ends_ == EndKind::replacement});
    result.output = read_file(out);
    for (const auto& entry : fs::directory_iterator(folder_.path())) {
        if (entry.path() == in) continue;
        if (entry.path() != out) result.left_over = true;
        fs::remove(entry.path());
    }
    return result;
}

Result Stage::run_on_descriptors(const Case& c, warpaes_engine* engine) const {
    const int in = ::open(path("in").c_str(), O_RDONLY | O_CLOEXEC);
    const int out = ::open(path("out").c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    Result result = result_of(c, engine, {.input_fd = in, .output_fd = out});
    result.output = read_file(path("out"));
    result.position_right = ::lseek(out, 0, SEEK_CUR) == static_cast<off_t>(result.output->size());
    ::close(in);
    ::close(out);
    return result;
}

Result Stage::run_on_pipes(const Case& c, warpaes_engine* engine) const {
    Pipe in, out;
    const int file = ::open(path("in").c_str(), O_RDONLY | O_CLOEXEC);
    Bytes received;
    Result result;
    {
        std::jthread writer([&c, fd = in.write_end] {
            std::size_t done = 0;
            while (done < c.input.size()) {
                const ssize_t n = ::write(fd, c.input.data() + done, c.input.size() - done);
                if (n <= 0) break;
                done += static_cast<std::size_t>(n);
            }
            ::close(fd);
        });
        std::jthread reader([&received, fd = out.read_end] {
            std::uint8_t buffer[65536];
            for (ssize_t n = 0; (n = ::read(fd, buffer, sizeof buffer)) > 0;) {
                received.insert(received.end(), buffer, buffer + n);
            }
            ::close(fd);
        });
        result = result_of(c, engine, {.input_fd = c.seeks ? file : in.read_end, .output_fd = out.write_end});
        ::close(in.read_end);
        ::close(out.write_end);
    }
    ::close(file);
    result.output = std::move(received);
    return result;
}

Result Stage::run_into_memory(const Case& c, warpaes_engine* engine) const {
    const std::string in = path("in");
    Bytes memory;
    Result result = result_of(c, engine, {.input_path = in.c_str(), .memory = &memory});
    result.output = std::move(memory);
    return result;
}

std::string Stage::fault_in(const Case& c, const Result& result) const {
    if (result.left_over) return "a file was left behind";
    if (result.status == WARPAES_OK) {
        if (!result.output) return "success, but there is no output";
        if (!c.is_whole(*result.output)) return "success, but the output is wrong";
        if (!result.position_right) return "success, but the descriptor does not stand behind the output";
        return "";
    }
    // The error of a cancelled call does not name an argument. Every other error does.
    const bool named = result.sentence.find(": ") != std::string::npos;
    if (!named && (result.status != WARPAES_ERROR_CANCELLED || result.sentence.empty()))
        return "no sentence: '" + result.sentence + "'";
    switch (ends_) {
    case EndKind::file:
        return result.output ? "failure, but there is an output file" : "";
    case EndKind::replacement:
        return result.output == old_ ? "" : "failure, but the old file is not what it was";
    case EndKind::descriptor:
        return c.exact.empty() || is_part(c.exact, *result.output) ? "" : "failure, and bytes that are wrong";
    case EndKind::pipe:
        return c.is_beginning(*result.output) ? "" : "failure, and the pipe got wrong bytes";
    case EndKind::memory:
        return std::all_of(result.output->begin(), result.output->end(), [](auto b) { return b == 0; })
                   ? ""
                   : "failure, and the memory was not wiped";
    }
    return "";
}

}  // namespace faults

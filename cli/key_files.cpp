#include "key_files.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include "command.hpp"
#include "places/host.hpp"

namespace cli {

namespace {

struct NeededFile {
    std::string name;
    dev_t device;
    ino_t inode;
};

/// Files that this process needs. A process runs one command, and all files are added before it starts threads.
std::vector<NeededFile>& needed_files() {
    static std::vector<NeededFile> files;
    return files;
}

}  // namespace

void warn_if_others_can_read(const std::string& name, int fd) {
    const std::string sentence = warpaes::places::open_to_others(name, fd);
    if (!sentence.empty()) warn(sentence);
}

void note_needed_file(const std::string& name, int fd) {
    struct stat status {};
    if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        needed_files().push_back({name, status.st_dev, status.st_ino});
    }
}

void note_key_file(const std::string& name, int fd) {
    warn_if_others_can_read(name, fd);
    note_needed_file(name, fd);
}

void refuse_needed_file(const std::string& path) {
    struct stat status {};
    if ((path.empty() ? ::fstat(STDOUT_FILENO, &status) : ::stat(path.c_str(), &status)) != 0) return;
    for (const NeededFile& file : needed_files()) {
        if (file.device != status.st_dev || file.inode != status.st_ino) continue;
        throw Failure(
            WARPAES_ERROR_SAME_FILE,
            fmt::format("output: {} is the file {}, which is needed to decrypt the result; write to another file",
                        path.empty() ? "standard output" : "'" + path + "'", file.name));
    }
}

}  // namespace cli

#include "places/host.hpp"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/error.hpp"

namespace warpaes::places {

std::string error_text(int error) {
    return std::generic_category().message(error);
}

ssize_t Host::read(int fd, void* buffer, std::size_t bytes) {
    ssize_t n = 0;
    do {
        n = ::read(fd, buffer, bytes);
    } while (n < 0 && errno == EINTR);
    return n;
}

pid_t Host::wait(pid_t process, int* status) {
    pid_t ended = 0;
    do {
        ended = ::waitpid(process, status, 0);
    } while (ended < 0 && errno == EINTR);
    return ended;
}

bool Host::is_interrupted() noexcept {
    return false;
}

void Host::warn(const std::string& /*sentence*/) {}

void Host::note_file(const std::string& name, int fd) {
    const std::string sentence = open_to_others(name, fd);
    if (!sentence.empty()) warn(sentence);
}

std::vector<std::string> Host::secret_variables() {
    return {};
}

void Host::refuse_file(const std::string& option, const std::string& path, int error) {
    if (error == ENOENT || error == ENOTDIR || error == ENAMETOOLONG) {
        throw Error(WARPAES_ERROR_NOT_FOUND,
                    option + ": there is no file of this name, which is not repeated because it may be a secret");
    }
    throw Error(WARPAES_ERROR_NOT_FOUND, option + ": cannot open '" + path + "': " + error_text(error));
}

std::string open_to_others(const std::string& name, int fd) {
    struct stat status {};
    if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || (status.st_mode & 077) == 0) return {};
    std::string mode;
    for (const int shift : {6, 3, 0}) mode += static_cast<char>('0' + (status.st_mode >> shift & 7));
    return name + " is open to other users of this machine (mode " + mode + "); `chmod 600` closes it";
}

}  // namespace warpaes::places

#include "output_notes.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include "command.hpp"

namespace cli {

namespace {

std::string others(std::size_t files) {
    if (files < 2) return "";
    return fmt::format(" and {} other file{}", files - 1, files == 2 ? "" : "s");
}

unsigned mode_of(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 0777 : 0;
}

}  // namespace

void OutputNotes::count(Kind& kind, const std::string& path) {
    if (kind.files++ == 0) kind.first = path;
}

void OutputNotes::add(std::uint32_t notes, const std::string& path) {
    const std::lock_guard lock(mutex_);
    if ((notes & WARPAES_NOTE_ATTRIBUTES) != 0) count(attributes_, path);
    if ((notes & WARPAES_NOTE_NAME_EARLY) != 0) count(early_, path);
}

void OutputNotes::tell() const {
    if (attributes_.files != 0) {
        warn(fmt::format(
            "'{}'{}: complete, but the file system did not store the permissions or times; the file's mode is {:03o}",
            attributes_.first, others(attributes_.files), mode_of(attributes_.first)));
    }
    if (early_.files != 0) {
        warn(fmt::format("'{}'{}: complete, but visible during writing, because the file system cannot rename files",
                         early_.first, others(early_.files)));
    }
}

void warn_if_open_to_others(const std::string& path) {
    if (const unsigned mode = mode_of(path); (mode & 077) != 0) {
        warn(
            fmt::format("'{}' is open to other users of this machine, because its file system sets mode {:03o}; move "
                        "it to a file system that supports permissions",
                        path, mode));
    }
}

}  // namespace cli

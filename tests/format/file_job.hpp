// Runs jobs on files in a separate directory, and creates keysets whose keys have any parameters.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "engine/pipeline/file.hpp"
#include "folder.hpp"
#include "format/streaming_aead.hpp"
#include "segment_cases.hpp"

namespace warpaes::test {

/// A job and its options for authenticated segments.
struct AeadJob : FileJob, AeadOptions {};
FileResult run_aead(Engine& engine, const AeadJob& job);

/// Returns a keyset with these keys. The key IDs are kept, and the first key is the primary. C2SP requires exactly one
/// key.
Keyset keyset_of(const std::vector<StreamKey>& keys);

class FileJobTest : public testing::Test {
protected:
    void SetUp() override;

    [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }
    void write_file(const std::string& name, const Bytes& bytes) const;
    [[nodiscard]] Bytes read_file(const std::string& name) const;
    [[nodiscard]] bool exists(const std::string& name) const { return std::filesystem::exists(path(name)); }
    /// Returns the number of files in the directory, including temporary files.
    [[nodiscard]] std::size_t entries() const { return folder_.names().size(); }

    /// Returns a job that reads and writes files.
    [[nodiscard]] AeadJob job(Direction direction, const Keyset& keyset, const std::string& from,
                              const std::string& to) const;
    /// The output that a job wrote to a pipe, and its status and error message. `input`, if given, comes through
    /// another pipe.
    struct Piped {
        warpaes_status status = WARPAES_OK;
        std::string sentence;
        Bytes output;
        FileResult result;
    };
    Piped run_piped(AeadJob job, const Bytes* input = nullptr);

    Engine engine_{{.backend = "auto", .threads = 3, .chunk_bytes = 4096}};

private:
    oracle::Folder folder_;
};

/// The status and the message of the exception that a function throws.
struct Failure {
    warpaes_status status = WARPAES_OK;
    std::string sentence;
};
Failure failure_of(const std::function<void()>& body);

}  // namespace warpaes::test

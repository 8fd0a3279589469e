// Jobs on files in a separate directory, and keysets with keys of any parameters.
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

/// A job with the options of authenticated segments.
struct AeadJob : FileJob, AeadOptions {};
FileResult run_aead(Engine& engine, const AeadJob& job);

/// The key IDs are kept; the first key is the primary. C2SP: exactly one key.
Keyset keyset_of(const std::vector<StreamKey>& keys);

class FileJobTest : public testing::Test {
protected:
    void SetUp() override;

    [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }
    void write_file(const std::string& name, const Bytes& bytes) const;
    [[nodiscard]] Bytes read_file(const std::string& name) const;
    [[nodiscard]] bool exists(const std::string& name) const { return std::filesystem::exists(path(name)); }
    /// Files in the directory, including temporary ones.
    [[nodiscard]] std::size_t entries() const { return folder_.names().size(); }

    /// A job from file to file.
    [[nodiscard]] AeadJob job(Direction direction, const Keyset& keyset, const std::string& from,
                              const std::string& to) const;
    /// The job's output to a pipe, its status and message; `input`, if any, comes through another pipe.
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

/// The status and message of the exception that `body` throws.
struct Failure {
    warpaes_status status = WARPAES_OK;
    std::string sentence;
};
Failure failure_of(const std::function<void()>& body);

}  // namespace warpaes::test

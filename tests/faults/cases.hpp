// The jobs of the fault matrix, which use files, descriptors and pipes, and their permitted outputs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "warpaes/files.h"

namespace faults {

using Bytes = std::vector<std::uint8_t>;

struct Destroy {
    void operator()(warpaes_engine* engine) const { warpaes_engine_destroy(engine); }
    void operator()(warpaes_key* key) const { warpaes_key_destroy(key); }
    void operator()(warpaes_keyset* keyset) const { warpaes_keyset_destroy(keyset); }
    void operator()(warpaes_reader* reader) const { warpaes_reader_close(reader); }
    void operator()(warpaes_writer* writer) const { warpaes_writer_close(writer); }
};
using Engine = std::unique_ptr<warpaes_engine, Destroy>;
using Keyset = std::unique_ptr<warpaes_keyset, Destroy>;
using Reader = std::unique_ptr<warpaes_reader, Destroy>;
using Writer = std::unique_ptr<warpaes_writer, Destroy>;
using Key = std::unique_ptr<warpaes_key, Destroy>;

/// Returns null if the backend is not available.
Engine make_engine(const char* backend, std::uint32_t threads);
Bytes some_bytes(std::size_t n, unsigned seed);

enum class EndKind {
    file,         ///< paths; the output file does not exist yet
    replacement,  ///< paths; the output file exists and is replaced
    descriptor,   ///< descriptors of regular files
    pipe,
    memory  ///< input from a path, output to memory
};
const char* name_of(EndKind ends);

/// The input and output of a case: paths or, if those are null, descriptors or memory.
struct Ends {
    const char* input_path = nullptr;
    const char* output_path = nullptr;
    int input_fd = -1;
    int output_fd = -1;
    bool replace = false;
    Bytes* memory = nullptr;
};

struct Case {
    std::string name;
    Bytes input;
    /// Runs the job and stores WARPAES_NOTE_* in `notes`.
    std::function<warpaes_status(warpaes_engine*, const Ends&, std::uint32_t& notes)> run;
    /// Returns whether `output` is the output of a successful run.
    std::function<bool(const Bytes& output)> is_whole;
    /// Returns whether a pipe may have received `output` before the job failed: authentic bytes from the beginning.
    std::function<bool(const Bytes& output)> is_beginning;
    /// The expected output, if every successful run writes the same bytes.
    Bytes exact;
    /// Whether the job seeks, so that its input cannot be a pipe.
    bool seeks = false;
    std::vector<EndKind> ends{EndKind::file, EndKind::replacement, EndKind::descriptor, EndKind::pipe};
};

const std::vector<Case>& cases();

}  // namespace faults

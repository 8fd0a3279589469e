// Tests file jobs on files of authenticated segments: arbitrary bytes as such a file, and damaged sealed files. The
// files are decrypted, verified, decrypted in part and inspected, also on failing storage. Only authenticated bytes may
// be output.
#include <cstring>

#include "file_job.hpp"
#include "sealed_files.hpp"

namespace {

using namespace fuzz;

warpaes_file_job job_for(const warpaes_keyset* keyset, warpaes_direction direction, bool right_aad = true) {
    warpaes_file_job job = WARPAES_FILE_JOB_INIT;
    job.direction = direction;
    job.format = WARPAES_FORMAT_STREAMING_AEAD;
    job.keyset = keyset;
    job.aad = aad;
    job.aad_len = right_aad ? sizeof aad : sizeof aad - 1;
    return job;
}

/// Returns whether the output contains only bytes of the text at their positions, and zeros. Regular files are written
/// in any order, so bytes that have not been written yet are zero.
bool is_part(const Bytes& output, const Bytes& text) {
    if (output.size() > text.size()) return false;
    for (std::size_t i = 0; i < output.size(); ++i) {
        if (output[i] != text[i] && output[i] != 0) return false;
    }
    return true;
}

void inspect(Input& in, const Bytes& file) {
    memory_os::reset();
    memory_os::files()["/in"] = std::make_shared<memory_os::File>(memory_os::File{file, false});
    warpaes_file_info info{};
    info.struct_size = sizeof info;
    const char* name = in.flag() ? warpaes_template_name(in.below(warpaes_template_count())) : nullptr;
    const warpaes_status status = warpaes_file_inspect("/in", name, &info);
    require(memory_os::open_descriptors() == 0, "a descriptor stays open");
    if (status != WARPAES_OK) return require(*warpaes_last_error() != '\0', "an error without a message");
    require(info.file_bytes == file.size(), "a wrong length of the file");
    const bool unknown = name == nullptr && info.plaintext_bytes == WARPAES_UNKNOWN;
    require(unknown || info.plaintext_bytes <= info.file_bytes, "more plaintext than file");
}

/// The part of the text that a job requests: a range or the whole text.
struct Part {
    std::size_t first = 0;
    std::size_t end = 0;
};

void spoiled(Input& in, warpaes_engine* engine) {
    const StreamKey& key = any_stream_key(in);
    const SealedFile& sealed = sealed_file(engine, key, any_length(in, key));
    const bool right_aad = in.below(8) != 0, own_keys = in.below(4) != 0;
    const Bytes file = spoil(in, engine, key, sealed);
    warpaes_file_job job = job_for(own_keys ? key.keyset : keyset_of_all(), WARPAES_DECRYPT, right_aad);
    const SealedFile* const authentic = right_aad && (own_keys || key.is_in_all) ? find_sealed(key, file) : nullptr;
    Part part{0, authentic != nullptr ? authentic->text.size() : 0};
    const std::size_t what = in.below(4);
    const bool ranged = what == 1, verifies = what == 2;
    if (ranged) {
        job.flags |= WARPAES_FILE_RANGE;
        job.range_first = part.first = in.below(sealed.text.size() + 1);
        job.range_last = job.range_first + in.below(300);
        part.end = static_cast<std::size_t>(job.range_last) + 1;
    }
    if (verifies) job.flags |= WARPAES_FILE_VERIFY;
    Circumstances how = Circumstances::any(in);
    if (verifies) how.output_is_path = false;
    const JobResult result = run_job(engine, job, file, how);

    // All sealed texts begin with the same bytes.
    const Bytes expected = text_from(part.first, result.output.size());
    if (verifies) require(result.output.empty(), "verify has written output");
    if (result.status == WARPAES_OK) {
        require(right_aad, "wrong associated data were accepted");
        require(ranged || authentic != nullptr, "bytes that are not authentic were accepted");
        require(result.output == expected, "another text");
        require(verifies || result.output.size() == part.end - part.first, "another length");
        return;
    }
    const bool outside = ranged && authentic != nullptr && part.end > authentic->text.size();
    const bool cannot_seek = ranged && how.input_is_pipe;
    require(authentic == nullptr || outside || cannot_seek || result.disturbed, "our own file is refused");
    if (!right_aad)
        require(is_part(result.output, Bytes(result.output.size(), 0)), "a file opened with wrong associated data");
    require(how.output_is_pipe ? result.output == expected : is_part(result.output, expected),
            "bytes that are not authentic were given out");
}

void any_file(Input& in, warpaes_engine* engine) {
    const StreamKey& key = any_stream_key(in);
    warpaes_file_job job =
        job_for(in.flag() ? key.keyset : keyset_of_all(), in.below(4) == 0 ? WARPAES_ENCRYPT : WARPAES_DECRYPT);
    if (in.below(4) == 0) {
        job.flags |= in.flag() ? WARPAES_FILE_RANGE : WARPAES_FILE_VERIFY;
        job.range_first = in.below(300);
        job.range_last = in.flag() ? in.below(300) : WARPAES_UNKNOWN;
    }
    Circumstances how = Circumstances::any(in);
    if ((job.flags & WARPAES_FILE_VERIFY) != 0) how.output_is_path = false;
    const Bytes file = in.rest();
    const JobResult result = run_job(engine, job, file, how);
    if (job.direction == WARPAES_DECRYPT) {
        if (begins_like_ours(file)) return;  // spoiled() covers such files and checks the allowed output
        require(result.output.empty(), "arbitrary bytes were accepted as a file");
        require(result.status != WARPAES_OK, "arbitrary bytes were accepted as authentic");
    } else if (result.status == WARPAES_OK) {
        const JobResult opened =
            run_job(engine, job_for(key.keyset, WARPAES_DECRYPT), result.output, Circumstances::calm());
        const JobResult other =
            run_job(engine, job_for(keyset_of_all(), WARPAES_DECRYPT), result.output, Circumstances::calm());
        require((opened.status == WARPAES_OK && opened.output == file) ||
                    (other.status == WARPAES_OK && other.output == file),
                "the round trip changes the text");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Input in(data, size);
    warpaes_engine* const engine = any_engine(in);
    switch (in.below(6)) {
    case 0:
        any_file(in, engine);
        break;
    case 1: {
        Input options(data, std::min<std::size_t>(size, 4));
        inspect(options, in.rest());
        break;
    }
    default:
        spoiled(in, engine);
        break;
    }
    return 0;
}

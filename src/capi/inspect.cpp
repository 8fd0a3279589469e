#include "format/inspect.hpp"

#include "capi/guard.hpp"
#include "format/keyset.hpp"

using namespace warpaes;
using namespace warpaes::capi;

extern "C" {

warpaes_status warpaes_file_inspect(const char* path, const char* template_name, warpaes_file_info* info) {
    return guarded([&] {
        require(path, "path");
        warpaes_file_info i = read_struct(info, "info");
        const FileFacts facts = inspect_file(path, template_name != nullptr ? &find_template(template_name) : nullptr);
        i.format = facts.openssl_enc ? WARPAES_FORMAT_OPENSSL_ENC : WARPAES_FORMAT_STREAMING_AEAD;
        i.template_name = facts.stream_template != nullptr ? facts.stream_template->name.data() : "";
        i.file_bytes = facts.file_bytes;
        i.header_bytes = facts.header_bytes;
        i.segment_bytes = facts.segment_bytes;
        i.segments = facts.segments;
        i.plaintext_bytes = facts.plaintext_bytes;
        i.key_bits = facts.key_bits;
        write_struct(i, info, i.struct_size);
    });
}

}  // extern "C"

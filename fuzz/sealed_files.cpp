#include "sealed_files.hpp"

#include <openssl/evp.h>

#include <map>
#include <tuple>

namespace fuzz {

namespace {

using Text = std::string;

void append_varint(Text& text, std::size_t number) {
    for (; number > 127; number >>= 7) text += static_cast<char>((number & 127) | 128);
    text += static_cast<char>(number);
}

Text field(char tag, const Text& content) {
    Text text(1, tag);
    append_varint(text, content.size());
    return text + content;
}

/// Returns a key of a Tink keyset as JSON. `mac_tag` is the tag length for AES-CTR-HMAC, or 0 for AES-GCM-HKDF.
Text tink_key(unsigned id, std::size_t segment, char aes_bytes, char mac_tag) {
    Text parameters(1, '\x08');
    append_varint(parameters, segment);
    parameters += {'\x10', aes_bytes, '\x18', '\x03'};
    if (mac_tag != 0) parameters += field('\x22', Text{'\x08', '\x03', '\x10', mac_tag});
    const Text value = field('\x12', parameters) + field('\x1a', Text(32, static_cast<char>(id)));
    Text base64(value.size() * 2, '\0');
    base64.resize(static_cast<std::size_t>(EVP_EncodeBlock(reinterpret_cast<unsigned char*>(base64.data()),
                                                           reinterpret_cast<const unsigned char*>(value.data()),
                                                           static_cast<int>(value.size()))));
    return R"({"keyData":{"typeUrl":"type.googleapis.com/google.crypto.tink.)" +
           Text(mac_tag != 0 ? "AesCtrHmac" : "AesGcmHkdf") + R"(StreamingKey","value":")" + base64 +
           R"(","keyMaterialType":"SYMMETRIC"},"status":"ENABLED","keyId":)" + std::to_string(id) +
           R"(,"outputPrefixType":"RAW"})";
}

const warpaes_keyset* parse(const Text& keys) {
    const Text json = R"({"primaryKeyId":1,"key":[)" + keys + "]}";
    warpaes_keyset* keyset = nullptr;
    expect_ok(warpaes_keyset_parse(json.data(), json.size(), &keyset), "keyset_parse");
    return keyset;
}

Text alone(std::size_t segment, char aes_bytes, char mac_tag) {
    return tink_key(1, segment, aes_bytes, mac_tag);
}

const warpaes_keyset* c2sp() {
    const Bytes raw(16, 7);
    warpaes_keyset* keyset = nullptr;
    expect_ok(warpaes_keyset_from_raw("C2SP_CHUNKED_128", raw.data(), raw.size(), &keyset), "keyset_from_raw");
    return keyset;
}

SealedFile seal(warpaes_engine* engine, const StreamKey& key, std::size_t length) {
    SealedFile sealed{text_from(0, length), {}};
    warpaes_sink sink{};
    sink.struct_size = sizeof sink;
    sink.user = &sealed.file;
    sink.write = [](void* user, const void* bytes, std::uint64_t n) {
        const auto* from = static_cast<const std::uint8_t*>(bytes);
        static_cast<Bytes*>(user)->insert(static_cast<Bytes*>(user)->end(), from, from + n);
        return 0;
    };
    warpaes_writer* writer = nullptr;
    expect_ok(warpaes_writer_open(engine, &sink, key.keyset, aad, sizeof aad, &writer), "writer_open");
    expect_ok(warpaes_writer_write(writer, sealed.text.data(), length), "writer_write");
    expect_ok(warpaes_writer_finish(writer), "writer_finish");
    warpaes_writer_close(writer);
    return sealed;
}

std::map<std::tuple<const StreamKey*, std::size_t, bool>, SealedFile>& all_sealed() {
    static auto& files = *new std::map<std::tuple<const StreamKey*, std::size_t, bool>, SealedFile>;
    return files;
}

}  // namespace

const StreamKey& any_stream_key(Input& in) {
    static const StreamKey keys[] = {{parse(alone(64, 16, 0)), 0, 64, 400, true},
                                     {parse(alone(100, 32, 0)), 0, 100, 400, false},
                                     {parse(alone(96, 16, 10)), 0, 96, 400, false},
                                     {parse(alone(150, 32, 32)), 0, 150, 500, false},
                                     {c2sp(), 56, 16400, 33000, false}};
    return keys[in.below(17) == 16 ? 4 : in.below(4)];
}

const warpaes_keyset* keyset_of_all() {
    static const warpaes_keyset* keyset =
        parse(tink_key(2, 64, 16, 0) + "," + alone(64, 16, 0) + "," + tink_key(3, 150, 32, 32));
    return keyset;
}

Bytes text_from(std::size_t first, std::size_t length) {
    Bytes text(length);
    for (std::size_t i = 0; i < length; ++i) {
        text[i] = static_cast<std::uint8_t>((first + i) * 151 + (first + i) / 256 + 1);
    }
    return text;
}

const SealedFile& sealed_file(warpaes_engine* engine, const StreamKey& key, std::size_t length, bool other) {
    const auto [it, fresh] = all_sealed().try_emplace({&key, length, other});
    if (fresh) it->second = seal(engine, key, length);
    return it->second;
}

namespace {

template <typename Wanted>
const SealedFile* find_if(const StreamKey& key, std::size_t file_bytes, Wanted wanted) {
    // Computes a lower bound on the text's length: the file's length minus the largest header and tags.
    const std::size_t least = file_bytes - std::min(file_bytes, 56 + (file_bytes / 40 + 1) * 48);
    const auto& all = all_sealed();
    for (auto it = all.lower_bound({&key, least, false}); it != all.end(); ++it) {
        if (std::get<0>(it->first) != &key || std::get<1>(it->first) > file_bytes) break;
        if (it->second.file.size() == file_bytes && wanted(it->second.file)) return &it->second;
    }
    return nullptr;
}

}  // namespace

const SealedFile* find_sealed(const StreamKey& key, const Bytes& file) {
    return find_if(key, file.size(), [&](const Bytes& ours) { return ours == file; });
}

bool begins_like_ours(const Bytes& file) {
    constexpr std::ptrdiff_t with_salt = 24;  // the shortest header of all formats
    if (file.size() < with_salt) return false;
    for (const auto& [what, sealed] : all_sealed()) {
        if (std::equal(file.begin(), file.begin() + with_salt, sealed.file.begin())) return true;
    }
    return false;
}

bool has_our_ends(const StreamKey& key, const Bytes& file) {
    constexpr std::ptrdiff_t salt = 24, tag = 10;
    return find_if(key, file.size(), [&](const Bytes& ours) {
               return file.size() >= salt && std::equal(ours.begin(), ours.begin() + salt, file.begin()) &&
                      std::equal(ours.end() - tag, ours.end(), file.end() - tag);
           }) != nullptr;
}

std::size_t any_length(Input& in, const StreamKey& key) {
    if (key.header != 0) {
        static constexpr std::size_t lengths[] = {0, 1, 100, 16383, 16384, 16385, 32767, 32768, 33000};
        return in.pick(lengths);
    }
    return in.below(key.most_text);
}

Bytes spoil(Input& in, warpaes_engine* engine, const StreamKey& key, const SealedFile& sealed) {
    Bytes file = sealed.file;
    for (std::size_t changes = in.below(3); changes != 0 && !file.empty(); --changes) {
        const std::size_t segments = (file.size() - std::min(file.size(), key.header)) / key.segment + 1;
        const auto at = [&](std::size_t segment) {
            return file.begin() +
                   static_cast<std::ptrdiff_t>(std::min(key.header + segment * key.segment, file.size()));
        };
        const std::size_t i = in.below(segments), j = in.below(segments);
        switch (in.below(8)) {
        case 0:
            file[in.below(std::min<std::size_t>(file.size(), 65535))] ^= static_cast<std::uint8_t>(1U << in.below(8));
            break;
        case 1:
            file.resize(file.size() - 1 - in.below(std::min<std::size_t>(file.size(), 65535)));
            break;
        case 2:
            file.erase(at(i), at(i + 1));
            break;
        case 3: {
            const Bytes copy(at(i), at(i + 1));
            file.insert(at(j), copy.begin(), copy.end());
            break;
        }
        case 4:
            if (at(i + 1) - at(i) == at(j + 1) - at(j)) std::swap_ranges(at(i), at(i + 1), at(j));
            break;
        case 5: {
            const Bytes& other = sealed_file(engine, key, sealed.text.size(), true).file;
            const std::size_t first = static_cast<std::size_t>(at(i) - file.begin());
            const std::size_t last = std::min(static_cast<std::size_t>(at(i + 1) - file.begin()), other.size());
            for (std::size_t k = first; k < last; ++k) file[k] = other[k];
            break;
        }
        case 6:
            file.resize(file.size() + 1 + in.below(200), in.byte());
            break;
        default:
            file = sealed_file(engine, key, any_length(in, key)).file;
            break;
        }
    }
    return file;
}

}  // namespace fuzz

#include "format/enc.hpp"

#include <algorithm>
#include <array>
#include <memory>

#include "base/error.hpp"
#include "engine/chain.hpp"
#include "engine/pipeline/cipher_stage.hpp"
#include "engine/pipeline/file.hpp"
#include "engine/pipeline/memory.hpp"
#include "format/base64.hpp"
#include "format/random.hpp"

namespace warpaes {

namespace {

constexpr std::size_t salt_bytes = 8;
using Header = std::array<std::uint8_t, 16>;
static_assert(enc_magic.size() + salt_bytes == Header{}.size());

bool has_header(const EncJob& job) {
    return job.passphrase && job.passphrase->salted && job.passphrase->salt.empty();
}

Header new_header() {
    Header header;
    std::copy(enc_magic.begin(), enc_magic.end(), header.begin());
    make_salt(std::span(header).last(salt_bytes));
    return header;
}

Header read_header(Source& source) {
    Header header{};
    const std::size_t n = source.read(0, header);
    if (!std::equal(enc_magic.begin(), enc_magic.begin() + static_cast<std::ptrdiff_t>(std::min(n, enc_magic.size())),
                    header.begin()) ||
        n == 0) {
        throw Error(WARPAES_ERROR_FORMAT,
                    "input: does not begin with \"Salted__\": not encrypted with a passphrase by "
                    "`openssl enc`, or base64, or without a salt in front");
    }
    if (n < header.size()) {
        throw Error(WARPAES_ERROR_FORMAT,
                    "input: is truncated: the header takes 16 bytes, there are " + std::to_string(n));
    }
    return header;
}

void check(const EncJob& job) {
    if (job.key == nullptr && !job.passphrase) {
        throw Error(WARPAES_ERROR_ARGUMENT, "key: is missing, and so is a passphrase");
    }
    if (uses_iv(job.mode) && !job.iv && !job.passphrase) {
        throw Error(WARPAES_ERROR_IV_LENGTH, "iv: is missing; it is 16 bytes for this mode");
    }
    if (job.passphrase && !job.passphrase->salt.empty() && job.passphrase->salt.size() != salt_bytes) {
        throw Error(WARPAES_ERROR_ARGUMENT,
                    "salt: must be 8 bytes, got " + std::to_string(job.passphrase->salt.size()));
    }
    if (job.pkcs7 && !needs_whole_blocks(job.mode)) {
        throw Error(WARPAES_ERROR_ARGUMENT, "flags: PKCS7 is for ECB and CBC");
    }
    if (!job.range) return;
    if (!is_parallel(job.mode, job.direction)) {
        throw Error(WARPAES_ERROR_RANGE, "range: this mode and direction can only start at the beginning of a file");
    }
    if (job.base64) throw Error(WARPAES_ERROR_RANGE, "range: needs an input that can seek, and base64 cannot");
    if (job.direction == Direction::encrypt && (job.pkcs7 || has_header(job))) {
        throw Error(WARPAES_ERROR_RANGE, "range: a part of an encryption can have neither padding nor a header");
    }
    check_range(*job.range);
}

Block read_block(Source& source, std::uint64_t offset) {
    Block block;
    if (source.read(offset, block) != block_bytes) throw Error(WARPAES_ERROR_READ, "input: became shorter meanwhile");
    return block;
}

/// Chaining value for the blocks from `offset`, a multiple of 16.
Block chain_for(const Cipher& cipher, Source& content, std::uint64_t offset) {
    if (offset == 0) return cipher.iv;
    Block before{};
    if (chains_on_ciphertext(cipher.mode, cipher.direction)) before = read_block(content, offset - block_bytes);
    return chain_at(cipher.mode, cipher.iv, offset, before);
}

/// Length of a padded plaintext, from its last block.
std::uint64_t unpadded_size(Engine& engine, Cipher cipher, Source& content) {
    const std::uint64_t at = content.size() - block_bytes;
    cipher.iv = chain_for(cipher, content, at);
    Secret<Block> plain;
    SourceSlice last(content, at);
    MemorySink sink({plain->data(), block_bytes, true, -1});
    const Plan plan = engine.plan(cipher.mode, cipher.direction, block_bytes);
    return at + run_cipher(engine, plan, cipher, last, sink, {}).bytes_written;
}

/// The part of a file that a range needs: whole blocks of ciphertext, and what is to be kept of their plaintext.
struct Window {
    std::uint64_t begin = 0;  ///< first block, in bytes
    std::uint64_t end = 0;
    std::uint64_t skip = 0;
    std::uint64_t keep = 0;
};

Window find_window(Engine& engine, const Cipher& cipher, const ByteRange& range, Source& content) {
    if (content.is_sequential() && content.size() == Engine::unknown_length) {
        throw Error(WARPAES_ERROR_RANGE, "range: needs an input that can seek; a pipe or an empty file cannot");
    }
    const std::uint64_t size = content.size();
    if (needs_whole_blocks(cipher.mode) && (size % block_bytes != 0 || (cipher.pkcs7 && size == 0))) {
        throw Error(WARPAES_ERROR_DATA_LENGTH, "input: is " + std::to_string(size) +
                                                   " bytes, not whole 16-byte blocks: truncated, or not such a file");
    }
    std::uint64_t plain_size = size;
    if (cipher.pkcs7 && range.last >= size - block_bytes) plain_size = unpadded_size(engine, cipher, content);
    const std::uint64_t last = last_byte(range, plain_size);
    Window window;
    window.begin = range.first / block_bytes * block_bytes;
    window.end = std::min(size, last / block_bytes * block_bytes + block_bytes);
    window.skip = range.first - window.begin;
    window.keep = last - range.first + 1;
    return window;
}

/// The key and IV in force: the caller's own before those of the passphrase.
struct KeyMaterial {
    std::optional<ExpandedKey> derived;
    const ExpandedKey* key = nullptr;
    Block iv{};
};

void settle_keys(const EncJob& job, std::span<const std::uint8_t> salt, KeyMaterial& material) {
    material.key = job.key;
    if (job.passphrase) {
        const Secret<DerivedKey> derived = derive_key(job.passphrase->how, job.passphrase->text, salt);
        if (job.key == nullptr) {
            material.derived.emplace(std::span(derived->key).first(derived->key_bytes));
            material.key = &*material.derived;
        }
        material.iv = derived->iv;
    }
    if (job.iv) material.iv = *job.iv;
    if (!uses_iv(job.mode)) material.iv = {};
}

}  // namespace

FileResult run_enc(Engine& engine, const EncJob& job) {
    check(job);
    const bool encrypt = job.direction == Direction::encrypt;
    FileSource file = open_source(job.input, job.progress);
    std::optional<Base64Source> decoded;
    Source* source = &file;
    if (!encrypt && job.base64) source = &decoded.emplace(file);

    std::optional<Header> header;
    std::optional<SourceSlice> content;
    if (has_header(job)) {
        header = encrypt ? new_header() : read_header(*source);
        if (!encrypt) source = &content.emplace(*source, header->size());
    }
    std::span<const std::uint8_t> salt;
    if (job.passphrase) salt = job.passphrase->salt;
    if (header) salt = std::span(*header).subspan(enc_magic.size());
    KeyMaterial material;
    settle_keys(job, salt, material);

    Cipher cipher{job.mode, job.direction, material.key, material.iv, job.pkcs7, 0};
    std::optional<Window> window;
    std::optional<SourceSlice> blocks;
    if (job.range) {
        window = find_window(engine, cipher, *job.range, *source);
        cipher.iv = chain_for(cipher, *source, window->begin);
        cipher.pkcs7 = false;
        source = &blocks.emplace(*source, window->begin, window->end - window->begin);
    }

    const std::unique_ptr<FileSink> output = open_sink(job.output, job.overwrite, file, job.progress);
    Sink* sink = output.get();
    std::optional<Base64Sink> encoded;
    std::optional<SinkBehindHeader> behind_header;
    std::optional<SinkWindow> kept;
    if (encrypt && job.base64) sink = &encoded.emplace(*sink, job.one_line);
    if (encrypt && header) {
        sink->write(0, *header);
        sink = &behind_header.emplace(*sink, header->size());
    }
    if (window) sink = &kept.emplace(*sink, window->skip, window->keep);

    const Plan plan = engine.plan(job.mode, job.direction, source->size());
    const Totals totals = run_cipher(engine, plan, cipher, *source, *sink, job.progress);
    output->commit(job.durable);

    FileResult result = result_of(plan, totals, header && !encrypt ? header->size() : 0, file, output.get());
    if (job.range) result.notes &= ~std::uint32_t{WARPAES_NOTE_INPUT_GREW};
    return result;
}

}  // namespace warpaes

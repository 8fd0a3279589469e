#include "bench_subject.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>
#include <stdexcept>

namespace cli {

namespace {

constexpr std::size_t tag_bytes = 16, nonce_bytes = 12;

std::size_t count_of(const Case& c) {
    return c.segment == 0 ? 1 : (c.bytes + c.segment - 1) / c.segment;
}

/// Throws Failure if any message failed.
warpaes_batch_result run_batch(warpaes_engine* engine, const std::vector<warpaes_batch_entry>& entries) {
    warpaes_batch* batch = nullptr;
    check(warpaes_batch_submit(engine, nullptr, entries.data(), entries.size(), &batch));
    const std::unique_ptr<warpaes_batch, void (*)(warpaes_batch*)> its(batch, warpaes_batch_destroy);
    check(warpaes_batch_wait(batch, WARPAES_UNKNOWN));
    warpaes_batch_result result = WARPAES_BATCH_RESULT_INIT;
    check(warpaes_batch_query(batch, &result));
    return result;
}

}  // namespace

void fill_randomly(std::vector<unsigned char>& bytes) {
    std::mt19937_64 generator(std::random_device{}());
    for (std::size_t at = 0; at < bytes.size(); at += 8) {
        const std::uint64_t word = generator();
        std::memcpy(bytes.data() + at, &word, std::min<std::size_t>(8, bytes.size() - at));
    }
}

Key random_key(unsigned bits) {
    std::vector<unsigned char> bytes(bits / 8);
    fill_randomly(bytes);
    return create_key(bytes.data(), bytes.size());
}

std::string memory_name(warpaes_memory memory) {
    std::string name = warpaes_memory_name(memory);
    std::replace(name.begin(), name.end(), '-', '_');  // as in all records
    return name;
}

Buffers::Buffers(const Case& c)
    : engine_(create_engine(c.backend, c.device)), memory_(c.memory), device_(c.device), bytes_(c.bytes) {
    for (void** p : {&input_, &output_}) check(warpaes_alloc(engine_.get(), memory_, device_, bytes_, p));
    std::vector<std::uint64_t> random(std::min<std::size_t>(bytes_, std::size_t{1} << 24) / 8 + 1);
    std::mt19937_64 generator(std::random_device{}());
    for (std::size_t at = 0; at < bytes_; at += 8 * (random.size() - 1)) {
        for (auto& word : random) word = generator();
        const std::size_t n = std::min(8 * (random.size() - 1), bytes_ - at);
        check(warpaes_copy(engine_.get(), static_cast<char*>(input_) + at, random.data(), n));
        check(warpaes_copy(engine_.get(), static_cast<char*>(output_) + at, random.data(), n));  // touches the pages
    }
}

Buffers::~Buffers() {
    for (void* p : {input_, output_}) warpaes_free(engine_.get(), p);
}

Secrets::Secrets(const Case& c)
    : key(random_key(c.key_bits)),
      tweak_key(random_key(c.key_bits)),
      nonces(nonce_bytes * count_of(c)),
      tags(tag_bytes * count_of(c)) {
    fill_randomly(nonces);
}

Subject::Subject(const Case& c, warpaes_engine* engine, Secrets& secrets, const Buffers& buffers)
    : case_(c),
      engine_(engine),
      secrets_(secrets),
      buffers_(buffers),
      asynchronous_(c.memory == WARPAES_MEMORY_DEVICE && c.segment == 0 && !c.mode->hash_only &&
                    !(c.mode->mode == WARPAES_GCM && c.direction == WARPAES_DECRYPT)) {
    const bool text = !c.mode->hash_only;
    message_ = warpaes_message WARPAES_MESSAGE_INIT;
    message_.mode = c.mode->mode;
    message_.direction = c.direction;
    message_.key = secrets.key.get();
    message_.iv = iv_;
    message_.iv_len = c.mode->mode == WARPAES_ECB ? 0 : is_gcm() ? nonce_bytes : sizeof iv_;
    if (text) {
        message_.input = buffers.input();
        message_.input_len = message_.output_capacity = c.bytes;
        message_.output = buffers.output();
    } else {
        message_.aad = buffers.input();
        message_.aad_len = c.bytes;
    }
    if (is_gcm()) {
        message_.tag = secrets.tags.data();
        message_.tag_len = tag_bytes;
        if (asynchronous_) {
            check(warpaes_alloc(engine_, WARPAES_MEMORY_DEVICE, c.device, tag_bytes, &message_.tag));
            device_tag_ = {message_.tag, {engine_}};
        }
    }
    if (c.mode->mode == WARPAES_XTS) {
        message_.tweak_key = secrets.tweak_key.get();
        message_.data_unit_len = c.data_unit;
    }
    if (c.segment == 0) return;
    segments_ = entries(c.direction, buffers.input(), buffers.output(), secrets.tags.data());
}

std::vector<warpaes_batch_entry> Subject::entries(warpaes_direction direction, void* input, void* output,
                                                  unsigned char* tags) const {
    const std::size_t count = count_of(case_), last = case_.bytes - (count - 1) * case_.segment;
    std::vector<warpaes_batch_entry> all;
    const auto add = [&](std::size_t first, std::size_t end, std::size_t length) {
        if (first == end) return;
        const auto at = [&](void* base, std::size_t stride) {
            return warpaes_elements{{static_cast<unsigned char*>(base) + first * stride}, stride};
        };
        warpaes_batch_entry& e = all.emplace_back();
        e.mode = WARPAES_GCM;
        e.direction = direction;
        e.count = end - first;
        e.length = length;
        e.key = secrets_.key.get();
        e.input = at(input, case_.segment);
        e.output = at(output, case_.segment);
        e.iv = at(secrets_.nonces.data(), nonce_bytes);
        e.iv_len = nonce_bytes;
        e.tag = at(tags, tag_bytes);
        e.tag_len = tag_bytes;
    };
    const bool shorter = last != case_.segment;
    add(0, shorter ? count - 1 : count, case_.segment);
    if (shorter) add(count - 1, count, last);
    return all;
}

void Subject::seal_input() {
    if (!is_gcm() || case_.direction == WARPAES_ENCRYPT) return;
    if (case_.segment != 0) {
        (void)run_batch(engine_, entries(WARPAES_ENCRYPT, buffers_.input(), buffers_.input(), secrets_.tags.data()));
    } else {
        warpaes_message seal = message_;
        seal.direction = WARPAES_ENCRYPT;
        seal.output = buffers_.input();
        check(warpaes_crypt(engine_, &seal, nullptr));
    }
}

void Subject::run() {
    if (case_.segment != 0) {
        const warpaes_batch_result result = run_batch(engine_, segments_);
        device_ = result.messages_on_gpu != 0 ? case_.device : -1;
        backend_ = case_.backend.c_str();
    } else {
        check(asynchronous_ ? warpaes_crypt_async(engine_, &message_, nullptr, &result_)
                            : warpaes_crypt(engine_, &message_, &result_));
        backend_ = result_.backend;
        device_ = result_.device;
    }
}

double Subject::time(unsigned calls) {
    const auto start = std::chrono::steady_clock::now();
    for (unsigned i = 0; i < calls; ++i) run();
    if (asynchronous_) {
        unsigned char last[16];
        check(warpaes_copy(engine_, last, static_cast<char*>(message_.output) + message_.input_len - 16, 16));
    }
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / calls;
}

std::vector<unsigned char> Subject::fetch(const void* from, std::size_t n) const {
    std::vector<unsigned char> bytes(n);
    check(warpaes_copy(engine_, bytes.data(), from, n));
    return bytes;
}

void Subject::require(bool right, const char* what) const {
    if (!right) throw std::runtime_error(fmt::format("{} {}: {}", case_.backend, case_.mode->name, what));
}

void Subject::verify() const {
    if (case_.segment != 0) return verify_segments();
    if (!case_.mode->hash_only) verify_text();
    if (is_gcm()) verify_tag();
}

void Subject::verify_text() const {
    std::size_t n = std::min<std::size_t>(case_.bytes, 65536);
    if (case_.mode->mode == WARPAES_XTS && n < case_.bytes && case_.data_unit <= n) {
        n = n / case_.data_unit * case_.data_unit;
    }
    const Engine reference = create_engine("libcrypto", -1, 1);
    const auto input = fetch(buffers_.input(), n);
    std::vector<unsigned char> expected(n), tag(tag_bytes);
    warpaes_message message = message_;
    message.input = input.data();
    message.output = expected.data();
    message.input_len = message.output_capacity = n;
    if (is_gcm()) {
        message.direction = WARPAES_ENCRYPT;  // encryption applies the same key stream, and requires no tag
        message.tag = tag.data();
    }
    check(warpaes_crypt(reference.get(), &message, nullptr));
    require(fetch(buffers_.output(), n) == expected, "the output differs from libcrypto's");
}

/// Compares the tag of the whole ciphertext with libcrypto's, which is computed on all processors.
void Subject::verify_tag() const {
    const Engine reference = create_engine("libcrypto", -1);
    const bool encrypt = case_.direction == WARPAES_ENCRYPT;
    auto data = fetch(buffers_.input(), case_.bytes);
    std::vector<unsigned char> tag(tag_bytes);
    warpaes_message message = message_;
    message.tag = tag.data();
    if (case_.mode->hash_only) {
        message.aad = data.data();
    } else {
        message.input = message.output = data.data();
        if (!encrypt) tag = secrets_.tags;
    }
    check(warpaes_crypt(reference.get(), &message, nullptr));
    require(fetch(message_.tag, tag_bytes) == tag, "the tag differs from libcrypto's");
}

void Subject::verify_segments() const {
    const Engine reference = create_engine("libcrypto", -1);
    auto data = fetch(buffers_.input(), case_.bytes);
    auto tags = secrets_.tags;
    if (case_.direction == WARPAES_ENCRYPT) std::fill(tags.begin(), tags.end(), static_cast<unsigned char>(0));
    (void)run_batch(reference.get(), entries(case_.direction, data.data(), data.data(), tags.data()));
    require(tags == secrets_.tags, "the tags differ from libcrypto's");
    require(fetch(buffers_.output(), case_.bytes) == data, "the output differs from libcrypto's");
}

std::string Subject::includes() const {
    if (asynchronous_) return "back-to-back calls on one stream, including storing the output";
    if (is_gcm() && case_.memory == WARPAES_MEMORY_DEVICE) {
        return case_.direction == WARPAES_DECRYPT
                   ? "whole calls, including storing the output and comparing tags on the host"
               : case_.mode->hash_only ? "whole calls, including storing the tag on the host"
                                       : "whole calls, including storing the output and storing the tags on the host";
    }
    if (case_.mode->hash_only) return is_gpu(case_.backend) ? "the copy to the device" : "the whole call";
    return is_gpu(case_.backend) ? "copies both ways, including storing the output in host memory"
                                 : "the whole call, including storing the output";
}

}  // namespace cli

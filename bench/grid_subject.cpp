#include "grid_subject.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace cli {

GridBuffers::GridBuffers(warpaes_engine* engine, warpaes_memory memory, int device, std::size_t bytes)
    : engine_(engine) {
    const std::vector<unsigned char> pattern(std::min<std::size_t>(bytes, std::size_t{1} << 20), 0x5a);
    for (unsigned char** p : {&input_, &output_}) {
        void* its = nullptr;
        check(warpaes_alloc(engine, memory, device, bytes, &its));
        *p = static_cast<unsigned char*>(its);
        // Touch every page now, so that page faults do not count in the measurement.
        for (std::size_t at = 0; at < bytes; at += pattern.size()) {
            check(warpaes_copy(engine, *p + at, pattern.data(), std::min(pattern.size(), bytes - at)));
        }
    }
}

GridBuffers::~GridBuffers() {
    for (unsigned char* p : {input_, output_}) warpaes_free(engine_, p);
}

GridSubject::GridSubject(warpaes_engine* engine, const GridBuffers& buffers, const warpaes_work& work, int device)
    : engine_(engine), message_(warpaes_message WARPAES_MESSAGE_INIT), batch_(work.batch != 0) {
    const std::vector<unsigned char> key(work.key_bits / 8, 1), tweak_key(work.key_bits / 8, 2);
    key_ = create_key(key.data(), key.size());
    message_.mode = work.mode;
    message_.direction = work.direction;
    message_.key = key_.get();
    message_.iv = iv_;
    message_.iv_len = work.mode == WARPAES_ECB ? 0 : work.mode == WARPAES_GCM ? 12 : 16;
    message_.input = buffers.input();
    message_.output = buffers.output();
    message_.input_len = message_.output_capacity = work.message_len;
    if (work.mode == WARPAES_GCM) {
        message_.tag = tag_;
        message_.tag_len = sizeof tag_;
    }
    if (work.mode == WARPAES_XTS) {
        tweak_key_ = create_key(tweak_key.data(), tweak_key.size());
        message_.tweak_key = tweak_key_.get();
        message_.data_unit_len = 4096;
    }
    if (!batch_) return;
    besides_ = std::make_unique<GridBuffers>(
        engine, work.memory, device, static_cast<std::size_t>(std::max<std::uint64_t>(work.messages * 16, 4096)));
    make_entry(buffers, work);
}

void GridSubject::make_entry(const GridBuffers& buffers, const warpaes_work& work) {
    std::vector<unsigned char> ivs(static_cast<std::size_t>(work.messages) * 16);
    for (std::uint64_t i = 0; i < work.messages; ++i) std::memcpy(ivs.data() + 16 * i, &i, sizeof i);
    check(warpaes_copy(engine_, besides_->input(), ivs.data(), ivs.size()));
    entry_.mode = work.mode;
    entry_.direction = work.direction;
    entry_.count = work.messages;
    entry_.length = work.message_len;
    entry_.input = {{buffers.input()}, work.message_len};
    entry_.output = {{buffers.output()}, work.message_len};
    entry_.iv = {{besides_->input()}, 16};
    entry_.iv_len = static_cast<std::uint32_t>(message_.iv_len);
    if (work.mode == WARPAES_GCM) {
        entry_.tag = {{besides_->output()}, 16};
        entry_.tag_len = 16;
    }
    entry_.key = message_.key;
    entry_.tweak_key = message_.tweak_key;
    entry_.data_unit_len = message_.data_unit_len;
}

void GridSubject::run() {
    if (!batch_) return check(warpaes_crypt(engine_, &message_, nullptr));
    warpaes_batch* batch = nullptr;
    check(warpaes_batch_submit(engine_, nullptr, &entry_, 1, &batch));
    const warpaes_status status = warpaes_batch_wait(batch, WARPAES_UNKNOWN);
    warpaes_batch_destroy(batch);
    if (status != WARPAES_OK) throw Failure(status, "a batch in the grid failed");
}

}  // namespace cli

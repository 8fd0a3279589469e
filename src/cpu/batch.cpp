#include "cpu/batch.hpp"

#include <vector>

#include "cpu/serial_batch.hpp"

namespace warpaes::cpu {

void run_batch(Lane& lane, const SimdBatchKernels& kernels, std::span<const MessageGroup> groups) {
    std::vector<const MessageGroup*> streams;
    for (const MessageGroup& group : groups) {
        if (is_stream(group.mode, group.direction)) {
            streams.push_back(&group);
        } else {
            run_one_by_one(lane, group);
        }
    }
    run_serial(kernels, streams);
}

void run_batch_libcrypto(Lane& lane, std::span<const MessageGroup> groups) {
    for (const MessageGroup& group : groups) run_one_by_one(lane, group);
}

}  // namespace warpaes::cpu

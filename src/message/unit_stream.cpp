#include "message/unit_stream.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "aes/xts.hpp"
#include "base/error.hpp"
#include "engine/chain.hpp"
#include "engine/pipeline/memory.hpp"
#include "engine/run/executor.hpp"
#include "message/xts.hpp"

namespace warpaes {

namespace {

/// Moves `bytes` bytes of device memory up by `by` bytes, starting at the end, through a temporary device buffer,
/// because copies between overlapping device memory are undefined.
void move_up(std::uint8_t* data, std::uint64_t bytes, std::uint64_t by, int device) {
    if (bytes == 0) return;
    constexpr std::uint64_t most_at_once = std::uint64_t{16} << 20;
    const auto at_once = static_cast<std::size_t>(std::min(bytes, most_at_once));
    const DeviceBuffer between(device, at_once);
    while (bytes != 0) {
        const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, at_once));
        bytes -= n;
        copy_memory(between.get(), data + bytes, n, device);
        copy_memory(data + bytes + by, between.get(), n, device);
    }
}

}  // namespace

std::uint64_t UnitStream::output_of(std::uint64_t length) const {
    if (length == 0) return 0;
    if (ended_) {
        throw Error(WARPAES_ERROR_STATE,
                    "context: without data_unit_len, the message is one data unit and must be passed in one update");
    }
    if (unit() != 0) {
        const std::uint64_t total = waiting_.size() + length, whole = total / unit() * unit();
        return holds_back_ && whole == total ? whole - unit() : whole;
    }
    if (!is_xts_unit(length)) {
        throw Error(WARPAES_ERROR_DATA_LENGTH,
                    "input_len: a data unit must have 16 to 2^24 bytes, got " + std::to_string(length));
    }
    return length;
}

void UnitStream::run(const std::uint8_t* input, std::uint64_t length, std::uint8_t* output) {
    if (length == 0) return;
    MessageGroup units = shape_;
    units.length = length;
    units.input = Elements::of(input);
    units.output = {output, 0};
    units.iv = Elements::of(chain_.data());
    Executor executor(*engine_, input, output);
    if (shape_.mode != Mode::xts) {
        chain_ = executor.run_and_chain(units);
        return;
    }
    units.data_units = given_xts_units(shape_.data_units.bytes, shape_.data_units.step, length);
    executor.run(units);
    const std::uint64_t bytes = units.data_units.bytes;
    chain_ = chain_at(Mode::xts, chain_, (length + bytes - 1) / bytes * bytes, units.data_units, [](auto) {});
}

void UnitStream::update(const std::uint8_t* input, std::uint64_t length, std::uint8_t* output) {
    const std::uint64_t whole = output_of(length);
    if (length == 0) return;
    Executor executor(*engine_, input, whole != 0 ? output : input);
    const auto wait_with = [&](const std::uint8_t* from, std::uint64_t bytes) {
        const std::size_t before = waiting_.size();
        waiting_.resize(before + static_cast<std::size_t>(bytes));
        executor.copy(waiting_.data() + before, from, static_cast<std::size_t>(bytes));
    };
    if (whole == 0) return wait_with(input, length);
    if (unit() == 0) {
        run(input, length, output);
        ended_ = true;
        return;
    }
    const std::uint64_t before = waiting_.size(), taken = whole - before;
    SecretVector first;
    first.swap(waiting_);
    wait_with(input + taken, length - taken);
    if (before == 0) {
        run(input, whole, output);
    } else if (input == output) {
        // Input and output are the same buffer, but the waiting bytes precede the input in the output, so the input is
        // first moved up by `before` bytes.
        if (executor.on_device()) {
            move_up(output, taken, before, executor.data_device());
        } else {
            std::memmove(output + before, input, static_cast<std::size_t>(taken));
        }
        executor.copy(output, first.data(), static_cast<std::size_t>(before));
        run(output, whole, output);
    } else {
        const std::uint64_t missing = unit() - before;
        first.resize(static_cast<std::size_t>(unit()));
        executor.copy(first.data() + before, input, static_cast<std::size_t>(missing));
        run(first.data(), unit(), first.data());
        executor.copy(output, first.data(), static_cast<std::size_t>(unit()));
        run(input + missing, whole - unit(), output + unit());
    }
}

void UnitStream::final(std::uint8_t* output) {
    if (unit() == 0 && !ended_) {
        throw Error(WARPAES_ERROR_DATA_LENGTH,
                    "input_len: a data unit must have 16 to 2^24 bytes, but there was no input");
    }
    if (waiting_.empty()) return;
    if (waiting_.size() < xts_least_unit) {
        throw Error(WARPAES_ERROR_DATA_LENGTH, "input: leaves " + std::to_string(waiting_.size()) +
                                                   " bytes for the last data unit, which must have at least 16");
    }
    run(waiting_.data(), waiting_.size(), waiting_.data());
    Executor executor(*engine_, output, output);
    executor.copy(output, waiting_.data(), waiting_.size());
}

Block UnitStream::chain() const {
    if (!waiting_.empty()) {
        throw Error(WARPAES_ERROR_STATE, "context: is " + std::to_string(waiting_.size()) +
                                             " bytes into a block or data unit, so there is no current IV");
    }
    return chain_;
}

void UnitStream::last_block(const Block& in, Block& out, std::uint8_t* like) const {
    MessageGroup block = shape_;
    block.iv = Elements::of(chain_.data());
    Executor(*engine_, like, like).run_local(block, in, out);
}

}  // namespace warpaes

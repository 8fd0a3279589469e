#include "message/unit_stream.hpp"

#include <cstring>
#include <string>

#include "aes/xts.hpp"
#include "base/error.hpp"
#include "engine/chain.hpp"
#include "message/executor.hpp"
#include "message/xts.hpp"

namespace warpaes {

UnitStream::UnitStream(Engine& engine, const ExpandedKey& key, const ExpandedKey& tweak_key, Direction direction,
                       const DataUnits& units, const Block& number)
    : engine_(&engine), key_(&key), tweak_key_(&tweak_key), direction_(direction), units_(units), number_(number) {}

std::uint64_t UnitStream::output_of(std::uint64_t length) const {
    if (length == 0) return 0;
    if (ended_) {
        throw Error(WARPAES_ERROR_STATE,
                    "context: without data_unit_len the whole message is one data unit, and comes in one update");
    }
    if (units_.bytes != 0) return (waiting_.size() + length) / units_.bytes * units_.bytes;
    if (!is_xts_unit(length)) {
        throw Error(WARPAES_ERROR_DATA_LENGTH,
                    "input_len: one data unit is 16 to 2^24 bytes, got " + std::to_string(length));
    }
    return length;
}

void UnitStream::run(const std::uint8_t* input, std::uint64_t length, std::uint8_t* output) {
    if (length == 0) return;
    const DataUnits here = given_xts_units(units_.bytes, units_.step, length);
    MessageGroup units = stretch_of(Mode::xts, direction_, *key_, number_, input, output, length);
    units.tweak_key = tweak_key_;
    units.data_units = here;
    Executor executor(*engine_, input, output, std::nullopt);
    executor.run(units);
    number_ = xts_chain_at(number_, (length + here.bytes - 1) / here.bytes * here.bytes, here);
}

void UnitStream::update(const std::uint8_t* input, std::uint64_t length, std::uint8_t* output) {
    const std::uint64_t whole = output_of(length);
    if (length == 0) return;
    Executor executor(*engine_, input, whole != 0 ? output : input, std::nullopt);
    const auto wait_with = [&](const std::uint8_t* from, std::uint64_t bytes) {
        const std::size_t before = waiting_.size();
        waiting_.resize(before + static_cast<std::size_t>(bytes));
        executor.read(waiting_.data() + before, from, static_cast<std::size_t>(bytes));
    };
    if (whole == 0) return wait_with(input, length);
    if (units_.bytes == 0) {
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
    } else if (input == output && !executor.on_device()) {
        // In place, but the data units lie `before` bytes further on than their input: move it there first.
        std::memmove(output + before, input, static_cast<std::size_t>(taken));
        std::memcpy(output, first.data(), static_cast<std::size_t>(before));
        run(output, whole, output);
    } else if (input == output) {
        throw Error(WARPAES_ERROR_OVERLAP, "output: device memory can be in place only where data units begin");
    } else {
        const std::uint64_t missing = units_.bytes - before;
        first.resize(static_cast<std::size_t>(units_.bytes));
        executor.read(first.data() + before, input, static_cast<std::size_t>(missing));
        run(first.data(), units_.bytes, first.data());
        executor.write(output, first.data(), static_cast<std::size_t>(units_.bytes));
        run(input + missing, whole - units_.bytes, output + units_.bytes);
    }
}

void UnitStream::final(std::uint8_t* output) {
    if (units_.bytes == 0 && !ended_) {
        throw Error(WARPAES_ERROR_DATA_LENGTH, "input_len: one data unit is 16 to 2^24 bytes, and nothing has come");
    }
    if (waiting_.empty()) return;
    if (waiting_.size() < xts_least_unit) {
        throw Error(WARPAES_ERROR_DATA_LENGTH, "input: leaves " + std::to_string(waiting_.size()) +
                                                   " bytes for the last data unit, which must have at least 16");
    }
    run(waiting_.data(), waiting_.size(), waiting_.data());
    Executor executor(*engine_, output, output, std::nullopt);
    executor.write(output, waiting_.data(), waiting_.size());
}

Block UnitStream::number() const {
    if (!waiting_.empty()) {
        throw Error(WARPAES_ERROR_STATE, "context: " + std::to_string(waiting_.size()) +
                                             " bytes of the next data unit wait for the rest of it");
    }
    return number_;
}

}  // namespace warpaes

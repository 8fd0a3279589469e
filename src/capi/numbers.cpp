#include "warpaes/numbers.h"

#include <cmath>
#include <cstring>

#include "capi/handles.hpp"
#include "capi/result.hpp"
#include "message/checks.hpp"
#include "message/numbers.hpp"

namespace {

using namespace warpaes;
using namespace warpaes::capi;

/// Returns a factor or summand as a float. For 16-bit uniform numbers, the value is first rounded to their format.
float rounded(Number kind, double x) {
    const auto single = static_cast<float>(x);
    if (number_bytes(kind) != 2) return single;
    const bool brain = kind == Number::uniform_bfloat16;
    return is_normal(kind) ? single : brain ? rounded_to_bfloat16(single) : rounded_to_float16(single);
}

NumbersRun to_run(const warpaes_numbers& n) {
    const int value = n.kind;
    if (value < 0 || value >= number_kinds) {
        throw Error(WARPAES_ERROR_ARGUMENT, "kind: " + std::to_string(value) +
                                                " is not bits (0), uniform (1 to 4), normal (5 to 8) or integers (9)");
    }
    const auto kind = static_cast<Number>(value);
    require(n.key, "key");
    require(n.counter, "counter");
    if (n.output == nullptr && n.output_len != 0) refuse_null("output");
    check_memory(n.output, n.output_len, "output");
    if (n.output_len % number_bytes(kind) != 0) {
        throw Error(WARPAES_ERROR_DATA_LENGTH, "output_len: must be a multiple of " +
                                                   std::to_string(number_bytes(kind)) +
                                                   ", the bytes of a number, got " + std::to_string(n.output_len));
    }
    const bool integers = kind == Number::integer_uint64, real = kind != Number::bits && !integers;
    if (!real && (n.first != 0.0 || (n.second != 0.0 && n.second != 1.0))) {
        throw Error(WARPAES_ERROR_ARGUMENT,
                    "first, second: apply only to uniform and normal numbers; leave them at 0 and 1");
    }
    if (!std::isfinite(n.first) || !std::isfinite(n.second)) {
        throw Error(WARPAES_ERROR_ARGUMENT, "first, second: must be finite");
    }
    if (!integers && (n.low | n.range) != 0) {
        throw Error(WARPAES_ERROR_ARGUMENT, "low, range: apply only to integers; leave them at 0");
    }
    NumbersRun run{.key = &n.key->impl,
                   .counter = {},
                   .kind = kind,
                   .range = {.first = n.first,
                             .second = n.second,
                             .first_float = rounded(kind, n.first),
                             .second_float = rounded(kind, n.second),
                             .low = n.low,
                             .range = n.range},
                   .output = static_cast<std::uint8_t*>(n.output),
                   .bytes = n.output_len};
    std::memcpy(run.counter.data(), n.counter, block_bytes);
    return run;
}

warpaes_status fill_output(warpaes_engine* engine, const warpaes_numbers* numbers, warpaes_result* result,
                           std::optional<CallerStream> stream) {
    MessageResult made;
    const warpaes_status status = guarded([&] {
        require(engine, "engine");
        if (result != nullptr) check_size(*result, "result");
        fill_numbers(engine->impl, to_run(read_struct(numbers, "numbers")), made, stream);
    });
    tell(result, status, made);
    return status;
}

}  // namespace

extern "C" {

warpaes_status warpaes_numbers_fill(warpaes_engine* engine, const warpaes_numbers* numbers, warpaes_result* result) {
    return fill_output(engine, numbers, result, std::nullopt);
}

warpaes_status warpaes_numbers_fill_async(warpaes_engine* engine, const warpaes_numbers* numbers, void* cuda_stream,
                                          warpaes_result* result) {
    return fill_output(engine, numbers, result, CallerStream{cuda_stream});
}

}  // extern "C"

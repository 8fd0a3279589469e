// Converts exceptions to statuses (no other file does so), and contains the checks that all entry points share.
#pragma once

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/clean_stack.hpp"
#include "base/error.hpp"
#include "capi/structs.hpp"
#include "engine/engine.hpp"

namespace warpaes::capi {

/// Stores `sentence` as this thread's warpaes_last_error().
void remember_error(const char* sentence) noexcept;
/// Like remember_error(), but for a sentence in static storage, which is not copied.
void remember_static(const char* sentence) noexcept;

/// Runs `body`, which throws on failure, and converts the exception to a status and a message.
template <typename Body>
warpaes_status caught(Body&& body) noexcept {
    try {
        std::forward<Body>(body)();
        return WARPAES_OK;
    } catch (const Error& e) {
        remember_error(e.what());
        return e.status();
    } catch (const std::bad_alloc&) {
        remember_error("out of host memory");
        return WARPAES_ERROR_OUT_OF_MEMORY;
    } catch (const std::exception& e) {
        remember_error(e.what());
        return WARPAES_ERROR_INTERNAL;
    } catch (...) {
        remember_error("unknown failure");
        return WARPAES_ERROR_INTERNAL;
    }
}

/// Returns `status`; but if the call succeeded and `refusal` reports a fault in the data, stores its message and
/// returns its status.
inline warpaes_status verdict(warpaes_status status, const Refusal& refusal) noexcept {
    if (status != WARPAES_OK || !refusal) return status;
    remember_static(refusal.sentence);
    return refusal.status;
}

/// Like caught(), but also overwrites the stack that `body` used.
template <typename Body>
warpaes_status guarded(Body&& body) noexcept {
    return caught([&] { clean_stack(std::forward<Body>(body)); });
}

[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_null(const char* name) {
    throw Error(WARPAES_ERROR_ARGUMENT, std::string(name) + ": is null");
}

inline void require(const void* pointer, const char* name) {
    if (pointer == nullptr) refuse_null(name);
}

inline void require_all(std::initializer_list<std::pair<const void*, const char*>> arguments) {
    for (const auto& [pointer, name] : arguments) require(pointer, name);
}

/// Returns a caller's secret or associated data as a span. Throws Error{ARGUMENT} if it is longer than 1 MiB.
inline std::span<const std::uint8_t> checked_bytes(const void* bytes, std::uint64_t length, const char* name) {
    if (length != 0) require(bytes, name);
    if (length > (1u << 20)) throw Error(WARPAES_ERROR_ARGUMENT, std::string(name) + ": is longer than 1 MiB");
    return {static_cast<const std::uint8_t*>(bytes), static_cast<std::size_t>(length)};
}

/// Like guarded(), for a call that creates an object. `*to` receives the result of `make()`, or null if that throws;
/// `name` is the name of the argument `to`.
template <typename Type, typename Make>
warpaes_status created(Type** to, const char* name, const Make& make) noexcept {
    return guarded([&] {
        require(to, name);
        *to = nullptr;
        *to = make();
    });
}

/// Throws Error{ARGUMENT} if struct_size was not set or is smaller than the struct's first version.
template <typename Struct>
void check_size(const Struct& given, const char* name) {
    constexpr StructFacts facts = struct_facts<Struct>;
    static_assert(facts.least != 0 && facts.least <= sizeof(Struct));
    if (given.struct_size < facts.least) {
        throw Error(WARPAES_ERROR_ARGUMENT, std::string(name) + ": struct_size is " +
                                                std::to_string(given.struct_size) + "; initialize the struct with " +
                                                facts.init + ", which sets it");
    }
}

/// Copies a caller's struct to the size that this library supports. A smaller struct, from an older header, is padded
/// with zeros. In a larger struct, from a newer header, the unknown bytes must be zero.
template <typename Struct>
Struct read_struct(const Struct* from, const char* name) {
    require(from, name);
    check_size(*from, name);
    const std::size_t size = from->struct_size;
    const auto* bytes = reinterpret_cast<const unsigned char*>(from);
    for (std::size_t i = sizeof(Struct); i < size; ++i) {
        if (bytes[i] != 0) {
            throw Error(WARPAES_ERROR_ARGUMENT, std::string(name) + ": uses fields that this version does not support");
        }
    }
    Struct copy{};
    std::memcpy(&copy, from, std::min(size, sizeof(Struct)));
    return copy;
}

/// Throws Error{ARGUMENT} if `flags` has a bit that is not in `known`.
void refuse_unknown_flags(std::uint32_t flags, std::uint32_t known);

/// Copies `text` to the caller's buffer `to`, the argument `name`, and sets `length` to its size. Throws
/// Error{BUFFER_TOO_SMALL} if `capacity` is smaller.
void hand_out(std::string_view text, char* to, std::size_t capacity, const char* name, std::size_t* length);

/// Throws the error of a call of the ABI that this thread has just made.
inline void require_success(warpaes_status status) {
    if (status != WARPAES_OK) throw Error(status, warpaes_last_error());
}

/// Writes the message for `status`, which this thread has just caught, to `error`, a buffer of WARPAES_ERROR_BYTES
/// bytes.
void write_error(warpaes_status status, char* error) noexcept;

/// Returns entry `index` of the concatenated lists of all backends. Throws Error{ARGUMENT} if there are fewer entries.
const BackendInfo& backend_at(std::size_t index);

/// Throws Error{ARGUMENT} for an unknown kind of memory. SHARED is page-locked.
Memory checked_memory(warpaes_memory memory);

/// Writes as much of a struct as fits in the caller's struct.
template <typename Struct>
void write_struct(const Struct& from, Struct* to, std::size_t struct_size) {
    std::memcpy(to, &from, std::min(struct_size, sizeof(Struct)));
}

/// Like write_struct(), for a result that may be null. Has no effect if check_size() would refuse the struct.
template <typename Result>
void write_result(Result made, Result* to) {
    if (to == nullptr || to->struct_size < struct_facts<Result>.least) return;
    made.struct_size = to->struct_size;
    write_struct(made, to, made.struct_size);
}

}  // namespace warpaes::capi

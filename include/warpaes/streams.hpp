// warpaes: the C++20 interface for files of authenticated segments, with keysets, random-access readers and writers.
// Header only, over the C ABI; the rules in warpaes.hpp also apply here.
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <mutex>
#include <warpaes/warpaes.hpp>

namespace warpaes {
inline namespace cpp {

namespace detail {
/// A function supplied by the caller. If the function throws, on any thread, the exception is stored until check()
/// rethrows it on the caller's thread.
template <typename... Arguments>
class Caller {
public:
    std::function<void(Arguments...)> function;

    /// Calls the function and returns 0 for success, as the C ABI requires.
    int call(Arguments... arguments) noexcept {
        try {
            function(arguments...);
            return 0;
        } catch (...) {
            const std::lock_guard lock(mutex_);
            if (!exception_) exception_ = std::current_exception();
            return 1;
        }
    }
    void check(warpaes_status status) {
        if (status == WARPAES_OK) return;
        std::exception_ptr exception;
        {
            const std::lock_guard lock(mutex_);
            exception = std::exchange(exception_, nullptr);
        }
        if (exception && (status == WARPAES_ERROR_READ || status == WARPAES_ERROR_WRITE)) {
            std::rethrow_exception(exception);
        }
        cpp::check(status);
    }

private:
    std::mutex mutex_;
    std::exception_ptr exception_;
};
struct StreamClose {
    void operator()(std::FILE* stream) const noexcept { std::fclose(stream); }
};
}  // namespace detail

/// Settings that are not part of a place, for loading or saving a keyset; see warpaes_place_options. load() and save()
/// rethrow exceptions that the functions throw.
struct PlaceOptions {
    /// Writes the passphrase to the buffer, which is wiped afterwards, and returns its length.
    std::function<std::size_t(const std::string& question, std::span<char> passphrase)> ask{};
    std::function<void(const std::string& sentence)> warning{};
    std::string template_name{};  ///< load: the template for a raw key; if empty, the key's length determines it
    std::optional<warpaes_scrypt> cost =
        std::nullopt;  ///< save: the cost of a passphrase guess; by default, a guess takes one second
};

/// Keys for files, one of which is the primary key. Wiped when destroyed. Threads may share a keyset while no thread
/// changes it.
class Keyset {
public:
    /// Creates an empty keyset.
    Keyset() : Keyset(detail::made<warpaes_keyset>(warpaes_keyset_create)) {}
    /// Creates a keyset from Tink's JSON. Throws Error{WARPAES_ERROR_KEYSET}.
    [[nodiscard]] static Keyset parse(std::string_view json) {
        return Keyset(detail::made<warpaes_keyset>(warpaes_keyset_parse, json.data(), json.size()));
    }
    /// Creates a keyset from JSON that wrap() wrote. Throws Error{WARPAES_ERROR_AUTHENTICATION} if the passphrase is
    /// wrong or the JSON was altered.
    [[nodiscard]] static Keyset unwrap(std::string_view json, std::string_view passphrase) {
        return Keyset(detail::made<warpaes_keyset>(warpaes_keyset_unwrap, json.data(), json.size(), passphrase.data(),
                                                   passphrase.size()));
    }
    /// Creates a keyset from JSON that wrap_under() or a Tink library wrote. Throws Error{WARPAES_ERROR_AUTHENTICATION}
    /// if the key or the associated data is wrong or the JSON was altered.
    [[nodiscard]] static Keyset unwrap_under(std::string_view json, ConstBytes kek, ConstBytes aad = {}) {
        return Keyset(detail::made<warpaes_keyset>(warpaes_keyset_unwrap_under, json.data(), json.size(), kek.data(),
                                                   kek.size(), aad.data(), aad.size()));
    }
    /// Throws Error{WARPAES_ERROR_KEYSET} if bytes that were read as a raw key are text; see warpaes_keyset_check_raw.
    static void check_raw(ConstBytes key) { check(warpaes_keyset_check_raw(key.data(), key.size())); }
    /// Creates a keyset from one raw key. Throws Error{WARPAES_ERROR_ARGUMENT} or Error{WARPAES_ERROR_KEY_LENGTH}.
    [[nodiscard]] static Keyset from_raw(const std::string& template_name, ConstBytes key) {
        return Keyset(
            detail::made<warpaes_keyset>(warpaes_keyset_from_raw, template_name.c_str(), key.data(), key.size()));
    }

    /// Loads a keyset from its place, such as "keyset.json" or "passphrase=env:WORD;keyset.json" (docs/keys.md). Throws
    /// Error; see warpaes_keyset_load.
    [[nodiscard]] static Keyset load(const std::string& place, const PlaceOptions& options = {}) {
        Asker asker{options};
        const warpaes_place_options given = asker.options();
        warpaes_keyset* keyset = nullptr;
        const warpaes_status status = warpaes_keyset_load(place.c_str(), &given, &keyset);
        Keyset loaded(keyset);
        asker.check(status);
        return loaded;
    }
    /// Saves the keyset to a new file at its place; only the file's owner can open the file. Throws Error; see
    /// warpaes_keyset_save.
    void save(const std::string& place, const PlaceOptions& options = {}) const {
        Asker asker{options};
        const warpaes_place_options given = asker.options();
        asker.check(warpaes_keyset_save(get(), place.c_str(), &given));
    }

    /// Adds a random key and returns its ID. The first key becomes the primary key.
    std::uint32_t add(const std::string& template_name) {
        std::uint32_t id = 0;
        check(warpaes_keyset_add(get(), template_name.c_str(), &id));
        return id;
    }
    void promote(std::uint32_t key_id) { check(warpaes_keyset_promote(get(), key_id)); }
    void set_state(std::uint32_t key_id, warpaes_key_state state) {
        check(warpaes_keyset_set_state(get(), key_id, state));
    }
    void remove(std::uint32_t key_id) { check(warpaes_keyset_remove(get(), key_id)); }
    /// Copies the enabled keys of `other` for decryption, which tries them after the keyset's own keys.
    void append(const Keyset& other) { check(warpaes_keyset_append(get(), other.get())); }
    /// Returns Tink's JSON with the secret keys. The caller is responsible for wiping the string.
    [[nodiscard]] std::string to_json() const {
        return text_of([&](std::string& json, std::size_t& length) {
            return warpaes_keyset_write(get(), json.data(), json.size(), &length);
        });
    }

    /// Returns Tink's JSON, encrypted under a passphrase. A guess at the passphrase takes one second, or has the cost
    /// `cost`.
    [[nodiscard]] std::string wrap(std::string_view passphrase) const { return wrap(passphrase, scrypt_cost(1)); }
    [[nodiscard]] std::string wrap(std::string_view passphrase, const warpaes_scrypt& cost) const {
        return text_of([&](std::string& json, std::size_t& length) {
            return warpaes_keyset_wrap(get(), passphrase.data(), passphrase.size(), &cost, json.data(), json.size(),
                                       &length);
        });
    }
    /// Returns the keyset as Tink's JSON, encrypted under `kek`: either a raw key or the JSON of a Tink keyset of
    /// AesGcmKeys.
    [[nodiscard]] std::string wrap_under(ConstBytes kek, ConstBytes aad = {}) const {
        return text_of([&](std::string& json, std::size_t& length) {
            return warpaes_keyset_wrap_under(get(), kek.data(), kek.size(), aad.data(), aad.size(), json.data(),
                                             json.size(), &length);
        });
    }
    /// Returns the cost that takes about `seconds` on this machine.
    [[nodiscard]] static warpaes_scrypt scrypt_cost(double seconds) {
        warpaes_scrypt cost = WARPAES_SCRYPT_INIT;
        check(warpaes_scrypt_choose(seconds, &cost));
        return cost;
    }

    [[nodiscard]] warpaes_keyset* get() const noexcept { return handle_.get(); }

private:
    /// Adapts the functions of PlaceOptions to the C ABI, and stores their exceptions.
    struct Asker {
        const PlaceOptions& given;
        std::exception_ptr exception{};

        [[nodiscard]] warpaes_place_options options() {
            warpaes_place_options options = WARPAES_PLACE_OPTIONS_INIT;
            options.user = this;
            if (given.ask) options.ask = ask;
            if (given.warning) options.warning = warn;
            if (!given.template_name.empty()) options.template_name = given.template_name.c_str();
            if (given.cost) options.cost = &*given.cost;
            return options;
        }
        void check(warpaes_status status) const {
            if (exception) std::rethrow_exception(exception);
            cpp::check(status);
        }
        static int ask(void* user, const char* question, char* passphrase, std::size_t capacity,
                       std::size_t* length) noexcept {
            auto& self = *static_cast<Asker*>(user);
            return self.call([&] { *length = self.given.ask(question, std::span<char>(passphrase, capacity)); });
        }
        static void warn(void* user, const char* sentence) noexcept {
            auto& self = *static_cast<Asker*>(user);
            self.call([&] { self.given.warning(sentence); });
        }
        template <typename Function>
        int call(const Function& function) noexcept {
            try {
                function();
                return 0;
            } catch (...) {
                if (!exception) exception = std::current_exception();
                return 1;
            }
        }
    };

    explicit Keyset(warpaes_keyset* keyset) : handle_(keyset) {}
    /// Returns the text that `into(text, length)` writes. The first call only queries the length.
    template <typename Into>
    static std::string text_of(const Into& into) {
        std::string text;
        std::size_t length = 0;
        const warpaes_status status = into(text, length);
        if (status != WARPAES_ERROR_BUFFER_TOO_SMALL) check(status);
        text.resize(length);
        check(into(text, length));
        return text;
    }
    detail::Handle<warpaes_keyset, warpaes_keyset_destroy> handle_;
};

/// Random access to a file of authenticated segments. read() is thread-safe. The engine must outlive the Reader.
class Reader {
public:
    /// Fills the buffer with the bytes at `offset` of the file, or throws. Several threads may call the function at
    /// once.
    using Function = std::function<void(std::uint64_t offset, Bytes buffer)>;
    /// Writes the next bytes of the file to the beginning of the buffer, at least one, and returns their number;
    /// returns 0 at the end. Throws on failure. The library makes one call at a time.
    using Next = std::function<std::size_t(Bytes buffer)>;

    // The functions below read the header and the last segment. They throw Error{WARPAES_ERROR_AUTHENTICATION},
    // Error{WARPAES_ERROR_FORMAT}, Error{WARPAES_ERROR_KEYSET} and other errors. `aad` must be the same as for the
    // writer.

    [[nodiscard]] static Reader of_file(const Engine& engine, const Keyset& keyset, const std::string& path,
                                        ConstBytes aad = {}) {
        warpaes_source source = WARPAES_SOURCE_INIT;
        source.path = path.c_str();
        return Reader(engine, keyset, source, aad, {});
    }
    /// `memory` must stay valid as long as the reader.
    [[nodiscard]] static Reader of_memory(const Engine& engine, const Keyset& keyset, ConstBytes memory,
                                          ConstBytes aad = {}) {
        warpaes_source source = WARPAES_SOURCE_INIT;
        source.memory = memory.data();
        source.memory_len = memory.size();
        return Reader(engine, keyset, source, aad, {});
    }
    /// Opens a file of `size` bytes that only `function` can read. If the function throws, the call that used the
    /// function rethrows the exception.
    [[nodiscard]] static Reader of_function(const Engine& engine, const Keyset& keyset, std::uint64_t size,
                                            Function function, ConstBytes aad = {}) {
        warpaes_source source = WARPAES_SOURCE_INIT;
        source.size = size;
        source.read = [](void* user, std::uint64_t offset, void* buffer, std::uint64_t length) noexcept -> int {
            return static_cast<Caller*>(user)->call(offset, Bytes(buffer, static_cast<std::size_t>(length)), nullptr);
        };
        return Reader(engine, keyset, source, aad,
                      [function = std::move(function)](auto offset, auto buffer, auto) { function(offset, buffer); });
    }
    /// Opens a file that is read forward by one thread at a time. Each read() must begin where the previous read()
    /// ended. A read() returns fewer bytes than requested if no more have arrived, and 0 only at the end. of_stream()
    /// authenticates the first segment, because the last segment has not arrived.
    [[nodiscard]] static Reader of_stream(const Engine& engine, const Keyset& keyset, Next next, ConstBytes aad = {}) {
        warpaes_source source = WARPAES_SOURCE_INIT;
        source.next = [](void* user, void* buffer, std::uint64_t length, std::uint64_t* got) noexcept -> int {
            return static_cast<Caller*>(user)->call(0, Bytes(buffer, static_cast<std::size_t>(length)), got);
        };
        return Reader(engine, keyset, source, aad,
                      [next = std::move(next)](auto, auto buffer, auto got) { *got = next(buffer); });
    }

    /// Returns the number of plaintext bytes, or WARPAES_UNKNOWN before the end of a stream.
    [[nodiscard]] std::uint64_t size() const noexcept { return warpaes_reader_size(get()); }
    /// Fills `output`, in host or device memory, with the plaintext starting at `offset`. Returns the number of bytes,
    /// which is less than the output's size only at the end. After an error `output` is wiped. Throws Error.
    std::size_t read(std::uint64_t offset, Bytes output) const {
        std::uint64_t read = 0;
        const warpaes_status status = warpaes_reader_read(get(), offset, output.data(), output.size(), &read);
        caller_->check(status);
        return static_cast<std::size_t>(read);
    }

    [[nodiscard]] warpaes_reader* get() const noexcept { return handle_.get(); }

private:
    using Caller = detail::Caller<std::uint64_t, Bytes, std::uint64_t*>;

    Reader(const Engine& engine, const Keyset& keyset, warpaes_source source, ConstBytes aad,
           std::function<void(std::uint64_t, Bytes, std::uint64_t*)> function)
        : caller_(std::make_unique<Caller>()) {
        if (function) {
            caller_->function = std::move(function);
            source.user = caller_.get();
        }
        warpaes_reader* reader = nullptr;
        caller_->check(warpaes_reader_open(engine.get(), &source, keyset.get(), aad.data(), aad.size(), &reader));
        handle_.reset(reader);
    }

    std::unique_ptr<Caller> caller_;
    detail::Handle<warpaes_reader, warpaes_reader_close> handle_;
};

using Stream = std::unique_ptr<std::FILE, detail::StreamClose>;

/// Opens an encrypted file as a FILE* for reading, for C libraries. See warpaes_open_stream. The engine must outlive
/// the stream. Throws Error, like Reader::of_file().
[[nodiscard]] inline Stream open_stream(const Engine& engine, const Keyset& keyset, const std::string& path,
                                        ConstBytes aad = {}) {
    warpaes_source source = WARPAES_SOURCE_INIT;
    source.path = path.c_str();
    std::FILE* stream = nullptr;
    check(warpaes_open_stream(engine.get(), &source, keyset.get(), aad.data(), aad.size(), &stream));
    return Stream(stream);
}

/// Writes a file of authenticated segments from front to back, with the keyset's primary key. Only one thread at a time
/// may use a Writer, in the process that opened it: in a child of fork(), write() and finish() throw
/// Error{WARPAES_ERROR_STATE}. The engine must outlive the Writer.
class Writer {
public:
    /// Writes the next bytes of the file, or throws.
    using Function = std::function<void(ConstBytes bytes)>;

    /// The file appears under its name when finish() has returned. Throws Error{WARPAES_ERROR_EXISTS} if the path
    /// exists and `overwrite` is false, or another Error.
    [[nodiscard]] static Writer to_file(const Engine& engine, const Keyset& keyset, const std::string& path,
                                        ConstBytes aad = {}, bool overwrite = false) {
        warpaes_sink sink = WARPAES_SINK_INIT;
        sink.flags = overwrite ? WARPAES_FILE_OVERWRITE : 0;
        sink.path = path.c_str();
        return Writer(engine, keyset, sink, aad, {});
    }
    /// If `function` throws, the call that used the function rethrows the exception.
    [[nodiscard]] static Writer to_function(const Engine& engine, const Keyset& keyset, Function function,
                                            ConstBytes aad = {}) {
        const warpaes_sink sink = WARPAES_SINK_INIT;
        return Writer(engine, keyset, sink, aad, std::move(function));
    }

    /// Encrypts the next bytes of plaintext, from host or device memory. After an error the writer can only be
    /// destroyed.
    void write(ConstBytes input) { caller_->check(warpaes_writer_write(get(), input.data(), input.size())); }
    /// Ends the file. Without finish(), no file appears.
    void finish() { caller_->check(warpaes_writer_finish(get())); }

    [[nodiscard]] warpaes_writer* get() const noexcept { return handle_.get(); }

private:
    using Caller = detail::Caller<ConstBytes>;

    Writer(const Engine& engine, const Keyset& keyset, warpaes_sink sink, ConstBytes aad, Function function)
        : caller_(std::make_unique<Caller>()) {
        if (function) {
            caller_->function = std::move(function);
            sink.user = caller_.get();
            sink.write = [](void* user, const void* bytes, std::uint64_t length) noexcept -> int {
                return static_cast<Caller*>(user)->call(ConstBytes(bytes, static_cast<std::size_t>(length)));
            };
        }
        warpaes_writer* writer = nullptr;
        caller_->check(warpaes_writer_open(engine.get(), &sink, keyset.get(), aad.data(), aad.size(), &writer));
        handle_.reset(writer);
    }

    std::unique_ptr<Caller> caller_;
    detail::Handle<warpaes_writer, warpaes_writer_close> handle_;
};

}  // namespace cpp
}  // namespace warpaes

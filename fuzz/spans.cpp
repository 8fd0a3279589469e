// Tests the functions of the C++ headers that accept spans, with arbitrary numbers and with buffers that end with their
// last byte. Other targets check the results. This target checks that nothing outside the spans is accessed and that
// only Error is thrown.
#include <cstring>
#include <warpaes/drbg.hpp>
#include <warpaes/gcm.hpp>
#include <warpaes/numbers.hpp>
#include <warpaes/streams.hpp>

#include "engines.hpp"
#include "handles.hpp"

namespace {

using namespace fuzz;
using warpaes::Direction;
using warpaes::Mode;

const warpaes::Key& key_of(Input& in) {
    static const warpaes::Key keys[] = {warpaes::Key(Bytes(16, 1)), warpaes::Key(Bytes(24, 2)),
                                        warpaes::Key(Bytes(32, 3)), warpaes::Key(Bytes(16, 4)),
                                        warpaes::Key(Bytes(32, 5))};
    return in.pick(keys);
}

/// Returns a small number, a number near a boundary, or any number.
std::uint64_t any(Input& in) {
    switch (in.below(8)) {
    case 0:
        return in.number();
    case 1:
        return std::uint64_t{0} - in.below(64);
    case 2:
        return (std::uint64_t{1} << in.below(64)) + in.below(5) - 2;
    case 3:
        return in.below(3000);
    default:
        return in.below(100);
    }
}

/// Separate memory for each span, so that AddressSanitizer checks the bytes before and after it.
class Span {
public:
    explicit Span(std::size_t size) : size_(size), memory_(new std::uint8_t[size]()) {}
    Span(Input& in, std::size_t most) : Span(in.below(most + 1)) {
        for (std::size_t i = 0; i < std::min<std::size_t>(size_, 32); ++i) memory_[i] = in.byte();
    }
    [[nodiscard]] warpaes::Bytes bytes() const { return {memory_.get(), size_}; }
    operator warpaes::ConstBytes() const { return bytes(); }
    [[nodiscard]] std::uint8_t* data() const { return memory_.get(); }
    [[nodiscard]] std::size_t size() const { return size_; }

private:
    std::size_t size_;
    std::unique_ptr<std::uint8_t[]> memory_;
};

Mode mode_of(Input& in) {
    return static_cast<Mode>(in.below(17));
}
Direction direction_of(Input& in) {
    return static_cast<Direction>(in.below(16) == 0 ? any(in) : 1 + in.below(2));
}

void segments(Input& in) {
    const Span nonces(in.below(8) == 0 ? in.below(80) : 12 * in.below(6)), input(in, 600), output(in, 600), aad(in, 40),
        tags(in, 100);
    for (std::size_t i = 0; i < nonces.size() / 12; ++i) nonces.data()[12 * i] = static_cast<std::uint8_t>(i);
    warpaes::Segments s;
    s.direction = direction_of(in);
    if (in.below(32) != 0) s.key = &key_of(in);
    s.nonces = nonces;
    s.segment_len = any(in);
    s.last_len =
        in.flag() ? any(in) : in.below(static_cast<std::size_t>(std::min<std::uint64_t>(s.segment_len, 999)) + 1);
    s.plaintext_stride = in.flag() ? any(in) : 0;
    s.ciphertext_stride = in.flag() ? any(in) : 0;
    if (in.flag()) s.tags = tags.bytes();
    s.aad = aad;
    s.input = input;
    s.output = in.below(8) == 0 ? input.bytes() : output.bytes();
    (void)warpaes::crypt_segments(engine_of(in), s);
}

void message(Input& in) {
    const Span iv(in, 32), input(in, 300), output(in, 340), aad(in, 60), tag(in, 20);
    const warpaes_part parts[] = {{aad.data(), aad.size()}, {iv.data(), iv.size()}};
    warpaes::Message m;
    m.mode = mode_of(in);
    m.direction = direction_of(in);
    if (in.below(32) != 0) m.key = &key_of(in);
    if (in.flag()) m.tweak_key = &key_of(in);
    if (in.flag()) m.mac_key = &key_of(in);
    m.iv = iv;
    m.input = input;
    m.output = in.below(8) == 0 ? input.bytes() : output.bytes();
    m.pkcs7 = in.below(4) == 0;
    if (in.below(4) == 0) m.range = warpaes::Range{any(in), any(in)};
    if (in.below(4) == 0) m.input_bits = any(in);
    if (in.below(4) == 0) m.data_unit_len = any(in);
    if (in.below(4) == 0) m.data_unit_step = any(in);
    if (in.flag()) m.aad = aad;
    if (in.flag()) m.tag = tag.bytes();
    if (in.below(4) == 0) m.aad_list = std::span(parts).first(in.below(3));
    (void)engine_of(in).crypt(m);
}

void in_one_go(Input& in) {
    const warpaes::Engine& engine = engine_of(in);
    const warpaes::Key& key = key_of(in);
    const Span iv(in, 32), input(in, 300), aad(in, 60), output(in, 300);
    switch (in.below(7)) {
    case 0:
        return (void)warpaes::encrypt(engine, mode_of(in), key, iv, input, in.flag());
    case 1:
        return (void)warpaes::decrypt(engine, mode_of(in), key, iv, input, in.flag());
    case 2:
        return (void)warpaes::seal(engine, key, iv, input, aad);
    case 3:
        return (void)warpaes::open(engine, key, iv, input, aad);
    case 4:
        return (void)warpaes::seal(engine, key, input);
    case 5:
        return (void)warpaes::open(engine, key, input);
    default:
        return engine.copy(output.bytes(), input);
    }
}

void context(Input& in) {
    warpaes::Context c(engine_of(in));
    const Span iv(in, 32);
    if (in.flag()) {
        c.init(mode_of(in), direction_of(in), key_of(in), iv, in.below(4) == 0);
    } else {
        warpaes_context_options o = WARPAES_CONTEXT_OPTIONS_INIT;
        o.mode = static_cast<warpaes_mode>(in.below(17));
        o.direction = static_cast<warpaes_direction>(in.below(4));
        o.key = key_of(in).get();
        if (in.flag()) o.tweak_key = key_of(in).get();
        o.iv = iv.data();
        o.iv_len = iv.size();
        o.data_unit_len = any(in);
        o.data_unit_step = in.flag() ? any(in) : 0;
        o.text_len = any(in);
        o.aad_len = any(in);
        o.tag_len = in.below(20);
        c.init(o);
    }
    for (int step = 0; step < 6 && !in.empty(); ++step) {
        const Span input(in, 120), output(in, 160);
        try {
            switch (in.below(9)) {
            case 0:
                c.set_iv(input);
                break;
            case 1:
                (void)c.iv();
                break;
            case 2:
                (void)c.final(output.bytes());
                break;
            case 3:
                c.seek(any(in));
                break;
            case 4:
                c.aad(input);
                break;
            case 5:
                c.get_tag(output.bytes());
                break;
            case 6:
                c.set_tag(input);
                break;
            default:
                (void)c.update(input, output.bytes());
                break;
            }
        } catch (const warpaes::Error&) {
        }
    }
}

void generator(Input& in) {
    const Span entropy(in, 60), nonce(in, 40), more(in, 60), output(in, 300);
    const std::size_t bits[] = {128, 192, 256, static_cast<std::size_t>(in.byte())};
    warpaes::DrbgOptions o{.key_bits = static_cast<unsigned>(in.pick(bits)), .derivation_function = in.flag()};
    if (in.flag()) o.entropy = entropy;
    if (in.flag()) o.nonce = nonce;
    if (in.flag()) o.personalization = more;
    warpaes::Drbg drbg(engine_of(in), o);
    drbg.generate(output.bytes(), in.flag() ? more : warpaes::ConstBytes(), in.below(4) == 0);
    drbg.reseed(entropy, more);
}

void numbers(Input& in) {
    const Span memory(in, 320);
    const auto at = [&]<typename T>(T*) {
        return std::span<T>(reinterpret_cast<T*>(memory.data()), memory.size() / sizeof(T));
    };
    const warpaes::Numbers n(engine_of(in), key_of(in), std::array<std::uint8_t, 16>{in.byte(), 255, in.byte()});
    const auto number = [&] {
        const std::uint64_t bits = any(in);
        double value = 0;
        std::memcpy(&value, &bits, sizeof value);
        return value;
    };
    switch (in.below(7)) {
    case 0:
        return n.bits(memory.bytes());
    case 1:
        return n.uniform<double>(at(static_cast<double*>(nullptr)), number(), number());
    case 2:
        return n.uniform<float>(at(static_cast<float*>(nullptr)), 1.5F, 9.0F);
    case 3:
        return n.normal<double>(at(static_cast<double*>(nullptr)), number(), number());
    case 4:
        return n.normal<float>(at(static_cast<float*>(nullptr)));
    case 5:
        return n.integers(at(static_cast<std::uint64_t*>(nullptr)), any(in), any(in));
    default:
        return n.fill(static_cast<warpaes_number>(in.below(12)), memory.data(), memory.size(), number(), number(),
                      in.flag() ? any(in) : 0, in.flag() ? any(in) : 0);
    }
}

void reader(Input& in) {
    static const warpaes::Keyset keyset = warpaes::Keyset::from_raw("AES128_GCM_HKDF_4KB", Bytes(16, 1));
    static const Bytes file = [] {
        Bytes made;
        const warpaes::Engine engine({.backend = "libcrypto", .threads = 1});
        warpaes::Writer writer = warpaes::Writer::to_function(engine, keyset, [&](warpaes::ConstBytes bytes) {
            made.insert(made.end(), bytes.data(), bytes.data() + bytes.size());
        });
        writer.write(Bytes(9000, 7));
        writer.finish();
        return made;
    }();
    const Span sealed(file.size() - (in.flag() ? 0 : in.below(file.size()))), output(in, 5000);
    std::copy_n(file.begin(), sealed.size(), sealed.data());
    if (in.below(4) == 0 && sealed.size() != 0) sealed.data()[in.below(sealed.size())] ^= in.byte();
    const warpaes::Engine& engine = engine_of(in);
    const auto of_function = [&] {
        const std::uint64_t size = in.flag() ? sealed.size() : any(in);
        return warpaes::Reader::of_function(engine, keyset, size, [&](std::uint64_t offset, warpaes::Bytes buffer) {
            if (offset > sealed.size() || buffer.size() > sealed.size() - offset) throw std::out_of_range("no bytes");
            std::copy_n(sealed.data() + offset, buffer.size(), buffer.data());
        });
    };
    const warpaes::Reader r = in.flag() ? of_function() : warpaes::Reader::of_memory(engine, keyset, sealed);
    (void)r.read(any(in), output.bytes());
    (void)r.read(in.below(9100), output.bytes());
}

void texts(Input& in) {
    const Span bytes(in, 200), other(in, 80);
    switch (in.below(4)) {
    case 0:
        return (void)warpaes::Key(bytes);
    case 1:
        return (void)warpaes::Keyset::from_raw(in.flag() ? "AES256_GCM_HKDF_1MB" : "C2SP_CHUNKED_128", bytes);
    case 2:
        return (void)warpaes::Keyset::unwrap_under({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, other,
                                                   bytes);
    default: {
        warpaes::Keyset keyset = warpaes::Keyset::from_raw("AES256_GCM_HKDF_1MB", Bytes(32, 1));
        return (void)keyset.wrap_under(other, bytes);
    }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Input in(data, size);
    static constexpr void (*calls[])(Input&) = {segments, segments, segments,  message, message, message, in_one_go,
                                                context,  context,  generator, numbers, reader,  texts};
    const auto call = in.pick(calls);
    try {
        call(in);
    } catch (const warpaes::Error&) {
    } catch (const std::out_of_range&) {
        // an error of the reader's function
    }
    return 0;
}

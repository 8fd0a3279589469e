// The format of a calibration: JSON, written and read by this library alone, and by whoever wants to look.
#include <algorithm>
#include <charconv>
#include <vector>

#include "base/error.hpp"
#include "engine/calibration/file.hpp"

namespace warpaes {

namespace {

constexpr unsigned schema = 1;

std::string number(double value) {
    char text[32];
    const auto [end, error] = std::to_chars(std::begin(text), std::end(text), value);
    return {text, error == std::errc() ? end : text};
}

/// Names are ASCII without quotes and backslashes; whatever else a driver says is replaced.
std::string plain(std::string_view text) {
    std::string out(text);
    for (char& c : out) {
        if (c < ' ' || c > '~' || c == '"' || c == '\\') c = '?';
    }
    return out;
}

std::string json_string(std::string_view text) {
    return '"' + plain(text) + '"';
}

/// Values one after the other; throws Error{FORMAT} where there is another than the caller asks for.
class Reader {
public:
    explicit Reader(std::string_view text) : text_(text) {}

    std::string_view string() {
        expect('"');
        const std::size_t end = text_.find('"', at_);
        if (end == std::string_view::npos) refuse();
        const std::string_view value = text_.substr(at_, end - at_);
        if (value.find('\\') != std::string_view::npos) refuse();
        at_ = end + 1;
        return value;
    }
    double number() {
        skip();
        double value = 0;
        const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
        if (error != std::errc()) refuse();
        at_ = static_cast<std::size_t>(end - text_.data());
        return value;
    }
    unsigned count() {
        const double value = number();
        if (!(value >= 0 && value <= 1e9)) refuse();
        return static_cast<unsigned>(value);
    }
    /// Calls `member(name)` for each, which reads the value.
    template <typename Member>
    void object(const Member& member) {
        list('{', '}', [&] {
            const std::string_view name = string();
            expect(':');
            member(name);
        });
    }
    template <typename Element>
    void array(const Element& element) {
        list('[', ']', element);
    }
    void end() {
        skip();
        if (at_ != text_.size()) refuse();
    }
    [[noreturn]] void refuse() const {
        throw Error(WARPAES_ERROR_FORMAT, "calibration: damaged at byte " + std::to_string(at_));
    }

private:
    void skip() {
        while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
    }
    bool next_is(char c) {
        skip();
        return at_ < text_.size() && text_[at_] == c;
    }
    void expect(char c) {
        if (!next_is(c)) refuse();
        ++at_;
    }
    template <typename Item>
    void list(char open, char close, const Item& item) {
        expect(open);
        for (bool first = true; !next_is(close); first = false) {
            if (!first) expect(',');
            item();
        }
        expect(close);
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

template <typename Enum>
Enum find_name(const Reader& reader, std::string_view name, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        if (name_of(static_cast<Enum>(i)) == name) return static_cast<Enum>(i);
    }
    reader.refuse();
}

void read_cost(Reader& reader, CostModel& model) {
    std::string of, work_class, way;
    unsigned key_bits = 0;
    Cost cost;
    std::size_t spans = 0;
    reader.object([&](std::string_view name) {
        if (name == "of") {
            of = reader.string();
        } else if (name == "class") {
            work_class = reader.string();
        } else if (name == "way") {
            way = reader.string();
        } else if (name == "key_bits") {
            key_bits = reader.count();
        } else if (name == "fixed_s") {
            cost.fixed = reader.number();
        } else if (name == "message_s") {
            cost.message = reader.number();
        } else if (name == "key_s") {
            cost.key = reader.number();
        } else if (name == "serial_byte_s") {
            cost.serial_byte = reader.number();
        } else if (name == "in_flight_bytes") {
            cost.in_flight = reader.number();
        } else if (name == "byte_s") {
            reader.array([&] {
                if (spans == Cost::spans) reader.refuse();
                cost.byte[spans++] = reader.number();
            });
        } else {
            reader.refuse();
        }
    });
    if (of.empty() || spans != Cost::spans || !cost.valid() || (key_bits != 128 && key_bits != 256)) reader.refuse();
    model.tables[of].set(find_name<WorkClass>(reader, work_class, work_classes), find_name<Way>(reader, way, ways),
                         key_bits, cost);
}

}  // namespace

std::string write_calibration(const CostModel& model, const Machine& machine) {
    std::string out =
        "{\n \"schema\": " + std::to_string(schema) + ",\n \"warpaes\": " + json_string(machine.version) +
        ",\n \"cpu\": " + json_string(machine.cpu) + ",\n \"processors\": " + std::to_string(machine.processors) +
        ",\n \"threads\": " + std::to_string(model.threads) + ",\n \"thread_s\": " + number(model.thread) +
        ",\n \"cold_s\": " + number(model.cold) + ",\n \"costs\": [";
    const char* separator = "\n";
    for (const auto& [name, table] : model.tables) {
        table.each([&, &of = name](WorkClass work_class, Way way, unsigned key_bits, const Cost& cost) {
            out += separator;
            out += "  {\"of\": " + json_string(of) + ", \"class\": " + json_string(name_of(work_class)) +
                   ", \"way\": " + json_string(name_of(way)) + ", \"key_bits\": " + std::to_string(key_bits) +
                   ", \"fixed_s\": " + number(cost.fixed) + ", \"message_s\": " + number(cost.message) +
                   ", \"key_s\": " + number(cost.key) + ", \"serial_byte_s\": " + number(cost.serial_byte) +
                   ", \"in_flight_bytes\": " + number(cost.in_flight) + ", \"byte_s\": [";
            for (std::size_t i = 0; i < Cost::spans; ++i) out += (i == 0 ? "" : ", ") + number(cost.byte[i]);
            out += "]}";
            separator = ",\n";
        });
    }
    return out + "\n ]\n}\n";
}

CostModel read_calibration(std::string_view text, const Machine& machine) {
    CostModel model;
    Machine stored;
    unsigned stored_schema = 0;
    Reader reader(text);
    reader.object([&](std::string_view name) {
        if (name == "schema") {
            stored_schema = reader.count();
            if (stored_schema != schema) {
                throw Error(WARPAES_ERROR_FORMAT, "calibration: is written in a way that this version does not know");
            }
        } else if (name == "warpaes") {
            stored.version = reader.string();
        } else if (name == "cpu") {
            stored.cpu = reader.string();
        } else if (name == "processors") {
            stored.processors = reader.count();
        } else if (name == "threads") {
            model.threads = reader.count();
        } else if (name == "thread_s") {
            model.thread = reader.number();
        } else if (name == "cold_s") {
            model.cold = reader.number();
        } else if (name == "costs") {
            reader.array([&] { read_cost(reader, model); });
        } else {
            reader.refuse();
        }
    });
    reader.end();
    if (stored_schema != schema || !(model.thread >= 0 && model.thread < 1) || !(model.cold >= 0 && model.cold < 100)) {
        reader.refuse();
    }
    if (stored.version != plain(machine.version)) {
        throw Error(WARPAES_ERROR_FORMAT, "calibration: is of warpaes " + stored.version);
    }
    if (stored.cpu != plain(machine.cpu) || stored.processors != machine.processors) {
        throw Error(WARPAES_ERROR_FORMAT, "calibration: is of another machine: " + std::to_string(stored.processors) +
                                              " processors, " + stored.cpu);
    }
    return model;
}

}  // namespace warpaes

// The format of a calibration file: JSON that only this library writes and parses, but that people can read.
#include <algorithm>
#include <array>
#include <charconv>

#include "backend/launch_figures.hpp"
#include "base/error.hpp"
#include "base/json_reader.hpp"
#include "engine/calibration/file.hpp"

namespace warpaes {

namespace {

constexpr unsigned schema = 1;

std::string number(double value) {
    char text[32];
    const auto [end, error] = std::to_chars(std::begin(text), std::end(text), value);
    return {text, error == std::errc() ? end : text};
}

std::string json_string(std::string_view text) {
    return '"' + plain_name(text) + '"';
}

constexpr std::array<std::pair<std::string_view, double Cost::*>, 5> parameters{
    {{"fixed_s", &Cost::fixed},
     {"message_s", &Cost::message},
     {"key_s", &Cost::key},
     {"serial_byte_s", &Cost::serial_byte},
     {"in_flight_bytes", &Cost::in_flight}}};

/// Reads a string value that is not secret.
std::string text_of(JsonReader& reader) {
    return std::string(JsonReader::as_text(reader.string()));
}

template <typename Enum>
Enum find_name(const JsonReader& reader, std::string_view name, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        if (name_of(static_cast<Enum>(i)) == name) return static_cast<Enum>(i);
    }
    reader.refuse("another name before it");
}

void read_cost(JsonReader& reader, CostModel& model) {
    std::string of, work_class, way;
    unsigned key_bits = 0;
    Cost cost;
    std::size_t spans = 0;
    reader.object([&](std::string_view name) {
        if (name == "of") {
            of = text_of(reader);
        } else if (name == "class") {
            work_class = text_of(reader);
        } else if (name == "way") {
            way = text_of(reader);
        } else if (name == "key_bits") {
            key_bits = reader.number();
        } else if (name == "byte_s") {
            reader.array([&] {
                if (spans == Cost::spans) reader.refuse("']'");
                cost.byte[spans++] = reader.real();
            });
        } else {
            const auto known =
                std::find_if(parameters.begin(), parameters.end(), [&](auto& p) { return p.first == name; });
            if (known == parameters.end()) reader.refuse("another name before it");
            cost.*known->second = reader.real();
        }
    });
    if (of.empty() || spans != Cost::spans || !cost.valid() || (key_bits != 128 && key_bits != 256)) {
        reader.refuse("a cost before it");
    }
    model.tables[of].set(find_name<WorkClass>(reader, work_class, work_classes), find_name<Way>(reader, way, ways),
                         key_bits, cost);
}

/// The properties that identify a GPU, stored with its launch figures.
constexpr std::array<std::pair<std::string_view, std::uint32_t GpuShape::*>, 3> shape_members{
    {{"compute_capability", &GpuShape::compute_capability},
     {"multiprocessors", &GpuShape::multiprocessors},
     {"shared_bytes", &GpuShape::shared_bytes}}};

/// Every figure must be present exactly once. Whether a GPU can use the figures is checked when a GPU is present
/// (calibration/file.hpp).
void read_launches(JsonReader& reader, CostModel& model) {
    std::string of;
    TunedLaunches tuned;
    std::size_t read = 0;
    reader.object([&](std::string_view name) {
        if (name == "of") {
            of = text_of(reader);
            return;
        }
        ++read;
        for (const auto& [member, value] : shape_members) {
            if (member == name) return void(tuned.gpu.*value = reader.number());
        }
        for (const LaunchFigure& figure : launch_figures()) {
            if (figure.name == name) return void(tuned.table.*figure.value = reader.number());
        }
        reader.refuse("another name before it");
    });
    if (of.empty() || read != shape_members.size() + launch_figures().size()) reader.refuse("all figures before it");
    model.launches[of] = tuned;
}

}  // namespace

/// The text may come from a driver and contain any character; unsupported characters are replaced with '?'.
std::string plain_name(std::string_view text) {
    std::string out(text);
    for (char& c : out) {
        if (c < ' ' || c > '~' || c == '"' || c == '\\') c = '?';
    }
    return out;
}

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
                   ", \"way\": " + json_string(name_of(way)) + ", \"key_bits\": " + std::to_string(key_bits) + ", ";
            for (const auto& [parameter, value] : parameters)
                out += json_string(parameter) + ": " + number(cost.*value) + ", ";
            out += "\"byte_s\": [";
            for (std::size_t i = 0; i < Cost::spans; ++i) out += (i == 0 ? "" : ", ") + number(cost.byte[i]);
            out += "]}";
            separator = ",\n";
        });
    }
    out += "\n ]";
    separator = ",\n \"launches\": [\n";
    for (const auto& [name, tuned] : model.launches) {
        out += separator;
        out += "  {\"of\": " + json_string(name);
        for (const auto& [member, value] : shape_members) {
            out += ", " + json_string(member) + ": " + std::to_string(tuned.gpu.*value);
        }
        for (const LaunchFigure& figure : launch_figures()) {
            out += ", " + json_string(figure.name) + ": " + std::to_string(tuned.table.*figure.value);
        }
        out += "}";
        separator = ",\n";
    }
    return out + (model.launches.empty() ? "\n}\n" : "\n ]\n}\n");
}

CostModel read_calibration(std::string_view text, const Machine& machine) {
    CostModel model;
    Machine stored;
    unsigned stored_schema = 0;
    JsonReader reader(text, WARPAES_ERROR_FORMAT, "calibration");
    reader.object([&](std::string_view name) {
        if (name == "schema") {
            stored_schema = reader.number();
            if (stored_schema != schema) {
                throw Error(WARPAES_ERROR_FORMAT, "calibration: has a format that this version does not support");
            }
        } else if (name == "warpaes") {
            stored.version = text_of(reader);
        } else if (name == "cpu") {
            stored.cpu = text_of(reader);
        } else if (name == "processors") {
            stored.processors = reader.number();
        } else if (name == "threads") {
            model.threads = reader.number();
        } else if (name == "thread_s") {
            model.thread = reader.real();
        } else if (name == "cold_s") {
            model.cold = reader.real();
        } else if (name == "costs") {
            reader.array([&] { read_cost(reader, model); });
        } else if (name == "launches") {
            reader.array([&] { read_launches(reader, model); });
        } else {
            reader.refuse("another name before it");
        }
    });
    reader.end();
    if (stored_schema != schema || !(model.thread >= 0 && model.thread < 1) || !(model.cold >= 0 && model.cold < 100)) {
        reader.refuse("other costs before it");
    }
    if (stored.version != plain_name(machine.version)) {
        throw Error(WARPAES_ERROR_FORMAT, "calibration: belongs to warpaes " + stored.version);
    }
    if (stored.cpu != plain_name(machine.cpu) || stored.processors != machine.processors) {
        throw Error(WARPAES_ERROR_FORMAT, "calibration: belongs to a different machine: " +
                                              std::to_string(stored.processors) + " processors, " + stored.cpu);
    }
    return model;
}

}  // namespace warpaes

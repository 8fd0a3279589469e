// Measures parts of the system around the cipher for which [P] has no figures.
//
// P.gpus measures production on one GPU and on all GPUs of the machine: AES-128-CTR on a long text, with text and
// output in page-locked memory. The host's clock measures the call.
//
// P.qkd measures AES-256-CTR with a new key for every text, as with a quantum key distribution link. The link is
// simulated: its responses are in memory, in the format of ETSI GS QKD 014 (V1.1.1, "Key container": JSON with base64).
// The host's clock measures from reading a response to the end of the last text; the network is excluded.
#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <warpaes/batch.hpp>
#include <warpaes/warpaes.hpp>

#include "lab/experiments/experiments.hpp"
#include "lab/experiments/file_trials.hpp"
#include "lab/experiments/support.hpp"

namespace lab::experiments {

namespace {

// ---------------------------------------------------------------------------------------------------------------- GPUs

std::size_t usable_gpus() {
    const auto backends = warpaes::backends();
    return static_cast<std::size_t>(std::count_if(backends.begin(), backends.end(), [](const auto& info) {
        return info.name == "cuda" && info.usable && info.device >= 0;
    }));
}

Result run_gpus(const Context& context) {
    use_gpu(context);
    const std::size_t gpus = usable_gpus();
    if (gpus < 2) throw LeftOut("it needs two GPUs, and there is one");
    const std::size_t bytes = room_for(context, 1024 * mib);
    const std::vector<std::uint8_t> key_bytes = random_bytes(16, 1), iv = random_bytes(16, 2);
    const std::vector<std::uint8_t> text = random_bytes(bytes, 3);
    const std::vector<std::uint8_t> expected = Reference(Mode::ctr, Direction::encrypt, key_bytes).run(iv, text);
    const warpaes::Key key(key_bytes);
    const warpaes::Engine one({.backend = "cuda", .device = context.gpu}), all({.backend = "cuda"});
    const warpaes::Arena input(all, bytes), output(all, bytes);
    std::copy(text.begin(), text.end(), input.data());
    warpaes::Message message;
    message.mode = warpaes::Mode::ctr;
    message.direction = warpaes::Direction::encrypt;
    message.key = &key;
    message.iv = iv;
    message.input = {input.data(), bytes};
    message.output = {output.data(), bytes};
    std::vector<std::function<double()>> works;
    Progress progress(context, 3);
    for (const warpaes::Engine* engine : {&one, &all}) {
        progress.next(engine == &one ? "one GPU" : "all GPUs");
        std::fill_n(output.data(), bytes, std::uint8_t{0x5c});
        engine->crypt(message);
        require_equal(expected, {output.data(), bytes}, engine == &one ? "one GPU" : "all GPUs");
        works.emplace_back([&context, &message, engine] {
            context.check();
            return time_of([&] { engine->crypt(message); });
        });
    }
    progress.next("samples");
    Panel panel{
        "Text through one GPU and through all",
        Panel::Kind::bars,
        categories("GPUs", {"1", fmt::format("{}", gpus)}),
        throughput(),
        {},
        {measured("from page-locked memory to page-locked memory")},
        fmt::format("AES-128-CTR, {}, by production; by the host's clock, with the call. GPUs of one host share "
                    "its memory and often a link.",
                    size_name(bytes))};
    for (const Summary& seconds : sample_in_turns(effort(context.quick), works)) {
        add(panel.series[0], rate(static_cast<double>(bytes) / 1e9, seconds));
    }
    Result result;
    result.panels.push_back(std::move(panel));
    return result;
}

// ----------------------------------------------------------------------------------------------------------------- QKD

constexpr std::size_t key_bytes = 32, most_keys = 128;

/// Returns the keys in the format of a key-management entity's response: {"keys": [{"key_ID": "…", "key": "base64"},
/// …]}.
std::string container_of(std::span<const std::uint8_t> keys) {
    nlohmann::json list = nlohmann::json::array();
    for (std::size_t at = 0; at < keys.size(); at += key_bytes) {
        std::vector<unsigned char> base64(4 * ((key_bytes + 2) / 3) + 1);
        EVP_EncodeBlock(base64.data(), keys.data() + at, key_bytes);
        list.push_back({{"key_ID", fmt::format("bc490419-7d60-487f-adc1-{:012x}", at / key_bytes)},
                        {"key", reinterpret_cast<const char*>(base64.data())}});
    }
    return nlohmann::json({{"keys", std::move(list)}}).dump();
}

/// Returns the concatenated keys of a response.
std::vector<std::uint8_t> keys_in(const std::string& container) {
    std::vector<std::uint8_t> keys;
    const nlohmann::json answer = nlohmann::json::parse(container);
    for (const nlohmann::json& one : answer.at("keys")) {
        const auto& text = one.at("key").get_ref<const std::string&>();
        std::vector<std::uint8_t> key(text.size() / 4 * 3);
        const int length = EVP_DecodeBlock(key.data(), reinterpret_cast<const unsigned char*>(text.data()),
                                           static_cast<int>(text.size()));
        if (length < static_cast<int>(key_bytes))
            throw std::runtime_error("the simulated link sent no key of 32 bytes");
        keys.insert(keys.end(), key.begin(), key.begin() + key_bytes);
    }
    return keys;
}

Result run_qkd(const Context& context) {
    const std::vector<std::string> backends = backends_of(context);
    const std::size_t most = std::min<std::size_t>(context.most_bytes / 16 * 16, (context.quick ? 64 : 256) * mib);
    const std::vector<double> x = sizes(context, std::min<std::size_t>(kib, most), std::min(most, 64 * mib), 16);
    const std::vector<std::uint8_t> text = random_bytes(most, 3), first_iv(16);
    Panel speed{"A new key for every text",
                Panel::Kind::lines,
                numbers("text a key", "B", Axis::Scale::log, x),
                wide_throughput(),
                {},
                {},
                fmt::format("AES-256-CTR by production's batches, from page-locked memory to page-locked memory; with "
                            "reading answers of up to {} keys (ETSI GS QKD 014: JSON, base64), without a network.",
                            most_keys)};
    Panel rekeying = speed;
    rekeying.title = "Keys taken from the link";
    rekeying.y = numbers("keys", "1/s", Axis::Scale::log, {});
    std::vector<warpaes::Engine> engines;
    for (const std::string& backend : backends) {
        speed.series.push_back(measured(backend));
        rekeying.series.push_back(measured(backend));
        engines.emplace_back(warpaes::EngineOptions{
            .backend = backend, .device = backend == "cuda" ? context.gpu : -1, .threads = context.threads});
    }
    const warpaes::Arena input(engines.back(), most), output(engines.back(), most);
    std::copy(text.begin(), text.end(), input.data());
    Progress progress(context, x.size());
    for (const double size : x) {
        const auto bytes = static_cast<std::size_t>(size);
        progress.next(size_name(bytes) + " a key");
        const std::size_t count = std::clamp<std::size_t>(most / bytes, 1, most_keys);
        const std::vector<std::uint8_t> keys = random_bytes(count * key_bytes, 4);
        const std::string container = container_of(keys);
        std::vector<std::function<double()>> works;
        for (std::size_t b = 0; b < backends.size(); ++b) {
            std::fill_n(output.data(), count * bytes, std::uint8_t{0x5c});
            const auto work = [&, &engine = engines[b]] {
                context.check();
                return time_of([&] {
                    const std::vector<std::uint8_t> received = keys_in(container);
                    warpaes::Entry entry{.mode = warpaes::Mode::ctr, .direction = warpaes::Direction::encrypt};
                    entry.count = received.size() / key_bytes;
                    entry.length = bytes;
                    entry.keys = {received.data(), key_bytes};
                    entry.key_len = key_bytes;
                    entry.input = {input.data(), bytes};
                    entry.output = {output.data(), bytes};
                    entry.iv = {first_iv.data(), 0};  // a key encrypts one text
                    entry.iv_len = 16;
                    warpaes::Batch(engine, {entry}).get();
                });
            };
            (void)work();
            for (std::size_t i : {std::size_t{0}, count - 1}) {
                Reference reference(Mode::ctr, Direction::encrypt, std::span(keys).subspan(i * key_bytes, key_bytes));
                require_equal(reference.run(first_iv, std::span(text).subspan(i * bytes, bytes)),
                              {output.data() + i * bytes, bytes}, backends[b]);
            }
            works.emplace_back(work);
        }
        const std::vector<Summary> seconds = sample_in_turns(effort(context.quick), works);
        for (std::size_t b = 0; b < backends.size(); ++b) {
            add(speed.series[b], rate(static_cast<double>(count * bytes) / 1e9, seconds[b]));
            add(rekeying.series[b], rate(static_cast<double>(count), seconds[b]));
        }
    }
    Result result;
    result.panels = {std::move(speed), std::move(rekeying)};
    if (context.gpu < 0) result.notes.emplace_back("The GPU is left out: there is none.");
    return result;
}

}  // namespace

const Experiment p_gpus{"P.gpus",
                        Paper::paracrypt,
                        "All GPUs of the machine",
                        "How much faster are all GPUs of a machine than one?",
                        Experiment::Needs::gpu,
                        8,
                        5,
                        run_gpus};

const Experiment p_qkd{"P.qkd",
                       Paper::paracrypt,
                       "Keys of a quantum link",
                       "How much text, and how many keys, can a link handle that delivers a new key for every text?",
                       Experiment::Needs::either,
                       5,
                       2,
                       run_qkd};

}  // namespace lab::experiments

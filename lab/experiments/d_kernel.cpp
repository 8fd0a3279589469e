// D.occupancy repeats [D]'s choice of the thread-block size by the occupancy calculator. It varies the thread block
// from 32 to 1,024 threads. The first figures are the warps per multiprocessor, calculated for compute capability 2.1
// and for this GPU, and reported by the runtime. The next figures are the throughput of [D]'s kernel for each size, and
// with 16 thread blocks compared with a grid that fills this GPU. The text is 256 MiB in device memory, encrypted with
// AES-128-ECB. Events time only the kernel.
#include <algorithm>
#include <array>

#include "lab/experiments/experiments.hpp"
#include "lab/experiments/panels.hpp"
#include "lab/gpu/catalogue.hpp"
#include "lab/occupancy.hpp"
#include "lab/published.hpp"
#include "lab/trial.hpp"

namespace lab::experiments {

namespace {

namespace damjanovic = published::damjanovic;

constexpr std::array<unsigned, 13> counts{32, 64, 96, 128, 192, 256, 320, 384, 512, 640, 768, 896, 1024};

Result run_occupancy(const Context& context) {
    use_gpu(context);
    const gpu::Properties properties = gpu::properties(context.gpu);
    const MultiprocessorLimits here = limits_of(properties);
    const std::size_t bytes = allowed(context, std::size_t{256} << 20);
    const Trial trial({}, bytes);
    const gpu::Entry entry{gpu::damjanovic, {}};
    const auto registers = static_cast<unsigned>(gpu::Variants::resources(entry, 256).registers);

    const Axis threads = numbers("threads a thread block", "", Axis::Scale::linear, {counts.begin(), counts.end()});
    Panel warps =
        lines("Warps that a multiprocessor holds", threads, {"active warps", "", {}, {}, {}},
              fmt::format("[D]'s kernel: tables, keys and text in shared memory. Published: {} registers a thread on "
                          "compute capability 2.1, where these sizes reach all {} warps; here {} registers on {}.{}.",
                          damjanovic::registers_per_thread, damjanovic::active_warps, registers, properties.major,
                          properties.minor));
    std::vector<std::optional<double>> theirs, of_fermi, calculated, asked;
    Series speed = measured("speed");
    std::vector<Trial::Subject> subjects;
    unsigned wrong = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        const unsigned count = counts[i];
        const bool full =
            std::find(damjanovic::full_occupancy_threads.begin(), damjanovic::full_occupancy_threads.end(), count) !=
            damjanovic::full_occupancy_threads.end();
        theirs.push_back(full ? std::optional<double>(damjanovic::active_warps) : std::nullopt);
        // The paper's calculator was given registers and threads only, not shared memory.
        const Occupancy then = occupancy(fermi_21, count, damjanovic::registers_per_thread, 0);
        of_fermi.emplace_back(then.warps);
        const gpu::Resources resources = gpu::Variants::resources(entry, count);
        const Occupancy now =
            occupancy(here, count, static_cast<unsigned>(resources.registers), resources.shared_bytes);
        calculated.emplace_back(now.warps);
        asked.emplace_back(static_cast<unsigned>(resources.blocks_per_multiprocessor) * (count / 32));
        wrong += *asked.back() != *calculated.back();
        subjects.push_back({fmt::format("{} threads", count), trial.variant(gpu::damjanovic, {count, 0})});
    }
    subjects.push_back(
        {"16 thread blocks", trial.variant(gpu::damjanovic, {damjanovic::threads, damjanovic::thread_blocks})});
    subjects.push_back({"a grid for this GPU", trial.variant(gpu::damjanovic, {damjanovic::threads, 0})});
    const std::vector<Summary> all =
        trial.speeds(effort(context.quick), subjects, bytes, Trial::part_of(context, 0, 1));
    for (std::size_t i = 0; i < counts.size(); ++i) add(speed, all[i]);
    Panel grids = bars("Sixteen thread blocks, and a grid for this GPU",
                       categories("thread blocks", {"16, as published", "as many as this GPU holds"}), throughput(),
                       fmt::format("The same kernel, {} threads a thread block.", damjanovic::threads));
    grids.series = {measured("speed")};
    add(grids.series[0], all[counts.size()]);
    add(grids.series[0], all[counts.size() + 1]);
    warps.series = {published("calculator, 2.1, published", theirs), model("calculator, 2.1", of_fermi),
                    model("calculator, here", calculated), measured("the runtime, here")};
    warps.series[3].values = asked;
    Panel speeds = lines(
        "What the size of a thread block is worth", threads, throughput(),
        fmt::format("AES-128-ECB of {} with as many thread blocks as the GPU holds, kernel alone.", size_name(bytes)));
    speeds.series = {speed};

    const auto best = static_cast<std::size_t>(
        std::max_element(speed.values.begin(), speed.values.end(), [](auto a, auto b) { return *a < *b; }) -
        speed.values.begin());
    Result result;
    result.panels = {warps, speeds, grids};
    result.facts = {{"sizes for which calculator and runtime differ", static_cast<double>(wrong), "", std::nullopt},
                    {"registers a thread", static_cast<double>(registers), "",
                     static_cast<double>(damjanovic::registers_per_thread)},
                    {"fastest size of a thread block", static_cast<double>(counts[best]), "threads", std::nullopt}};
    return result;
}

}  // namespace

const Experiment d_occupancy{
    "D.occupancy",
    Paper::damjanovic,
    "Occupancy",
    "How many threads should a thread block have, and does the occupancy calculator predict this?",
    Experiment::Needs::gpu,
    2,
    1,
    run_occupancy};

// D.memory repeats [D]'s kernel with tables and keys each in shared or global memory, and with text staged in shared
// memory or read directly from global memory. It then repeats the kernel with the S-box and arithmetic instead of
// tables. The text is 256 MiB in device memory, encrypted with AES-128-ECB. Events around the kernel measure the time,
// which excludes transfers and key expansion. Unlike the paper's 16 thread blocks, the grid fills the GPU.

namespace {

const std::vector<std::string> memories_of_tables_and_keys{
    "both shared", "tables shared, keys global", "tables global, keys shared",
    "both global", "S-box and keys shared",      "S-box and keys global"};

Result run_tables_keys_and_text(const Context& context) {
    use_gpu(context);
    const std::size_t bytes = allowed(context, std::size_t{256} << 20);
    const Trial trial({}, bytes);
    Panel panel = bars(
        "Tables, keys and text by memory", categories("tables and keys", memories_of_tables_and_keys), throughput(),
        fmt::format("AES-128-ECB of {}, kernel alone, {} threads per thread block and as many thread blocks as the GPU "
                    "holds. The four tables also contain the S-box. The last two use only the S-box, and compute "
                    "MixColumns. Text in shared memory is moved by the whole thread block. ECB needs no IV.",
                    size_name(bytes), published::damjanovic::threads));
    panel.series = {measured("text through shared memory"), measured("text straight from global memory")};
    std::vector<Trial::Subject> subjects;
    for (const gpu::Variant& v : gpu::damjanovic_memories) {
        subjects.push_back(
            {std::string(gpu::name_of(v).view()), trial.variant(v, {published::damjanovic::threads, 0})});
    }
    const std::vector<Summary> speeds =
        trial.speeds(effort(context.quick), subjects, bytes, Trial::part_of(context, 0, 1));
    for (std::size_t i = 0; i < speeds.size(); ++i)
        add(panel.series[i / memories_of_tables_and_keys.size()], speeds[i]);
    Result result;
    result.panels = {panel};
    return result;
}

}  // namespace

const Experiment d_memory{"D.memory",
                          Paper::damjanovic,
                          "Tables, keys and text by memory",
                          "Does it matter where the kernel keeps its tables, keys and text?",
                          Experiment::Needs::gpu,
                          2,
                          1,
                          run_tables_keys_and_text};

}  // namespace lab::experiments

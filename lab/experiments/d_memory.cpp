// D.memory repeats [D]'s kernel with tables and keys each in shared or global memory, and with text staged in shared
// memory or read directly from global memory. It then repeats the kernel with the S-box and arithmetic instead of
// tables. The text is 256 MiB in device memory, encrypted with AES-128-ECB. Events around the kernel measure the time,
// which excludes transfers and key expansion. Unlike the paper's 16 thread blocks, the grid fills the GPU.
#include <array>

#include "lab/experiments/experiments.hpp"
#include "lab/experiments/panels.hpp"
#include "lab/gpu/catalogue.hpp"
#include "lab/published.hpp"
#include "lab/trial.hpp"

namespace lab::experiments {

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

// H.tables repeats [H]'s table study: one table or four, in texture, constant and shared memory and with a copy for
// each bank. The second panel reads the text as global memory, by read-only loads, and through textures. The text is
// 256 MiB in device memory, encrypted with AES-128-CTR. Events around the kernels measure the time, which excludes
// transfers and key expansion.
#include <algorithm>
#include <array>

#include "lab/experiments/experiments.hpp"
#include "lab/experiments/panels.hpp"
#include "lab/gpu/catalogue.hpp"
#include "lab/published.hpp"
#include "lab/trial.hpp"

namespace lab::experiments {

namespace {

Panel measure_text(const Context& context, const Trial& trial, std::size_t bytes) {
    Panel panel =
        bars("Text by memory", categories("text from", {"global memory", "global memory, read-only path", "texture"}),
             throughput(),
             fmt::format("AES-128-CTR, {}, kernels alone, four tables, threads that stay, 256 a thread "
                         "block. Read-only path: __ldg; texture: an object over the text, read a block at a "
                         "time.",
                         size_name(bytes)));
    panel.series = {measured("tables in shared memory"), measured("tables in texture memory")};
    std::vector<Trial::Subject> subjects;
    for (const gpu::Variant& v : gpu::text_paths) {
        subjects.push_back({std::string(gpu::name_of(v).view()), trial.variant(v)});
    }
    const std::vector<Summary> speeds =
        trial.speeds(effort(context.quick), subjects, bytes, Trial::part_of(context, 0.6, 1));
    for (std::size_t i = 0; i < speeds.size(); ++i) add(panel.series[i / 3], speeds[i]);
    return panel;
}

Result run_table_study(const Context& context) {
    use_gpu(context, shared_for_copies);
    const std::size_t bytes = allowed(context, std::size_t{256} << 20);
    const Trial trial({.counter = true}, bytes);
    const double best_then = published::gb_per_s_of_mbit(published::harrison::ctr_kernel_mbit_per_s);
    const std::vector<std::string> memories{"texture", "constant", "shared", "shared, one copy a bank"};
    Panel panel =
        bars("A single table or four", categories("memory", memories), throughput(),
             fmt::format("AES-128-CTR, {}, kernels alone, a thread a block, round keys in constant memory, threads "
                         "that stay, 256 a thread block (1024 with a copy for each bank). Published: GeForce 8800 "
                         "GTX, of which only the fastest has a figure.",
                         size_name(bytes)));
    panel.series = {published("quad table, published", {{}, {}, best_then, {}}), measured("single table, rotations"),
                    measured("quad table"), baseline("production")};
    std::vector<Trial::Subject> subjects;
    for (const gpu::Variant& v : gpu::table_study) {
        subjects.push_back({std::string(gpu::name_of(v).view()), trial.variant(v)});
    }
    subjects.push_back({"production", trial.production(context)});
    const std::vector<Summary> speeds =
        trial.speeds(effort(context.quick), subjects, bytes, Trial::part_of(context, 0, 0.6));
    for (std::size_t i = 0; i < gpu::table_study.size(); ++i) {
        add(panel.series[gpu::table_study[i].table_count == 4 ? 2 : 1], speeds[i]);
    }
    for (std::size_t i = 0; i < memories.size(); ++i) add(panel.series[3], speeds.back());

    const double copies = *panel.series[2].values[3], plain = *panel.series[2].values[2];
    Result result;
    result.panels = {panel, measure_text(context, trial, bytes)};
    result.facts = {{"fastest published way, the quad table in shared memory", plain, "GB/s", best_then},
                    {"quad table, one copy a bank over one copy", copies / plain, "times", std::nullopt}};
    return result;
}

}  // namespace

const Experiment h_tables{"H.tables",
                          Paper::harrison,
                          "Table study",
                          "Should there be one table or four, in which memory, and does a copy for each bank pay off?",
                          Experiment::Needs::gpu,
                          5,
                          1,
                          run_table_study};

}  // namespace lab::experiments

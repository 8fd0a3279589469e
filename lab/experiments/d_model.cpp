// D.model repeats [D]'s model trees: M5' fitted to the surfaces of D.surfaces, or to surfaces measured here if that
// experiment has no result. A tree for each implementation predicts the time from file length, buffer length, key size
// and direction. Errors are computed by 10-fold cross-validation. The last panels show where each implementation is
// fastest, as measured and as predicted.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "lab/compare.hpp"
#include "lab/cpu/model_tree.hpp"
#include "lab/experiments/experiments.hpp"
#include "lab/experiments/panels.hpp"
#include "lab/surfaces.hpp"

namespace lab::experiments {

namespace {

constexpr std::size_t folds = 10;

/// Times and lengths span five orders of magnitude, so the model uses their base-2 logarithms.
std::vector<double> attributes_of(std::uint64_t file, std::uint64_t buffer, unsigned key_bits, Direction direction) {
    return {std::log2(static_cast<double>(file)), std::log2(static_cast<double>(buffer)), static_cast<double>(key_bits),
            direction == Direction::decrypt ? 1.0 : 0.0};
}

Examples examples_of(const Surfaces& surfaces, const std::string& implementation) {
    Examples examples;
    for (const Surface& surface : surfaces.list) {
        if (surface.implementation != implementation) continue;
        for (std::size_t i = 0; i < surface.seconds.size(); ++i) {
            examples.attributes.push_back(attributes_of(surfaces.files[i % surfaces.files.size()],
                                                        surfaces.buffers[i / surfaces.files.size()], surface.key_bits,
                                                        surface.direction));
            examples.targets.push_back(std::log2(surface.seconds[i].median));
        }
    }
    return examples;
}

struct Model {
    std::string implementation;
    ModelTree tree;
    Quality quality;
    double unsmoothed_error;  ///< relative absolute error of predictions without smoothing
    double typical_factor;    ///< median factor between cross-validated prediction and measured time
    [[nodiscard]] double seconds(std::uint64_t file, std::uint64_t buffer, unsigned key_bits,
                                 Direction direction) const {
        return std::exp2(tree.predict(attributes_of(file, buffer, key_bits, direction)));
    }
};

Model make_model(const Surfaces& surfaces, const std::string& implementation) {
    const Examples examples = examples_of(surfaces, implementation);
    const std::size_t parts = std::min(folds, examples.targets.size());
    Quality quality = cross_validate(examples, parts);
    ModelTree::Options not_smoothed;
    not_smoothed.smoothing = 0;
    const double unsmoothed = cross_validate(examples, parts, not_smoothed).relative_absolute_error;
    std::vector<double> factors;
    for (std::size_t i = 0; i < examples.targets.size(); ++i) {
        factors.push_back(std::exp2(std::fabs(quality.predictions[i] - examples.targets[i])));
    }
    return {implementation, ModelTree(examples), std::move(quality), unsmoothed, summarize(std::move(factors)).median};
}

Panel surface_panel(const Surfaces& surfaces, const std::string& title, const Axis& z, const std::string& note) {
    return {title, Panel::Kind::surface, sizes("file", surfaces.files), sizes("buffer", surfaces.buffers), z, {}, note};
}

Panel measured_beside_model(const Surfaces& surfaces, const Model& model) {
    Panel panel =
        surface_panel(surfaces, fmt::format("{}: {}", model.implementation, name_of(128, Direction::encrypt)),
                      numbers("time", "µs", Axis::Scale::log, {}),
                      fmt::format("One tree of {} leaves for all key sizes and both directions, over the powers "
                                  "of two of file, buffer and time.",
                                  model.tree.leaves()));
    Series seen = measured("measured"), predicted = experiments::model("M5'", {});
    const Surface& surface = surfaces.of(model.implementation, 128, Direction::encrypt);
    for (std::size_t i = 0; i < surface.seconds.size(); ++i) {
        add(seen, scaled(surface.seconds[i], 1e6));
        predicted.values.emplace_back(1e6 * model.seconds(surfaces.files[i % surfaces.files.size()],
                                                          surfaces.buffers[i / surfaces.files.size()], 128,
                                                          Direction::encrypt));
    }
    panel.series = {std::move(seen), std::move(predicted)};
    return panel;
}

/// Returns a panel with the speed of `a` divided by the speed of `b`, measured and predicted.
Panel ratio_panel(const Surfaces& surfaces, const Model& a, const Model& b) {
    Panel panel =
        surface_panel(surfaces, fmt::format("{} against {}", a.implementation, b.implementation),
                      numbers("times as fast", "", Axis::Scale::log, {}),
                      fmt::format("{}. Above 1, {} wins.", name_of(128, Direction::encrypt), a.implementation));
    Series seen = measured("measured"), predicted = experiments::model("M5'", {});
    const Surface &of_a = surfaces.of(a.implementation, 128, Direction::encrypt),
                  &of_b = surfaces.of(b.implementation, 128, Direction::encrypt);
    for (std::size_t i = 0; i < of_a.seconds.size(); ++i) {
        const std::uint64_t file = surfaces.files[i % surfaces.files.size()];
        const std::uint64_t buffer = surfaces.buffers[i / surfaces.files.size()];
        seen.values.emplace_back(of_b.seconds[i].median / of_a.seconds[i].median);
        predicted.values.emplace_back(b.seconds(file, buffer, 128, Direction::encrypt) /
                                      a.seconds(file, buffer, 128, Direction::encrypt));
    }
    panel.series = {std::move(seen), std::move(predicted)};
    return panel;
}

/// Returns a panel with the share of all points (file, buffer, key size, direction) at which each implementation is
/// fastest.
Panel winners_panel(const Surfaces& surfaces, const std::vector<Model>& models) {
    std::map<std::string, double> measured_wins, predicted_wins;
    double points = 0;
    for (const unsigned key_bits : {128u, 192u, 256u}) {
        for (const Direction direction : {Direction::encrypt, Direction::decrypt}) {
            for (std::size_t i = 0; i < surfaces.files.size() * surfaces.buffers.size(); ++i) {
                const std::uint64_t file = surfaces.files[i % surfaces.files.size()];
                const std::uint64_t buffer = surfaces.buffers[i / surfaces.files.size()];
                const auto fastest = [&](const auto& seconds) {
                    return std::min_element(models.begin(), models.end(),
                                            [&](const Model& a, const Model& b) { return seconds(a) < seconds(b); })
                        ->implementation;
                };
                ++points;
                ++measured_wins[fastest([&](const Model& m) {
                    return surfaces.of(m.implementation, key_bits, direction).seconds[i].median;
                })];
                ++predicted_wins[fastest([&](const Model& m) { return m.seconds(file, buffer, key_bits, direction); })];
            }
        }
    }
    Series seen = measured("measured"), predicted = experiments::model("M5'", {});
    for (const Model& model : models) {
        seen.values.emplace_back(100 * measured_wins[model.implementation] / points);
        predicted.values.emplace_back(100 * predicted_wins[model.implementation] / points);
    }
    return {"Where each wins",
            Panel::Kind::bars,
            categories("implementation", surfaces.implementations),
            numbers("fastest at", "%", Axis::Scale::linear, {}),
            {},
            {std::move(seen), std::move(predicted)},
            "Share of all points of file, buffer, key size and direction."};
}

Result run_model(const Context& context) {
    const Result* const before = context.measured("D.surfaces");
    const Surfaces surfaces = before != nullptr ? surfaces_of(*before) : measure_surfaces(context, 0.95);
    context.step(0.95, "fitting");
    std::vector<Model> models;
    for (const std::string& name : surfaces.implementations) models.push_back(make_model(surfaces, name));
    Result result;
    for (const Model& model : models) {
        result.panels.push_back(measured_beside_model(surfaces, model));
        result.facts.push_back({model.implementation + ": relative absolute error",
                                100 * model.quality.relative_absolute_error, "%", std::nullopt});
        result.facts.push_back(
            {model.implementation + ": the same without smoothing", 100 * model.unsmoothed_error, "%", std::nullopt});
        result.facts.push_back({model.implementation + ": R²", model.quality.r_squared, "", std::nullopt});
        result.facts.push_back({model.implementation + ": typical factor between prediction and time",
                                model.typical_factor, "", std::nullopt});
        result.facts.push_back(
            {model.implementation + ": leaves", static_cast<double>(model.tree.leaves()), "", std::nullopt});
    }
    for (std::size_t a = models.size(); a-- > 1;) {
        for (std::size_t b = 0; b < a; ++b) result.panels.push_back(ratio_panel(surfaces, models[a], models[b]));
    }
    result.panels.push_back(winners_panel(surfaces, models));
    result.notes = surfaces.notes;
    result.notes.push_back(
        fmt::format("Errors are those of {}-fold cross-validation for the logarithm of time. Surfaces come from trees "
                    "trained on all points.",
                    folds));
    return result;
}

}  // namespace

const Experiment d_model{"D.model",
                         Paper::damjanovic,
                         "The surfaces as a regression tree with linear leaves (M5')",
                         "Can a model tree predict which implementation to use for which buffer and file?",
                         Experiment::Needs::either,
                         2,
                         1,
                         run_model,
                         "D.surfaces"};

}  // namespace lab::experiments

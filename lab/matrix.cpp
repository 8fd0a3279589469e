#include "lab/matrix.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lab/names.hpp"

namespace lab {

std::string machine_name(const Record& record) {
    return record.machine.gpu ? record.machine.gpu->name : record.machine.cpu;
}

std::optional<bool> Matrix::Row::agrees() const {
    std::vector<Verdict::Holds> decided;
    for (const Verdict& v : verdicts) {
        if (v.holds != Verdict::Holds::open) decided.push_back(v.holds);
    }
    if (decided.size() < 2) return std::nullopt;
    return std::all_of(decided.begin(), decided.end(), [&](Verdict::Holds holds) { return holds == decided[0]; });
}

namespace {

/// Returns the verdict on [D]'s "same picture on both platforms", which concerns records of several machines: whether
/// the records agree on [D]'s other conclusions from surfaces.
Verdict same_picture(const Matrix& matrix) {
    constexpr const char* id = "D.both-platforms";
    std::vector<std::size_t> machines;  // the first record of each
    for (std::size_t i = 0; i < matrix.columns.size(); ++i) {
        const bool is_new = std::none_of(machines.begin(), machines.end(), [&](std::size_t other) {
            return matrix.columns[other].machine == matrix.columns[i].machine;
        });
        if (is_new) machines.push_back(i);
    }
    Count alike;
    for (const Matrix::Row& row : matrix.rows) {
        if (row.claim->experiment != "D.surfaces" || row.claim->id == id) continue;
        Matrix::Row of_machines{row.claim, {}};
        for (const std::size_t i : machines) of_machines.verdicts.push_back(row.verdicts[i]);
        if (const std::optional<bool> agrees = of_machines.agrees()) alike.add(*agrees);
    }
    if (alike.of == 0) {
        return {Verdict::Holds::open, "No two machines of these records decide a conclusion of D.surfaces.", id};
    }
    return {by_count(alike),
            fmt::format("Of {} conclusions of D.surfaces that two machines decide {} are decided alike.", alike.of,
                        alike.is),
            id};
}

}  // namespace

Matrix matrix_of(std::span<const Record> records) {
    Matrix matrix;
    for (const Claim& claim : all_claims()) {
        if (claim.kind == Claim::Kind::conclusion) matrix.rows.push_back({&claim, {}});
    }
    for (const Record& as_it_is : records) {
        Record record = as_it_is;
        refresh(record);
        matrix.columns.push_back(
            {machine_name(record), record.date.substr(0, 10), record.commit, record.options.quick});
        for (Matrix::Row& row : matrix.rows) row.verdicts.push_back(judge(*row.claim, record));
    }
    if (records.size() > 1) {
        const Verdict verdict = same_picture(matrix);
        for (Matrix::Row& row : matrix.rows) {
            if (row.claim->id == verdict.claim) row.verdicts.assign(records.size(), verdict);
        }
    }
    return matrix;
}

nlohmann::json to_json(const Matrix& matrix) {
    using nlohmann::json;
    json columns = json::array(), rows = json::array();
    for (const Matrix::Column& column : matrix.columns) {
        columns.push_back(
            {{"machine", column.machine}, {"date", column.date}, {"commit", column.commit}, {"quick", column.quick}});
    }
    for (const Matrix::Row& row : matrix.rows) {
        json holds = json::array();
        for (const Verdict& verdict : row.verdicts) holds.push_back(holds_names(verdict.holds));
        const std::optional<bool> agrees = row.agrees();
        rows.push_back({{"id", row.claim->id},
                        {"paper", letter_of(row.claim->paper)},
                        {"says", row.claim->says},
                        {"holds", holds},
                        {"agrees", agrees ? json(*agrees) : json(nullptr)}});
    }
    return {{"records", columns}, {"conclusions", rows}};
}

}  // namespace lab

#include "lab/matrix.hpp"

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

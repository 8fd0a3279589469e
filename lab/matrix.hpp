// Conclusions by machine: shows the verdicts of several records side by side.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lab/claims/claim.hpp"
#include "lab/record.hpp"

namespace lab {

/// Returns the name of a record's machine: its GPU, or its CPU if the record used no GPU.
std::string machine_name(const Record& record);

struct Matrix {
    struct Column {
        std::string machine, date, commit;  ///< date: "2026-11-23"; commit: as in the record
        bool quick;
    };
    struct Row {
        const Claim* claim;
        std::vector<Verdict> verdicts;  ///< one for each column
                                        /// Returns whether the records whose verdict is not "open" agree, or none if
                                        /// there are fewer than two.
        [[nodiscard]] std::optional<bool> agrees() const;
    };
    std::vector<Column> columns;
    std::vector<Row> rows;  ///< every conclusion
};

/// Judges the records by the current rules.
Matrix matrix_of(std::span<const Record> records);

/// {"records": [...], "conclusions": [{"id", "paper", "says", "holds": [...], "agrees"}]}.
nlohmann::json to_json(const Matrix& matrix);

}  // namespace lab

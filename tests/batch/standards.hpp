// NIST's vectors for CCM and CMAC, as one batch.
#pragma once

#include "batch_cases.hpp"

namespace warpaes::test {

/// Checks the vectors in SP 800-38B, appendix D, with keys of all lengths. Every tag is computed and verified, and
/// wrong tags are refused.
void check_cmac_examples(const RunGroups& run);
/// Checks CAVP's files in both directions (tests/vectors).
void check_ccm_vectors(const RunGroups& run);

}  // namespace warpaes::test

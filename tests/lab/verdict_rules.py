"""The rules for all verdicts on the sentences in lab/claims/statements, with the papers' figures.

The rules were written from the sentences, with their series, sizes, conditions and baselines, independently of the
lab's own rules in lab/claims/*.cpp. If the two kinds of rules disagree, the sentence decides.
"""

from __future__ import annotations

import rules_damjanovic
import rules_gibadullin
import rules_gu
import rules_harrison
import rules_ours
import rules_paracrypt
import rules_studies

RULES = {
    name: rule
    for paper in (
        rules_gibadullin,
        rules_gu,
        rules_paracrypt,
        rules_damjanovic,
        rules_harrison,
        rules_studies,
        rules_ours,
    )
    for name, rule in paper.RULES.items()
}

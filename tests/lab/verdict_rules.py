"""The rules of all verdicts on the sentences in lab/claims/statements, with the papers' figures.

They are written from the sentences, with their series, sizes, condition and baseline, independently of the lab's own
rules in lab/claims/*.cpp. If the two disagree, the sentence decides.
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

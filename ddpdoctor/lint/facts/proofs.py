"""How sure it is that ranks part at a branch."""

from __future__ import annotations

from ddpdoctor.lint.facts import collective_table
from ddpdoctor.lint.facts.divergence import Divergence
from ddpdoctor.lint.facts.facts import ModuleFacts
from ddpdoctor.lint.facts.things import Site
from ddpdoctor.lint.facts.trace import Alt
from ddpdoctor.lint.facts.values import Symbol, Taint
from ddpdoctor.model.finding import Severity

#: what makes data surely different on every rank
PROVEN = frozenset({"batch", "time", "shard", "own", "random"})


def severity(facts: ModuleFacts, item: Divergence) -> Severity | None:
    """Error where ranks surely can part, warning where it is likely; None for a file that nobody writes meanwhile."""
    if not item.local or item.branch.tags & PROVEN:
        return Severity.ERROR
    if len(item.branch.truth) > 1 and _about_groups(item):
        return None
    if asks_for_file(item.branch) and "own-file" not in item.branch.tags and written(facts, item.branch) is None:
        return None
    return Severity.WARNING


def _about_groups(item: Divergence) -> bool:
    """A condition on members of some group, or an operation of a group that is not known."""
    branch = item.branch
    return " in " in branch.text or "in group" in branch.tags or item.op.op not in collective_table.PLAIN


def asks_for_file(branch: Alt) -> bool:
    """What decides is whether a file is there."""
    atom = branch.truth[0]
    return len(branch.truth) == 1 and isinstance(atom, Symbol) and atom.taint is Taint.FILES


def written(facts: ModuleFacts, branch: Alt) -> Site | None:
    """Where the file is written that the branch asks for, with no collective in between."""
    return facts.races.get(branch.site)

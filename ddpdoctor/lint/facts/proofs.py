"""How certain it is that ranks diverge at a branch."""

from __future__ import annotations

from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.trace import Branch
from ddpdoctor.lint.knowledge import collectives
from ddpdoctor.lint.ranks.divergence import CollectiveDivergence
from ddpdoctor.lint.values.tags import Tag
from ddpdoctor.lint.values.values import Symbol, Taint
from ddpdoctor.model.finding import Severity
from ddpdoctor.program.sites import SourceSite

#: tags of data that certainly differs on every rank
PROVEN = Tag.BATCH | Tag.TIME | Tag.SHARD | Tag.OWN | Tag.RANDOM


def severity(facts: ModuleFacts, item: CollectiveDivergence) -> Severity | None:
    """Error if ranks can certainly diverge, warning if it is likely; None for a file that is not being written."""
    if not item.local or item.branch.tags & PROVEN:
        return Severity.ERROR
    if len(item.branch.truth) > 1 and _about_groups(item):
        return None
    if asks_for_file(item.branch) and not item.branch.tags & Tag.OWN_FILE and written(facts, item.branch) is None:
        return None
    return Severity.WARNING


def _about_groups(item: CollectiveDivergence) -> bool:
    """Whether the condition is about members of some group, or the operation's group is not known."""
    branch = item.branch
    return " in " in branch.text or bool(branch.tags & Tag.IN_GROUP) or item.op.op not in collectives.PLAIN


def asks_for_file(branch: Branch) -> bool:
    """Whether the branch depends on whether a file exists."""
    atom = branch.truth[0]
    return len(branch.truth) == 1 and isinstance(atom, Symbol) and atom.taint is Taint.FILES


def written(facts: ModuleFacts, branch: Branch) -> SourceSite | None:
    """Where the file that the branch tests for is written, with no collective in between."""
    return facts.races.get(branch.site)

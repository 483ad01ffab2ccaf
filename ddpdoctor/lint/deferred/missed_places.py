"""Whether the runs of several ranks that a repository shows come to what a finding is about. Impure: reads files."""

from __future__ import annotations

from functools import lru_cache

from ddpdoctor.lint.deferred.confirmation import Confirmation, others_of, parsed, path_of, places_of
from ddpdoctor.lint.deferred.parting_crops import is_parted
from ddpdoctor.lint.deferred.reached_lines import ReachedLines
from ddpdoctor.lint.deferred.repository import Repository
from ddpdoctor.lint.deferred.shown_runs import runs_of
from ddpdoctor.lint.deferred.used_at_all import WITH_OPTIONS
from ddpdoctor.model.finding import Finding, Related, Severity
from ddpdoctor.program.text import shown, text_of

#: what settings choose: which data are downloaded or drawn
_DONE_HERE = frozenset({"DD124", "DD171"})
#: of a seed, what other places show: those that draw
_DRAWN_ELSEWHERE = frozenset({"DD131"})
_CHOSEN = _DONE_HERE | _DRAWN_ELSEWHERE


@lru_cache(maxsize=1)  # the findings of one file are asked about one after the other
def _lines(repository: Repository, path: str) -> ReachedLines:
    return ReachedLines(repository, runs_of(repository, path))


def missed(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether none of the runs of several ranks that the repository shows comes to it, or to any of the places that
    show it."""
    if finding.code not in _CHOSEN | WITH_OPTIONS or finding.severity is Severity.HINT:
        return None
    lines = _lines(repository, path_of(finding))
    here = next(filter(None, (lines.missed(*place) for place in places_of(finding))), None)
    if finding.code in _DRAWN_ELSEWHERE:
        drawn = parsed(others_of(finding)) if here is None else ()
        others = [lines.missed(file, line) for file, tree, line in drawn if not is_parted(tree, line)]
        why = here or (others[0] if others and all(others) else None)
    else:
        why = here if here is None or all(lines.missed(*place) for place in others_of(finding)) else None
    # of all but what settings choose, which of several ways the runs take says little; that they leave it off, all
    if why is None or (finding.code not in _CHOSEN and any(why.values)):
        return None
    values = " or ".join(sorted(map(repr, why.values)))
    said = f"{why.asked} is {values} where the repository starts several ranks of it"
    return Confirmation(said, Severity.HINT, condition=f"if {shown(text_of(why.test))}, ")


def reached_instead(repository: Repository, finding: Finding) -> Related | None:
    """Of what a finding is about in other files, to which no run of several ranks comes that the repository shows:
    another place that shows the same, and to which one may come."""
    meant = places_of(finding)[1:] if finding.code in _DONE_HERE and finding.severity is not Severity.HINT else []
    others = others_of(finding) if meant else []
    lines = _lines(repository, path_of(finding)) if others else None
    if lines is None or not all(lines.missed(*place) for place in meant):
        return None
    reached = (place for place in others if lines.missed(*place) is None)
    said = "with what the repository passes, it is here"
    return next((Related(file, line, said) for file, line in reached), None)

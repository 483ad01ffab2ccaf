"""Which findings are deferred: what their own file leaves open. Pure."""

from __future__ import annotations

from collections.abc import Set

from ddpdoctor.model.finding import Finding, Related, RelatedRole, Severity
from ddpdoctor.model.record import replace

#: notes of what only the project's other files can show
OPEN = frozenset({RelatedRole.UNCONFIRMED, RelatedRole.UNREACHED, RelatedRole.UNSTARTED})
#: nothing is said of these unless they are confirmed
_DROPPED = frozenset({"DD101", "DD134"})
#: what does harm only where a program runs as several ranks, and is no proof of a hang
OF_SEVERAL_RANKS = frozenset({
    "DD101", "DD102", "DD103", "DD106", "DD108", "DD110", "DD124", "DD125", "DD131", "DD132", "DD133", "DD135", "DD136",
    "DD137", "DD138", "DD141", "DD142", "DD144", "DD152", "DD153", "DD154", "DD155", "DD156", "DD158", "DD159",
    "DD160", "DD162", "DD163", "DD165", "DD167", "DD168", "DD170", "DD171", "DD173", "DD174", "DD175", "DD176", "DD177",
    "DD181", "DD182", "DD184", "DD186", "DD190", "DD192",
})  # fmt: skip
#: what does harm only where several ranks get there
IF_SEVERAL_COME = frozenset({
    "DD105", "DD111", "DD112", "DD113", "DD114", "DD115", "DD116", "DD117", "DD118", "DD119", "DD120", "DD121", "DD122",
    "DD126", "DD127", "DD129", "DD157", "DD164", "DD166", "DD169", "DD185", "DD187",
})  # fmt: skip
#: what does harm wherever it runs
IF_REACHED = frozenset({
    "DD104", "DD107", "DD109", "DD139", "DD140", "DD161", "DD172", "DD178", "DD179", "DD188",
})  # fmt: skip


def depends_on_the_start(finding: Finding) -> bool:
    """Whether the finding says nothing to those who start the program as one process."""
    return finding.severity is not Severity.HINT and finding.code in OF_SEVERAL_RANKS | IF_SEVERAL_COME


def depends_on_the_run(finding: Finding) -> bool:
    """Whether the finding says nothing where what it is in is not run, or not by several ranks."""
    reached = finding.severity is not Severity.HINT and finding.code in IF_REACHED
    return reached or depends_on_the_start(finding)


def is_unreached(finding: Finding) -> bool:
    """Whether nothing in its own file shows that several ranks come there."""
    return any(note.role is RelatedRole.UNREACHED for note in finding.related)


def if_used(finding: Finding) -> Finding:
    """A warning of a file that does no harm where nothing in the project uses it."""
    note = Related(finding.file, finding.line, "", role=RelatedRole.UNSTARTED)
    return replace(finding, related=(*finding.related, note)) if finding.severity is Severity.WARNING else finding


def settled(finding: Finding) -> Finding:
    """The finding as it is told where nothing answers the question whether it happens for certain."""
    return _without(finding, frozenset({RelatedRole.UNSTARTED, RelatedRole.ALSO}))


def as_told(finding: Finding) -> Finding:
    """The finding without what is told to nobody."""
    return _without(finding, frozenset({RelatedRole.ALSO}))


def _without(finding: Finding, roles: Set[RelatedRole]) -> Finding:
    notes = tuple(note for note in finding.related if note.role not in roles)
    return finding if len(notes) == len(finding.related) else replace(finding, related=notes)


def unsure(finding: Finding) -> bool:
    """Whether the other files of the project, or the texts of its repository, may have something to say of it."""
    return is_noted(finding) or depends_on_the_run(finding)


def is_noted(finding: Finding) -> bool:
    return any(note.role in OPEN for note in finding.related)


def stays(finding: Finding) -> bool:
    """Whether it is worth a look even if no other file confirms it."""
    open_ = any(note.role is RelatedRole.UNCONFIRMED for note in finding.related)
    return not (finding.code in _DROPPED and open_) and not is_unreached(finding)

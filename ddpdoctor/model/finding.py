"""What lint finds in source."""

from __future__ import annotations

from enum import Enum

from ddpdoctor.model.record import record


class Severity(Enum):
    #: proven: some assignment of ranks hangs, crashes or is silently wrong
    ERROR = "error"
    WARNING = "warning"
    #: opt-in
    HINT = "hint"


class Applicability(Enum):
    SAFE = "safe"
    UNSAFE = "unsafe"


@record(frozen=True, slots=True)
class Edit:
    """Replace source from (line, column) to (end_line, end_column); lines from 1, columns from 1, in characters."""

    line: int
    column: int
    end_line: int
    end_column: int
    content: str


@record(frozen=True, slots=True)
class Fix:
    """Edits that mend what a finding tells, and whether they may be made unseen."""

    applicability: Applicability
    edits: tuple[Edit, ...]


class RelatedRole(Enum):
    """The relation of another place to the finding."""

    NOTE = "note"
    #: the fault is at this place in another file; the finding's own line leads there
    MEANT = "meant"
    #: this place shows the same; told to nobody, it is for those who ask whether anything comes to a place that does
    ALSO = "also"
    #: only the project's other files can show whether the finding is right
    UNCONFIRMED = "unconfirmed"
    #: only they can show whether several ranks come here at all
    UNREACHED = "unreached"
    #: only the scripts of the repository can show that it happens for certain
    UNSTARTED = "unstarted"


@record(frozen=True, slots=True)
class Related:
    """Another place that a finding refers to; `cell` as in Finding."""

    file: str
    line: int
    message: str
    cell: int | None = None
    role: RelatedRole = RelatedRole.NOTE

    @property
    def source(self) -> str:
        """What contains the line: the file, or the cell of a notebook."""
        return source_of(self.file, self.cell)


@record(frozen=True, slots=True)
class Finding:
    """One finding; lines and columns count from 1, columns in characters.

    In a notebook `cell` counts all its cells from 1, including text cells, and lines are those of the cell.
    """

    code: str
    name: str
    severity: Severity
    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    message: str
    related: tuple[Related, ...] = ()
    fix: Fix | None = None
    url: str = ""
    cell: int | None = None
    #: the beginning of the message that says what has to hold of code that was not seen; "" if nothing has
    condition: str = ""
    #: what to do, in a few words
    advice: str = ""

    @property
    def source(self) -> str:
        """What contains the line: the file, or the cell of a notebook."""
        return source_of(self.file, self.cell)


def source_of(file: str, cell: int | None) -> str:
    """`train.py`, or `book.ipynb:cell 3`."""
    return file if cell is None else f"{file}:cell {cell}"

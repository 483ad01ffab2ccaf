"""Who passes a program its local rank as an option, and whether it reads that. Impure: reads files."""

from __future__ import annotations

import re

from ddpdoctor.lint.deferred.asked_versions import ASKED_FOR_TORCH_1
from ddpdoctor.lint.deferred.confirmation import Confirmation, path_of
from ddpdoctor.lint.deferred.joined_groups import may_join
from ddpdoctor.lint.deferred.launch_scripts import is_one_on_its_node, needs_no_local_rank
from ddpdoctor.lint.deferred.launches import place_of
from ddpdoctor.lint.deferred.repository import Repository
from ddpdoctor.lint.deferred.started_ranks import starts_otherwise
from ddpdoctor.lint.files import read_file
from ddpdoctor.lint.knowledge.packages import FOR_TORCH_1
from ddpdoctor.model.finding import Finding, RelatedRole, Severity
from ddpdoctor.model.late_pattern import late_pattern


def passed_by_launcher(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether the old launcher starts it, as a script or text says; and what speaks against it."""
    path, launches = path_of(finding), repository.launches
    at = launches.by_old_launcher.get(path)
    if at is not None and not launches.are_for_torch_1(path) and _ends_at_unknown_options(path):
        said = "it is started here by torch.distributed.launch, which passes --local-rank since torch 2"
        if _OLD_IMPORT.search(read_file(path) or b"") is not None:
            return Confirmation(said, Severity.HINT, at, "where torch is 2.0 or newer, ")
        return Confirmation(said, Severity.ERROR, at)
    commands = launches.commands(path)
    # a first process is number 0, whether or not it is told
    if commands and not _ends_at_unknown_options(path) and all(map(is_one_on_its_node, commands)):
        return _OF_ONE
    hands_on = any(note.role is RelatedRole.UNCONFIRMED for note in finding.related)
    if launches.are_for_torch_1(path):
        return None if hands_on else ASKED_FOR_TORCH_1
    if (told := _told_by_texts(repository, path, finding.line)) is not None:
        return told
    by_deepspeed = place_of(launches.by_deepspeed, path)
    if by_deepspeed is not None and all(map(needs_no_local_rank, launches.shown_commands(path))):
        return Confirmation("DeepSpeed's launcher, which starts it, passes the underscore", Severity.HINT, by_deepspeed)
    if hands_on:
        return None if launches.launched or launches.as_one else Confirmation("nothing here says how it is started")
    return _not_missed(repository, path)


def _not_missed(repository: Repository, path: str) -> Confirmation | None:
    """Whether a program that gets no option goes without it."""
    if repository.launches.commands(path) and _is_unread(repository, path):
        return _READ_BY_NONE
    if place_of(repository.launches.launched, path) is None and _joins_none(repository, path):
        return _IN_NO_GROUP
    return _BY_NO_LAUNCHER if starts_otherwise(repository, path) else None


def _told_by_texts(repository: Repository, path: str, line: int) -> Confirmation | None:
    """Whether a text starts it, or a program that uses it, by the old launcher."""
    started = repository.launches.by_old_launcher_in_texts
    if (at := place_of(started, path)) is not None:
        return Confirmation("it is started here by torch.distributed.launch", at=at)
    using = (at for program, at in started.items() if repository.calls(program, path, line))
    if (at := next(using, None)) is not None:
        return Confirmation("a program that uses it is started here by torch.distributed.launch", at=at)
    return None


#: the program imports what was there with torch 1
_OLD_IMPORT = late_pattern(
    rb"^[ \t]*(?:from|import)[ \t]+(?:" + "|".join(map(re.escape, FOR_TORCH_1)).encode() + rb")\b", re.MULTILINE
)
_BY_NO_LAUNCHER = Confirmation("no script or text starts it with a launcher, and they start others", Severity.HINT)
_OF_ONE = Confirmation("each command that starts it starts one process on a machine", Severity.HINT)
_READ_BY_NONE = Confirmation(
    "nothing reads the option, and no script or text starts it by torch.distributed.launch, which passes the other",
    Severity.HINT,
)
_IN_NO_GROUP = Confirmation(
    "nothing that the program runs makes it one of several ranks", Severity.HINT, condition="if several are started, "
)
#: what may read the option: an attribute, a key, a parameter, and DeepSpeed; who shows or keeps all options at once
#: reads none of them
_READS_OPTION = late_pattern(
    rb"\.local_rank\b|[\"']local_rank[\"']|\blocal_rank\s*[,:)=]|\bdeepspeed\b|\bTrainingArguments\b"
)


#: keeps the option under its own name elsewhere, from where it would have to be read
_KEEPS_OPTION = late_pattern(
    rb"^[ \t]*[\w.]+(?:\[[\"']local_rank[\"']\]|\.local_rank)[ \t]*=[ \t]*\w+\.local_rank[ \t]*\r?$", re.MULTILINE
)


def _is_unread(repository: Repository, path: str) -> bool:
    """Whether neither a program nor a file that it imports reads its local rank from the options."""
    used = repository.used_by(path)
    read = (_KEEPS_OPTION.sub(b"", text) for text in used.values()) if used is not None else ()
    return used is not None and not any(map(_READS_OPTION.search, read))


def _joins_none(repository: Repository, path: str) -> bool:
    """Whether it is a program that nothing in sight makes one of several ranks, whatever its options are called."""
    used = repository.used_by(path) if b"__main__" in (read_file(path) or b"") else None
    return used is not None and not may_join(used.values())


#: the option has to be passed
_REQUIRED = late_pattern(rb"[\"']--local_rank[\"'][^\n]*\brequired\s*=\s*True")


def _ends_at_unknown_options(path: str) -> bool:
    """Whether the program ends where it is passed the other spelling: it knows no other options, or needs its own."""
    text = read_file(path) or b"parse_known_args"
    return b"parse_known_args" not in text or _REQUIRED.search(text) is not None

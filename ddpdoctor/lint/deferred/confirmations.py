"""What the rest of a repository shows of a finding, by the finding's code. Impure: reads files."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from ddpdoctor.lint.deferred import moved_tensors, rank_starters, stopped_loops
from ddpdoctor.lint.deferred.asked_sharding import sharded, unsharded
from ddpdoctor.lint.deferred.asked_versions import (
    before_numpy_was_seeded,
    by_tcp,
    ends_without_waiting,
    older_torch,
    unparsed,
)
from ddpdoctor.lint.deferred.confirmation import Confirmation, parsed, path_of
from ddpdoctor.lint.deferred.fetched_before import fetched_before
from ddpdoctor.lint.deferred.launch_scripts import is_one_on_its_node
from ddpdoctor.lint.deferred.left_to_one_rank import attended, never_left_to_one, of_a_tool, set_by_rank
from ddpdoctor.lint.deferred.listed_names import given_none_listed
from ddpdoctor.lint.deferred.local_rank_option import passed_by_launcher
from ddpdoctor.lint.deferred.missed_places import missed
from ddpdoctor.lint.deferred.open_findings import is_unreached
from ddpdoctor.lint.deferred.repository import Repository
from ddpdoctor.lint.deferred.shipped_files import shipped
from ddpdoctor.lint.deferred.started_nodes import on_one_node, on_several_nodes
from ddpdoctor.lint.deferred.started_ranks import (
    joins_none,
    never_the_first,
    nowhere_as_several,
    of_a_trainer,
    one_process,
    started_alone,
    starts_otherwise,
    unshown,
)
from ddpdoctor.lint.deferred.used_at_all import (
    ends_before,
    in_test,
    never_given,
    never_passed_so,
    not_imported,
    not_run,
    of_a_copy,
    switched_off,
    without_its_option,
)
from ddpdoctor.lint.files import read_file
from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.lint.knowledge.packages import DONE_BY, Does, that
from ddpdoctor.lint.own_rules import UNREADABLE
from ddpdoctor.model.finding import Finding, RelatedRole, Severity
from ddpdoctor.model.late_pattern import late_pattern
from ddpdoctor.model.record import replace
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.text import text_of

_SETTING = "|".join(name for name in that(Does.EPOCHS) if name not in DONE_BY)
#: something sets a sampler's epoch: the program, or a framework; of transformers its Trainer, not a tokenizer
_TELLS = late_pattern(rf"set_epoch|TrainingArguments|(?:from|import)\s+(?:{_SETTING})\b".encode())
#: something makes a seed out of another one, perhaps with the rank: not with the epoch, the worker, or a number alone,
#: and not `--seed`
_SEEDS_MADE = late_pattern(
    rb"(?<!-)seed[\w.\]\[)\"']*\s*[-+*^](?!=?\s*(?:int\()?(?:self\.)?(?:_?epoch|worker|idx|index|\d+\b(?!\s*[*+])))"
    rb"|(?<![-\w\"'{])[-+*^](?!-)=?\s*[\w.]*seed|seed\w*\s*=[^=\n]*rank|seed[^\n]*[-+*^][^\n]*rank"
)


#: nothing is known of a call but its name, unless other files show more
_NOTHING_ALONE = frozenset({"DD111", "DD113"})

_Ask = Callable[[Repository, Finding], Confirmation | None]
#: how the repository starts the program
_STARTED_OTHERWISE: tuple[_Ask, ...] = (started_alone, nowhere_as_several, unshown)


def confirmation(
    repository: Repository, finding: Finding, *, asked: bool, started: bool = False
) -> Confirmation | None:
    """What the other files show of a finding, None if nothing; `asked`: the finding itself leaves something open;
    `started`: that several ranks are started needs no showing."""
    ask = _CONFIRMING.get(finding.code) if asked else None
    told = ask(repository, finding) if ask is not None else None
    if told is not None and told.severity is Severity.HINT:
        return told
    if told is None and finding.code in _NOTHING_ALONE and is_unreached(finding):
        return None
    against: tuple[_Ask, ...] = (
        of_a_copy, in_test, not_run, never_passed_so, of_a_tool, set_by_rank, ends_before, joins_none,
    )  # fmt: skip
    if not started:
        against = (*against, not_imported, without_its_option, switched_off, fetched_before, given_none_listed)
        against = (*against, missed, shipped, never_the_first)
        # where it is started as several ranks, on several nodes, a place shows
        against = (*against, on_one_node, *_STARTED_OTHERWISE) if told is None or told.at is None else against
    as_told = replace(finding, severity=told.severity) if told is not None else finding
    return next(filter(None, (ask(repository, as_told) for ask in against)), told)


def _epochs(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether the project iterates over epochs, nothing sets a sampler's epoch, and all files were searched; of a loop
    that runs once by default, whether a script or text gives it another number."""
    if any(note.role is RelatedRole.UNSTARTED for note in finding.related):
        return _more_epochs(repository, finding)
    texts = repository.all_texts
    if texts is None or any(_TELLS.search(text) for text in texts):
        return None
    loops = any(heuristics.EPOCH_LOOPS.found_in(text.decode(errors="replace")) for text in texts)
    return Confirmation("no file of the project does this") if loops else None


def _more_epochs(repository: Repository, finding: Finding) -> Confirmation | None:
    flag = _FLAG.search(finding.condition)
    name = re.sub(rb"[-_]", b"[-_]", flag.group(1).encode()) if flag is not None else b""
    commands = repository.launches.shown_commands(path_of(finding)) if name else []
    if not commands:
        return None
    more = re.compile(rb"--" + name + rb"[= ]+(?!1(?!\d))\S")
    if any(map(more.search, commands)):
        return Confirmation("it is started with more than one epoch", Severity.ERROR)
    said = "no script or text that starts it passes more than one epoch"
    return Confirmation(said, Severity.HINT, condition=finding.condition)


#: an option in the condition of a finding
_FLAG = late_pattern(r"--([\w-]+)")


def _seeds(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether nothing in the project adds something to a seed; of one that has to be asked for, whether the commands or
    files of settings do."""
    if finding.condition:
        path = path_of(finding)
        asked = repository.sets_number("seed", repository.launches.shown_commands(path), read_file(path) or b"")
        if not asked or any(note.role is RelatedRole.UNSTARTED for note in finding.related):
            return Confirmation("the repository asks for a seed") if asked else None
    texts = repository.all_texts
    if texts is None or any(_SEEDS_MADE.search(text) for text in texts):
        return None
    return Confirmation("no file of the project adds anything to a seed")


def _copied(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether a tensor of the CPU is passed to a function that reduces what `.cuda()` makes of it."""
    for _, tree, line in parsed([(finding.file, finding.line)]):
        at = moved_tensors.passed_from_cpu(repository.callers, path_of(finding), tree, line)
        if at is not None:
            return Confirmation("a tensor of the CPU is passed here, of which `.cuda()` makes a copy", at=at)
    return None


#: something calls the hook of Lightning itself, other than its own base's
_PREPARES = late_pattern(rb"(?<!super\(\))\.prepare_data\(")


def _prepared(repository: Repository, _finding: Finding) -> Confirmation | None:
    """Whether a file of the project calls `prepare_data` itself, perhaps on each rank."""
    if not any(map(_PREPARES.search, repository.all_texts or ())):
        return None
    return Confirmation("the project calls prepare_data itself, perhaps on each rank", Severity.HINT)


def _loaded(repository: Repository, finding: Finding) -> Confirmation | None:
    """What makes a load harmless: nothing saves a file, calls the function, or starts several ranks on a machine; or
    what is loaded is an option that nobody passes."""
    path = path_of(finding)
    text = read_file(path) or b""
    if repository.saves_nothing or (b".backward(" in text and repository.saves_nothing_here):
        return Confirmation("nothing in the project saves such a file", Severity.HINT)
    if repository.is_unused(path, finding.line):
        return Confirmation("nothing in the project calls this function", Severity.HINT)
    commands = [*repository.launches.shown_commands(path), *repository.launches.lines_with(path)]
    spawns = rank_starters.starts(text)
    if not commands and not spawns and starts_otherwise(repository, path):
        return Confirmation("no script or text starts it, and they start others", Severity.HINT)
    if commands and not spawns and all(map(is_one_on_its_node, commands)):
        return Confirmation("each command that starts it starts one process on a machine", Severity.HINT)
    if repository.launches.give_own_gpus(path):
        return Confirmation("Slurm gives each process a GPU of its own, which is GPU 0 to it", Severity.HINT)
    return never_given(repository, finding)


def _hashed_alike(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether something gives all processes one seed for hashes: the order of a set of texts is then the same."""
    if not repository.mentions("PYTHONHASHSEED"):
        return None
    return Confirmation("PYTHONHASHSEED may be set", Severity.HINT, condition=finding.condition)


def _met_by_name(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether the method that is called there enters a collective in the project, by its name."""
    for name, receiver in _called(finding):
        met = repository.meetings.of_method(name, receiver)
        if met is not None:
            said, condition = f"{met.operation} is called here", f"if {receiver} is of the class {met.owner}, "
            return Confirmation(said, at=met.at, condition=condition)
    return None


def _ends_a_loop(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether the method that is called there ends a loop of backward passes in the project, by its name; of a finding
    that is about a loop itself, whether it goes through a sharded model."""
    for name, receiver in _called(finding):
        asks = heuristics.ASKS_TO_STOP.found_in(name)
        left = stopped_loops.by_method(repository.meetings, name, receiver) if asks else None
        if left is not None and any(map(_AVERAGES.search, repository.all_texts or ())):
            said, condition = "the loop is left here", f"if {receiver} is of the class {left.owner}, "
            return Confirmation(said, at=left.at, condition=condition)
    return sharded(repository, finding)


#: something wraps a network, so that each backward pass needs all ranks
_AVERAGES = late_pattern(rb"DistributedDataParallel|\bfully_shard\b|FullyShardedDataParallel")


def _called(finding: Finding) -> Iterator[tuple[str, str]]:
    """The method that is called where a finding is, and the object that it is called of."""
    for _, tree, line in parsed([(finding.file, finding.line)]):
        for call in walk(tree):
            if isinstance(call, ast.Call) and (call.lineno, call.col_offset) == (line, finding.column - 1):
                yield last_name(call.func), text_of(call.func.value) if isinstance(call.func, ast.Attribute) else ""


#: an option that has Lightning use several devices: `--gpus 4`, `trainer.devices=-1`, `--strategy ddp`
_SEVERAL_DEVICES = late_pattern(
    rb"\b(?:num[-_])?(?:gpus|devices|nodes)[= ]+[\"'\[]*(?:-1|[2-9]|[1-9]\d|\d+\s*,\s*\d)"
    rb"|\bstrategy[= ]+[\"']?(?:ddp|fsdp|deepspeed)"
)


def _several_devices(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether settings or options that a program hands on to Lightning are for several devices."""
    if repository.configurations.use_several_devices:
        return Confirmation("a file of settings has it use several devices")
    commands = repository.launches.shown_commands(path_of(finding))
    several = any(map(_SEVERAL_DEVICES.search, commands))
    return Confirmation("a command that starts it has it use several devices") if several else None


#: what the other files have to show, by code; None if they do not
_CONFIRMING: dict[str, _Ask] = {
    "DD101": _epochs,
    "DD103": of_a_trainer,
    "DD111": _met_by_name,
    "DD113": _ends_a_loop,
    "DD116": ends_without_waiting,
    "DD118": _copied,
    "DD120": by_tcp,
    "DD123": one_process,
    "DD124": attended,
    "DD125": never_left_to_one,
    "DD127": older_torch,
    "DD131": _seeds,
    "DD133": _hashed_alike,
    "DD134": before_numpy_was_seeded,
    "DD137": _prepared,
    "DD144": on_several_nodes,
    "DD146": passed_by_launcher,
    "DD155": on_several_nodes,
    "DD156": _hashed_alike,
    "DD164": sharded,
    "DD165": switched_off,
    "DD171": attended,
    "DD173": _loaded,
    "DD174": on_several_nodes,
    "DD175": unsharded,
    "DD181": _several_devices,
    "DD192": on_several_nodes,
    UNREADABLE.code: unparsed,
}

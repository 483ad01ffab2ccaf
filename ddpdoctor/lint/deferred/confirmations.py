"""What the rest of a repository shows of a finding, by the finding's code. Impure: reads files."""

from __future__ import annotations

import ast
import os
import posixpath
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from ddpdoctor.lint.deferred import asked_values, given_options, moved_tensors, rank_starters
from ddpdoctor.lint.deferred.launch_scripts import is_one_on_its_node, needs_no_local_rank, says_launched
from ddpdoctor.lint.deferred.launches import Place, place_of
from ddpdoctor.lint.deferred.repository import Repository
from ddpdoctor.lint.files import read_file
from ddpdoctor.lint.knowledge import heuristics
from ddpdoctor.lint.knowledge.packages import DONE_BY, FOR_TORCH_1, Does, that
from ddpdoctor.lint.settings import UNREADABLE
from ddpdoctor.model.finding import Finding, RelatedRole, Severity
from ddpdoctor.program import source
from ddpdoctor.program.enclosing import choices_at
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.text import text_of

_SETTING = "|".join(name for name in that(Does.EPOCHS) if name not in DONE_BY)
#: something sets a sampler's epoch: the program, or a framework; of transformers its Trainer, not a tokenizer
_TELLS = re.compile(rf"set_epoch|TrainingArguments|(?:from|import)\s+(?:{_SETTING})\b".encode())
#: something makes a seed out of another one, perhaps with the rank: not with the epoch, the worker, or a number alone,
#: and not `--seed`
_SEEDS_MADE = re.compile(
    rb"(?<!-)seed[\w.\]\[)\"']*\s*[-+*^](?!=?\s*(?:int\()?(?:self\.)?(?:_?epoch|worker|idx|index|\d+\b(?!\s*[*+])))"
    rb"|(?<![-\w\"'{])[-+*^](?!-)=?\s*[\w.]*seed|seed\w*\s*=[^=\n]*rank|seed[^\n]*[-+*^][^\n]*rank"
)
#: something makes this program one of several ranks; who asks whether a network is in DDP does not put it there
_SEVERAL = re.compile(
    rb"init_process_group|DistributedDataParallel\(|\bDDP\(|Accelerator\(|init_distributed|mp\.spawn|get_rank\(|deepspeed\.initialize"
)
#: a program may have to do with several ranks
_OF_A_JOB = re.compile(
    rb"rank|distribut|\bddp|deepspeed|accelerat|lightning|Trainer\b|horovod|torchrun|fabric", re.IGNORECASE
)


class Confirmation(NamedTuple):
    """What the other files show of a finding."""

    #: what is said of it
    said: str
    severity: Severity = Severity.WARNING
    #: what shows it, if it is one place
    at: Place | None = None
    #: what has to hold all the same, as the beginning of the message
    condition: str = ""


def confirmation(repository: Repository, finding: Finding, *, asked: bool) -> Confirmation | None:
    """What the other files show of a finding, None if nothing; `asked`: the finding itself leaves something open."""
    ask = _CONFIRMING.get(finding.code) if asked else None
    told = ask(repository, finding) if ask is not None else None
    if told is not None and told.severity is Severity.WARNING:
        against = (_of_a_copy, _in_test, _set_by_rank, _nowhere_as_several)
        return next(filter(None, (ask(repository, finding) for ask in against)), told)
    asked_of_any = (_of_a_copy, _in_test, _not_run, _set_by_rank, _on_one_node, _started_alone, _nowhere_as_several)
    return told or next(filter(None, (ask(repository, finding) for ask in asked_of_any)), None)


def _path(finding: Finding) -> str:
    return os.path.abspath(finding.file)  # noqa: PTH100 - as the paths of scripts and programs


def is_unreached(finding: Finding) -> bool:
    """Whether nothing in its own file shows that several ranks come there."""
    return any(note.role is RelatedRole.UNREACHED for note in finding.related)


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
    commands = repository.launches.shown_commands(_path(finding)) if name else []
    if not commands:
        return None
    more = re.compile(rb"--" + name + rb"[= ]+(?!1(?!\d))\S")
    if any(map(more.search, commands)):
        return Confirmation("it is started with more than one epoch", Severity.ERROR)
    said = "no script or text that starts it passes more than one epoch"
    return Confirmation(said, Severity.HINT, condition=finding.condition)


#: an option in the condition of a finding
_FLAG = re.compile(r"--([\w-]+)")


def _seeds(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether nothing in the project adds something to a seed; of one that has to be asked for, whether the commands or
    files of settings do."""
    if finding.condition:
        path = _path(finding)
        asked = repository.sets_number("seed", repository.launches.shown_commands(path), read_file(path) or b"")
        if not asked or any(note.role is RelatedRole.UNSTARTED for note in finding.related):
            return Confirmation("the repository asks for a seed") if asked else None
    texts = repository.all_texts
    if texts is None or any(_SEEDS_MADE.search(text) for text in texts):
        return None
    return Confirmation("no file of the project adds anything to a seed")


def _launcher(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether the old launcher starts it, as a script or text says; and what speaks against it."""
    path, launches = _path(finding), repository.launches
    at = launches.by_old_launcher.get(path)
    if at is not None and not launches.are_for_torch_1(path) and _ends_at_unknown_options(path):
        said = "it is started here by torch.distributed.launch, which passes --local-rank since torch 2"
        if _OLD_IMPORT.search(read_file(path) or b"") is not None:
            return Confirmation(said, Severity.WARNING, at, "where torch is 2.0 or newer, ")
        return Confirmation(said, Severity.ERROR, at)
    hands_on = any(note.role is RelatedRole.UNCONFIRMED for note in finding.related)
    if launches.are_for_torch_1(path):
        return None if hands_on else _FOR_TORCH_1
    if (told := _told_by_texts(repository, path)) is not None:
        return told
    by_deepspeed = place_of(launches.by_deepspeed, path)
    if by_deepspeed is not None and all(map(needs_no_local_rank, launches.shown_commands(path))):
        return Confirmation("DeepSpeed's launcher, which starts it, passes the underscore", Severity.HINT, by_deepspeed)
    if hands_on:
        return None if launches.launched or launches.as_one else Confirmation("nothing here says how it is started")
    if launches.commands(path) and _is_unread(repository, path):
        return _READ_BY_NONE
    return _BY_NO_LAUNCHER if _starts_otherwise(repository, path) else None


def _told_by_texts(repository: Repository, path: str) -> Confirmation | None:
    """Whether a text starts it, or a program that uses it, by the old launcher."""
    started = repository.launches.by_old_launcher_in_texts
    if (at := place_of(started, path)) is not None:
        return Confirmation("it is started here by torch.distributed.launch", at=at)
    using = (at for program, at in started.items() if repository.uses(program, path))
    if (at := next(using, None)) is not None:
        return Confirmation("a program that uses it is started here by torch.distributed.launch", at=at)
    return None


#: the program imports what was there with torch 1
_OLD_IMPORT = re.compile(
    rb"^[ \t]*(?:from|import)[ \t]+(?:" + "|".join(map(re.escape, FOR_TORCH_1)).encode() + rb")\b", re.MULTILINE
)
#: the launcher of that torch passes what the program takes
_FOR_TORCH_1 = Confirmation("a text of the repository asks for torch 1", Severity.HINT)
_BY_NO_LAUNCHER = Confirmation("no script or text starts it with a launcher, and they start others", Severity.HINT)


_READ_BY_NONE = Confirmation(
    "nothing reads the option, and no script or text starts it by torch.distributed.launch, which passes the other",
    Severity.HINT,
)
#: what may read the option: an attribute, a key, a parameter, all options at once, and DeepSpeed
_READS_OPTION = re.compile(
    rb"\.local_rank\b|[\"']local_rank[\"']|\blocal_rank\s*[,:)=]|\bvars\(|\.__dict__\b|\bdeepspeed\b|\bTrainingArguments\b"
)


def _is_unread(repository: Repository, path: str) -> bool:
    """Whether neither a program nor a file that it imports reads its local rank from the options."""
    texts = repository.used_by(path)
    return texts is not None and not any(_READS_OPTION.search(text) for text in texts)


def _ends_at_unknown_options(path: str) -> bool:
    return b"parse_known_args" not in (read_file(path) or b"parse_known_args")


def _starts_otherwise(repository: Repository, path: str) -> bool:
    """Whether the repository says how its programs are started, and this one, or any, is not by a launcher."""
    launches = repository.launches
    if place_of(launches.by_launcher, path) is not None or not (launches.launched or launches.as_one):
        return False
    is_program = b"__main__" in (read_file(path) or b"")
    return is_program or not launches.by_launcher


#: what does harm only where a program runs as several ranks, and is no proof of a hang
OF_SEVERAL_RANKS = frozenset({
    "DD101", "DD102", "DD103", "DD106", "DD108", "DD110", "DD124", "DD125", "DD131", "DD132", "DD133", "DD135", "DD136",
    "DD141", "DD142", "DD143", "DD165", "DD168", "DD171", "DD173", "DD174", "DD175",
})  # fmt: skip
#: what does harm only where several ranks get there
_IF_SEVERAL_COME = frozenset({
    "DD105", "DD111", "DD112", "DD113", "DD114", "DD115", "DD116", "DD117", "DD118", "DD119", "DD120", "DD121", "DD127",
    "DD164", "DD169",
})  # fmt: skip
#: of these, what costs memory or variety, or harms a first run alone: not worth a warning unless ranks are seen to run
_MILD = frozenset({"DD124", "DD131", "DD136", "DD141", "DD173", "DD175"})
#: what does harm only where a sampler for several ranks is made
_WITH_SAMPLERS = frozenset({"DD101"})
_LOWER = {Severity.ERROR: Severity.WARNING, Severity.WARNING: Severity.HINT, Severity.HINT: Severity.HINT}


def depends_on_the_start(finding: Finding) -> bool:
    """Whether the finding says nothing to those who start the program as one process."""
    return finding.severity is not Severity.HINT and finding.code in OF_SEVERAL_RANKS | _IF_SEVERAL_COME


def _started_alone(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether the scripts and texts of the repository start the program as one process, and nothing starts ranks."""
    if not depends_on_the_start(finding):
        return None
    path, launches = _path(finding), repository.launches
    if finding.severity is Severity.ERROR and finding.code in _IF_SEVERAL_COME:
        return _proven_of_one(repository, path)
    # a text may name it from a folder that nothing tells: one that starts several counts, unless another file has
    # the name as well and this one is started as one
    launched = place_of(launches.launched, path) is not None
    if path in launches.shown or (launched and (path not in launches.as_one or repository.is_only(path))):
        return None
    at = place_of(launches.as_one, path)
    if at is None and launches.by_launcher:
        return _beside_the_launched(repository, finding)
    if at is None and not launches.as_one:
        return None
    if says_launched(read_file(path) or b"") or repository.configurations.describe_a_job:
        return None
    if repository.may_start_ranks(path, program=at is not None):
        return None
    said, condition = "scripts and texts start it as one process only", "if it is started as several ranks, "
    given = _LOWER[finding.severity]
    if place_of(launches.as_one_by_setting, path) is not None:
        given = Severity.WARNING  # the number is there to be changed
    by_launcher = place_of(launches.as_one_by_launcher, path) is not None
    if finding.code in _WITH_SAMPLERS and not by_launcher and _is_chosen(path, finding.line):
        given = Severity.HINT  # where nothing tells of ranks, another sampler is made
    return Confirmation(said, given, at, condition)


def _proven_of_one(repository: Repository, path: str) -> Confirmation | None:
    """Of a proof about several ranks, whether what uses the file is started as one process, and nothing as several."""
    users = repository.users_of(path)
    places = (place_of(repository.launches.as_one, user) for user in sorted(users or ()))
    at = next(filter(None, places), None)
    if at is None or _never_as_several(repository, path) is None:
        return None
    said, condition = "scripts and texts start what uses it as one process only", "if it is started as several ranks, "
    return Confirmation(said, Severity.WARNING, at, condition)


def _beside_the_launched(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether several ranks are started of other programs, none of which uses this file, and it starts none itself."""
    path = _path(finding)
    users = repository.users_of(path) if finding.severity is Severity.WARNING else None
    if users is None or any(_SEVERAL.search(read_file(user) or b"") for user in users):
        return None
    alone = _never_as_several(repository, path)
    return alone._replace(condition="if several ranks run it, ") if alone is not None else None


#: what does harm at the moment in which a line runs
_AS_IT_RUNS = frozenset({"DD124", "DD171", "DD173", *_IF_SEVERAL_COME})
#: of these, what a setting may ask for that has many names
_ASKED_FOR = frozenset({"DD124", "DD171"})


def _not_run(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether nothing in the project, but perhaps a test, uses the function or class, or gives what it asks for."""
    if finding.code not in _AS_IT_RUNS or not depends_on_the_start(finding):
        return None
    name = repository.unused_at(_path(finding), finding.line)
    said = f"nothing in the project but its tests uses {name}"
    if name:
        return Confirmation(said, _LOWER[finding.severity], condition=f"if anything uses {name}, ")
    return _not_asked_for(repository, finding) if finding.code in _ASKED_FOR else None


def _not_asked_for(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether it runs only where a setting has a name that no program offers, or that nothing in the repository
    mentions although it gives that setting others where it starts its programs."""
    if (not_offered := _not_offered(repository, finding)) is not None:
        return not_offered
    if not (repository.launches.launched or repository.launches.as_one):
        return None
    for tree, line in _trees(_places(finding)):
        for asked, names in asked_values.asked_at(tree, line):
            said = _never_one_of(repository, asked, names)
            if said:
                return Confirmation(said, Severity.HINT, condition=f"if {asked} is {' or '.join(names)}, ")
    return None


def _never_one_of(repository: Repository, asked: str, names: tuple[str, ...]) -> str:
    """What says that a setting is none of these where the repository starts its programs, "" if nothing does."""
    if repository.sets(asked):
        listed = " or ".join(names)
        mentioned = any(map(repository.mentions, names))
        return "" if mentioned else f"nothing in the repository mentions {listed} but such conditions"
    found = (given_options.defaults(text, asked) for text in (repository.texts or {}).values())
    known = frozenset[str]().union(*(one for one in found if one is not None))
    told = ", ".join(map(repr, sorted(known)))
    return f"no script or text gives {asked}, which is {told} then" if known and known.isdisjoint(names) else ""


def _not_offered(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether it runs only where an option has a name that is none of its choices, in each program that has it."""
    for tree, line in _trees(_places(finding)):
        for asked, names in asked_values.asked_at(tree, line):
            offered = [given_options.offered(text, asked) for text in (repository.texts or {}).values()]
            choices = [one for one in offered if one is not None]
            if choices and all(one.isdisjoint(names) for one in choices):
                listed = " or ".join(names)
                said = f"{asked} is never {listed}: no program offers that"
                return Confirmation(said, Severity.HINT, condition=f"if {asked} is {listed}, ")
    return None


def _places(finding: Finding) -> list[tuple[str, int]]:
    """Where a finding is, and what it is about in other files."""
    meant = ((note.file, note.line) for note in finding.related if note.role is RelatedRole.MEANT)
    return [(finding.file, finding.line), *meant]


def _trees(places: Iterable[tuple[str, int]]) -> Iterator[tuple[ast.AST, int]]:
    """The syntax tree of the file of each place, and its line, of files that can be read."""
    for file, line in places:
        tree = source.tree_of(read_file(os.path.abspath(file)) or b"")  # noqa: PTH100 - as above
        if tree is not None:
            yield tree, line


def _is_chosen(path: str, line: int) -> bool:
    """Whether a line is under a condition, other than that the file is the program."""
    tree = source.tree_of(read_file(path) or b"")
    return tree is not None and any("__main__" not in text_of(test) for test in choices_at(tree, line))


def _older_torch(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether the repository is for a torch in which this was otherwise."""
    return _FOR_TORCH_1 if repository.launches.are_for_torch_1(_path(finding)) else None


#: the first torch in which `destroy_process_group` waits for what NCCL still does
_WAITS_AT_END = (2, 6)


def _ends_without_waiting(repository: Repository, _: Finding) -> Confirmation | None:
    """Whether every text that asks for a certain torch asks for one that gives up a group at once."""
    newest = repository.launches.newest_torch
    if newest is None or newest >= _WAITS_AT_END:
        return None
    said = f"the newest torch that a text of the repository asks for is {newest[0]}.{newest[1]}"
    return Confirmation(said, Severity.HINT, condition="where torch is 2.6 or newer, ")


def _unread(repository: Repository, finding: Finding) -> Confirmation | None:
    """Of a file that does not parse, whether nothing in the repository imports, starts or names it, or a newer Python
    is asked for."""
    path, launches = _path(finding), repository.launches
    if (newer := launches.python) is not None and newer > sys.version_info[:2]:
        return Confirmation(f"the repository asks for Python {newer[0]}.{newer[1]}", Severity.HINT)
    word = re.compile(rb"\b" + re.escape(os.fsencode(posixpath.basename(path).partition(".")[0])) + rb"\b")
    if repository.users_of(path) != {path} or any(map(word.search, launches.scripts.values())):
        return None
    return Confirmation("nothing in the repository imports, starts or names this file", Severity.HINT)


def _before_numpy_was_seeded(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether the repository is for a torch whose workers leave numpy's state as it is."""
    at = repository.launches.for_torch_before_1_9
    if at is None:
        return None
    return Confirmation("a torch before 1.9 is asked for here", at=at, condition=finding.condition)


#: a backend that torch had before 1.0, which received messages in the order in which they were asked for
_TCP = re.compile(rb"""init_process_group\([^()]*["']tcp["']|backend["']?\s*[=,][^()\n]*["']tcp["']""")


def _by_tcp(repository: Repository, _: Finding) -> Confirmation | None:
    """Whether the project makes its groups with a backend that only torch before 1.0 has."""
    for path, text in (repository.texts or {}).items():
        if (found := _TCP.search(text)) is not None:
            at = Place(path, text.count(b"\n", 0, found.start()) + 1)
            return Confirmation("the backend that is named here, tcp, went with torch 1.0", Severity.HINT, at)
    return None


def _copied(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether a tensor of the CPU is passed to a function that reduces what `.cuda()` makes of it."""
    for tree, line in _trees([(finding.file, finding.line)]):
        at = moved_tensors.passed_from_cpu(repository.callers, _path(finding), tree, line)
        if at is not None:
            return Confirmation("a tensor of the CPU is passed here, of which `.cuda()` makes a copy", at=at)
    return None


def _loaded(repository: Repository, finding: Finding) -> Confirmation | None:
    """What makes a load harmless: nothing saves a file, calls the function, or starts several ranks on a machine; or
    what is loaded is an option that nobody passes."""
    path = _path(finding)
    text = read_file(path) or b""
    if repository.saves_nothing or (b".backward(" in text and repository.saves_nothing_here):
        return Confirmation("nothing in the project saves such a file", Severity.HINT)
    if repository.is_unused(path, finding.line):
        return Confirmation("nothing in the project calls this function", Severity.HINT)
    commands = [*repository.launches.shown_commands(path), *repository.launches.lines_with(path)]
    spawns = rank_starters.starts(text)
    if not commands and not spawns and _starts_otherwise(repository, path):
        return Confirmation("no script or text starts it, and they start others", Severity.HINT)
    if commands and not spawns and all(map(is_one_on_its_node, commands)):
        return Confirmation("each command that starts it starts one process on a machine", Severity.HINT)
    if repository.launches.give_own_gpus(path):
        return Confirmation("Slurm gives each process a GPU of its own, which is GPU 0 to it", Severity.HINT)
    return _option(repository, finding)


def _of_a_copy(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether it is in the tests, examples or tools of a library of others, which the repository holds a copy of, and
    nothing outside of the copy starts it."""
    if not depends_on_the_start(finding):
        return None
    path = _path(finding)
    folder = repository.copied_library(path)
    if not folder or any(not script.startswith(f"{folder}/") for script in repository.launches.starting(path)):
        return None
    name = posixpath.basename(folder)
    said = f"nothing outside of the copy of a library in {name} starts it"
    return Confirmation(said, Severity.HINT, condition=f"if this part of the copy in {name} runs, ")


def _in_test(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether it is in a test, and no script or text starts that by a launcher: it runs as one process, or starts ranks
    for a moment."""
    path = _path(finding)
    if finding.severity is not Severity.WARNING or not repository.is_test(path):
        return None
    if place_of(repository.launches.by_launcher, path) is not None:
        return None
    return Confirmation("it is a test, which no script or text starts by a launcher", Severity.HINT)


#: what does harm only on a second machine
_ON_A_SECOND_NODE = frozenset({"DD143"})


def _on_one_node(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether the repository says how the program is started, and never on several machines."""
    path, launches = _path(finding), repository.launches
    if finding.code not in _ON_A_SECOND_NODE or finding.severity is Severity.HINT:
        return None
    on_nodes = launches.on_nodes(path, repository.top)
    if not launches.starting(path) or on_nodes is not None or repository.configurations.describe_a_job:
        return None
    said, condition = "each command that starts it is for one machine", "if this is ever started on two nodes, "
    return Confirmation(said, Severity.HINT, condition=condition)


#: what does harm where a condition lets all ranks come there
_WHERE_ALL_COME = frozenset({"DD124", "DD171"})


def _set_by_rank(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether a flag around the line is set by the rank somewhere in the project: `cfg["log"] = rank == 0`."""
    if finding.code not in _WHERE_ALL_COME or finding.severity is not Severity.WARNING:
        return None
    names = _flags_around(finding)
    # what the file itself sets is known there
    others = {path: text for path, text in (repository.texts or {}).items() if path != _path(finding)}
    for path, text in others.items():
        for name in sorted(names):
            assigned = rb"^[ \t]*[\w.\[\"']*\b" + re.escape(name.encode()) + rb"[\"']?\]?[ \t]*=(?!=)[^\n]*"
            set_by_rank = re.search(assigned + _RANK_COMPARED, text, re.MULTILINE)
            if set_by_rank is not None:
                at = Place(path, text.count(b"\n", 0, set_by_rank.start()) + 1)
                said, condition = f"{name} is set by the rank here", f"unless {name} is set on one rank alone, "
                return Confirmation(said, Severity.HINT, at, condition)
    return None


def _flags_around(finding: Finding) -> set[str]:
    """What the conditions read that are around the line and around those that it refers to."""
    places = [(finding.file, finding.line), *((note.file, note.line) for note in finding.related)]
    tests = (test for tree, line in _trees(places) for test in choices_at(tree, line))
    return {name for test in tests for name in _flags(test)}


def _flags(test: ast.expr) -> Iterator[str]:
    """The variables, attributes and keys that a condition reads."""
    for node in walk(test):
        name = last_name(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            name = str(node.slice.value)
        if name not in ("", "self"):
            yield name


#: a condition on a rank, as it is written
_RANK_COMPARED = (
    rb"(?:rank\w*(?:\(\))?[ \t]*(?:==|in[ \t]*[\[(]|<)|\bnot[ \t]+[\w.]*rank|\bis_(?:main|master|first)|\bmain_process)"
)


#: a file starts ranks itself; Lightning's Trainer starts as many as the machine has devices
_SPAWNS = re.compile(rb"\bspawn\(|\bstart_processes\(|\bnotebook_launcher\(|\bsubmitit\b|lightning(?s:.*)\bTrainer\(")


def _never_as_several(repository: Repository, path: str, *, untold: bool = False) -> Confirmation | None:
    """Whether the scripts and texts say how programs are started, and none that uses this file as several ranks;
    `untold`: they need not say it, if there are any, and no script starts something of which it gives no name."""
    launches, users = repository.launches, repository.users_of(path)
    told = launches.launched or launches.as_one or (untold and launches.scripts and not launches.start_unnamed)
    if users is None or not told or repository.configurations.describe_a_job:
        return None
    several = {**launches.shown, **launches.by_launcher}
    if any(place_of(several, user) is not None for user in users):
        return None
    texts = {user: read_file(user) or b"" for user in users}
    # what those start that name the programs in their commands is known
    shown = [text for user, text in texts.items() if user not in launches.naming]
    if any(map(_SPAWNS.search, texts.values())) or any(map(says_launched, shown)):
        return None
    if any(map(rank_starters.starts_launcher, (*shown, *(repository.used_by(path) or ())))):
        return None
    return Confirmation("no script or text starts several ranks of what uses it", Severity.HINT)


def _nowhere_as_several(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether nothing in the repository starts several ranks of the program, and that is all that would be wrong."""
    if finding.severity is not Severity.WARNING or finding.code not in _MILD | _IF_SEVERAL_COME:
        return None
    alone = _never_as_several(repository, _path(finding), untold=finding.code in _MILD)
    return alone._replace(condition="if several ranks run it, ") if alone is not None else None


def _option(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether what is loaded is an option of the program that no script or text which starts it passes, or that all
    give what others have published; or is loaded only with one that is off by default, or with a setting that is
    off."""
    path = _path(finding)
    commands = repository.launches.commands(path)
    raw = read_file(path) if commands else None
    for dests, names in given_options.asked_at(raw, finding.line, finding.end_line) if raw is not None else ():
        giving = [command for command in commands if given_options.gives(command, names)]
        options = ", ".join(f"--{dest}" for dest in dests)
        if not giving:
            return Confirmation(f"no script or text that starts it passes {options}", Severity.HINT)
        if all(heuristics.PUBLISHED.found_in(given_options.value_in(command, names)) for command in giving):
            return Confirmation(
                f"the scripts and texts that start it pass published weights as {options}", Severity.HINT
            )
    return _switched_off(repository, finding)


def _switched_off(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether it is under a setting that is off in every file of the project that sets it."""
    tree = source.tree_of(read_file(_path(finding)) or b"")
    off = given_options.off_at(tree, finding.line, repository.configurations.off_values) if tree is not None else ()
    name = next(iter(off), "")
    return Confirmation(f"every file that sets {name} has it off", Severity.HINT) if name else None


def _one_process(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether a script or text starts it without a launcher."""
    at = repository.launches.alone.get(_path(finding))
    return Confirmation("it is started here without a launcher", at=at) if at is not None else None


def _callers(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether the function is called in the project, and nobody on the way to it leaves it to one rank."""
    texts, callers = repository.texts, repository.callers
    if texts is None or not callers.never_choose(_path(finding), finding.line):
        return None
    asked = [texts[file] for file in callers.passed if file in texts]
    if is_unreached(finding) and not any(_SEVERAL.search(text) for text in asked):
        return None
    starts = [texts[file] for file in callers.starts if file in texts]
    if starts and not any(_OF_A_JOB.search(text) for text in starts):
        return None  # a tool that one process runs: it converts, exports or shows what a job has made
    return Confirmation("none of its callers in the project leaves it to one rank")


def _attended(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether all ranks come there: as the callers show, or, of a program, as a script or text starts it."""
    if all(note.role is not RelatedRole.UNSTARTED for note in finding.related):
        return _callers(repository, finding)
    at = place_of(repository.launches.by_launcher, _path(finding))
    return Confirmation("several ranks are started here", at=at) if at is not None else None


def _nodes(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether the program is started on several nodes, as its scripts say, or those of the project where none starts
    it; and with its local rank, if that is an option."""
    path, launches = _path(finding), repository.launches
    at = launches.on_nodes(path, repository.top)
    if at is None or (_needs_local_rank(path) and not launches.pass_local_rank(path)):
        return None
    return Confirmation("the program is started on several nodes here", at=at)


#: the local rank from the environment
_READ = re.compile(rb"(?:get|getenv)\(\s*[\"']LOCAL_RANK|environ\[[\"']LOCAL_RANK[\"']\](?!\s*=[^=])")


def _needs_local_rank(path: str) -> bool:
    """Whether a program has its local rank as an option only."""
    text = read_file(path) or b""
    module = given_options.module_of(text) if _READ.search(text) is None else None
    return module is not None and "local_rank" in module.options


_OLD_LIGHTNING = Confirmation(
    "a text of the repository asks for Lightning 1", Severity.HINT, condition="where Lightning is 2.0 or newer, "
)


def _unsharded(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether DeepSpeed leaves the weights whole on each rank: no configuration has stage 3; of what only Lightning 2
    does, whether the repository is for an older one."""
    if finding.condition:
        return _OLD_LIGHTNING if repository.launches.are_for_lightning_1 else None
    path, configurations = _path(finding), repository.configurations
    text = read_file(path) or b""
    commands = repository.launches.commands(path)
    stages = configurations.zero_stages(path, text, commands)
    if stages and not stages - {b"0", b"1", b"2"} and b"fsdp" not in text.lower():
        listed = ", ".join(sorted(stage.decode(errors="replace") for stage in stages))
        said = f"the configurations of DeepSpeed are of stage {listed}, which gathers nothing"
        return Confirmation(said, Severity.HINT)
    # a stage that is "auto" or computed may be the third
    asked = stages or configurations.ask_for_sharding or any(b"fsdp" in command.lower() for command in commands)
    by_accelerate = b"Accelerator(" in text and b"Trainer(" not in text
    if by_accelerate and not asked:
        return Confirmation("nothing in the repository tells Accelerate to shard the model", Severity.HINT)
    return None


#: what the other files have to show, by code; None if they do not
_CONFIRMING: dict[str, Callable[[Repository, Finding], Confirmation | None]] = {
    "DD101": _epochs,
    "DD116": _ends_without_waiting,
    "DD118": _copied,
    "DD120": _by_tcp,
    "DD123": _one_process,
    "DD124": _attended,
    "DD125": _callers,
    "DD127": _older_torch,
    "DD131": _seeds,
    "DD134": _before_numpy_was_seeded,
    "DD143": _nodes,
    "DD144": _nodes,
    "DD146": _launcher,
    "DD165": _switched_off,
    "DD171": _attended,
    "DD173": _loaded,
    "DD174": _nodes,
    "DD175": _unsharded,
    UNREADABLE: _unread,
}

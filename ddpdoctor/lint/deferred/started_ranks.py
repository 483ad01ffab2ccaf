"""Whether a repository starts several ranks of what a finding is about. Impure: reads files."""

from __future__ import annotations

import ast
import os
import posixpath
import re
from collections.abc import Iterator, Mapping

from ddpdoctor.lint.deferred import given_options, rank_starters
from ddpdoctor.lint.deferred.confirmation import Confirmation, path_of
from ddpdoctor.lint.deferred.joined_groups import makes_none
from ddpdoctor.lint.deferred.launch_scripts import LAUNCHED, is_one_on_its_node, says_launched
from ddpdoctor.lint.deferred.launches import place_of
from ddpdoctor.lint.deferred.open_findings import IF_SEVERAL_COME, OF_SEVERAL_RANKS, depends_on_the_start
from ddpdoctor.lint.deferred.repository import Repository
from ddpdoctor.lint.files import is_file, read_file
from ddpdoctor.model.finding import Finding, Severity
from ddpdoctor.model.late_pattern import late_pattern
from ddpdoctor.program import source
from ddpdoctor.program.enclosing import choices_at
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.text import text_of

#: something makes this program one of several ranks; who asks whether a network is in DDP does not put it there
SEVERAL = late_pattern(
    rb"init_process_group|DistributedDataParallel\(|\bDDP\(|Accelerator\(|init_distributed|mp\."
    + rank_starters.SPAWN
    + rb"|get_rank\(|deepspeed\.initialize"
)


def starts_otherwise(repository: Repository, path: str) -> bool:
    """Whether the repository says how its programs are started, and this one, or any, is not by a launcher."""
    launches = repository.launches
    if place_of(launches.by_launcher, path) is not None or not (launches.launched or launches.as_one):
        return False
    is_program = b"__main__" in (read_file(path) or b"")
    return is_program or not launches.by_launcher


def starts_one(repository: Repository, path: str, command: bytes) -> bool:
    """Whether a command starts a program as one process, and the program starts no others."""
    if is_one_on_its_node(command):
        return True
    return LAUNCHED.search(command) is None and not repository.may_start_ranks(path, program=True)


#: of what needs several ranks, what costs memory or variety, or harms a first run alone: not worth a warning unless
#: ranks are seen to run
_MILD = frozenset({"DD124", "DD131", "DD136", "DD141", "DD173", "DD175"})
#: what does harm only where a sampler for several ranks is made
_WITH_SAMPLERS = frozenset({"DD101"})


def started_alone(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether the scripts and texts of the repository start the program as one process, and nothing starts ranks."""
    if not depends_on_the_start(finding):
        return None
    path, launches = path_of(finding), repository.launches
    if finding.severity is Severity.ERROR and finding.code in IF_SEVERAL_COME:
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
    # a number in a variable is there to be changed, unless another sampler is made where nothing tells of ranks
    by_setting = place_of(launches.as_one_by_setting, path) is not None
    by_launcher = place_of(launches.as_one_by_launcher, path) is not None
    chosen = finding.code in _WITH_SAMPLERS and not by_launcher and _is_chosen(path, finding.line)
    return Confirmation(said, Severity.WARNING if by_setting and not chosen else Severity.HINT, at, condition)


def _proven_of_one(repository: Repository, path: str) -> Confirmation | None:
    """Of a proof about several ranks, whether what uses the file is started as one process, and nothing as several."""
    users = repository.users_of(path)
    places = (place_of(repository.launches.as_one, user) for user in sorted(users or ()))
    at = next(filter(None, places), None)
    if at is None or _never_as_several(repository, path) is None:
        return None
    said, condition = "scripts and texts start what uses it as one process only", "if it is started as several ranks, "
    return Confirmation(said, Severity.HINT, at, condition)


def _beside_the_launched(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether several ranks are started of other programs, none of which uses this file, and it starts none itself."""
    path = path_of(finding)
    users = repository.users_of(path) if finding.severity is Severity.WARNING else None
    if users is None or any(SEVERAL.search(read_file(user) or b"") for user in users):
        return None
    alone = _never_as_several(repository, path)
    return alone._replace(condition="if several ranks run it, ") if alone is not None else None


def _is_chosen(path: str, line: int) -> bool:
    """Whether a line is under a condition, other than that the file is the program."""
    tree = source.tree_of(read_file(path) or b"")
    return tree is not None and any("__main__" not in text_of(test) for test in choices_at(tree, line))


#: a file starts ranks itself; Lightning's Trainer starts as many as the machine has devices
_SPAWNS = late_pattern(rb"\b" + rank_starters.SPAWN + rb"\(|\bstart_processes\(|\bnotebook_launcher\(|\bsubmitit\b")
_LIGHTNING, _TRAINER = b"lightning", late_pattern(rb"\bTrainer\(")
#: how many devices it is told to use
_DEVICES = late_pattern(rb"\b(?:devices|gpus)\s*=\s*[\[(\"']?\d")


def _spawns(text: bytes) -> bool:
    """Whether a file starts ranks itself, or has Lightning start them."""
    return _has_lightning_start(text) or _SPAWNS.search(text) is not None


def _has_lightning_start(text: bytes) -> bool:
    # one pattern for both names would look for the second one from each place of the first
    named = text.find(_LIGHTNING)
    if named < 0 or _TRAINER.search(text, named + len(_LIGHTNING)) is None:
        return False
    tree = source.tree_of(text) if _DEVICES.search(text) is not None else None
    made = [n for n in walk(tree) if isinstance(n, ast.Call) and last_name(n.func) == "Trainer"] if tree else []
    return not made or not all(map(_is_for_one_device, made))


def _is_for_one_device(trainer: ast.Call) -> bool:
    """Whether a Trainer of Lightning is told to use one device: `Trainer(devices=1)`."""
    given = {keyword.arg: keyword.value for keyword in trainer.keywords}
    devices = given.get("devices", given.get("gpus"))
    if isinstance(devices, (ast.List, ast.Tuple)):
        one = len(devices.elts) == 1
    else:
        one = isinstance(devices, ast.Constant) and devices.value in (1, "1")
    nodes = given.get("num_nodes")
    return one and None not in given and (nodes is None or (isinstance(nodes, ast.Constant) and nodes.value == 1))


def _never_as_several(repository: Repository, path: str, *, untold: bool = False) -> Confirmation | None:
    """Whether the scripts and texts say how programs are started, and none that uses this file as several ranks;
    `untold`: they need not say it, if there are any, and no script starts something of which it gives no name."""
    launches, users = repository.launches, repository.users_of(path)
    told = launches.launched or launches.as_one or (untold and launches.scripts and not launches.start_unnamed)
    if users is None or not told or repository.configurations.describe_a_job:
        return None
    if any(place_of(launches.as_several, user) is not None or launches.start_in(user) for user in users):
        return None
    if repository.launches_any and not any(place_of(launches.as_one, user) is not None for user in users):
        return None
    texts = {user: read_file(user) or b"" for user in users}
    # what those start that name the programs in their commands is known
    shown = [text for user, text in texts.items() if user not in launches.naming]
    used = (repository.used_by(path) or {}).values()
    # a program that a command starts as one process may leave it to what it imports to start the others
    starting = (*_without_options(repository, texts), *(used if place_of(launches.as_one, path) is not None else ()))
    if any(map(_spawns, starting)) or any(map(says_launched, shown)):
        return None
    if any(map(rank_starters.starts_launcher, (*shown, *used))):
        return None
    return Confirmation("no script or text starts several ranks of what uses it", Severity.HINT)


def _without_options(repository: Repository, texts: Mapping[str, bytes]) -> Iterator[bytes]:
    """Those of some programs that may start ranks without an option which nobody passes."""
    for path, text in texts.items():
        if not (_SPAWNS.search(text) is not None and repository.start_by_option(path)):
            yield text


def nowhere_as_several(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether nothing in the repository starts several ranks of the program, and that is all that would be wrong."""
    if finding.severity is not Severity.WARNING or finding.code not in _MILD | IF_SEVERAL_COME:
        return None
    alone = _never_as_several(repository, path_of(finding), untold=finding.code in _MILD)
    return alone._replace(condition="if several ranks run it, ") if alone is not None else None


#: what is asked of the whole project: who calls a download, what torch has at all
_ASKED_OTHERWISE = frozenset({"DD124", "DD127"})
#: what needs to be shown to run as several ranks before it is more than a hint
_TO_BE_SHOWN = (OF_SEVERAL_RANKS | IF_SEVERAL_COME | {"DD146"}) - _ASKED_OTHERWISE


#: of these, warnings are about what they are in, whatever program comes to it: a function, a sampler that it is given
_WHOEVER_COMES = frozenset({"DD101", "DD120"})


def unshown(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether the repository says how its programs are started, and starts several ranks of others only: what is found
    in a file that no command starts was seldom a fault at first looks, and in one that a command starts mostly."""
    launches, path = repository.launches, path_of(finding)
    if finding.severity is Severity.HINT or finding.code not in _TO_BE_SHOWN:
        return None
    if not (launches.launched or launches.as_one) or repository.configurations.describe_a_job:
        return None
    users = repository.users_of(path)
    # a proof is about what uses the file as well, and so is what does harm wherever several ranks come
    meant = {path} if finding.severity is Severity.WARNING and finding.code not in _WHOEVER_COMES else users
    if meant is None or any(_is_shown(repository, one) for one in meant):
        return None
    if any(_has_lightning_start_others(repository, user) for user in users or ()):
        return None
    said = "scripts and texts start several ranks of other programs" if launches.by_launcher else (
        "scripts and texts start programs as one process"
    )  # fmt: skip
    return Confirmation(said, Severity.HINT, condition="if several ranks run it, ")


#: of these, what is wrong lies between ranks of the same program, the first one among them as a rule
_BETWEEN_RANKS = frozenset({"DD111", "DD112", "DD115", "DD121", "DD140"})
#: the option by which a program is told its rank, and a number
_RANK, _NUMBER = frozenset({"rank"}), late_pattern(r"\d+")


def never_the_first(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether each command that starts a program gives it a rank other than 0: that is another program, a server."""
    if finding.code not in _BETWEEN_RANKS or finding.severity is Severity.HINT:
        return None
    commands = repository.launches.own_commands(path_of(finding))
    ranks = [given_options.value_in(command, _RANK) for command in commands]
    if not ranks or not all(map(_NUMBER.fullmatch, ranks)) or "0" in ranks:
        return None
    said = f"the scripts and texts start it as rank {', '.join(sorted(set(ranks)))} only"
    return Confirmation(said, Severity.HINT, condition="if it is started as rank 0, ")


def joins_none(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether it is in a program that makes no process group, although a file that it uses has a function that does."""
    if not depends_on_the_start(finding):
        return None
    path = path_of(finding)
    used = repository.used_by(path) if b"__main__" in (read_file(path) or b"") else None
    if used is None or not makes_none(used.values()):
        return None
    said = "nothing that the program runs comes to what makes a process group"
    return Confirmation(said, Severity.HINT, condition="if it is ever made one of several ranks, ")


def _is_shown(repository: Repository, path: str) -> bool:
    """Whether a command starts several ranks of a program, or it starts them itself, or may."""
    return place_of(repository.launches.as_several, path) is not None or _starts_its_ranks(repository, path)


def _has_lightning_start_others(repository: Repository, program: str) -> bool:
    """Whether a command starts a program as one process that has Lightning start the others."""
    as_one = place_of(repository.launches.as_one, program) is not None
    return as_one and _has_lightning_start(read_file(program) or b"")


def _starts_its_ranks(repository: Repository, path: str) -> bool:
    """Whether a program starts its ranks itself, or may: one that a command starts may leave that to what it imports;
    of one that none starts, what is unnamed may be it."""
    launches, text = repository.launches, read_file(path) or b""
    is_program = b"__main__" in text or path.endswith(".ipynb")
    if is_program and (launches.start_unnamed or launches.start_in(path)):
        return True
    if is_program and _spawns(text) and not _is_left_aside(repository, path):
        return True
    return place_of(launches.as_one, path) is not None and repository.may_start_ranks(path, program=True)


def _is_left_aside(repository: Repository, path: str) -> bool:
    """Whether scripts and texts start other programs of the repository, and nothing in it names or imports this one:
    what it was made for is done."""
    launches = repository.launches
    started = {**launches.by_launcher, **launches.as_one}
    if not any(map(is_file, started)) or launches.shown_commands(path) or repository.users_of(path) != {path}:
        return False
    name = re.escape(os.fsencode(posixpath.splitext(posixpath.basename(path))[0]))
    word = re.compile(rb"(?<![\w-])" + name + rb"(?![\w-])")
    return not any(map(word.search, launches.scripts.values()))


def of_a_trainer(repository: Repository, finding: Finding) -> Confirmation | None:
    """Of what a trainer gets, which starts no ranks itself: where several of what uses the file are started, or that
    nothing in the repository starts any."""
    path, launches = path_of(finding), repository.launches
    users = sorted(repository.users_of(path) or {path})
    at = next(filter(None, (place_of(launches.as_several, user) for user in users)), None)
    if at is not None:
        return Confirmation("several ranks of it are started here", at=at)
    alone = _never_as_several(repository, path, untold=True)
    return alone._replace(condition="if several ranks run it, ") if alone is not None else None


def one_process(repository: Repository, finding: Finding) -> Confirmation | None:
    """Whether a script or text starts it without a launcher."""
    at = repository.launches.alone.get(path_of(finding))
    return Confirmation("it is started here without a launcher", at=at) if at is not None else None

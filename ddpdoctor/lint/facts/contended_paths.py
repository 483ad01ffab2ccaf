"""Paths that every rank looks for and then makes, downloads, moves or removes: what one rank does changes the answer
of the others.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from enum import Enum
from functools import lru_cache

from ddpdoctor.lint.facts import attendance, file_contents, paths, touched_files
from ddpdoctor.lint.facts.attendance import Attended
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent, Guard
from ddpdoctor.lint.interpreter.trace import BlockExit, Branch, steps
from ddpdoctor.lint.knowledge import filesystem, frameworks, heuristics
from ddpdoctor.lint.knowledge.filesystem import Use
from ddpdoctor.lint.values.tags import ANY_RANK, MADE_UP, Tag
from ddpdoctor.lint.values.values import Symbol, Taint, Value
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.sites import SourceSite
from ddpdoctor.program.text import expression_of, text_of


class Contest(Enum):
    """What all ranks do with the path."""

    FETCHES = "download to it"
    COMPLETES = "download this data set, where it is missing,"
    BUILDS = "build and write it"
    MAKES = "create it"
    REMOVES = "remove it"
    MOVES = "move or link to it"
    COPIES = "copy a folder to it"


class Contended(NamedTuple):
    """A call that all ranks run on one path, where only the first one can succeed, or all write at once."""

    call: CallEvent
    contest: Contest
    #: the test for the path that it is under, if any
    asked: Guard | None
    attended: Attended
    #: where the same is done later, for a setting with which it is not done here, perhaps
    also: tuple[SourceSite, ...] = ()


def contended(facts: ModuleFacts) -> Iterator[Contended]:
    """Calls that ranks spoil for each other, in the order of execution."""
    for call in facts.concerning(_may_contest):
        contest = _contest(call)
        # a download is tried again after an error, but its file may be broken without one
        handled = call.context.handler == "except" or (call.context.handler and contest is not Contest.FETCHES)
        if contest is None or handled or _suppressed(call) or file_contents.stays_empty(facts, call):
            continue
        # an outer one may ask for another path, and give up
        asked = next((g for g in reversed(call.context.guards) if asks(g)), None)
        if asked is not None and contest is Contest.FETCHES and _of_another_path(call, asked):
            asked = None
        path, node = paths.path_of(call)
        found = contest is Contest.REMOVES and _listed_alike(facts, call, paths.listings(call, node))
        if asked is None and not found and contest not in _UNASKED:
            continue
        if path is not None and not paths.one_path(facts, call, path, node, found=found):
            continue
        if contest in _FOR_ITSELF and (_before_the_others(facts, call) or _done_by_some(facts, call)):
            continue
        attended = attendance.on_every_rank(facts, call, fetches=contest in _FOR_ITSELF)
        if attended is not None:
            yield Contended(call, contest, asked, attended)


def _of_another_path(call: CallEvent, asked: Guard) -> bool:
    """Whether a caller asks for a path, and nothing that is passed says what is fetched, or where to: the features of a
    batch are, not a file."""
    function = call.context.function
    given: list[ast.expr | ast.keyword] = [*call.node.args, *(keyword.value for keyword in call.node.keywords)]
    if function is None or not given or any(keyword.arg is None for keyword in call.node.keywords):
        return False
    around, site = function.node, asked.site
    inside = site.file == call.site.file and around.lineno <= site.line <= (around.end_lineno or site.line)
    return not inside and not any(map(_names_place, [*given, *call.node.keywords]))


def _names_place(given: ast.expr | ast.keyword) -> bool:
    """Whether an argument is a text, or a name in it says that it is about a file."""
    if isinstance(given, ast.keyword):
        return heuristics.NAMES_PLACE.found_in(given.arg or "")
    names = (last_name(node) for node in walk(given) if isinstance(node, (ast.Name, ast.Attribute)))
    texts = (node for node in walk(given) if isinstance(node, (ast.JoinedStr, ast.Constant)))
    return heuristics.NAMES_PLACE.found_in_any(names) or any(
        isinstance(node, ast.JoinedStr) or isinstance(node.value, str) for node in texts
    )


def _before_the_others(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether Lightning's trainer starts the other ranks after the script's first process came by here."""
    return call.context.from_script and bool(facts.named(frameworks.LIGHTNING))


def _done_by_some(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether some ranks come to the same call before: they go first, as a rule, and the others find what they did."""
    same = facts.calls_by_site.get(call.site, ())
    return any(other.index < call.index and other.context.some_ranks_only for other in same)


def _listed_alike(facts: ModuleFacts, call: CallEvent, listings: list[ast.Call]) -> bool:
    """Whether all ranks have listed the same folders: what they found there does not say of which rank it is."""
    wanted = {id(node) for node in listings}
    if not wanted:
        return False
    same = [c for c in facts.calls if id(c.node) in wanted and c.context.calls[:1] == call.context.calls[:1]]
    given = [value for c in same for value in (c.receiver, *c.args) if value is not None]
    return bool(same) and not any(v.tags & (ANY_RANK | Tag.IN_GROUP | MADE_UP) or len(v.atoms) > 1 for v in given)


def data_sets(facts: ModuleFacts) -> Iterator[Contended]:
    """The first data set of torchvision of each kind that every rank makes, and tells, or may tell, to download what is
    missing."""
    kinds: dict[tuple[str, bool], list[CallEvent]] = {}
    for call in facts.concerning(_of_torchvision):
        told = _told_to_download(call)
        if told or may_download(call):
            kinds.setdefault((call.path, told), []).append(call)
    # where another process has made it before, it finds the data
    for call, *later in kinds.values():
        if call.context.handler or _suppressed(call) or _of_one_process_too(facts, call):
            continue
        if _before_the_others(facts, call):
            continue
        path, node = call.argument(0, "root"), paths.argument_of(call.node, 0, "root")
        if path is not None and not paths.one_path(facts, call, path, node):
            continue
        attended = attendance.on_every_rank(facts, call, fetches=True)
        if attended is not None:
            also = tuple(one.site for one in later)
            yield Contended(call, Contest.COMPLETES, None, attended, also)


def _told_to_download(call: CallEvent) -> bool:
    given = call.keyword("download")
    return given is not None and given.constant is True


def may_download(call: CallEvent) -> bool:
    """Whether a setting that is the same for all ranks tells it: `download=self.download`."""
    given = call.keyword("download")
    if given is None or given.known or given.taint > Taint.UNKNOWN or given.tags & ANY_RANK:
        return False
    texts = (text_of(k.value) for k in call.node.keywords if k.arg == "download")
    return not heuristics.CHOOSES_RANK.found_in_any(texts)


def _of_torchvision(name: str) -> bool:
    return name.startswith(filesystem.DATA_SETS)


def _of_one_process_too(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether some ranks, or the process that spawns them, make the data set alone: they go first, as a rule."""
    spawns = {spawn.site for spawn in facts.named(*frameworks.SPAWNING)}
    made = facts.named(call.path)
    spawned = {other.site for other in made if spawns.intersection(other.context.chain)}
    return any(other.context.some_ranks_only or (spawns and other.site not in spawned) for other in made)


def asks(guard: Guard) -> bool:
    """Whether the condition is on what is found on the disk."""
    if guard.value.tags & Tag.FILE or guard.value.taint is Taint.FILES:
        return True
    return heuristics.ASKS_DISK.found_in(guard.text)


#: what is asked of the disk, and the side of the answer
Question = tuple[int, bool, bool]


def question(contest: Contest, asked: Guard | None) -> Question | None:
    """What ranks ask before they fetch or build something that all need: who asks the same finds what has been made
    since. None if they ask nothing, or the answer is not known to be one."""
    if asked is None or contest not in _FOR_ITSELF or len(asked.value.atoms) != 1:
        return None
    atom = asked.value.atoms[0]
    return (atom.key, atom.negated, asked.side) if isinstance(atom, Symbol) else None


def chosen(call: CallEvent) -> bool:
    """Whether the call depends on something else than the disk that nobody knows: `if name in KNOWN: download(...)`."""
    return any(guard.value.taint is Taint.UNKNOWN and not asks(guard) for guard in call.context.guards)


def asked_before(facts: ModuleFacts) -> Iterator[tuple[SourceSite, CallEvent, Attended]]:
    """Where all ranks give up if a path exists, each with the call by which all ranks then make that path."""
    if not facts.races:
        return
    refusing = {
        node.site
        for root in facts.analysis.roots
        for node, *_ in steps(root.trace)
        if isinstance(node, Branch) and node.site in facts.races and _raises(node)
    }
    for site in sorted(refusing):
        call = next(iter(facts.calls_by_site.get(facts.races[site], ())), None)
        attended = attendance.on_every_rank(facts, call) if call is not None else None
        if call is not None and attended is not None:
            yield site, call, attended


def made_apart(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether the program makes the path only with the rank added to it, and not the one that the call removes:
    `os.remove(log)`, `open(f"{log}_{rank}", "w")`."""
    path, node = paths.path_of(call)
    parts = touched_files.parts_of(path) if path is not None else None
    if node is None or parts is None or paths.listings(call, node):
        return False  # what a folder was listed for is there
    made = (t.parts for t in touched_files.touches(facts) if t.use in filesystem.CHANGES and t.use is not Use.REMOVES)
    if any(other[: len(parts)] == parts for other in made):
        return False
    begin = text_of(node)
    others = (paths.path_of(other) for other in facts.concerning(_may_contest))
    return any(
        value is not None and value.tags & ANY_RANK and longer is not None and begin in text_of(longer)
        for value, longer in others
    )


#: how the names of classes of data sets end
_DATA_SETS = ("Dataset", "DatasetBase")
#: what every rank makes for itself
_MADE_BY_ALL = ("Dataset", "DataModule", "Module")
#: methods that run wherever there is an object
_BY_ITSELF = frozenset({"__init__", "__post_init__", "__getitem__", "__iter__", "__len__", "forward", "setup"})


def of_every_rank(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether it is in a module of data sets or networks, which each rank makes for itself, and not in a script."""
    module = facts.module
    if call.context.from_script or "__main__" in module.text or _uncalled(call):
        return False
    bases = (last_name(base) for info in module.classes for base in info.node.bases)
    return any(base.endswith(_MADE_BY_ALL) for base in bases)


def _uncalled(call: CallEvent) -> bool:
    """Whether it is in a method that only other files can call."""
    function = call.context.function
    if call.context.chain or function is None or function.owner is None:
        return False
    return function.name not in _BY_ITSELF


def _raises(branch: Branch) -> bool:
    """It gives up because the path is there, and because of that alone: with more in the condition, nothing shows that
    both can happen."""
    atom = branch.truth[0]
    if not isinstance(atom, Symbol) or atom.parts is not None:
        return False
    found = branch.other if atom.negated else branch.then
    return any(isinstance(n, BlockExit) and n.kind == "raise" for n in found)


@lru_cache(maxsize=1 << 12)
def _may_contest(name: str) -> bool:
    """Whether a call of this name can be more than None to `_contest`."""
    last = name.rpartition(".")[2]
    known = last in filesystem.OF_PATHS if name.startswith(".") else filesystem.function(name) is not None
    written = name.startswith(".") and last in filesystem.OF_OBJECTS
    return known or written or name == filesystem.OPEN or heuristics.DOWNLOADS.found_in(last)


def _contest(call: CallEvent) -> Contest | None:
    if fetches(call):
        return Contest.FETCHES
    if heuristics.DOWNLOADS.found_in(call.method or call.path.rpartition(".")[2]):
        return None if call.path in filesystem.DOWNLOADED_SAFELY else Contest.FETCHES
    if builds(call):
        return Contest.BUILDS
    row = filesystem.function(call.path) if call.path else filesystem.OF_PATHS.get(call.method)
    if row is None:
        return None
    if row.use is Use.MAKES_FOLDER:
        return None if _given_true(call, "exist_ok") else Contest.MAKES
    if call.path == _COPIES:
        return None if _given_true(call, "dirs_exist_ok") else Contest.COPIES
    if row.use is Use.REMOVES:
        return None if _given_true(call, "missing_ok") or _given_true(call, "ignore_errors") else Contest.REMOVES
    return Contest.MOVES if row.use is Use.MOVES and call.path not in _REPEATABLE else None


#: fail if the path is there, whether or not the program has looked for it
_UNASKED = frozenset({Contest.MOVES, Contest.COPIES})
#: copies a folder to a path where there must be none
_COPIES = "shutil.copytree"
#: moves that succeed again, because they replace what is there: the second rank finds no source, which is seldom meant
_REPEATABLE = frozenset({"shutil.move"})


def fetches(call: CallEvent) -> bool:
    """Whether it writes a file in a function that downloads."""
    row = filesystem.function(call.path) if call.path else None
    if call.path in filesystem.DOWNLOADED_SAFELY:
        return False
    if call.path != filesystem.OPEN and (row is None or row.use not in (Use.WRITES_FILE, Use.FILLS)):
        return False
    return _writes(call) and heuristics.DOWNLOADS.found_in_any(_last(call))


#: what a program does when it makes a data set or a network, and so in every rank
_FOR_ITSELF = frozenset({Contest.FETCHES, Contest.BUILDS})


def builds(call: CallEvent) -> bool:
    """Whether a data set writes what it has found missing, to read it the next time."""
    function = call.context.function
    owner = function.owner if function is not None else None
    if owner is None or not any(last_name(base).endswith(_DATA_SETS) for base in owner.node.bases):
        return False
    return _fills(call) and any(asks(guard) and _missing(guard) for guard in call.context.guards)


def _fills(call: CallEvent) -> bool:
    """Whether it writes a file, or files in a folder."""
    if call.path == filesystem.OPEN:
        return _writes(call)
    row = filesystem.function(call.path) if call.path else filesystem.OF_OBJECTS.get(call.method)
    return row is not None and row.use in (Use.WRITES_FILE, Use.FILLS) and row.name != "save_directory"


def _missing(guard: Guard) -> bool:
    """Whether the condition holds where something is not on the disk."""
    tree = expression_of(guard.text)
    if tree is None:
        return False
    denied = set[int]()
    for node in walk(tree):
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            denied ^= {id(inner) for inner in walk(node.operand)}  # twice is not at all
    asking = [node for node in walk(tree) if isinstance(node, ast.Call) and _asks_disk(node)]
    return any((id(node) in denied) is guard.side for node in asking)


def _asks_disk(node: ast.Call) -> bool:
    return heuristics.ASKS_DISK.found_in(last_name(node.func))


def _writes(call: CallEvent) -> bool:
    mode = call.argument(1, "mode") if call.path == filesystem.OPEN else None
    return call.path != filesystem.OPEN or (mode is not None and str(mode.constant)[:1] in ("w", "x"))


def _last(call: CallEvent) -> list[str]:
    """The names of the functions on the way to the call, without their classes."""
    return [name.rpartition(".")[2] for name in call.context.calls]


def _given_true(call: CallEvent, name: str) -> bool:
    value: Value | None = call.keyword(name)
    return call.opaque or (value is not None and not (value.known and not value.constant))


def _suppressed(call: CallEvent) -> bool:
    return any("suppress" in entered or heuristics.TAKES_TURNS.found_in(entered) for entered in call.context.withs)

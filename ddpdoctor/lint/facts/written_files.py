"""Files written for the job as a whole: which calls write them, to which path, and on which ranks."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from ddpdoctor.lint.facts import all_ranks, blocks, launch
from ddpdoctor.lint.facts.all_ranks import Witness
from ddpdoctor.lint.facts.module_facts import ModuleFacts, Unconfirmed
from ddpdoctor.lint.interpreter.events import CallEvent, Guard
from ddpdoctor.lint.knowledge import filesystem, heuristics, vocabulary
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.tags import ANY_RANK, BY_RANK, MADE_UP, Tag
from ddpdoctor.lint.values.values import WORLD, Taint, Value
from ddpdoctor.model.finding import RelatedRole, Severity
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.modules import Module
from ddpdoctor.program.nodes import decorator_name, last_name, walk
from ddpdoctor.program.sites import SourceSite
from ddpdoctor.program.text import text_of

#: what writes curves to a folder
_LOGS = ("torch.utils.tensorboard.SummaryWriter", "torch.utils.tensorboard.writer.SummaryWriter",
         "tensorboardX.SummaryWriter")  # fmt: skip
#: calls that create a record of the run
_RUNS = ("wandb.init", "mlflow.start_run")


def files(facts: ModuleFacts) -> list[tuple[CallEvent, Value, ast.expr | None]]:
    """(call, path, the path's expression) of every call that writes a file."""
    found: list[tuple[CallEvent, Value, ast.expr | None]] = []
    for name, row in filesystem.RESULTS.items():
        for call in facts.named(name):
            path = call.argument(row.position, row.name)
            if path is not None and (not row.plain or _near(facts, call)):
                found.append((call, path, _written(call.node, row.position, row.name)))
    for call in facts.named("builtins.open"):
        mode, path = call.argument(1, "mode"), call.argument(0, "file")
        # a file opened for appending may be meant for all ranks
        writes = mode is not None and str(mode.constant).startswith(("w", "x"))
        if path is not None and writes and _near(facts, call):
            found.append((call, path, _written(call.node, 0, "file")))
    for call in facts.methods("save"):
        path = call.argument(0, "f")
        if path is not None and _scripted(call.receiver):
            found.append((call, path, _written(call.node, 0, "f")))
    for call in facts.methods("save_pretrained"):
        path = call.argument(0, "save_directory")
        if path is not None and call.keyword("is_main_process") is None:
            found.append((call, path, _written(call.node, 0, "save_directory")))
    return found


def _near(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether it is in this file, or called directly from it: deeper in the calls it is seldom clear that the file is
    written at all.
    """
    sites = (*call.context.chain, call.site)
    return facts.module.path in (site.file for site in sites[-2:])


def runs(facts: ModuleFacts) -> list[CallEvent]:
    """Calls that start a run in an experiment tracker."""
    return facts.named(*_RUNS)


def logs(facts: ModuleFacts) -> list[tuple[CallEvent, Value, ast.expr | None]]:
    """(call, folder, the folder's expression) of every writer of curves that is given a folder."""
    found: list[tuple[CallEvent, Value, ast.expr | None]] = []
    for call in facts.named(*_LOGS):
        folder, name = (0, "log_dir") if call.argument(0, "log_dir") is not None else (0, "logdir")
        path = call.argument(folder, name)
        if path is not None and _near(facts, call):
            found.append((call, path, _written(call.node, folder, name)))
    return found


def draws_on_one_rank(facts: ModuleFacts) -> bool:
    """Whether the curves are left to some ranks: the writers of the others make files without any."""
    uses = facts.methods("add_scalar", "add_scalars", "add_histogram", "add_image")
    chosen = [
        use.context.some_ranks_only or any(heuristics.CHOOSES_RANK.found_in(g.text) for g in use.context.guards)
        for use in uses
    ]
    return bool(chosen) and all(chosen)


def _scripted(value: Value | None) -> bool:
    """Whether it is a network that was compiled to a script, which has a `save` of its own."""
    return value is not None and getattr(value.object, "path", "") in filesystem.SAVE_THEMSELVES


def path_of(call: CallEvent) -> tuple[Value | None, ast.expr | None]:
    """The path that a function of the table is given, or whose method is called, and its expression."""
    if call.path == filesystem.OPEN:
        return call.argument(0, "file"), _written(call.node, 0, "file")
    row = filesystem.function(call.path) if call.path else None
    if row is not None:
        return call.argument(row.position, row.name), _written(call.node, row.position, row.name)
    if call.method in filesystem.OF_PATHS and isinstance(call.node.func, ast.Attribute):
        return call.receiver, call.node.func.value
    if len(call.node.args) > 1 and len(call.args) > 1:
        return call.args[1], call.node.args[1]
    return None, None


def _written(node: ast.Call, position: int, keyword: str) -> ast.expr | None:
    if position < len(node.args):
        return node.args[position]
    return next((k.value for k in node.keywords if k.arg == keyword), None)


def one_path(facts: ModuleFacts, call: CallEvent, path: Value, node: ast.expr | None) -> bool:
    """Whether the path is equal on every rank and node: nothing that it is made of names a process or a moment."""
    if len(path.atoms) > 1 or path.tags & (ANY_RANK | Tag.IN_GROUP | MADE_UP) or path.taint > path.taint.FILES:
        return False
    if path.object is not None and getattr(path.object, "path", "").startswith(("io.", "tempfile.")):
        return False
    if path.known:
        return isinstance(path.constant, str) and not heuristics.OWN_PATH.found_in(path.constant)
    if node is None:
        return False
    text = spelled_out(call, node)
    called = set(_called(text)) - vocabulary.PATH_FUNCTIONS
    if heuristics.OWN_PATH.found_in(text) or not all(_makes_path(call.context.module, name) for name in called):
        return False
    return not heuristics.NAMES_RANK.found_in_any(_given(facts, call, node))


@lru_cache(maxsize=256)
def _makes_path(module: Module, name: str) -> bool:
    """Whether a function of the file makes a path out of settings, the same in every process."""
    bodies = [node.body for node in module.of(ast.FunctionDef) if node.name == name]
    texts = [text_of(statement) for body in bodies for statement in body]
    return bool(texts) and not any(
        heuristics.OWN_PATH.found_in(text) or set(_called(text)) - vocabulary.PATH_FUNCTIONS for text in texts
    )


@lru_cache(maxsize=256)
def _assigned(module: Module) -> dict[str, tuple[ast.Assign, ...]]:
    """The assignments to each plain name of a file."""
    found: dict[str, tuple[ast.Assign, ...]] = {}
    for node in module.of(ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name):
                found[target.id] = (*found.get(target.id, ()), node)
    return found


#: variables that are followed, one in the value of another
_DEEPEST = 3


def spelled_out(call: CallEvent, node: ast.expr) -> str:
    """The expression's source, with that of the variables in it that the call can see: of its function, and of the
    file.
    """
    return " ".join(expressions(call, node))


def expressions(call: CallEvent, node: ast.expr, depth: int = _DEEPEST) -> list[str]:
    """The source of the expression, and of those that its variables are assigned."""
    return _spelled(call.context.module, _function(call), node, depth)


def _spelled(module: Module, function: ast.AST | None, node: ast.expr, depth: int) -> list[str]:
    parts = [text_of(node)]
    for name in _variables(node) if depth else ():
        for value in _values(module, function, name):
            parts += _spelled(module, function, value, depth - 1)
    return parts


def _variables(node: ast.expr) -> set[str]:
    """The variables in an expression: of `options.folder` the folder matters, not how the options were made."""
    owners = {id(n.value) for n in walk(node) if isinstance(n, ast.Attribute)}
    return {n.id for n in walk(node) if isinstance(n, ast.Name) and id(n) not in owners}


def assigned(call: CallEvent, name: str) -> list[ast.expr]:
    """What the variable is assigned where the call can see it: in its function, and in the file."""
    return list(_values(call.context.module, _function(call), name))


def _values(module: Module, function: ast.AST | None, name: str) -> Iterator[ast.expr]:
    for statement in _assigned(module).get(name, ()):
        if innermost_function(module.tree, statement.lineno) in (function, None):
            yield statement.value


def _given(facts: ModuleFacts, call: CallEvent, node: ast.expr) -> list[str]:
    """The source of the arguments that the function was given for the variables in the expression, by the call of it
    that led here."""
    if call.context.function is None or not call.context.chain:
        return []
    site = call.context.chain[-1]
    module = blocks.module_of(facts, site)
    caller = next((n for n in module.of(ast.Call) if _at(n, site)), None) if module is not None else None
    if module is None or caller is None:
        return []
    around = innermost_function(module.tree, site.line)
    names = [parameter.arg for parameter in call.context.function.parameters]
    if call.context.function.owner is not None and isinstance(caller.func, ast.Attribute):
        names = names[1:]
    given = {**dict(zip(names, caller.args, strict=False)), **{k.arg: k.value for k in caller.keywords if k.arg}}
    # the name of a parameter is often that of a variable in it
    wanted = {name for text in expressions(call, node) for name in _names(text)}
    texts = (_spelled(module, around, value, _DEEPEST) for name, value in given.items() if name in wanted)
    return [text for parts in texts for text in parts]


def _at(node: ast.Call, site: SourceSite) -> bool:
    return (node.lineno, node.end_lineno) == (site.line, site.end_line) and node.col_offset + 1 == site.column


#: what lists a folder, as a function or a method of a path
_LISTING = frozenset({"glob", "iglob", "rglob", "listdir", "scandir", "iterdir"})


def numbered(call: CallEvent, node: ast.expr | None) -> bool:
    """Whether the path contains a number that is counted from what is in a folder: `len(os.listdir(folder))`."""
    if node is None:
        return False
    try:
        parts = [ast.parse(text) for text in expressions(call, node)]
    except SyntaxError:
        return False
    counts = (
        n for part in parts for n in walk(part) if isinstance(n, ast.Call) and last_name(n.func) in ("len", "max")
    )
    return any(isinstance(n, ast.Call) and last_name(n.func) in _LISTING for count in counts for n in walk(count))


def _called(text: str) -> Iterator[str]:
    """Names of functions that are called in a source text."""
    for part in text.split("(")[:-1]:
        name = part.rstrip()
        start = len(name)
        while start and (name[start - 1].isalnum() or name[start - 1] == "_"):
            start -= 1
        if name[start:]:
            yield name[start:]


def _function(call: CallEvent) -> ast.AST | None:
    return innermost_function(call.context.module.tree, call.site.line)


#: how a condition can differ between ranks that all look at one disk
_APART = (BY_RANK & ~Tag.FILE) | Tag.OWN_FILE


class Attendance(Enum):
    """How it is known that every rank comes to a call."""

    #: the script itself leads there
    PROVED = "proved"
    #: the function does something that only all ranks do together, or tells ranks apart beside the call
    SHOWN = "shown"
    #: nothing excludes it: the callers are not visible
    POSSIBLE = "possible"
    #: nothing in the file has to do with ranks: only its callers in the project can show it
    ELSEWHERE = "elsewhere"


#: what has to hold of the callers, as the beginning of a message
_CONDITIONS = {
    Attendance.POSSIBLE: "unless all callers leave it to one rank, ",
    Attendance.ELSEWHERE: "if its callers run on several ranks, ",
}


class Attended(NamedTuple):
    """That every rank comes to a call, and what shows it."""

    how: Attendance
    witness: Witness | None = None

    @property
    def severity(self) -> Severity:
        """A hint if callers that cannot be seen may leave it to one rank."""
        return Severity.HINT if self.unsure else Severity.WARNING

    @property
    def unsure(self) -> bool:
        """Whether the callers decide."""
        return self.how in (Attendance.POSSIBLE, Attendance.ELSEWHERE)

    @property
    def condition(self) -> str:
        """What has to hold of the callers, as the beginning of a message."""
        return _CONDITIONS.get(self.how, "")

    def open_at(self, facts: ModuleFacts, call: CallEvent) -> Unconfirmed | None:
        """The call, if its callers may be in other files of the project, which then decide."""
        if not self.unsure or call.context.from_script or call.site.file != facts.module.path:
            return None
        elsewhere = self.how is Attendance.ELSEWHERE
        return Unconfirmed(call.site, RelatedRole.UNREACHED if elsewhere else RelatedRole.UNCONFIRMED)

    @property
    def related(self) -> tuple[tuple[SourceSite, str], ...]:
        return ((self.witness.site, self.witness.text),) if self.witness is not None else ()


def on_every_rank(facts: ModuleFacts, call: CallEvent, *, fetches: bool = False) -> Attended | None:
    """Whether every rank of a job reaches the call, and no condition or decorator may choose one.

    `fetches`: what it does is worth a look also in a file that does not know of ranks.
    """
    context = call.context
    if context.some_ranks_only or context.handler == "except" or _asserted(call) or launch.tested_alone(facts):
        return None
    if not all(_harmless(facts, guard) for guard in context.guards):
        return None
    if heuristics.TAKES_TURNS.found_in_any(context.withs) or _in_turn(facts, call) or all_ranks.in_turns(facts, call):
        return None
    if any(_decorated(m, context.calls) for m in (facts.module, *facts.analysis.reached.values())):
        return None
    if context.from_script and launch.several(facts, call):
        return Attended(Attendance.PROVED)
    shown = all_ranks.witness(facts, call)
    if shown is not None:
        return Attended(Attendance.SHOWN, shown)
    return _possibly(facts, call, fetches=fetches)


def _asserted(call: CallEvent) -> bool:
    """Whether an assertion before it in its function may leave one rank, or a condition under which the others return,
    perhaps inside of another one: `if distributed: ...; if rank != 0: return`."""
    function = _function(call)
    for node in walk(function) if function is not None else ():
        if not isinstance(node, (ast.Assert, ast.If)) or not heuristics.NAMES_RANK.found_in(text_of(node.test)):
            continue
        leaves = isinstance(node, ast.Assert) or any(isinstance(n, ast.Return) for s in node.body for n in walk(s))
        if leaves and (node.end_lineno or node.lineno) < call.site.line:
            return True
    return False


def by_several(facts: ModuleFacts, call: CallEvent) -> tuple[list[int], SourceSite] | None:
    """The ranks that reach the call where a condition on the rank lets through some of them, but more than one, with
    the place of that condition; None if it is another number of ranks, or something else may choose one of them."""
    context = call.context
    ranks = [rank for rank in range(WORLD) if context.mask >> rank & 1]
    chosen = [guard for guard in context.guards if len(guard.truth) > 1]
    if not 1 < len(ranks) < WORLD or not chosen or context.handler == "except":
        return None
    if not all(guard in chosen or _harmless(facts, guard) for guard in context.guards):
        return None
    if heuristics.TAKES_TURNS.found_in_any(context.withs) or _in_turn(facts, call) or all_ranks.in_turns(facts, call):
        return None
    return ranks, chosen[-1].site


def _possibly(facts: ModuleFacts, call: CallEvent, *, fetches: bool) -> Attended | None:
    """Where nothing shows that all ranks reach the call, and nothing that they do not."""
    if call.context.from_script:
        return Attended(Attendance.POSSIBLE) if fetches and launch.uses_framework(facts) else None
    if not fetches and not launch.knows_ranks(facts):
        here = call.site.file == facts.module.path
        return Attended(Attendance.ELSEWHERE) if here and not launch.in_one_process(facts, call) else None
    return Attended(Attendance.POSSIBLE, all_ranks.suspicion(facts, call))


def _in_turn(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether a function or class on the way is used elsewhere in a context that lets the ranks through in turn."""
    names = {part for name in call.context.calls for part in name.split(".")}
    return any(names & _used_in_turn(m) for m in (facts.module, *facts.analysis.reached.values()))


@lru_cache(maxsize=256)
def _used_in_turn(module: Module) -> frozenset[str]:
    """What a file calls in contexts that let the ranks through one after the other."""
    blocks = [
        block for block in module.of(ast.With) for item in block.items
        if isinstance(item.context_expr, ast.Call)
        and heuristics.TAKES_TURNS.found_in(last_name(item.context_expr.func))
    ]  # fmt: skip
    inside = (node for block in blocks for statement in block.body for node in walk(statement))
    return frozenset(last_name(node.func) for node in inside if isinstance(node, ast.Call))


def of_sample(call: CallEvent, node: ast.expr | None) -> bool:
    """Whether the path is made of a loop's variable that does not count: of a sample, which may be this rank's own."""
    if node is None:
        return False
    text = _names(spelled_out(call, node))
    for loop in call.context.loops:
        obj = loop.over.object if loop.over is not None else None
        counts = isinstance(obj, Made) and obj.path in ("builtins.range", "itertools.count")
        if not counts and text & _names(loop.target) and not heuristics.COUNTS_EPOCHS.found_in(loop.target):
            return True
    return False


def _names(text: str) -> set[str]:
    """The words of a source text that can be names of variables."""
    return {
        word for word in "".join(c if c.isalnum() or c == "_" else " " for c in text).split() if word.isidentifier()
    }


def _harmless(facts: ModuleFacts, guard: Guard) -> bool:
    """Whether the condition is on configuration or counters, and equal on all ranks as far as can be read."""
    if guard.value.taint in (Taint.UNIFORM, Taint.GIVEN, Taint.FILES) and not guard.value.tags & _APART:
        return True
    if heuristics.CHOOSES_RANK.found_in(guard.text):
        return False
    try:
        tree = ast.parse(guard.text, mode="eval")
    except SyntaxError:
        return False
    if any(isinstance(n, ast.Attribute) and _stored_by_rank(facts, n.attr) for n in walk(tree)):
        return False
    return all(_same_everywhere(facts, n.func) for n in walk(tree) if isinstance(n, ast.Call))


def _stored_by_rank(facts: ModuleFacts, name: str) -> bool:
    """Whether an attribute of this name is somewhere assigned what a condition on the rank gives."""
    return any(name in _chosen(module) for module in (facts.module, *facts.analysis.reached.values()))


@lru_cache(maxsize=256)
def _chosen(module: Module) -> frozenset[str]:
    """The attributes that are assigned the outcome of a condition which may be on the rank."""
    return frozenset(
        target.attr
        for node in module.of(ast.Assign)
        if isinstance(node.value, (ast.BoolOp, ast.Compare, ast.UnaryOp, ast.Call))
        and heuristics.NAMES_RANK.found_in(text_of(node.value))
        for target in node.targets
        if isinstance(target, ast.Attribute)
    )


def _same_everywhere(facts: ModuleFacts, function: ast.expr) -> bool:
    """Whether a function in a condition gives the same on every rank, or is one of this file, which was followed."""
    name = last_name(function)
    if name in heuristics.SAME_EVERYWHERE.words or heuristics.ASKS_DISK.found_in(name):
        return True
    own = isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "self"
    return own and any(name in info.methods for info in facts.module.classes)


def _decorated(module: Module, calls: tuple[str, ...]) -> bool:
    """Whether a function on the call path has a decorator of unknown effect."""
    functions = (*module.functions, *(m for c in module.classes for m in c.methods.values()))
    names = (decorator_name(d) for info in functions if info.qualname in calls for d in info.decorators)
    return any(name not in heuristics.PLAIN_DECORATORS.words for name in names)

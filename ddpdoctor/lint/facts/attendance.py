"""Whether every rank comes to a call: no condition, decorator or context on the way may choose one."""

from __future__ import annotations

import ast
from enum import Enum
from functools import lru_cache

from ddpdoctor.lint.facts import all_ranks, blocks, launch, single_process
from ddpdoctor.lint.facts.all_ranks import Witness
from ddpdoctor.lint.facts.module_facts import ModuleFacts, Unconfirmed
from ddpdoctor.lint.interpreter.classes import external_bases
from ddpdoctor.lint.interpreter.events import CallEvent, Guard
from ddpdoctor.lint.knowledge import frameworks, heuristics, vocabulary
from ddpdoctor.lint.knowledge.frameworks import kind
from ddpdoctor.lint.values.tags import BY_RANK, Tag
from ddpdoctor.lint.values.values import WORLD, Taint
from ddpdoctor.model.finding import RelatedRole, Severity
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.modules import Module, once
from ddpdoctor.program.nodes import decorator_name, last_name, walk
from ddpdoctor.program.sites import SourceSite
from ddpdoctor.program.text import expression_of, text_of

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
    #: the script's trainer works with one process, and with several where several are started
    STARTED = "started"
    #: nothing in the file has to do with ranks: only its callers in the project can show it
    ELSEWHERE = "elsewhere"


#: what has to hold of the callers, as the beginning of a message
_CONDITIONS = {
    Attendance.POSSIBLE: "unless all callers leave it to one rank, ",
    Attendance.STARTED: "if several processes are started, ",
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
        return self.how in (Attendance.POSSIBLE, Attendance.STARTED, Attendance.ELSEWHERE)

    @property
    def condition(self) -> str:
        """What has to hold of the callers, as the beginning of a message."""
        return _CONDITIONS.get(self.how, "")

    def open_at(self, facts: ModuleFacts, call: CallEvent) -> Unconfirmed | None:
        """The call, if its callers may be in other files of the project, which then decide, or the scripts that start
        it."""
        if self.how is Attendance.STARTED and call.site.file == facts.module.path:
            return Unconfirmed(call.site, RelatedRole.UNSTARTED)
        if not self.unsure or call.context.from_script or call.site.file != facts.module.path:
            return None
        elsewhere = self.how is Attendance.ELSEWHERE
        return Unconfirmed(call.site, RelatedRole.UNREACHED if elsewhere else RelatedRole.UNCONFIRMED)

    @property
    def related(self) -> tuple[tuple[SourceSite, str], ...]:
        return ((self.witness.site, self.witness.text),) if self.witness is not None else ()


def on_every_rank(facts: ModuleFacts, call: CallEvent, *, fetches: bool = False, ever: bool = False) -> Attended | None:
    """Whether every rank of a job reaches the call, and no condition or decorator may choose one.

    `fetches`: what it does is worth a look also in a file that does not know of ranks; `ever`: also before a trainer
    has started to train.
    """
    context = call.context
    if context.some_ranks_only or context.handler == "except" or _left_before(facts, call) or _is_alone(facts, call):
        return None
    if not all(is_harmless(facts, guard) for guard in context.guards):
        return None
    if heuristics.TAKES_TURNS.found_in_any(context.withs) or _in_turn(facts, call) or all_ranks.in_turns(facts, call):
        return None
    if any(_may_be_left_out(facts, m, context.calls) for m in facts.modules):
        return None
    if left_to_the_first(facts, call):
        return None
    if context.from_script and launch.several(facts, call):
        return Attended(Attendance.PROVED)
    shown = all_ranks.witness(facts, call)
    if shown is not None:
        return Attended(Attendance.SHOWN, shown)
    return _possibly(facts, call, fetches=fetches, ever=ever)


def _left_before(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether some ranks may have left the function, or an iteration, before the call or a call that leads to it."""
    ways = ((blocks.module_of(facts, site), site) for site in (*call.context.chain, call.site))
    return any(module is not None and _left_in_function(module, site.line) for module, site in ways)


@once
def _left_in_function(module: Module, line: int) -> bool:
    """The same, of the function around a line."""
    function = innermost_function(module.tree, line)
    if function is None:
        return False
    if blocks.left_before(function, line, _names_rank, ast.Return):
        return True
    calls = (node for s in blocks.passed(function, line) for node in walk(s) if isinstance(node, ast.Call))
    return any(last_name(called.func) in _ending(module) for called in calls)


@once
def _ending(module: Module) -> frozenset[str]:
    """The functions of a file that end the processes of some ranks: `if not trainer.is_global_zero: sys.exit(0)`."""
    return frozenset(info.name for info in module.functions if any(map(_ends_ranks, walk(info.node))))


def _ends_ranks(node: ast.AST) -> bool:
    if not isinstance(node, ast.If):
        return False
    ends = [side[-1] for side in (node.body, node.orelse) if side]
    if not any(isinstance(end, ast.Expr) and blocks.leaves(end) for end in ends):
        return False
    return _names_rank(node.test) or last_name(_plain(node.test)) in vocabulary.FIRST_RANK_ATTRIBUTES


def _plain(test: ast.expr) -> ast.expr:
    """A condition without its negations."""
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test = test.operand
    return test


def _is_alone(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether the call is in a test of one process, or in a program that ends where there are several."""
    return launch.tested_alone(facts) or single_process.refuses_several(facts, (*call.context.chain, call.site))


def _names_rank(test: ast.expr) -> bool:
    return heuristics.NAMES_RANK.found_in(text_of(test))


def by_several(facts: ModuleFacts, call: CallEvent) -> tuple[list[int], SourceSite] | None:
    """The ranks that reach the call where a condition on the rank lets through some of them, but more than one, with
    the place of that condition; None if it is another number of ranks, or something else may choose one of them."""
    context = call.context
    ranks = [rank for rank in range(WORLD) if context.mask >> rank & 1]
    chosen = [guard for guard in context.guards if len(guard.truth) > 1]
    if not 1 < len(ranks) < WORLD or not chosen or context.handler == "except":
        return None
    if any(len({repr(guard.truth[rank]) for rank in ranks}) > 1 for guard in chosen):
        return None  # the last rank, say, of a pipeline, and the first where there is none
    if not all(guard in chosen or is_harmless(facts, guard) for guard in context.guards):
        return None
    if heuristics.TAKES_TURNS.found_in_any(context.withs) or _in_turn(facts, call) or all_ranks.in_turns(facts, call):
        return None
    return ranks, chosen[-1].site


def _possibly(facts: ModuleFacts, call: CallEvent, *, fetches: bool, ever: bool) -> Attended | None:
    """Where nothing shows that all ranks reach the call, and nothing that they do not."""
    if call.context.from_script:
        if launch.has_been_trained(facts, call, ever=ever):
            return Attended(Attendance.STARTED)
        return Attended(Attendance.POSSIBLE) if fetches and launch.uses_framework(facts) else None
    if not fetches and not launch.knows_ranks(facts):
        here = call.site.file == facts.module.path
        return Attended(Attendance.ELSEWHERE) if here and not launch.in_one_process(facts, call) else None
    return Attended(Attendance.POSSIBLE, all_ranks.suspicion(facts, call))


def _in_turn(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether a function or class on the way is used elsewhere in a context that lets the ranks through in turn."""
    names = {part for name in call.context.calls for part in name.split(".")}
    return any(names & _used_in_turn(m) for m in facts.modules)


@once
def _used_in_turn(module: Module) -> frozenset[str]:
    """What a file calls in contexts that let the ranks through one after the other."""
    blocks = [
        block for block in module.of(ast.With) for item in block.items
        if isinstance(item.context_expr, ast.Call)
        and heuristics.TAKES_TURNS.found_in(last_name(item.context_expr.func))
    ]  # fmt: skip
    inside = (node for block in blocks for statement in block.body for node in walk(statement))
    return frozenset(last_name(node.func) for node in inside if isinstance(node, ast.Call))


def is_harmless(facts: ModuleFacts, guard: Guard) -> bool:
    """Whether the condition is on configuration or counters, and equal on all ranks as far as can be read."""
    if _asks_for_one_process(guard.text, side=guard.side):
        return False
    if len(guard.truth) > 1:
        return False  # worked out from the rank, with what cannot be seen
    read = guard.value.taint in (Taint.GIVEN, Taint.FILES)
    if (guard.value.taint is Taint.UNIFORM or read) and not guard.value.tags & _APART:
        # a setting that is named after a rank is set by each process for itself
        return not (read and (heuristics.NAMES_RANK.found_in(guard.text) or _on_stored_rank(facts, guard)))
    if _on_kind_of_job(guard.text, side=guard.side):
        return True
    if heuristics.CHOOSES_RANK.found_in(guard.text):
        return False
    tree = expression_of(guard.text)
    if tree is None or any(isinstance(n, ast.Attribute) and _stored_by_rank(facts, n.attr) for n in walk(tree)):
        return False
    return all(_same_everywhere(facts, n.func) for n in walk(tree) if isinstance(n, ast.Call))


@lru_cache(maxsize=256)
def _asks_for_one_process(text: str, *, side: bool) -> bool:
    """Whether it has this outcome only for a network in `DataParallel`, with which one process trains on several
    devices."""
    test = expression_of(text) if "DataParallel" in text else None
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, side = test.operand, not side
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    calls = [part for part in parts if isinstance(part, ast.Call) and len(part.args) > 1]
    return side and any(last_name(c.func) == "isinstance" and last_name(c.args[1]) == "DataParallel" for c in calls)


def _on_kind_of_job(text: str, *, side: bool) -> bool:
    """Whether the condition is on how a framework runs the job, the same in all of its processes, and leaves several:
    `accelerator.distributed_type == DistributedType.DEEPSPEED`, `cfg.deepspeed`."""
    names = text.split(".")
    if side and names[-1] in heuristics.RUNS_SEVERAL.words:
        return all(map(str.isidentifier, names))
    return frameworks.KIND_OF_JOB in text and _leaves_several(text, side=side)


@lru_cache(maxsize=256)
def _leaves_several(text: str, *, side: bool) -> bool:
    """Whether it compares the kind of the job with one, and has this outcome for jobs of several processes."""
    test = expression_of(text)
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or last_name(test.left) != frameworks.KIND_OF_JOB:
        return False
    alone = last_name(test.comparators[0]) == frameworks.ONE_PROCESS
    if isinstance(test.ops[0], (ast.Eq, ast.Is)):
        return not (alone and side)
    return isinstance(test.ops[0], (ast.NotEq, ast.IsNot)) and not (alone and not side)


def _on_stored_rank(facts: ModuleFacts, guard: Guard) -> bool:
    """Whether the condition says that an attribute is 0 which holds a rank under another name:
    `self.gpu = config["local_rank"]`, `if self.gpu == 0`."""
    tree = expression_of(guard.text)
    compared = (n for n in (walk(tree) if tree is not None else ()) if isinstance(n, ast.Compare) and len(n.ops) == 1)
    pairs = ((n.left, n.comparators[0]) for n in compared if isinstance(n.ops[0], (ast.Eq, ast.NotEq)))
    kept = (a.attr for a, b in pairs if isinstance(a, ast.Attribute) and isinstance(b, ast.Constant) and b.value == 0)
    modules = facts.modules
    return any(name in _ranks(module) for name in kept for module in modules)


@once
def _ranks(module: Module) -> frozenset[str]:
    """The attributes that are assigned what is called a rank elsewhere."""
    return frozenset(
        target.attr
        for node in module.of(ast.Assign)
        if isinstance(node.value, (ast.Name, ast.Attribute, ast.Subscript))
        and heuristics.NAMES_RANK.found_in(text_of(node.value))
        for target in node.targets
        if isinstance(target, ast.Attribute)
    )


def left_to_the_first(facts: ModuleFacts, call: CallEvent) -> bool:
    """Whether a condition on the way says that a rank is 0, though its value cannot be seen: it is put together from
    options, say, kept in an attribute, or only a default that others replace."""
    if any(_says_first(guard.text, side=guard.side) for guard in call.context.guards):
        return True
    return any(_keeps_first(facts, site) for site in (*call.context.chain, call.site))


def _keeps_first(facts: ModuleFacts, site: SourceSite) -> bool:
    """Whether a place is on the side of an `if` on which a rank is 0, or in the body of one of an attribute that was
    assigned, somewhere, whether one is: what the attribute is after the branches that assign it may not be known."""
    module = blocks.module_of(facts, site)
    around = blocks.around(module, site) if module is not None else ()
    for node in around:
        if isinstance(node, ast.If):
            held = node.body[0].lineno <= site.line <= (node.body[-1].end_lineno or 0)
            if _is_first(node.test, side=held) or (held and _stores_first(facts, node.test)):
                return True
    return False


def _stores_first(facts: ModuleFacts, test: ast.expr) -> bool:
    modules = facts.modules
    return isinstance(test, ast.Attribute) and any(test.attr in _firsts(module) for module in modules)


@once
def _firsts(module: Module) -> frozenset[str]:
    """The attributes that are assigned whether a rank is 0."""
    return frozenset(
        target.attr
        for node in module.of(ast.Assign)
        if _is_first(node.value.test if isinstance(node.value, ast.IfExp) else node.value, side=True)
        for target in node.targets
        if isinstance(target, ast.Attribute)
    )


@lru_cache(maxsize=256)
def _says_first(text: str, *, side: bool) -> bool:
    test = expression_of(text)
    return test is not None and _is_first(test, side=side)


def _is_first(test: ast.expr, *, side: bool) -> bool:
    """Whether a rank is 0 where the condition has this outcome."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _is_first(test.operand, side=not side)
    if isinstance(test, ast.BoolOp):
        # all parts of an `and` that holds hold, and none of an `or` that does not
        return isinstance(test.op, ast.And) is side and any(_is_first(part, side=side) for part in test.values)
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    among = test.comparators[0]
    if isinstance(test.ops[0], ast.In if side else ast.NotIn) and isinstance(among, (ast.List, ast.Tuple, ast.Set)):
        return _FIRST_OR_NONE.issuperset(map(text_of, among.elts)) and _names_rank(test.left)
    parts = [test.left, test.comparators[0]]
    zero = any(isinstance(part, ast.Constant) and part.value == 0 for part in parts)
    return isinstance(test.ops[0], ast.Eq if side else ast.NotEq) and zero and any(map(_names_rank, parts))


#: the first rank, and that of a process that is alone
_FIRST_OR_NONE = frozenset({"0", "-1"})


def _stored_by_rank(facts: ModuleFacts, name: str) -> bool:
    """Whether an attribute of this name is somewhere assigned what a condition on the rank gives."""
    return any(name in _chosen(module) for module in facts.modules)


@once
def _chosen(module: Module) -> frozenset[str]:
    """The attributes that are assigned the outcome of a condition which may be on the rank, or True or False where it
    holds."""
    outcomes = [
        node
        for node in module.of(ast.Assign)
        if isinstance(node.value, (ast.BoolOp, ast.Compare, ast.UnaryOp, ast.Call, ast.IfExp))
        and heuristics.NAMES_RANK.found_in(text_of(node.value))
    ]
    outcomes += [
        node
        for branch in module.of(ast.If)
        if heuristics.NAMES_RANK.found_in(text_of(branch.test))
        for node in (*branch.body, *branch.orelse)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and node.value.value in (True, False)
    ]
    return frozenset(t.attr for node in outcomes for t in node.targets if isinstance(t, ast.Attribute))


def _same_everywhere(facts: ModuleFacts, function: ast.expr) -> bool:
    """Whether a function in a condition gives the same on every rank, or is one of this file, which was followed and
    does not name the rank."""
    name = last_name(function)
    if name in heuristics.SAME_EVERYWHERE.words or heuristics.ASKS_DISK.found_in(name):
        return True
    own = isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "self"
    methods = [info.methods[name] for info in facts.module.classes if name in info.methods] if own else []
    return bool(methods) and not any(heuristics.NAMES_RANK.found_in(text_of(method.node)) for method in methods)


def _may_be_left_out(facts: ModuleFacts, module: Module, calls: tuple[str, ...]) -> bool:
    """Whether some ranks may not run a function on the call path, or run another one."""
    return _decorated(module, calls) or _replaced(module, calls) or _on_first_rank(facts, module, calls)


def _on_first_rank(facts: ModuleFacts, module: Module, calls: tuple[str, ...]) -> bool:
    """Whether the call path goes through a method that a framework calls on one rank of a machine."""
    for owner, _, name in (call.rpartition(".") for call in calls):
        kinds = frameworks.ON_FIRST_RANK.get(name, frozenset())
        for info in module.classes if kinds else ():
            if info.name == owner and not kinds.isdisjoint(map(kind, external_bases(facts.analysis, info))):
                return True
    return False


def _replaced(module: Module, calls: tuple[str, ...]) -> bool:
    """Whether a method on the call path is another function on some objects: `if rank != 0: writer.save = nothing`."""
    methods = {name.rpartition(".")[2] for name in calls if "." in name}
    return any(name in methods for name in _stored_functions(module))


@once
def _stored_functions(module: Module) -> frozenset[str]:
    """The attributes of objects other than `self` that are assigned a function of the file, or one made on the spot."""
    functions = {node.name for node in module.of(ast.FunctionDef)}
    return frozenset(
        target.attr
        for node in module.of(ast.Assign)
        if isinstance(node.value, ast.Lambda) or (isinstance(node.value, ast.Name) and node.value.id in functions)
        for target in node.targets
        if isinstance(target, ast.Attribute) and not (isinstance(target.value, ast.Name) and target.value.id == "self")
    )


def _decorated(module: Module, calls: tuple[str, ...]) -> bool:
    """Whether a function on the call path has a decorator of unknown effect."""
    functions = (*module.functions, *(m for c in module.classes for m in c.methods.values()))
    names = (decorator_name(d) for info in functions if info.qualname in calls for d in info.decorators)
    return any(name not in heuristics.PLAIN_DECORATORS.words for name in names)

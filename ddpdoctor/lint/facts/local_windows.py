"""Steps of an optimizer for which gradients are accumulated, in windows that end without having averaged them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from enum import Enum
from itertools import product

from ddpdoctor.lint.facts import accumulation, averaged_gradients, blocks, turns
from ddpdoctor.lint.facts.module_facts import ModuleFacts
from ddpdoctor.lint.interpreter.events import CallEvent, Context, EnclosingLoop
from ddpdoctor.lint.knowledge import frameworks
from ddpdoctor.lint.values import formulas, symbols
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.formulas import (
    NO_BOUND,
    Formula,
    Reached,
    Unknown,
    Window,
    all_of,
    any_of,
    can_hold,
    denied,
)
from ddpdoctor.lint.values.values import Value, symbol_key
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.model.record import record
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.sites import SourceSite


class Fault(Enum):
    """What is wrong with a window."""

    #: a step is made in the last turn as well, whether or not that ends a window
    LAST_TURN = 1
    #: a step is made behind the loop, for what is left
    BEHIND = 2
    #: the turn that averages is another one than that of the step
    ANOTHER_TURN = 3
    #: the loop never comes to the turn that would average
    NEVER = 4
    #: it comes there before its last turn
    EARLY = 5
    #: the loop runs to a part of the number that the turn is compared with
    PART = 6
    #: all turns average but that of the step, as where a condition was turned round
    THAT_TURN = 7


class LocalWindow(NamedTuple):
    """A step by gradients that each rank has kept, and what kept them."""

    fault: Fault
    step: CallEvent
    backward: CallEvent
    kept: Keeping


@record(frozen=True, slots=True, eq=False)
class Keeping:
    """Where a program says that the next backward pass does not average gradients, and under which condition."""

    site: SourceSite
    context: Context
    index: int
    #: of the flag, or of the argument that switches the block on
    value: Value | None
    #: it is told by a flag, and not by a block
    is_flag: bool


#: most conditions, other than on the number of the turn, of which all combinations are tried
_MOST_ELSE = 6
_BLOCKS = ("no_sync", "no_backward_sync")
WORDS = (*_BLOCKS, frameworks.SHARING)


def found(facts: ModuleFacts) -> Iterator[LocalWindow]:
    """Of each place that keeps gradients, one step that is made by them."""
    keeping = _keeping(facts) if facts.mentions(*WORDS) else []
    updates = [call for call in facts.methods("step") if accumulation.updates(call)] if keeping else []
    if not updates or averaged_gradients.may_be_by_hand(facts):
        return
    judge = _Judge(facts, keeping, updates)
    told: set[SourceSite] = set()
    for window in (*judge.in_turns(), *judge.short()):
        if window.kept.site not in told:
            told.add(window.kept.site)
            yield window


def _keeping(facts: ModuleFacts) -> list[Keeping]:
    calls = facts.methods(*_BLOCKS)
    found = [Keeping(c.site, c.context, c.index, c.keyword("enabled"), False) for c in calls]
    called = {(c.site.file, c.site.line) for c in calls}
    for read in facts.analysis.accesses:
        # `context = model.no_sync if ... else nullcontext`, which is called later
        if read.name in _BLOCKS and (read.site.file, read.site.line) not in called:
            found.append(Keeping(read.site, read.context, 0, None, False))
    found += [Keeping(s.site, s.context, s.index, s.value, True) for s in facts.analysis.sharing]
    return found


class _Kept(NamedTuple):
    """When gradients are kept, and the last place that says so."""

    formula: Formula
    by: Keeping | None


class _Judge:
    """Compares the conditions of steps with those under which gradients are kept."""

    def __init__(self, facts: ModuleFacts, keeping: list[Keeping], updates: list[CallEvent]) -> None:
        self._facts, self._keeping, self._updates = facts, keeping, updates
        self._passes = facts.methods("backward")
        contexts = [*(k.context for k in keeping), *(c.context for c in (*self._passes, *updates))]
        said = [atom for k in keeping if k.value is not None for atom in k.value.atoms]
        asserted = facts.analysis.asserted
        self._reader = turns.reader_of(contexts, (*asserted, *said))
        asked = [
            *(turns.conditions(self._reader, context) for context in contexts),
            *map(self._reader.formula, asserted),
        ]
        #: remainders that the program asks for; that of a loop's length by a window's may be refused
        self._asked = {(u.counter, u.every) for u in formulas.unknowns(all_of(asked)) if isinstance(u, Window)}

    def in_turns(self) -> Iterator[LocalWindow]:
        """Faults of steps that are made in the turns of the backward passes."""
        for step in self._updates:
            around = [p for p in self._passes if turns.same_turn(p.context, step.context)]
            here = [p for p in around if p.index < step.index]
            kept = self._kept(here)
            fault = self._in_turn(step, here, kept.formula)
            in_all = self._kept(around)
            if fault is None and here and self._is_turned_round(step, around, in_all.formula):
                fault = Fault.THAT_TURN
            if fault is not None and kept.by is not None:
                yield LocalWindow(fault, step, here[-1], kept.by)
                continue
            kept = in_all
            behind = self._behind(step, around, kept.formula)
            if behind is not None and kept.by is not None:
                yield LocalWindow(Fault.BEHIND, behind, around[-1], kept.by)

    def short(self) -> Iterator[LocalWindow]:
        """Loops over the turns of one window that do not come to the turn that averages, or go on after it."""
        loops = {p.context.loops[-1].site: p.context.loops[-1] for p in self._passes if p.context.loops}
        for loop in loops.values():
            here = [p for p in self._passes if p.context.loops and p.context.loops[-1].site == loop.site]
            kept = self._kept(here)
            fault = self._missed(loop, kept.formula) if kept.by is not None else None
            step = next((u for u in self._updates if turns.is_behind(here[-1].context, u)), None)
            inside = any(around.site == loop.site for u in self._updates for around in u.context.loops)
            if fault is not None and kept.by is not None and step is not None and not inside:
                yield LocalWindow(fault, step, here[-1], kept.by)

    def _in_turn(self, step: CallEvent, passes: list[CallEvent], kept: Formula) -> Fault | None:
        made = self._guards(step.context)
        local = all_of((made, any_of(self._guards(p.context) for p in passes), kept))
        steps, keeps = formulas.unknowns(made), formulas.unknowns(kept)
        shared = {(u.counter, u.every) for u in keeps if isinstance(u, Window)}
        windows = {u for u in steps if isinstance(u, Window) and (u.counter, u.every) in shared}
        if not windows or not can_hold(local):
            return None
        turned = {u for u in keeps if self._reader.depends(u)}
        if not turned & windows:
            return Fault.ANOTHER_TURN if len(turned) == 1 and len(windows) == 1 else None
        last = {
            u
            for u in steps - keeps
            for window in windows
            if isinstance(u, Reached) and u.counter == window.counter and not self._is_rounded(u, window)
        }
        if not last or turned - steps:
            return None
        return None if can_hold(local, dict.fromkeys(last, False)) else Fault.LAST_TURN

    def _is_turned_round(self, step: CallEvent, passes: list[CallEvent], kept: Formula) -> bool:
        """Whether, whatever else is so, a turn that makes a step by what is kept never averages, and other turns do."""
        made = all_of((self._guards(step.context), any_of(self._guards(p.context) for p in passes)))
        keeps = formulas.unknowns(kept)
        turned = {u for u in keeps & formulas.unknowns(made) if isinstance(u, Window)}
        others = sorted((keeps | formulas.unknowns(made)) - turned, key=repr)
        if not turned or len(others) > _MOST_ELSE:
            return False
        found = False
        for chosen in product((False, True), repeat=len(others)):
            known = dict(zip(others, chosen, strict=True))
            if can_hold(all_of((made, kept)), known):
                found = True
                if can_hold(all_of((made, denied(kept))), known) or not can_hold(denied(kept), known):
                    return False
        return found

    def _is_rounded(self, last: Reached, window: Window) -> bool:
        """Whether the end of a loop may be made to be that of a window."""
        computed = last.bound == NO_BOUND or self._reader.computed(last.bound) is not None
        return computed or (last.bound, window.every) in self._asked

    def _behind(self, step: CallEvent, passes: list[CallEvent], kept: Formula) -> CallEvent | None:
        """The step behind the loop, for what is left, of an optimizer whose other steps end windows that average."""
        made = self._guards(step.context)
        goes_back = any_of(self._guards(p.context) for p in passes)
        turned = {u for u in formulas.unknowns(kept) if self._reader.depends(u)}
        windows = turned & {u for u in formulas.unknowns(made) if isinstance(u, Window)}
        if not turned or turned != windows or any(map(self._reader.depends, formulas.unknowns(goes_back) - turned)):
            return None
        if can_hold(all_of((made, kept))):
            return None
        for other in self._updates:
            behind = turns.is_behind(step.context, other) and _is_same_object(step, other)
            if behind and can_hold(all_of((self._guards(other.context), goes_back, kept))):
                return other
        return None

    def _missed(self, loop: EnclosingLoop, kept: Formula) -> Fault | None:
        """What is wrong with the turn of a loop that averages gradients."""
        over = loop.over.object if loop.over is not None else None
        if not isinstance(over, Made) or over.path != "builtins.range" or len(over.args) != 1:
            return None
        turned = [u for u in formulas.unknowns(kept) if self._reader.depends(u)]
        first = _first_turn(turned[0]) if len(turned) == 1 else None
        if first is None or turned[0][0] != symbols.number(("index", over.site)):
            return None
        if not can_hold(kept, {turned[0]: False}) or can_hold(kept, {turned[0]: True}):
            return None
        length = self._reader.linear(over.args[0].atoms[0])
        if first.key == length.key:
            beyond = first.more - (length.more - 1)
            return None if beyond == 0 else Fault.NEVER if beyond > 0 else Fault.EARLY
        divided = self._reader.computed(length.key)
        is_part = divided is not None and divided[0] == "FloorDiv" and not length.more
        whole = formulas.Linear(first.key, first.more + 1)
        return Fault.PART if is_part and divided is not None and divided[1] == whole else None

    def _guards(self, context: Context) -> Formula:
        return turns.conditions(self._reader, context)

    def _kept(self, passes: list[CallEvent]) -> _Kept:
        """When none of the backward passes of a turn averages gradients."""
        kept = [(one, self._kept_by(one)) for one in passes]
        formula = all_of(any_of((denied(self._guards(one.context)), k.formula)) for one, k in kept)
        return _Kept(formula, next((k.by for _, k in reversed(kept) if k.by is not None), None))

    def _kept_by(self, one: CallEvent) -> _Kept:
        """When one backward pass does not average gradients."""
        formula, by = formulas.FAILS, None
        for k in self._keeping:
            if k.index > one.index or not turns.same_turn(k.context, one.context):
                continue
            said, value = self._guards(k.context), self._value(k)
            if k.is_flag:
                # it stays as it is where it is not set again
                formula = any_of((all_of((said, denied(value))), all_of((denied(said), formula))))
            elif _is_entered(self._facts, k, one):
                formula = any_of((formula, all_of((said, value))))
            else:
                continue
            by = k
        return _Kept(formula, by)

    def _value(self, keeping: Keeping) -> Formula:
        """The truth of a flag, or of the argument that switches a block on."""
        if keeping.value is None:
            return formulas.HOLDS
        known = len(keeping.value.atoms) == 1
        return self._reader.formula(keeping.value.atoms[0]) if known else formulas.UNSEEN


def _first_turn(one: Unknown) -> formulas.Linear | None:
    """The turn, counted from 0, in which a condition is first met."""
    if isinstance(one, Reached):
        return formulas.Linear(one.bound, one.more)
    if not isinstance(one, Window):
        return None
    size = formulas.Linear(NO_BOUND, -one.every) if one.every < 0 else formulas.Linear(one.every, 0)
    return formulas.Linear(size.key, size.more - one.shift)


def _is_same_object(one: CallEvent, two: CallEvent) -> bool:
    """Whether two methods are of one object, as far as that is known."""
    if one.receiver is None or two.receiver is None:
        return False
    keys = symbol_key(one.receiver), symbol_key(two.receiver)
    return keys[0] is not None and keys[0] == keys[1]


def _is_entered(facts: ModuleFacts, keeping: Keeping, one: CallEvent) -> bool:
    """Whether a block around a backward pass is one that keeps gradients: it is made in the `with` statement, by a
    function that is called there, or before it and put into a variable."""
    way = (*keeping.context.chain, keeping.site)
    for site in (*one.context.chain, one.site):
        module = blocks.module_of(facts, site)
        scope = (innermost_function(module.tree, site.line) or module.tree) if module is not None else None
        for node in walk(scope) if scope is not None else ():
            if isinstance(node, ast.With) and node.lineno <= site.line <= (node.end_lineno or 0):
                assert scope is not None
                if any(_makes(scope, node, item, site.file, way) for item in node.items):
                    return True
    return False


def _makes(scope: ast.AST, block: ast.With, item: ast.withitem, file: str, way: tuple[SourceSite, ...]) -> bool:
    """Whether what a `with` statement enters is made on this way."""
    entered = item.context_expr
    if _leads_through(entered, file, way):
        return True
    if last_name(entered.func if isinstance(entered, ast.Call) else entered) == "ExitStack":
        return any(_leads_through(s, file, way) for s in block.body)
    name = entered.func if isinstance(entered, ast.Call) else entered
    if not isinstance(name, ast.Name):
        return False
    assigned = (n for n in walk(scope) if isinstance(n, ast.Assign))
    return any(
        _leads_through(n.value, file, way)
        for n in assigned
        if any(isinstance(target, ast.Name) and target.id == name.id for target in n.targets)
    )


def _leads_through(node: ast.expr | ast.stmt, file: str, way: Iterable[SourceSite]) -> bool:
    start, end = (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)
    return any(site.file == file and start <= (site.line, site.column - 1) < end for site in way)

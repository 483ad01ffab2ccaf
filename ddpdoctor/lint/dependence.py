"""Dependence: what a condition depends on, by value (rank, this rank's data, clock, random numbers, files, a signal).

The program is simulated as in a lint run: several ranks at once, through functions, properties, attributes, decorators
and the tables of frameworks. Only the given files are read. The bound is counted in statements and characters, never in
seconds, so that the same question always has the same answer.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from ddpdoctor.lint import taint_comments
from ddpdoctor.lint.interpreter.analysis import Analysis
from ddpdoctor.lint.interpreter.decorators import ranks_let_in
from ddpdoctor.lint.interpreter.events import Guard
from ddpdoctor.lint.interpreter.frame import Frame
from ddpdoctor.lint.interpreter.observations import Observations, Seen
from ddpdoctor.lint.interpreter.signals import raised
from ddpdoctor.lint.knowledge import aliases
from ddpdoctor.lint.knowledge.frameworks import SYNCHRONISING, UNSHARED
from ddpdoctor.lint.values.abstract_objects import Instance, Items, Made
from ddpdoctor.lint.values.iteration import count_of, iterated_of
from ddpdoctor.lint.values.tags import UNEQUAL, Tag, Tags
from ddpdoctor.lint.values.truths import truth
from ddpdoctor.lint.values.values import WORLD, Atom, Symbol, Taint, Value
from ddpdoctor.model.dependence import Condition, Dependence, DependsOn
from ddpdoctor.program import signal_handlers
from ddpdoctor.program.enclosing import innermost_function
from ddpdoctor.program.modules import FunctionInfo, Module
from ddpdoctor.program.nodes import last_name, walk
from ddpdoctor.program.program import Program
from ddpdoctor.program.sites import SourceSite, site_of
from ddpdoctor.program.text import shown, text_of

__all__ = ["BUDGET", "SYNCHRONISING", "UNSHARED", "Conditions", "Place"]

#: statements simulated for all questions about one program: about a second
BUDGET = 20_000

#: file and line
Place = tuple[str, int]


_ORDER = tuple(DependsOn)
_BY_TAG = (
    (Tag.SIGNAL, DependsOn.SIGNAL),
    (Tag.TIME, DependsOn.CLOCK),
    (Tag.RANDOM, DependsOn.RANDOM),
    (Tag.FILE, DependsOn.FILES),
)
_BY_TAINT = {
    Taint.UNIFORM: DependsOn.UNIFORM,
    Taint.GIVEN: DependsOn.UNIFORM,
    Taint.UNKNOWN: DependsOn.UNKNOWN,
    Taint.FILES: DependsOn.FILES,
    Taint.RANK: DependsOn.RANK,
}
#: methods of modules that give parts of a model, which are equal on all ranks that train together
_PARTS_OF_MODELS = frozenset({"parameters", "named_parameters", "buffers", "named_buffers", "modules", "named_modules",
                              "children", "named_children"})  # fmt: skip
#: tags of data of which a rank can have more or less than another
_SHARED_OUT = UNEQUAL | Tag.PREPARED


_Wanted = Callable[[Seen], bool]


@dataclass(slots=True)
class Conditions:
    """Answers about one program. Each script is simulated once, when first asked about."""

    program: Program
    #: statements that may be simulated for all answers together; a simulation that has begun is completed
    budget: int = BUDGET
    #: some question was not answered because the budget was spent
    exhausted: bool = field(init=False, default=False)
    _analyses: dict[str, Analysis | None] = field(init=False, repr=False, default_factory=dict)

    def of(self, file: str, line: int, callers: Sequence[Place] = ()) -> Dependence | None:
        """What the condition that begins on the line depends on; None if the simulation did not reach it.

        The condition is that of an `if`, `while`, `match`, `assert`, conditional expression, `and` or `or`; for a
        `for`, its number of iterations. `callers`: lines of the calling functions, innermost first, as in a stack; the
        outermost is where the program starts. Of several call paths to the line, those that agree best with the callers
        count.
        """
        seen = self._look(file, line, callers, lambda one: one.value is not None and _head(one) == line)
        statements = [one for one in seen if isinstance(one.node, ast.stmt)] or seen
        return _combined([self._dependence(one) for one in _agreeing(statements, callers)])

    def around(self, file: str, line: int, callers: Sequence[Place] = ()) -> tuple[Condition, ...]:
        """The conditions in its function under which the line runs, innermost first, the decorators' last.

        They are around it, or before it and make other ranks leave. None if the simulation did not reach the line.
        """
        seen = self._look(file, line, callers, lambda one: line in _lines(one))
        if not seen:
            return ()
        deepest = max(map(_head, seen))
        here = _agreeing([one for one in seen if _head(one) == deepest], callers)
        by_place: dict[SourceSite, list[Guard]] = {}
        for guard in max((one.guards for one in here), key=len):
            by_place[guard.site] = [g for one in here for g in one.guards if g.site == guard.site]
        around = [self._condition(guards) for guards in reversed(by_place.values())]
        return (*around, *self._decorators(here[0].module, here[0].function))

    def _look(self, file: str, line: int, callers: Sequence[Place], wanted: _Wanted) -> list[Seen]:
        """The observations of a line: from the program's start, else from one of the callers, else from its function
        alone.
        """
        start = callers[-1][0] if callers else file
        for entry in dict.fromkeys((start, file)):
            analysis = self._started(entry)
            for place in (None, *reversed(callers), (file, line)):
                if analysis is None or (place is not None and not self._run_alone(analysis, place)):
                    continue
                observed = analysis.observed.by_file.get(file, ()) if analysis.observed is not None else ()
                seen = [one for one in observed if wanted(one)]
                if seen:
                    return [one for one in seen if not one.silent] or seen
        return []

    def _modules(self) -> Iterator[Module]:
        """Files that were simulated, or that those import."""
        for analysis in filter(None, self._analyses.values()):
            seen = analysis.observed.by_file.values() if analysis.observed is not None else ()
            yield from dict.fromkeys((*analysis.reached.values(), *(every[0].module for every in seen)))

    def _started(self, entry: str) -> Analysis | None:
        """The simulation of a file as a script; None if there is no such file or the budget is spent."""
        if entry not in self._analyses and self._may_spend():
            module = self.program.module(entry)
            said = taint_comments.Taints()
            analysis = (
                Analysis(module, self.program.project, said, observed=Observations()) if module is not None else None
            )
            self._analyses[entry] = analysis
            if analysis is not None:
                analysis.run_top_level()
        return self._analyses.get(entry)

    def _run_alone(self, analysis: Analysis, place: Place) -> bool:
        """Simulate the function around a place with unknown arguments, unless that was done before."""
        module = self.program.module(place[0])
        function = _function_at(module, place[1]) if module is not None else None
        if function is None or function in analysis.ran or not self._may_spend():
            return False
        analysis.run_alone(function)
        return True

    def _may_spend(self) -> bool:
        spent = sum(analysis.steps for analysis in self._analyses.values() if analysis is not None)
        self.exhausted = self.exhausted or spent >= self.budget
        return spent < self.budget

    def _decorators(self, module: Module, function: FunctionInfo | None) -> Iterator[Condition]:
        """Decorators of frameworks that run the function on some ranks only."""
        analysis = next((a for a in self._analyses.values() if a is not None), None)
        if function is None or analysis is None:
            return
        for decorator in function.decorators:
            let_in = ranks_let_in(analysis, Frame(module, function), decorator)
            if let_in:
                site = site_of(module, decorator)
                dependence = self._of_value(Value(let_in, Taint.RANK))
                yield Condition(
                    module.path, site.line, site.end_line, f"@{shown(text_of(decorator))}", True, dependence
                )

    def _condition(self, guards: Sequence[Guard]) -> Condition:
        first = guards[0]
        dependence = _combined([self._of_value(guard.value) for guard in guards])
        assert dependence is not None
        return Condition(
            first.site.file, first.site.line, first.site.end_line, shown(first.text), first.side, dependence
        )

    def _dependence(self, seen: Seen) -> Dependence:
        assert seen.value is not None
        if isinstance(seen.node, (ast.For, ast.AsyncFor)):
            origin = _rounds(seen.value)
            if origin is DependsOn.UNIFORM and _filled_on_a_condition(seen.module, seen.node):
                origin = DependsOn.UNKNOWN
            return Dependence(origin, frozenset({origin}))
        return self._of_value(seen.value)

    def _of_value(self, value: Value) -> Dependence:
        atoms = truth(value)
        origin = _origin(atoms, value.tags)
        if origin is DependsOn.SIGNAL:
            return self._of_flag(atoms)
        ranks = tuple(map(_known, atoms)) if origin is DependsOn.RANK and len(atoms) == WORLD else ()
        return Dependence(origin, frozenset({origin}), ranks, bool(value.tags & Tag.LOCAL_RANK))

    def _of_flag(self, atoms: Sequence[Atom]) -> Dependence:
        """The dependence on a signal's flag; none if the program sets the flag elsewhere too."""
        read = [signal_handlers.of_module(module) for module in self._modules()]
        flags = [flag for one in read for flag in (*one.by_path.values(), *one.elsewhere.values())]
        keys = {key for atom in atoms for key in _keys(atom)}
        asked = [flag for flag in flags if raised(flag).atoms[0].key in keys] or flags
        origin = DependsOn.SIGNAL if asked and asked[0].alone else DependsOn.UNKNOWN
        flag, handler = (asked[0].text, asked[0].handler) if origin is DependsOn.SIGNAL else ("", "")
        return Dependence(origin, frozenset({origin}), flag=flag, handler=handler)


def _keys(atom: Atom) -> Iterator[int]:
    """The symbol of an unknown, and those that it combines with `and` and `or`."""
    if isinstance(atom, Symbol):
        yield atom.key
        for part in (atom.parts or ())[1:]:
            yield from _keys(part)


def _head(seen: Seen) -> int:
    return int(getattr(seen.node, "lineno", 0))


def _lines(seen: Seen) -> range:
    """Lines that run when the node does: only its head if it has a body."""
    if isinstance(seen.node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return range(0)
    first, body = _head(seen), getattr(seen.node, "body", None)
    if isinstance(body, list):
        return range(first, max(body[0].lineno, first + 1))
    return range(first, (getattr(seen.node, "end_lineno", None) or first) + 1)


def _function_at(module: Module, line: int) -> FunctionInfo | None:
    """The top-level function, or method of a top-level class, around a line."""
    functions = [*module.functions, *(method for cls in module.classes for method in cls.methods.values())]
    return next((f for f in functions if f.node.lineno <= line <= (f.node.end_lineno or f.node.lineno)), None)


def _agreeing(seen: Sequence[Seen], callers: Sequence[Place]) -> list[Seen]:
    """The observations whose call paths agree best with the callers."""
    scores = [_agreement(one.chain, callers) for one in seen]
    return [one for one, score in zip(seen, scores, strict=True) if score == max(scores)]


def _agreement(chain: Sequence[SourceSite], callers: Sequence[Place]) -> int:
    """The number of equal callers, from the innermost on."""
    count = 0
    for site, (file, line) in zip(reversed(chain), callers, strict=False):
        if site.file != file or not site.line <= line <= site.end_line:
            break
        count += 1
    return count


def _combined(found: Sequence[Dependence]) -> Dependence | None:
    if not found:
        return None
    origins = frozenset().union(*(one.ever for one in found))
    origin = min(origins, key=_ORDER.index)
    same = [one for one in found if one.on is origin]
    first = same[0]
    alike = all(one.ranks == first.ranks for one in same)
    local = any(one.local for one in same)
    return Dependence(origin, origins, first.ranks if alike else (), local, first.flag, first.handler)


def _known(atom: Atom) -> bool | None:
    return None if isinstance(atom, Symbol) else bool(atom)


def _origin(atoms: Sequence[Atom], tags: Tags) -> DependsOn:
    """The dependence of a condition with these values on the ranks."""
    if len(atoms) > 1 and len(set(atoms)) > 1:
        return DependsOn.RANK
    taint = atoms[0].taint if isinstance(atoms[0], Symbol) else Taint.UNIFORM
    if taint is Taint.RANK_LOCAL:
        return next((origin for tag, origin in _BY_TAG if tag & tags), DependsOn.RANK_DATA)
    if taint is Taint.UNKNOWN and tags & Tag.TIME and not tags & Tag.AGREED:
        return DependsOn.CLOCK
    if taint is Taint.UNKNOWN and tags & Tag.RANK_BY_NAME:
        return DependsOn.RANK  # recognised by its name
    return _BY_TAINT[taint]


def _rounds(over: Value) -> DependsOn:
    """The dependence of the number of iterations of a `for`."""
    if len(set(count_of(over))) > 1:
        return DependsOn.RANK
    iterated, _ = iterated_of(over)
    obj = iterated.object
    if isinstance(obj, Made) and obj.path == "builtins.range":
        return min((_origin(a.atoms, a.tags) for a in obj.args), key=_ORDER.index)
    if isinstance(obj, Made) and obj.path.startswith("?.") and obj.path[2:] in _PARTS_OF_MODELS:
        return DependsOn.UNIFORM
    if isinstance(obj, Items) or (iterated.known and len(iterated.atoms) == 1):
        return DependsOn.UNIFORM
    if iterated.taint is Taint.RANK_LOCAL or iterated.tags & _SHARED_OUT or _loads(obj):
        return DependsOn.RANK_DATA
    return _origin(iterated.atoms, iterated.tags) if obj is None or iterated.taint is Taint.GIVEN else DependsOn.UNKNOWN


#: methods that add elements to a collection or remove them
_RESIZING = frozenset(
    {"append", "add", "update", "setdefault", "extend", "insert", "pop", "popitem", "remove", "clear"}
)


def _filled_on_a_condition(module: Module, loop: ast.For | ast.AsyncFor) -> bool:
    """Whether the program adds to what the loop goes over, or removes from it, under an `if`: on each rank its own.

    A variable is filled in the loop's function, an attribute in any function of the file.
    """
    over = _collection(loop.iter)
    name = last_name(over)
    where = module.tree if isinstance(over, ast.Attribute) else innermost_function(module.tree, loop.lineno)
    conditions = [n for n in walk(where) if isinstance(n, ast.If)] if where is not None and name else []
    return any(_resizes(node, name) for one in conditions for part in one.body + one.orelse for node in walk(part))


#: functions whose result has an element for each of the first argument
_ALIKE = frozenset({"sorted", "list", "tuple", "enumerate", "reversed"})


def _collection(over: ast.expr) -> ast.expr:
    """The collection that a loop goes over: `names` of `sorted(names.items())`, `names` of `names[k].items()`."""
    match over:
        case ast.Call(func=ast.Attribute(value=held, attr="items" | "keys" | "values")):
            return _collection(held)
        case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name in _ALIKE:
            return _collection(first)
        case ast.Subscript(value=held):
            return _collection(held)
    return over


def _resizes(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Subscript(value=held, ctx=ast.Store() | ast.Del()):
            return last_name(held) == name
        case ast.Call(func=ast.Attribute(value=held, attr=method)):
            return method in _RESIZING and last_name(held) == name
    return False


def _loads(obj: object) -> bool:
    """Whether it is a loader: one rank's may have fewer batches than another's."""
    made = obj.base if isinstance(obj, Instance) else obj
    return isinstance(made, Made) and made.path == aliases.LOADER

"""What rules know about one file."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from functools import cached_property

from ddpdoctor.lint import comments, suppress, taint_comments
from ddpdoctor.lint.facts.exclusion import keeps_from
from ddpdoctor.lint.facts.relevance import takes_part
from ddpdoctor.lint.interpreter import fsdp
from ddpdoctor.lint.interpreter.analysis import Analysis
from ddpdoctor.lint.interpreter.events import CallEvent, Context, Iteration
from ddpdoctor.lint.interpreter.trace import Branch, Loop, Op, operates, operations, steps
from ddpdoctor.lint.knowledge import aliases
from ddpdoctor.lint.knowledge.heuristics import Heuristic
from ddpdoctor.lint.ranks import polling, races, raises
from ddpdoctor.lint.ranks.compare import divergences
from ddpdoctor.lint.ranks.divergence import CollectiveDivergence
from ddpdoctor.lint.ranks.polling import StuckPoll
from ddpdoctor.lint.ranks.reach import Reached, Sided, reached, sided
from ddpdoctor.lint.rule import LintRule
from ddpdoctor.model import c10d
from ddpdoctor.model.finding import Finding, Fix, Related, RelatedRole, Severity
from ddpdoctor.model.named_tuple import NamedTuple
from ddpdoctor.model.record import field, record, replace
from ddpdoctor.program.imports import imported
from ddpdoctor.program.modules import Module
from ddpdoctor.program.nodes import parents
from ddpdoctor.program.project import Project
from ddpdoctor.program.sites import SourceSite, site_of


class Conditional(NamedTuple):
    """A message that begins with what has to hold of the callers; once they confirm the finding, that is left out."""

    condition: str
    message: str


class Unconfirmed(NamedTuple):
    """Where a finding stands that only the project's other files can show to be right, and what they decide."""

    site: SourceSite
    role: RelatedRole = RelatedRole.UNCONFIRMED


@record(eq=False)
class ModuleFacts:
    """Facts about one file, computed once; rules read them."""

    module: Module
    analysis: Analysis
    torch_version: tuple[int, ...] = c10d.NEWEST
    #: of other files, by path
    _suppressions: dict[str, tuple[bool, list[suppress.Suppression]]] = field(default_factory=dict)
    #: by the name of a root function
    _sided: dict[str, list[Sided]] = field(default_factory=dict)

    @classmethod
    def of(cls, module: Module, project: Project, torch_version: tuple[int, ...] = c10d.NEWEST) -> ModuleFacts:
        """Simulate the module, if it can matter to a distributed job at all."""
        analysis = Analysis(module, project, taint_comments.Taints())
        if takes_part(module, project):
            analysis.run()
        return cls(module, analysis, torch_version)

    @property
    def calls(self) -> list[CallEvent]:
        return self.analysis.calls

    @property
    def iterations(self) -> list[Iteration]:
        return self.analysis.iterations

    @cached_property
    def divergences(self) -> list[CollectiveDivergence]:
        """Proven divergences, without those that cancel across functions of the file."""
        if self.alone:
            return []
        found: list[tuple[str, CollectiveDivergence]] = []
        for root in self.analysis.roots:
            try:
                proven = divergences(root.trace, self._parts)
                found.extend((root.name, d) for d in proven if not self._lacks_wrapper(d))
            except RecursionError:
                self.analysis.too_deep = True
        return _unbalanced(found)

    def _parts(self, branch: Branch) -> bool:
        """Whether the branch can differ between ranks: a file that is not being written exists for all ranks or for
        none.
        """
        return not races.decides(branch) or branch.site in self.races

    def _lacks_wrapper(self, item: CollectiveDivergence) -> bool:
        """Whether the operation is one of a wrapper, and none is made where the branch is: `if distributed: net =
        DDP(net)`, and the `else` of another `if distributed:`."""
        wraps = self.named(*_WRAPPERS) if item.op.op in _OF_WRAPPERS else []
        return keeps_from(item.branch, self.analysis.branches, wraps)

    @cached_property
    def looped(self) -> dict[SourceSite, list[Op]]:
        """Collectives by the loop that repeats them, including those in called functions."""
        found: dict[SourceSite, list[Op]] = {}
        for root in self.analysis.roots:
            for node, _, _, loops in steps(root.trace):
                if isinstance(node, Op):
                    for site in {loop.site for loop, _ in loops}:
                        found.setdefault(site, []).append(node)
        return found

    def repeated(self, iteration: Iteration) -> list[Op]:
        """Collectives in each iteration of this run of the loop, without those of another phase in the same lines."""
        if iteration.body is None:
            return self.looped.get(iteration.loop.site, [])
        return [op for op, _ in operations(iteration.body)]

    @cached_property
    def reached(self) -> list[Reached]:
        """Collectives with the calls, branches and loops that lead to them."""
        return reached(self.analysis.roots)

    def sided(self, root: str) -> list[Sided]:
        """The same of root functions of this name, with the sides of the branches."""
        if root not in self._sided:
            self._sided[root] = sided(self.analysis.roots, root)
        return self._sided[root]

    @cached_property
    def calls_by_site(self) -> dict[SourceSite, list[CallEvent]]:
        """All calls by their places, those of one place in the order of execution."""
        found: dict[SourceSite, list[CallEvent]] = {}
        for call in self.calls:
            found.setdefault(call.site, []).append(call)
        return found

    @cached_property
    def races(self) -> dict[SourceSite, SourceSite]:
        """Branches on whether a file exists that another rank may be writing, with the place that writes it."""
        found: dict[SourceSite, SourceSite] = {}
        for root in self.analysis.roots:
            found.update(races.races(root.trace))
        return found

    @cached_property
    def stuck(self) -> dict[SourceSite, StuckPoll]:
        """Where a rank waits for a file that is written only after a collective that the rank has not entered."""
        found: dict[SourceSite, StuckPoll] = {}
        for root in self.analysis.roots:
            found.update(polling.stuck(root.trace))
        return found

    @cached_property
    def raised_alone(self) -> set[str]:
        """Exceptions that a rank raises depending on its own data."""
        modules = {**self.analysis.reached, self.module.path: self.module}
        return raises.raised_alone((root.trace for root in self.analysis.roots), modules)

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The parent of each syntax node in this file."""
        return parents(self.module.nodes)

    @cached_property
    def assignments(self) -> list[tuple[str, ast.expr]]:
        """(name, expression) of every plain assignment to a name."""
        return [
            (node.targets[0].id, node.value)
            for node in self.module.of(ast.Assign)
            if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
        ]

    @cached_property
    def alone(self) -> bool:
        """Whether every group that is made has one process by its own words: a test or a measurement of a wrapper."""
        sizes = [call.argument(3, "world_size") for call in self.named("torch.distributed.init_process_group")]
        return bool(sizes) and all(size is not None and size.constant == 1 for size in sizes)

    @cached_property
    def distributed(self) -> bool:
        """Whether the file (or one that it imports) actually takes part in a process group."""
        if self.named("torch.distributed.init_process_group", *DDP_PATHS):
            return True
        return any(operates(root.trace) for root in self.analysis.roots)

    def named(self, *paths: str) -> list[CallEvent]:
        """Calls by canonical dotted name, in the order of execution."""
        if len(paths) == 1:
            return self._by_name.get(paths[0], [])
        return [c for path in paths for c in self._by_name.get(path, [])]

    @cached_property
    def _by_name(self) -> dict[str, list[CallEvent]]:
        """Calls by canonical dotted name, those of methods by `.name`."""
        found: dict[str, list[CallEvent]] = {}
        for call in self.calls:
            found.setdefault(call.path or f".{call.method}", []).append(call)
        return found

    def concerning(self, concerns: Callable[[str], object]) -> list[CallEvent]:
        """Calls in the order of execution, of those names (of methods `.name`) that a rule may be concerned with.

        There are many calls of few names: what follows from the name alone is asked once for each name.
        """
        chosen = [calls for name, calls in self._by_name.items() if concerns(name)]
        return sorted((call for calls in chosen for call in calls), key=lambda call: call.index)

    def methods(self, *names: str) -> list[CallEvent]:
        """Calls of methods by the method's name."""
        return self.named(*(f".{name}" for name in names)) if len(names) > 1 else self.named(f".{names[0]}")

    @property
    def modules(self) -> tuple[Module, ...]:
        """The file, and the files of the project that its analysis has come to: more of them with each question."""
        return tuple({self.module.path: self.module, **self.analysis.reached}.values())

    def mentions(self, *words: str) -> bool:
        """Whether a name or attribute occurs in the file or in a file of the project that it imports."""
        return any(w in m.words for m in self.modules for w in words)

    def suggests(self, *rows: Heuristic) -> bool:
        """Whether one of the words of a heuristic occurs in the file or in a file of the project that it uses."""
        return self.mentions(*(word for row in rows for word in row.words))

    @property
    def texts(self) -> list[str]:
        """The source of the file and of the files of the project that it uses."""
        return [module.text for module in self.modules]

    @cached_property
    def imported(self) -> list[Module]:
        """The files of the project that the file's imports lead to, also those of which it uses no name: hooks that are
        found in a registry."""
        found: dict[str, Module] = {self.module.path: self.module}
        waiting = [self.module]
        for module in waiting:
            package = module.path.endswith("/__init__.py")
            for name in imported(module.text, module.name, package=package):
                more = self.analysis.project.find(name, module)
                if more is not None and more.path not in found:
                    found[more.path] = more
                    waiting.append(more)
        return waiting[1:]

    def place(self, call: CallEvent) -> SourceSite:
        """The position of a call, or of the innermost call in this file that leads to it."""
        chain = (*call.context.chain, call.site)
        return next((s for s in reversed(chain) if s.file == self.module.path), call.site)

    def finding(
        self,
        rule: LintRule,
        place: ast.AST | SourceSite,
        message: str | Conditional,
        *,
        related: tuple[tuple[SourceSite, str], ...] = (),
        fix: Fix | None = None,
        severity: Severity | None = None,
        context: Context | None = None,
        chain: tuple[SourceSite, ...] = (),
        unconfirmed: Unconfirmed | None = None,
    ) -> Finding | None:
        """A finding at a place in this file; if the place is in another file, where `context` was entered from this
        one.

        A fault may exist only in the combination that this file makes: a loader created in one file, and its loop in
        another. A finding that is `unconfirmed` there is reported unless another file of the project makes the code
        right.
        """
        site = place if isinstance(place, SourceSite) else site_of(self.module, place)
        condition, text = message if isinstance(message, Conditional) else ("", message)
        notes: list[Related] = []
        if site.file != self.module.path:
            entered = [
                s for s in (chain or (context.chain if context is not None else ())) if s.file == self.module.path
            ]
            if not entered or self._silenced_there(rule, site):
                return None
            notes.append(Related(site.file, site.line, "it is here", role=RelatedRole.MEANT))
            related, fix = tuple(r for r in related if r[0] != site), None
            site = entered[-1]
        if unconfirmed is not None:
            open_, asked = "only the other files of the project can tell", unconfirmed.site
            notes.append(Related(asked.file, asked.line, open_, role=unconfirmed.role))
        notes += [Related(s.file, s.line, said) for s, said in related]
        return Finding(
            rule.code, rule.name, rule.told(severity or rule.severity), site.file, site.line, site.column,
            site.end_line, site.end_column, condition + text, tuple(notes), fix,
            condition=condition, advice=rule.advice,
        )  # fmt: skip

    def _silenced_there(self, rule: LintRule, site: SourceSite) -> bool:
        """Whether a comment in the other file suppresses it."""
        module = self.analysis.reached.get(site.file)
        if module is None or "#" not in "".join(module.lines[max(site.line - 2, 0) : site.end_line]):
            return False
        whole, listed = self._suppressions_of(module)
        return whole or any(suppress.silences(s, rule, (site.line, site.end_line)) for s in listed)

    def _suppressions_of(self, module: Module) -> tuple[bool, list[suppress.Suppression]]:
        """Whether a comment excludes a whole file, and what else its comments suppress."""
        known = self._suppressions.get(module.path)
        if known is None:
            whole = "ddpdoctor" in module.text.lower() and suppress.whole_file(comments.read(module.text))
            known = self._suppressions[module.path] = whole, suppress.in_text(module.text)
        return known

    def parting(
        self,
        rule: LintRule,
        item: CollectiveDivergence,
        place: SourceSite,
        message: str | Conditional,
        *,
        related: tuple[tuple[SourceSite, str], ...] = (),
        severity: Severity | None = None,
        unconfirmed: Unconfirmed | None = None,
    ) -> Finding | None:
        """A finding of a divergence, worded with what this file alone knows if the branch is in another file."""
        if item.exit is None and place.file != self.module.path and item.op.site.file == self.module.path:
            place = item.op.site
        ways = self._ways.get(item.branch.site, []) if place.file != self.module.path else []
        # of several, the one that leads to the operation as well
        way = max(ways, key=lambda way: _shared(way, item.chain), default=())
        return self.finding(
            *(rule, place, message), related=related, severity=severity, chain=way, unconfirmed=unconfirmed
        )

    def above(self, branch: Branch) -> tuple[Branch, ...]:
        """The branches around one, where the analysis first comes to it."""
        return self._above.get(branch.site, ())

    @cached_property
    def _above(self) -> dict[SourceSite, tuple[Branch, ...]]:
        found: dict[SourceSite, tuple[Branch, ...]] = {}
        for root in self.analysis.roots:
            for node, _, under, _ in steps(root.trace):
                if isinstance(node, Branch):
                    found.setdefault(node.site, under)
        return found

    @cached_property
    def _ways(self) -> dict[SourceSite, list[tuple[SourceSite, ...]]]:
        """Ways to each branch: calls that lead there, outermost first."""
        found: dict[SourceSite, list[tuple[SourceSite, ...]]] = {}
        for root in self.analysis.roots:
            for node, chain, _, _ in steps(root.trace):
                # a loop as long as the rank decides parts ranks, too
                if isinstance(node, (Branch, Loop)):
                    found.setdefault(node.site, []).append(chain)
        return found


def shown_also(finding: Finding | None, sites: Iterable[SourceSite]) -> Finding | None:
    """A finding of which other places show the same, for those who ask which of them anything comes to."""
    if finding is None:
        return None
    own = {(finding.file, finding.line), *((n.file, n.line) for n in finding.related if n.role is RelatedRole.MEANT)}
    others = dict.fromkeys((site.file, site.line) for site in sites)
    notes = (Related(file, line, "", role=RelatedRole.ALSO) for file, line in others if (file, line) not in own)
    return replace(finding, related=(*finding.related, *notes))


def _shared(one: tuple[SourceSite, ...], two: tuple[SourceSite, ...]) -> int:
    """How many calls two ways begin with alike."""
    return next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))


DDP_PATHS = ("torch.nn.parallel.DistributedDataParallel", "apex.parallel.DistributedDataParallel")
#: what wraps or shards a network, and what only such a network runs
_WRAPPERS = (*DDP_PATHS, aliases.FSDP, *fsdp.SHARDING)
_OF_WRAPPERS = frozenset({"backward (DDP)", fsdp.BACKWARD, fsdp.FORWARD})


def _unbalanced(found: list[tuple[str, CollectiveDivergence]]) -> list[CollectiveDivergence]:
    """Without pairs where one function runs on some ranks what another runs on the rest (such as enter and
    exit hooks).
    """
    dropped: set[int] = set()
    for i, (root, one) in enumerate(found):
        for j, (other_root, two) in enumerate(found):
            if i < j and root != other_root and _complement(one, two):
                dropped.update((i, j))
    unique: dict[tuple[SourceSite, SourceSite], CollectiveDivergence] = {}
    for index, (_, item) in enumerate(found):
        if index not in dropped:
            unique.setdefault((item.branch.site, item.op.site), item)
    return sorted(unique.values(), key=lambda d: (d.branch.site, d.op.site))


def _complement(one: CollectiveDivergence, two: CollectiveDivergence) -> bool:
    if one.local or two.local or one.exit or two.exit or one.op.op != two.op.op or one.looped or two.looped:
        return False
    return one.runs == two.lacks and one.lacks == two.runs

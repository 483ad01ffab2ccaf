"""The architecture's import rules: a DAG rooted at model, pure folders without I/O, no torch in the supervisor."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterable, Iterator, Set
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "ddpdoctor"

#: pure folders -> their impure modules; of observe only the policy is pure
PURE: dict[str, frozenset[str]] = {
    "model": frozenset({"named_tuple", "record"}),
    "program": frozenset(),
    "merge": frozenset(),
    "diagnose": frozenset(),
    "report": frozenset(),
    "lint": frozenset(
        """cache engine file_result files linter repeats deferred.asked_versions deferred.confirmation
        deferred.confirmations deferred.deferral deferred.fetched_before deferred.launches
        deferred.left_to_one_rank deferred.local_rank_option deferred.project_folder deferred.repository
        deferred.started_nodes deferred.started_ranks deferred.used_at_all""".split()  # noqa: SIM905 - a list of names reads better so
    ),
    "checkup": frozenset({"look", "meeting"}),
    "notify": frozenset({"webhook", "places"}),
    "meeting": frozenset({"store", "store_helper", "folder", "session", "meeting"}),
    "archive": frozenset(
        {"input_files", "recorder_json", "resource_limits", "parallel_dumps", "unpickle", "local_source", "pipeline"}
    ),
}
#: the layers of lint, each of which imports only those before it, itself and the modules that any layer may import
LINT_LAYERS = ("knowledge", "values", "interpreter", "ranks", "facts", "rules")
LINT_GROUND = {
    "comments": frozenset[str](),
    "rule": frozenset[str](),
    "own_rules": frozenset({"rule"}),
    "suppress": frozenset({"comments", "own_rules", "rule"}),
    "taint_comments": frozenset({"comments", "own_rules", "rule", "suppress", "values"}),
}
PURE_MODULES = frozenset(
    {
        "exhibit",
        "observe.arrivals",
        "observe.desync",
        "observe.lateness",
        "observe.pace",
        "observe.parts",
        "observe.reductions",
        "observe.shifts",
        "observe.stall",
        "observe.stream",
        "collect.capture",
        "collect.assemble",
        "repro.expectations",
    }
)
#: `pathlib` is not among them: PurePath is no I/O, so its impure half is looked for by name
IMPURE = frozenset(
    """asyncio concurrent ctypes fcntl glob http importlib logging mmap multiprocessing os pickle platform psutil
    random resource rich select shutil signal socket sqlite3 subprocess sys tempfile threading time tty
    urllib.request""".split()  # noqa: SIM905 - a list of names reads better so
)
#: what is impure in name only: our own rules loaded by their names, the names of signals
EXCUSED = {
    ("lint.registry", "importlib"),
    ("diagnose.rules.rank_died", "signal"),
}
IMPURE_NAMES = frozenset({"open", "print", "input", "exec", "eval", "Path", "datetime"})
#: who may import whom, beside the folder itself; the shell (cli, repro, config) may import all
ALLOWED = {
    "model": frozenset[str](),
    "errors": frozenset[str](),
    "workers": frozenset[str](),
    "probe": frozenset[str](),
    # what lint and diagnose both know of code
    "program": frozenset({"model"}),
    "merge": frozenset({"model"}),
    "lint": frozenset({"model", "program", "errors", "workers"}),
    "report": frozenset({"model"}),
    # of lint only `dependence`, see below
    "diagnose": frozenset({"model", "program", "merge", "lint"}),
    "collect": frozenset({"model", "program", "probe", "errors"}),
    "launch": frozenset({"model", "collect", "probe", "errors"}),
    # what a dead job left behind, judged by the same engine
    "archive": frozenset({"model", "program", "collect", "probe", "merge", "diagnose", "errors", "workers"}),
    # the facts of a machine, asked with what the other shells ask with, and judged
    "checkup": frozenset({"model", "collect", "launch"}),
    # verdicts in a few lines, and where they go
    "notify": frozenset({"model", "probe", "report", "errors"}),
    # evidence as the renderers draw it
    "exhibit": frozenset({"model", "merge", "diagnose", "archive"}),
    # several watchers of one job: what travels between them, and when
    "meeting": frozenset({"model", "collect", "probe"}),
    # the loop of `watch`: find, sample, judge
    "observe": frozenset({"model", "collect", "probe", "launch", "diagnose", "meeting"}),
}


#: the stages of diagnose, each with those that it may import beside itself
DIAGNOSE = {
    "codes": "",
    "diagnosis": "codes",
    "digest": "",
    "facts": "digest",
    "conditions": "facts",
    "wording": "digest facts",
    "divergence": "codes conditions digest facts wording",
    "blocked": "conditions digest facts wording",
    "offline": "codes conditions diagnosis digest divergence facts wording",
    "rules": "blocked codes conditions diagnosis digest divergence facts offline wording",
    "rule": "codes facts",
    "registry": "codes rule rules",
    "course": "codes diagnosis likeliest wording",
    "endless_loops": "",
    "counted_loops": "",
    "batch_of_turn": "",
    "likeliest": "blocked codes digest divergence facts",
    "shift_cause": "codes digest divergence facts registry",
    "engine": "codes conditions course digest facts likeliest offline registry rule wording",
}


def _modules() -> Iterator[tuple[str, Path]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        if "fixtures" not in path.parts:
            yield ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"), path


MODULES = dict(_modules())


@functools.cache
def _tree(name: str) -> ast.Module:
    return ast.parse(MODULES[name].read_text(encoding="utf-8"))


@functools.cache
def _imports(name: str, *, types: bool = False) -> tuple[str, ...]:
    """Absolute names of all modules that a module imports, at any place; `types`: also imports for types only."""
    return tuple(_imported(name, ast.walk(_tree(name)) if types else _run_time(_tree(name))))


def _imported(name: str, nodes: Iterable[ast.AST]) -> Iterator[str]:
    package = ["ddpdoctor", *MODULES[name].relative_to(PACKAGE).parent.parts]
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(filter(None, (base, node.module)))
            yield from (f"{module}.{alias.name}" for alias in node.names)


def _run_time(node: ast.AST) -> Iterator[ast.AST]:
    """Everything below a node except the body of `if TYPE_CHECKING`."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            yield from _run_time(child)


def _ours(imported: str) -> str:
    """The module of ours that an import means, "" for another's."""
    name = imported.removeprefix("ddpdoctor.")
    while imported.startswith("ddpdoctor") and name and name not in MODULES:
        name = name.rpartition(".")[0]
    return name if imported.startswith("ddpdoctor.") else ""


def _folder(module: str) -> str:
    return module.partition(".")[0]


def _is_pure(module: str) -> bool:
    folder, _, rest = module.partition(".")
    return module in PURE_MODULES or (folder in PURE and PURE[folder].isdisjoint((rest, rest.partition(".")[0])))


def test_imports_between_modules_form_a_dag() -> None:
    """Every import counts: inside functions and for types alone, too."""
    graph = {name: {_ours(i) for i in _imports(name, types=True)} - {name} for name in MODULES}
    TopologicalSorter(graph).prepare()


def _none(modules: Iterable[str], wrong: Callable[[str], Set[str]]) -> None:
    """No module imports or names what is wrong in it."""
    assert {module: found for module in modules if (found := wrong(module))} == {}


def test_a_layer_of_lint_imports_only_what_stands_before_it() -> None:
    def wrong(module: str) -> Set[str]:
        before = {*LINT_LAYERS[: LINT_LAYERS.index(module.split(".")[1]) + 1], *LINT_GROUND}
        ours = {ours for i in _imports(module, types=True) if (ours := _ours(i)).startswith("lint.")}
        return {one.split(".")[1] for one in ours} - before

    _none((name for name in MODULES if name.partition(".")[2].partition(".")[0] in LINT_LAYERS), wrong)


@pytest.mark.parametrize("module", LINT_GROUND)
def test_what_any_layer_of_lint_may_import_knows_no_higher_layer(module: str) -> None:
    imported = {
        ours.split(".")[1] for i in _imports(f"lint.{module}", types=True) if (ours := _ours(i)).startswith("lint.")
    }
    assert imported <= LINT_GROUND[module]


def test_diagnose_asks_lint_one_question_in_one_place() -> None:
    asked = {(name, _ours(i)) for name in MODULES if _folder(name) == "diagnose" for i in _imports(name, types=True)}
    of_lint = {(name, ours) for name, ours in asked if ours.startswith("lint")}
    assert of_lint == {("diagnose.conditions", "lint.dependence")}


def test_a_folder_imports_only_what_stands_before_it() -> None:
    def wrong(module: str) -> Set[str]:
        folder = _folder(module)
        return {_folder(ours) for i in _imports(module) if (ours := _ours(i))} - {folder} - ALLOWED[folder]

    _none((name for name in MODULES if _folder(name) in ALLOWED), wrong)


def test_a_stage_of_diagnose_imports_only_what_stands_before_it() -> None:
    def wrong(module: str) -> Set[str]:
        stage = module.split(".")[1]
        ours = {name for i in _imports(module, types=True) if (name := _ours(i)).startswith("diagnose.")}
        return {name.split(".")[1] for name in ours} - {stage, *DIAGNOSE[stage].split()}

    _none((name for name in MODULES if name.startswith("diagnose.")), wrong)


def test_a_pure_module_does_no_io() -> None:
    def wrong(module: str) -> Set[str]:
        impure = {name for i in _imports(module) for name in (i, i.partition(".")[0]) if name in IMPURE}
        names = {node.id for node in ast.walk(_tree(module)) if isinstance(node, ast.Name)}
        return {name for name in impure if (module, name) not in EXCUSED} | (names & IMPURE_NAMES)

    _none(filter(_is_pure, MODULES), wrong)


#: a program of its own beside the job, run by the job's interpreter
HELPER = "meeting.store_helper"


def test_the_supervisors_side_never_imports_torch() -> None:
    def wrong(module: str) -> Set[str]:
        return {"torch"} & {i.partition(".")[0] for i in _imports(module)}

    _none((name for name in MODULES if _folder(name) != "probe" and name != HELPER), wrong)


def test_the_supervisors_side_never_imports_its_helper() -> None:
    assert not [name for name in MODULES if HELPER in {_ours(i) for i in _imports(name)}]


@pytest.mark.parametrize("module", [*(name for name in MODULES if _folder(name) == "probe"), HELPER])
def test_the_probe_imports_only_the_standard_library_torch_and_itself(module: str) -> None:
    import sys

    for imported in _imports(module):
        top = imported.partition(".")[0]
        assert top in sys.stdlib_module_names or top == "torch" or imported.startswith("ddpdoctor.probe")
    relative = [n for n in ast.walk(_tree(module)) if isinstance(n, ast.ImportFrom)]
    assert not [n for n in relative if (n.module or "").startswith("ddpdoctor")], "workers may not have ddpdoctor"


def test_source_text_is_asked_of_one_place() -> None:
    """`ast.unparse` fails for what anybody can write: an integer of thousands of digits, an expression too deep."""
    calls = {name for name, path in MODULES.items() if "ast.unparse(" in path.read_text("utf-8")}
    assert calls == {"program.text"}


#: a class's own fields become its `__init__`; what our own workers send comes from ourselves
OWN_CODE = frozenset({"model.named_tuple", "model.record", "workers"})


def test_nothing_is_handed_to_a_shell_and_no_data_becomes_code() -> None:
    shells = {("os", "system"), ("os", "popen"), ("subprocess", "getoutput"), ("pickle", "load"), ("pickle", "loads")}
    found = [
        f"{name}:{node.lineno}"
        for name in MODULES
        if name not in OWN_CODE
        for node in ast.walk(_tree(name))
        if isinstance(node, ast.Call)
        if any(word.arg == "shell" for word in node.keywords)
        or (isinstance(node.func, ast.Name) and node.func.id in ("eval", "exec"))
        or (
            isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and (node.func.value.id, node.func.attr) in shells
        )
    ]
    assert found == []

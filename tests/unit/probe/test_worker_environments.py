"""The probe stays on the PYTHONPATH that a program gives to workers of a framework, whenever that is imported."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from ddpdoctor.launch.environment import PLUGIN
from ddpdoctor.probe import deferred_patches, worker_environments

SOURCE = '"""A module that is imported late."""\n\nVALUE = 1\n'


@pytest.fixture
def late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a module in a package that nobody has imported yet."""
    package = tmp_path / "imported_late"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "part.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    finders = list(sys.meta_path)
    yield "imported_late.part"
    assert sys.meta_path == finders
    for name in ("imported_late.part", "imported_late"):
        sys.modules.pop(name, None)


def test_a_module_is_patched_in_its_import(late: str) -> None:
    seen: list[int] = []
    deferred_patches.at_import(late, lambda module: seen.append(module.VALUE))
    assert seen == []
    module = importlib.import_module(late)
    assert seen == [1]
    # whoever looks at the module finds it as it is without us
    assert inspect.getsource(module) == SOURCE
    assert type(module.__loader__).__name__ == "SourceFileLoader"
    importlib.reload(module)
    assert seen == [1]


def test_a_module_that_is_there_is_patched_at_once(late: str) -> None:
    module = importlib.import_module(late)
    seen: list[ModuleType] = []
    deferred_patches.at_import(late, seen.append)
    assert seen == [module]


def test_a_patch_that_fails_is_nobodys_business(late: str) -> None:
    def fails(module: ModuleType) -> None:
        raise AttributeError(module.__name__)

    deferred_patches.at_import(late, fails)
    assert importlib.import_module(late).VALUE == 1
    deferred_patches.at_import(late, fails)


def test_a_module_that_fails_fails_as_it_would(late: str, tmp_path: Path) -> None:
    part, seen = tmp_path / "imported_late" / "part.py", []
    deferred_patches.at_import(late, lambda module: seen.append(module.VALUE))
    part.write_text("raise ValueError('mine')\n")
    with pytest.raises(ValueError, match="mine") as raised:
        importlib.import_module(late)
    assert raised.traceback[-1].path == part
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("imported_late.other")
    part.write_text(SOURCE + "# longer\n")
    importlib.invalidate_caches()
    assert importlib.import_module(late).VALUE == 1
    assert seen == [1]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("/mine", f"{PLUGIN}{os.pathsep}/mine"),
        ("", str(PLUGIN)),
        (f"/mine{os.pathsep}{PLUGIN}", f"/mine{os.pathsep}{PLUGIN}"),
        # Ray puts in what the worker would have had
        ("/mine:${PYTHONPATH}", f"{PLUGIN}{os.pathsep}/mine:${{PYTHONPATH}}"),
    ],
)
def test_the_path_of_workers(given: str, kept: str) -> None:
    variables = {"OMP_NUM_THREADS": "1", "PYTHONPATH": given}
    assert worker_environments.with_probe(variables) == {"OMP_NUM_THREADS": "1", "PYTHONPATH": kept}
    assert variables["PYTHONPATH"] == given


@pytest.mark.parametrize("variables", [{}, {"OMP_NUM_THREADS": "1"}, {"PYTHONPATH": None}, {"PYTHONPATH": 3}])
def test_an_environment_without_a_path_stays_as_it_is(variables: dict[str, object]) -> None:
    assert worker_environments.with_probe(variables) is variables


@pytest.mark.frameworks
def test_an_environment_of_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    (ray,) = worker_environments.ENVIRONMENTS
    module = pytest.importorskip(ray.module)
    monkeypatch.setattr(module.RuntimeEnv, "__init__", module.RuntimeEnv.__init__)
    worker_environments._patch(ray, module)
    given = {"PYTHONPATH": "/mine"}
    assert module.RuntimeEnv(env_vars=given)["env_vars"] == {"PYTHONPATH": f"{PLUGIN}:/mine"}
    assert given == {"PYTHONPATH": "/mine"}
    assert module.RuntimeEnv(env_vars={"A": "1"})["env_vars"] == {"A": "1"}
    assert module.RuntimeEnv() == {}
    with pytest.raises((TypeError, ValueError)):
        module.RuntimeEnv(env_vars={"PYTHONPATH": "/mine", "A": 1})

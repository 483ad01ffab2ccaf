"""Environments that a framework gives to the workers that it starts: the probe's folder stays on their PYTHONPATH.

`watch` adds the folder to the PYTHONPATH of the job, and a worker inherits it. A program that gives its workers a
PYTHONPATH of their own through the framework replaces it, and nothing would be seen of the ranks.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from . import deferred_patches
from .transparent_hooks import drop_frame, impersonate

_FOLDER = str(Path(__file__).resolve().parent / "plugin")
_PATHS = "PYTHONPATH"


class WorkerEnvironment(NamedTuple):
    """A class whose objects hold environment variables of workers, given by keyword."""

    module: str
    name: str
    keyword: str


#: Ray sets the variables in the worker before it starts Python (`update_envs`, ray/_private/utils.py, 2.60), and makes
#: an object of this class of every dict that a program gives to `ray.init` or to an actor (`JobConfig`,
#: `parse_runtime_env_for_task_or_actor`)
ENVIRONMENTS = (WorkerEnvironment("ray.runtime_env.runtime_env", "RuntimeEnv", "env_vars"),)


def install() -> None:
    for environment in ENVIRONMENTS:
        deferred_patches.at_import(environment.module, partial(_patch, environment))


def _patch(environment: WorkerEnvironment, module: ModuleType) -> None:
    owner: Any = getattr(module, environment.name)
    function = owner.__init__

    def hook(self: Any, *args: Any, **kwargs: Any) -> Any:
        variables = kwargs.get(environment.keyword)
        if isinstance(variables, Mapping):
            kwargs[environment.keyword] = with_probe(variables)
        try:
            return function(self, *args, **kwargs)
        except BaseException as error:
            drop_frame(error)
            raise

    owner.__init__ = impersonate(hook, function)


def with_probe(variables: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same variables, with the probe's folder before what PYTHONPATH has, if that is among them."""
    given = variables.get(_PATHS)
    if not isinstance(given, str) or _FOLDER in given.split(os.pathsep):
        return variables
    return {**variables, _PATHS: os.pathsep.join(filter(None, (_FOLDER, given)))}

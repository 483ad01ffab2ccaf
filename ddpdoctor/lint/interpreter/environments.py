"""What a rank observes in an environment that it acts in: its own, unless all ranks seed theirs alike."""

from __future__ import annotations

import ast

from ddpdoctor.lint.interpreter.invocations import MethodCall
from ddpdoctor.lint.knowledge import environments
from ddpdoctor.lint.values.abstract_objects import Made
from ddpdoctor.lint.values.tags import DATA, union
from ddpdoctor.lint.values.values import Taint, Value, unknown
from ddpdoctor.program.modules import Module, once
from ddpdoctor.program.nodes import last_name


def method(call: MethodCall) -> Value | None:
    """What `reset` and `step` of an environment give; None of anything else, or if all ranks may observe the same."""
    made = call.receiver.object
    if not isinstance(made, Made) or not made.path.startswith(environments.MAKERS):
        return None
    own = [value.tags for value in call.given if value.taint is Taint.RANK_LOCAL]
    modules = (call.machine.module, *call.machine.reached.values())
    if not own and any(map(_seeds, modules)):
        return None
    return unknown("observed", call.site, taint=Taint.RANK_LOCAL, tags=union(own) & DATA)


@once
def _seeds(module: Module) -> bool:
    """Whether a file may seed an environment: `env.seed(1)`, `env.reset(seed=1)`, `make(name, seed=1)`."""
    calls = module.of(ast.Call)
    return any(
        (isinstance(call.func, ast.Attribute) and call.func.attr in environments.SEEDING and not _is_global(call.func))
        or any(keyword.arg in environments.SEEDING for keyword in call.keywords)
        for call in calls
    )


def _is_global(func: ast.Attribute) -> bool:
    """Whether it is a method of a module of generators: `np.random.seed`."""
    return last_name(func.value) == "random"

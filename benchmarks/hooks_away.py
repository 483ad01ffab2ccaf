"""Takes watch's hooks away from this rank and puts them back, so that both can be measured in one process."""

from __future__ import annotations

import os
import signal
import sys
from types import FunctionType, ModuleType
from typing import Any

from ddpdoctor.probe.transparent_hooks import MARK

#: modules in which hooks are looked for; those of the launcher's side (subprocess, os) are not on a step's way
_WHERE = ("torch", "multiprocessing")


class Watch:
    """What `watch` has put into this process: it can be taken out and put back between two blocks of steps.

    Made before the probe is loaded (TORCH_DEVICE_BACKEND_AUTOLOAD=0), which it does itself.
    """

    def __init__(self) -> None:
        import torch
        from torch.autograd.variable import Variable
        from torch.optim import optimizer

        self._variable: Any = Variable
        self._after_step: dict[int, Any] = optimizer._global_optimizer_post_hooks
        self._places: list[tuple[Any, str, Any, Any]] = []
        without = (Variable._execution_engine, dict(self._after_step))
        torch._import_device_backends()
        self._states = {False: without, True: (Variable._execution_engine, dict(self._after_step))}
        if self._states[True][0] is without[0] or len(self._states[True][1]) == len(without[1]):
            raise RuntimeError("the probe is not in this process: this would compare equals")
        self._supervisor = int(os.environ.get("_DDPDOCTOR_WATCH_PID", "0"))

    def look(self) -> None:
        """Find the hooks, after a few steps: some are put in place once the job has imported what they hook."""
        self._places = _places()

    def turn(self, *, on: bool) -> None:
        """Put everything in place or take it away; the supervisor continues or is stopped."""
        for owner, name, hook, torchs in self._places:
            setattr(owner, name, hook if on else torchs)
        engine, steps = self._states[on]
        self._variable._execution_engine = engine
        self._after_step.clear()
        self._after_step.update(steps)
        if self._supervisor:
            os.kill(self._supervisor, signal.SIGCONT if on else signal.SIGSTOP)

    def revision(self) -> int:
        """How often the hooks have written to this rank's page."""
        state: Any = sys.modules["_ddpdoctor_probe.state"]
        return int(state.page.revision())


def _places() -> list[tuple[Any, str, Any, Any]]:
    """(owner, name, hook, what it stands for) of every function of the probe in a module or class."""
    found = []
    seen: set[int] = set()
    for module in tuple(sys.modules.values()):
        if not isinstance(module, ModuleType) or module.__name__.partition(".")[0] not in _WHERE:
            continue
        # by type(), since torch has objects that warn when they are asked for their class
        for owner in (module, *(one for one in tuple(vars(module).values()) if issubclass(type(one), type))):
            if id(owner) in seen:
                continue
            seen.add(id(owner))
            for name, value in tuple(vars(owner).items()):
                if type(value) is FunctionType and value.__code__.co_filename.endswith(MARK):
                    found.append((owner, name, value, vars(value)["__wrapped__"]))
    return found

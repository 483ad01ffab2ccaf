"""Takes watch's hooks away from this rank and puts them back, so that both can be measured in one process."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from ddpdoctor.probe.transparent_hooks import MARK, impersonate

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
        #: seconds inside of hooks, once `measure_inside` was called
        self.inside = 0.0
        #: of each hook on the stack, the seconds that its clock stood still
        self._stood: list[float] = []
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

    def measure_inside(self) -> None:
        """From now on the hooks are in place for good, and add what they take to `inside`."""
        timed = {id(hook): self._timed(hook, torchs) for _, _, hook, torchs in self._unlike()}
        for owner, name, hook, _ in self._places:
            setattr(owner, name, timed[id(hook)])
        self._after_step.update({key: self._counted(hook) for key, hook in self._states[True][1].items()})

    def _unlike(self) -> list[tuple[Any, str, Any, Any]]:
        """One place of each hook: several modules have the same function under its name."""
        return list({id(place[2]): place for place in self._places}.values())

    def _timed(self, hook: FunctionType, torchs: Callable[..., Any]) -> Callable[..., Any]:
        """The hook with a clock around it; the clock stands still while what it stands for runs."""
        cells = dict(zip(hook.__code__.co_freevars, hook.__closure__ or (), strict=True))
        cell = next((one for one in cells.values() if one.cell_contents is torchs), None)
        if cell is None:
            return hook
        cell.cell_contents = self._stopped(torchs)
        return impersonate(self._counted(hook), hook)

    def _counted(self, hook: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **kwargs: Any) -> Any:
            began = time.perf_counter()
            self._stood.append(0.0)
            try:
                return hook(*args, **kwargs)
            finally:
                self.inside += time.perf_counter() - began - self._stood.pop()

        return counted

    def _stopped(self, torchs: Callable[..., Any]) -> Callable[..., Any]:
        def stopped(*args: Any, **kwargs: Any) -> Any:
            began = time.perf_counter()
            try:
                return torchs(*args, **kwargs)
            finally:
                self._stood[-1] += time.perf_counter() - began

        return impersonate(stopped, torchs)

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

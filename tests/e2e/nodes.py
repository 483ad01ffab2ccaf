"""Jobs on several nodes: each node a network, a clock and a host name of its own on this machine, and a watcher."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.job import Report

INSIDE = Path(__file__).parent / "programs" / "namespaces.py"
PACKAGE = Path(__file__).parents[2]
#: addresses of the first node: for all that a job does, and for its store alone
FIRST, STORE = "10.77.0.1", "10.78.0.1"
_OWN = ["unshare", "--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]


@functools.cache
def obstacle() -> str:
    """Why nodes cannot be made here, "" if they can."""
    try:
        ready = subprocess.run(
            [*_OWN, sys.executable, str(INSIDE), "1"], input="", capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"namespaces cannot be made: {error}"
    return "" if ready.returncode == 0 else f"namespaces cannot be made: {ready.stderr.strip()[-200:]}"


@dataclass
class Node:
    """What the watcher of one node wrote."""

    folder: Path
    status: int | None = None

    @property
    def stderr(self) -> str:
        return self._text("stderr")

    @property
    def stdout(self) -> str:
        return self._text("stdout")

    @property
    def report(self) -> Report | None:
        with suppress(FileNotFoundError, ValueError):
            report: Report = json.loads((self.folder / "report.json").read_text())
            return report
        return None

    def _text(self, name: str) -> str:
        with suppress(FileNotFoundError):
            return (self.folder / name).read_text(encoding="utf-8", errors="replace")
        return ""


class Nodes:
    """Several nodes, as long as the block that made them."""

    def __init__(self, process: subprocess.Popen[str], folder: Path, number: int) -> None:
        self._process = process
        self.nodes = [Node(folder / f"node-{number}") for number in range(number)]
        self._listener = threading.Thread(target=self._listen)
        self._listener.start()

    def start(self, node: int, command: Sequence[str], *options: str, watched: bool = True) -> None:
        """Start a command on a node, under `ddpdoctor watch OPTIONS` unless not `watched`."""
        folder = self.nodes[node].folder
        folder.mkdir(parents=True)
        own = [sys.executable, "-m", "ddpdoctor", "watch", "--json", str(folder / "report.json")]
        whole = [*own, "--bundle", str(folder / "bundle"), *options, "--", *command] if watched else list(command)
        environ = {
            "OMP_NUM_THREADS": "1",
            "GLOO_SOCKET_IFNAME": "eth0",
            "PYTHONPATH": str(PACKAGE),
            "XDG_STATE_HOME": str(folder / "state"),
            "TMPDIR": "/tmp",
        }
        out, err = str(folder / "stdout"), str(folder / "stderr")
        self._tell({"node": node, "run": whole, "env": environ, "cwd": str(folder), "out": out, "err": err})

    def torchrun(self, program: Path, ranks: int, *options: str, arguments: Sequence[str] = ()) -> None:
        """The same program on every node, `ranks` each."""
        for node in range(len(self.nodes)):
            self.start(node, self.command(node, program, ranks, *arguments), *options)

    def command(self, node: int, program: Path, ranks: int, *arguments: str, store: str = "") -> list[str]:
        """How a node's torchrun is started. `store`: the first node's address for a store that only ranks use after
        the start; without it the launchers meet there again and again."""
        launcher = str(Path(sys.executable).with_name("torchrun"))
        place = ["--nnodes", str(len(self.nodes)), "--node-rank", str(node), "--nproc-per-node", str(ranks)]
        meeting = ["--rdzv-backend", "c10d", "--rdzv-endpoint", "node-0:29400", "--rdzv-id", "test"]
        if store:
            meeting = ["--master-addr", store, "--master-port", "29400"]
        return [launcher, *place, *meeting, str(program), *arguments]

    def link(self, node: int, *, up: bool) -> None:
        self._tell({"link": node, "up": up})

    def reach(self, node: int, *, stores: bool) -> None:
        """Whether new and old connections of a node reach STORE."""
        self._tell({"node": node, "reach": stores})

    def until(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Whether it came true within so many seconds."""
        deadline = time.monotonic() + seconds
        while not condition() and time.monotonic() < deadline:
            time.sleep(0.1)
        return condition()

    def finish(self, seconds: float) -> list[Node]:
        """All nodes, after every command has ended; fails the test if one does not in time."""
        ended = self.until(lambda: all(node.status is not None for node in self.nodes), seconds)
        assert ended, self.explain()
        return self.nodes

    def explain(self) -> str:
        return "\n".join(f"node {i}: status {n.status}\n{n.stderr[-3000:]}" for i, n in enumerate(self.nodes))

    def close(self) -> None:
        self._listener.join()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdout.close()
        with suppress(BrokenPipeError):
            self._process.stdin.close()

    def _tell(self, what: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with suppress(ValueError, KeyError):
                told = json.loads(line)
                self.nodes[told["node"]].status = told["ended"]


@contextmanager
def nodes(folder: Path, number: int, *, silent: bool = False) -> Iterator[Nodes]:
    """Nodes with the addresses 10.77.0.1 and so on; everything on them ends with the block. `silent`: names are asked
    of a resolver that never answers."""
    environ = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    process = subprocess.Popen(
        [*_OWN, sys.executable, str(INSIDE), str(number), *(["silent"] if silent else [])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
        env=environ,
    )
    lab = None
    try:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline()) == {"ready": True}
        lab = Nodes(process, folder, number)
        yield lab
    finally:
        process.kill()  # --kill-child: with the first process of the namespace all others end
        process.wait()
        if lab is not None:
            lab.close()

"""Pure. What a launch command says of its job: torchrun's options, Accelerate's, and the environment's variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ddpdoctor.checkup.machine import Launch

#: option, with underscores or dashes -> what it gives
_OPTIONS = {
    "nproc-per-node": "ranks",
    "nnodes": "nodes",
    "master-addr": "address",
    "master-port": "port",
    "rdzv-endpoint": "endpoint",
    "node-rank": "node",
    "machine-rank": "node",
    "num-processes": "ranks",
    "num-machines": "nodes",
    "main-process-ip": "address",
    "main-process-port": "port",
}


def read(command: Sequence[str], environ: Mapping[str, str]) -> Launch:
    """The launch; options come before variables, as launchers have it."""
    said = _options(command)
    host, _, endpoint_port = said.get("endpoint", "").rpartition(":")
    standalone = "--standalone" in command
    address = said.get("address") or host or environ.get("MASTER_ADDR", "")
    port = said.get("port") or endpoint_port or environ.get("MASTER_PORT", "")
    ranks = _number(said.get("ranks", "") or environ.get("LOCAL_WORLD_SIZE", ""))
    nodes = _number(said.get("nodes", "").rpartition(":")[2]) or 1
    node = said.get("node") or environ.get("SLURM_NODEID", "")
    return Launch(
        tuple(command),
        ranks // nodes if ranks and _is_accelerate(command) else ranks,
        nodes,
        "" if standalone else address.strip("[]"),
        None if standalone else _number(port),
        int(node) if node.isdigit() and len(node) < 8 else None,
    )


def _options(command: Sequence[str]) -> dict[str, str]:
    said: dict[str, str] = {}
    for place, word in enumerate(command):
        if word.endswith(".py"):
            break  # what follows is the script's own
        name, equals, value = word.partition("=")
        meaning = _OPTIONS.get(name.lstrip("-").replace("_", "-")) if name.startswith("--") else None
        if meaning:
            said[meaning] = value if equals else next(iter(command[place + 1 : place + 2]), "")
    return said


def _is_accelerate(command: Sequence[str]) -> bool:
    """Accelerate counts the processes of all machines."""
    return any(word.rpartition("/")[2] == "accelerate" or "accelerate.commands" in word for word in command[:3])


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() and 0 < int(text) < 1 << 31 else None

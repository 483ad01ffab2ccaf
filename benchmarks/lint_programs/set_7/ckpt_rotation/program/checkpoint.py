import re
import shutil
from pathlib import Path

import torch
import torch.distributed as dist

PATTERN = re.compile(r"step_(\d{7})")


def list_checkpoints(out):
    found = []
    for p in Path(out).glob("step_*"):
        m = PATTERN.fullmatch(p.name)
        if m and (p / "COMPLETE").exists():
            found.append((int(m.group(1)), p))
    return sorted(found)


def rotate(out, keep):
    for _, path in list_checkpoints(out)[:-keep]:
        shutil.rmtree(path)


def save(out, step, model, optimizer, keep):
    """Called on every rank: rank 0 writes the model, each rank its RNG state."""
    rank = dist.get_rank()
    path = Path(out) / f"step_{step:07d}"
    path.mkdir(parents=True, exist_ok=True)
    torch.save({"cpu_rng": torch.get_rng_state()}, path / f"rng_{rank:05d}.pt")
    if rank == 0:
        torch.save(model.module.state_dict(), path / "model.pt")
        torch.save({"optimizer": optimizer.state_dict(), "step": step}, path / "trainer.pt")
    dist.barrier()
    if rank == 0:
        (path / "COMPLETE").touch()
    dist.barrier()
    rotate(out, keep)


def load_latest(out, model, optimizer, device):
    """Returns the step to go on from (0 when there is nothing to load)."""
    checkpoints = list_checkpoints(out)
    if not checkpoints:
        return 0
    _, path = checkpoints[-1]
    model.module.load_state_dict(torch.load(path / "model.pt", map_location=device))
    state = torch.load(path / "trainer.pt", map_location=device)
    optimizer.load_state_dict(state["optimizer"])
    rng = torch.load(path / f"rng_{dist.get_rank():05d}.pt", map_location="cpu")
    torch.set_rng_state(rng["cpu_rng"])
    return state["step"]

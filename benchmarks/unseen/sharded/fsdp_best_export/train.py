"""Tabular churn model: FSDP2 training, validation every ten steps, milestones
go to the model registry."""
import logging
import os
import tempfile
import time
from pathlib import Path

import torch
import torch.nn as nn
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(message)s")
log = logging.getLogger("churn")

CONFIG = {
    "features": 24,
    "hidden": 64,
    "steps": 120,
    "validate_every": 10,
    "milestones": {30, 60, 120},
    "publisher": 2,  # the registry share is mounted on its host only
}


def make_split(n, seed, w):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, CONFIG["features"], generator=g)
    return x, (x @ w > 0).float()


def build_model(mesh):
    width = CONFIG["hidden"]
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Sequential(nn.Linear(CONFIG["features"], width), nn.SiLU()),
        nn.Sequential(nn.Linear(width, width), nn.SiLU()),
        nn.Sequential(nn.Linear(width, width), nn.SiLU()),
        nn.Linear(width, 1),
    )
    for layer in model:
        fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


@torch.no_grad()
def validate(model, x, y):
    model.eval()
    scores = model(x).squeeze(-1)
    parts = torch.stack([
        nn.functional.binary_cross_entropy_with_logits(scores, y, reduction="sum"),
        ((scores > 0) == (y > 0)).sum().float(),
        torch.tensor(float(len(y))),
    ])
    dist.all_reduce(parts)
    model.train()
    return (parts[0] / parts[2]).item(), (parts[1] / parts[2]).item()


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh("cpu", (world,))
    model = build_model(mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    share = Path(os.environ.get("REGISTRY_SHARE", Path(tempfile.gettempdir()) / "churn-registry"))
    share.mkdir(parents=True, exist_ok=True)

    w = torch.randn(CONFIG["features"], generator=torch.Generator().manual_seed(3))
    x, y = make_split(1600, 10 + rank, w)
    vx, vy = make_split(96, 90 + rank, w)

    for step in range(1, CONFIG["steps"] + 1):
        rows = torch.randint(0, len(x), (16,))
        loss = nn.functional.binary_cross_entropy_with_logits(model(x[rows]).squeeze(-1), y[rows])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        time.sleep(0.02)

        if step % CONFIG["validate_every"] == 0:
            val_loss, accuracy = validate(model, vx, vy)
            if rank == 0:
                log.info("step %d val_loss %.4f acc %.3f", step, val_loss, accuracy)
            if step in CONFIG["milestones"]:
                if rank == CONFIG["publisher"]:
                    full = StateDictOptions(full_state_dict=True)
                    weights = get_model_state_dict(model, options=full)
                    torch.save({"weights": weights, "val_loss": val_loss}, share / f"churn-{step:05d}.pt")
                    log.info("published the weights of step %d", step)
                dist.barrier()

    dist.destroy_process_group()


if __name__ == "__main__":
    main()

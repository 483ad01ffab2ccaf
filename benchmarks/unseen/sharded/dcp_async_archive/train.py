"""Graph-node classifier with FSDP2 and asynchronous distributed checkpoints
that go to a tape-backed archive."""
import shutil
import tempfile
import time
from pathlib import Path

import torch
import torch.nn as nn
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


class ArchiveWriter(dcp.FileSystemWriter):
    """Writes locally, then copies to the archive in blocks with a pause between them."""

    BLOCK, PAUSE = 4096, 0.25

    def __init__(self, local, archive):
        super().__init__(local)
        self.local, self.archive = Path(local), Path(archive)

    def write_data(self, plan, planner):
        written = super().write_data(plan, planner)
        for shard in sorted(self.local.glob(f"__{dist.get_rank()}_*.distcp")):
            self.archive.mkdir(parents=True, exist_ok=True)
            with shard.open("rb") as src, (self.archive / shard.name).open("wb") as dst:
                while block := src.read(self.BLOCK):
                    dst.write(block)
                    dst.flush()
                    time.sleep(self.PAUSE)
        return written


class NodeNet(nn.Module):
    def __init__(self, features=20, width=64, classes=5):
        super().__init__()
        self.lift = nn.Linear(features, width)
        self.hops = nn.ModuleList(nn.Linear(2 * width, width) for _ in range(2))
        self.out = nn.Linear(width, classes)

    def forward(self, x, adjacency):
        h = torch.relu(self.lift(x))
        for hop in self.hops:
            h = torch.relu(hop(torch.cat([h, adjacency @ h], dim=-1)))
        return self.out(h)


def subgraph(g, n=16):
    label = torch.randint(0, 5, (n,), generator=g)
    x = torch.randn(n, 20, generator=g)
    x[torch.arange(n), label] += 1.5
    adjacency = (label[:, None] == label[None, :]).float()
    return x, adjacency / adjacency.sum(1, keepdim=True), label


class AsyncCheckpoints:
    def __init__(self, root):
        self.root = Path(root)
        self.group = dist.new_group(backend="gloo")  # traffic of the background thread
        self.pending = None

    def start(self, model, optimizer, step):
        self.finish()
        model_state, optim_state = get_state_dict(model, optimizer)
        local = self.root / "local" / f"{step}"
        writer = ArchiveWriter(local, self.root / "archive" / f"{step}")
        self.pending = dcp.async_save(
            {"model": model_state, "optim": optim_state},
            checkpoint_id=local,
            storage_writer=writer,
            process_group=self.group,
        )

    def finish(self):
        """Poll until the running save is done."""
        if self.pending is None:
            return
        while not self.pending.done():
            time.sleep(0.1)
        self.pending.result()
        self.pending = None


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    root = [tempfile.mkdtemp() if rank == 0 else None]
    dist.broadcast_object_list(root, src=0)
    mesh = init_device_mesh("cpu", (world,))
    torch.manual_seed(1)
    model = NodeNet()
    for hop in model.hops:
        fully_shard(hop, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    checkpoints = AsyncCheckpoints(root[0])

    g = torch.Generator().manual_seed(rank)
    for step in range(1, 61):
        x, adjacency, label = subgraph(g)
        loss = nn.functional.cross_entropy(model(x, adjacency), label)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0 and step % 20 == 0:
            print(f"step {step} loss {loss.item():.3f}", flush=True)
        if step in (20, 40):
            checkpoints.start(model, optimizer, step)
        time.sleep(0.02)

    checkpoints.finish()
    dist.barrier()
    if rank == 0:
        print(sorted(p.name for p in (Path(root[0]) / "archive").iterdir()))
        shutil.rmtree(root[0])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

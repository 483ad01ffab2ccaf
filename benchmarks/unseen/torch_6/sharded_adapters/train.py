"""Multilingual MT fine-tuning: frozen-size trunk, one sharded adapter per script."""
import dataclasses
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn, Tensor
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


@dataclasses.dataclass(frozen=True)
class Hparams:
    vocab: int = 48
    width: int = 32
    scripts: tuple = ("latin", "cyrillic", "hangul")
    steps: int = 50
    batch: int = 6
    length: int = 10
    lr: float = 1e-3


class Adapter(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.down = nn.Linear(width, width // 2)
        self.up = nn.Linear(width // 2, width)

    def forward(self, h: Tensor) -> Tensor:
        return self.up(F.gelu(self.down(self.norm(h))))


class ScriptAdapters(nn.Module):
    """Adds to every sentence the output of the adapter of its script."""

    def __init__(self, hp: Hparams):
        super().__init__()
        self.bank = nn.ModuleList(Adapter(hp.width) for _ in hp.scripts)

    def forward(self, h: Tensor, script: Tensor) -> Tensor:
        out = h
        for k, adapter in enumerate(self.bank):
            rows = (script == k).nonzero().flatten()
            if rows.numel():
                out = out.index_add(0, rows, adapter(h[rows]))
        return out


class Translator(nn.Module):
    def __init__(self, hp: Hparams):
        super().__init__()
        self.embed = nn.Embedding(hp.vocab, hp.width)
        self.encoder = nn.Sequential(nn.Linear(hp.width, hp.width), nn.Tanh())
        self.adapters = ScriptAdapters(hp)
        self.project = nn.Linear(hp.width, hp.vocab)

    def forward(self, ids, script):
        h = self.encoder(self.embed(ids))
        return self.project(self.adapters(h, script))


def shard(model: Translator, mesh):
    for adapter in model.adapters.bank:
        fully_shard(adapter, mesh=mesh)
    fully_shard(model, mesh=mesh)
    # gloo has no averaging reduction
    for m in model.modules():
        if hasattr(m, "set_force_sum_reduction_for_comms"):
            m.set_force_sum_reduction_for_comms(True)
    return model


def corpus(hp: Hparams, rank: int):
    g = torch.Generator().manual_seed(900 + rank)
    for step in range(hp.steps):
        ids = torch.randint(0, hp.vocab, (hp.batch, hp.length), generator=g)
        script = torch.arange(hp.batch) % len(hp.scripts)
        if rank == 1 and step == 26:
            script = torch.arange(hp.batch) % 2
        yield step, ids, script


def main(hp: Hparams = Hparams()):
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    mesh = init_device_mesh("cpu", (dist.get_world_size(),), mesh_dim_names=("fsdp",))
    model = shard(Translator(hp), mesh)
    opt = torch.optim.AdamW(model.parameters(), lr=hp.lr)

    for step, ids, script in corpus(hp, mesh.get_rank()):
        logits = model(ids, script)
        loss = F.cross_entropy(logits.flatten(0, 1), ids.flatten())
        loss.backward()
        opt.step()
        opt.zero_grad()
        time.sleep(0.02)
        if step % 5 == 0 and mesh.get_rank() == 0:
            print(f"step {step:3d}  nll {loss.item():.4f}", flush=True)

    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

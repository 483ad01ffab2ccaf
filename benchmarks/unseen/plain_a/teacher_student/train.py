"""Knowledge distillation started with mp.spawn; class folders of unequal size, hence Join."""
import os
import pathlib
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset


def mlp(*widths):
    layers = []
    for i, o in zip(widths, widths[1:]):
        layers += [nn.Linear(i, o), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def unpack_teacher(folder, shards=30):
    """Assembles the teacher's weights from many small files on a cold network volume."""
    folder.mkdir()
    net = mlp(24, 64, 64, 10)
    flat = nn.utils.parameters_to_vector(net.parameters()).detach()
    for n, piece in enumerate(flat.chunk(shards)):
        torch.save(piece.clone(), folder / f"shard{n:02d}.pt")
    parts = []
    for n in range(shards):
        time.sleep(0.5)
        parts.append(torch.load(folder / f"shard{n:02d}.pt"))
    nn.utils.vector_to_parameters(torch.cat(parts), net.parameters())
    torch.save(net.state_dict(), folder / "teacher.tmp")
    (folder / "teacher.tmp").rename(folder / "teacher.pt")


def teacher_from(folder):
    while not (folder / "teacher.pt").exists():
        time.sleep(0.25)
    net = mlp(24, 64, 64, 10)
    net.load_state_dict(torch.load(folder / "teacher.pt"))
    return net.eval().requires_grad_(False)


def distil(rank, world, root):
    folder = pathlib.Path(root) / "teacher"
    torch.manual_seed(21)
    if rank == 1:
        unpack_teacher(folder)
    dist.init_process_group("gloo", init_method=f"file://{root}/rendezvous", rank=rank, world_size=world)
    teacher = teacher_from(folder)
    student = DDP(mlp(24, 32, 10))
    opt = torch.optim.SGD(student.parameters(), lr=0.05)

    n = 120 + 24 * rank
    g = torch.Generator().manual_seed(rank)
    data = TensorDataset(torch.randn(n, 24, generator=g), torch.randint(10, (n,), generator=g))
    for epoch in range(2):
        with Join([student]):
            for x, y in DataLoader(data, batch_size=8):
                logits = student(x)
                with torch.no_grad():
                    soft = teacher(x).softmax(-1)
                loss = F.kl_div(logits.log_softmax(-1), soft, reduction="batchmean") + 0.1 * F.cross_entropy(logits, y)
                opt.zero_grad()
                loss.backward()
                opt.step()
                time.sleep(0.02)
        agree = (student.module(data.tensors[0]).argmax(1) == teacher(data.tensors[0]).argmax(1)).float().mean()
        dist.all_reduce(agree)
        if rank == 0:
            print(f"epoch {epoch} agreement {agree.item() / world:.3f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()
    if rank == 0:
        write_card(student.module, pathlib.Path(root) / "CARD.md")


def write_card(net, path):
    with path.open("w") as f:
        for name, p in net.named_parameters():
            for row in p.detach().reshape(-1, p.shape[-1])[:8]:
                f.write(f"{name} {row.norm():.4f}\n")
                time.sleep(0.3)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        mp.spawn(distil, args=(3, scratch), nprocs=3)
        print(len(os.listdir(scratch)), "entries written")

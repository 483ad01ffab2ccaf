import argparse

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

from gnn.comm import Comm, Topology
from gnn.data import load_partition
from gnn.score import LeaderScore


class SAGE(nn.Module):
    def __init__(self, dim=16, hidden=32, classes=4):
        super().__init__()
        self.a, self.b = nn.Linear(2 * dim, hidden), nn.Linear(2 * hidden, classes)

    def forward(self, x, adj):
        h = torch.relu(self.a(torch.cat([x, adj @ x], 1)))
        return self.b(torch.cat([h, adj @ h], 1))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=40)
    p.add_argument("--steps-per-epoch", type=int, default=20)
    p.add_argument("--nodes-per-partition", type=int, default=400)
    p.add_argument("--seeds", type=int, default=32)
    p.add_argument("--lr", type=float, default=5e-3)
    args = p.parse_args()

    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    topo = Topology()
    device = torch.device("cuda", topo.local_rank) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)

    torch.manual_seed(0)
    model = DDP(SAGE().to(device), device_ids=[topo.local_rank] if cuda else None)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    part = load_partition(topo.node, args.nodes_per_partition)
    train_ids = part.train.nonzero().squeeze(1)
    gen = torch.Generator().manual_seed(1 + topo.rank)
    score = LeaderScore(topo, Comm(topo, device))
    x, adj, y = part.x.to(device), part.adj.to(device), part.y.to(device)

    for epoch in range(args.epochs):
        model.train()
        for _ in range(args.steps_per_epoch):
            seeds = train_ids[torch.randint(0, len(train_ids), (args.seeds,), generator=gen)].to(device)
            loss = F.cross_entropy(model(x, adj)[seeds], y[seeds])
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
        acc = score(model.module, part, device)
        dist.barrier()
        if topo.rank == 0:
            print(f"epoch {epoch} loss {loss.item():.4f} acc {acc:.3f}", flush=True)

    if topo.rank == 0:
        torch.save(model.module.state_dict(), "sage.pt")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

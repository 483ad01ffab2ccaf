import argparse
import os
import pathlib

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, Subset

from gnn import AtomPredictor, GraphClassifier, GraphEncoder
from graphs import ATOMS, Molecules


def wrap(net, device):
    return DDP(net.to(device), device_ids=[device.index] if device.type == "cuda" else None)


def batches(dataset, sampler, args, epoch):
    sampler.set_epoch(epoch)
    return DataLoader(dataset, args.batch_size, sampler=sampler, drop_last=True)


def pretrain(rank, device, args):
    """Masked atoms; leaves the encoder in the working directory."""
    model = wrap(AtomPredictor(GraphEncoder()), device)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    dataset = Molecules(args.graphs)
    sampler = DistributedSampler(dataset, drop_last=True)
    for epoch in range(args.pretrain_epochs):
        for kind, adj, _ in batches(dataset, sampler, args, epoch):
            kind, adj = kind.to(device), adj.to(device)
            masked = torch.rand(kind.shape, device=device) < 0.15
            masked[:, 0] = True
            logits = model(kind.masked_fill(masked, ATOMS), adj)
            loss = F.cross_entropy(logits[masked], kind[masked])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if rank == 0:
            print(f"pretrain {epoch} loss {loss.item():.4f}", flush=True)
    if rank == 0:
        torch.save(model.module.encoder.state_dict(), args.workdir / "encoder.pt")


@torch.no_grad()
def accuracy(net, loader, device):
    net.eval()
    counts = torch.zeros(2, device=device)
    for kind, adj, label in loader:
        pred = net(kind.to(device), adj.to(device)).argmax(-1)
        counts += torch.stack([(pred == label.to(device)).sum(), torch.tensor(len(label), device=device)])
    dist.all_reduce(counts)
    net.train()
    return (counts[0] / counts[1]).item()


def finetune(rank, world_size, device, args):
    encoder = GraphEncoder()
    encoder.load_state_dict(torch.load(args.workdir / "encoder.pt", map_location="cpu"))
    model = wrap(GraphClassifier(encoder), device)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    dataset = Molecules(args.graphs // 4, seed=10**6)
    sampler = DistributedSampler(dataset, drop_last=True)
    test = Molecules(400, seed=10**7)
    test_loader = DataLoader(Subset(test, range(rank, len(test), world_size)), 64)
    for epoch in range(args.finetune_epochs):
        for kind, adj, label in batches(dataset, sampler, args, epoch):
            loss = F.cross_entropy(model(kind.to(device), adj.to(device)), label.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        acc = accuracy(model.module, test_loader, device)
        if rank == 0:
            print(f"finetune {epoch} accuracy {acc:.3f}", flush=True)
            torch.save(model.module.state_dict(), args.workdir / "classifier.pt")


def worker(rank, world_size, args):
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", str(args.port))
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo", rank=rank, world_size=world_size)
    device = torch.device("cuda", rank) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    torch.manual_seed(100 + rank)
    pretrain(rank, device, args)
    finetune(rank, world_size, device, args)
    dist.barrier()
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--world-size", type=int, default=torch.cuda.device_count() or 2)
    parser.add_argument("--pretrain-epochs", type=int, default=20)
    parser.add_argument("--finetune-epochs", type=int, default=20)
    parser.add_argument("--graphs", type=int, default=20000)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--port", type=int, default=29533)
    parser.add_argument("--workdir", type=pathlib.Path, default=pathlib.Path("work"))
    args = parser.parse_args()
    args.workdir.mkdir(parents=True, exist_ok=True)
    mp.spawn(worker, (args.world_size, args), nprocs=args.world_size)


if __name__ == "__main__":
    main()

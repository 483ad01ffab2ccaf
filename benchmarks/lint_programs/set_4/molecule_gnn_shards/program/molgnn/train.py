import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.functional import l1_loss
from torch.nn.parallel import DistributedDataParallel as DDP

from .model import EnergyNet
from .shards import ShardLoader, write_synthetic


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--root", default="data")
    p.add_argument("--synthetic", type=int, default=0)
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args()

    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, local = dist.get_rank(), int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)

    if args.synthetic:
        if rank == 0:
            write_synthetic(args.root, args.synthetic)
        dist.barrier()

    torch.manual_seed(args.seed)
    model = DDP(EnergyNet().to(device), device_ids=[local] if cuda else None)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    loader = ShardLoader(args.root, args.batch_size, args.seed)

    for epoch in range(args.epochs):
        mae = torch.zeros(2, device=device)
        for x, adj, mask, energy in loader:
            pred = model(x.to(device), adj.to(device), mask.to(device))
            loss = l1_loss(pred, energy.to(device))
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            mae += torch.stack([loss.detach() * len(pred), torch.tensor(float(len(pred)), device=device)])
        dist.barrier()
        dist.all_reduce(mae)
        if rank == 0:
            print(f"epoch {epoch} train mae {(mae[0] / mae[1]).item():.4f}", flush=True)

    if rank == 0:
        torch.save(model.module.state_dict(), os.path.join(args.root, "energy_net.pt"))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

import argparse

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import dist_env
from vae import VAE, elbo


def digits(n, seed):
    g = torch.Generator().manual_seed(seed)
    protos = (torch.rand(10, 784, generator=torch.Generator().manual_seed(0)) > 0.7).float()
    flips = torch.rand(n, 784, generator=g) < 0.05
    labels = torch.randint(0, 10, (n,), generator=g)
    return TensorDataset((protos[labels] - flips.float()).abs())


@torch.no_grad()
def evaluate(model, data, device, beta):
    model.eval()
    x = data.tensors[0][dist.get_rank() :: dist.get_world_size()].to(device)
    loss = elbo(*_args(model(x), x), beta)
    model.train()
    return dist_env.reduce_mean(loss * len(x), len(x))


def _args(outputs, x):
    recon, mu, logvar = outputs
    return recon, x, mu, logvar


def worker(rank, world_size, args):
    device = dist_env.setup(rank, world_size)
    torch.manual_seed(args.seed)
    train_set, val_set = digits(args.samples, seed=1), digits(256, seed=2)
    sampler = DistributedSampler(train_set, world_size, rank, seed=args.seed)
    loader = DataLoader(train_set, args.batch_size, sampler=sampler)

    model = DDP(VAE().to(device), device_ids=[rank] if device.type == "cuda" else None)
    torch.manual_seed(args.seed + rank)  # different latent noise on every rank
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, args.lr, total_steps=args.epochs * len(loader)
    )

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        beta = min(1.0, (epoch + 1) / max(1, args.epochs // 2))
        total, count = torch.zeros((), device=device), 0
        for (x,) in loader:
            x = x.to(device)
            loss = elbo(*_args(model(x), x), beta)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            scheduler.step()
            total += loss.detach() * len(x)
            count += len(x)
        train_loss = dist_env.reduce_mean(total, count)
        val_loss = evaluate(model.module, val_set, device, beta)
        if rank == 0:
            print(f"epoch {epoch} beta {beta:.2f} train {train_loss:.2f} val {val_loss:.2f}", flush=True)

    if rank == 0:
        torch.save(model.module.state_dict(), args.out)
    dist.barrier()
    dist_env.cleanup()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--samples", type=int, default=2048)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=9)
    parser.add_argument("--nproc", type=int, default=torch.cuda.device_count() or 2)
    parser.add_argument("--out", default="vae.pt")
    args = parser.parse_args()
    mp.spawn(worker, args=(args.nproc, args), nprocs=args.nproc, join=True)


if __name__ == "__main__":
    main()

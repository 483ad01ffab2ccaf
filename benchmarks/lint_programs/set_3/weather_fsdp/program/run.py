import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.utils.data import DataLoader, DistributedSampler, Subset

from checkpoints import BestKeeper
from settings import Settings
from surrogate import Surrogate, Toy, advance


def mean_over_ranks(value):
    value = value.detach().clone()
    dist.all_reduce(value)
    return value.item() / dist.get_world_size()


@torch.no_grad()
def score(model, loader, device, steps=1):
    model.eval()
    err = torch.zeros((), device=device)
    for x, _ in loader:
        x = ref = x.to(device)
        for _ in range(steps):
            x, ref = model(x), advance(ref)
        err += F.mse_loss(x, ref)
    model.train()
    return mean_over_ranks(err / len(loader))


def main():
    cfg = Settings.from_args()
    cuda = torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", torch.cuda.current_device()) if cuda else torch.device("cpu")
    mesh = init_device_mesh(device.type, (world,))

    torch.manual_seed(cfg.seed)
    model = Surrogate().to(device)
    for b in model.blocks:
        fully_shard(b, mesh=mesh)
    fully_shard(model, mesh=mesh)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    keeper = BestKeeper(cfg, model, opt)
    if rank == 0:
        cfg.run_dir.mkdir(parents=True, exist_ok=True)
        (cfg.run_dir / "settings.txt").write_text(repr(cfg))
        print(f"run directory {cfg.run_dir}", flush=True)

    train, val = Toy(cfg.states, cfg.grid, 0), Toy(4 * world * cfg.batch_size, cfg.grid, 10_000_000)
    sampler = DistributedSampler(train, seed=cfg.seed, drop_last=True)
    loader = DataLoader(train, cfg.batch_size, sampler=sampler, drop_last=True)
    val_loader = DataLoader(Subset(val, range(rank, len(val), world)), cfg.batch_size)

    for epoch in range(cfg.epochs):
        sampler.set_epoch(epoch)
        for x, y in loader:
            loss = F.mse_loss(model(x.to(device)), y.to(device))
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
        err = score(model, val_loader, device)
        best = keeper.offer(err)
        if rank == 0:
            print(f"epoch {epoch} one-step mse {err:.5f}{' *' if best else ''}", flush=True)

    keeper.restore()
    err = score(model, val_loader, device, steps=cfg.rollout)
    if rank == 0:
        print(f"best model, {cfg.rollout} steps: mse {err:.5f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

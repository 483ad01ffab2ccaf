import argparse

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.nn.functional as F
from torch.distributed.checkpoint.state_dict import get_model_state_dict

from data import build_loader
from model import FieldForecaster
from parallel import setup, shard_model


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--tp", type=int, default=2)
    p.add_argument("--epochs", type=int, default=10)
    p.add_argument("--fields", type=int, default=4096)
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--seed", type=int, default=3)
    p.add_argument("--ckpt", default="climate_ckpt")
    args = p.parse_args()

    mesh, device = setup(args.tp)
    torch.manual_seed(args.seed)
    model = shard_model(FieldForecaster().to(device), mesh)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, foreach=False)

    loader, sampler = build_loader(
        args.fields, args.batch_size,
        shards=dist.get_world_size(), shard=dist.get_rank(), seed=args.seed,
    )

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        total = torch.zeros((), device=device)
        for now, later in loader:
            loss = F.mse_loss(model(now.to(device)), later.to(device))
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            total += loss.detach()
        dist.all_reduce(total)
        mean = total.item() / (len(loader) * dist.get_world_size())
        if dist.get_rank() == 0:
            print(f"epoch {epoch} mse {mean:.5f}", flush=True)

    dcp.save({"model": get_model_state_dict(model)}, checkpoint_id=args.ckpt)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

import argparse

import torch
import torch.nn.functional as F
from lightning.fabric import Fabric
from torch.utils.data import DataLoader

from arm import Policy, demonstrations


@torch.no_grad()
def validate(fabric, policy, loader):
    policy.eval()
    sums = torch.zeros(2, device=fabric.device)
    for obs, action in loader:
        err = F.mse_loss(policy(obs), action, reduction="sum")
        sums += torch.stack([err, torch.tensor(float(action.numel()), device=fabric.device)])
    sums = fabric.all_reduce(sums, reduce_op="sum")
    return (sums[0] / sums[1]).item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--demos", type=int, default=200000)
    p.add_argument("--batch-size", type=int, default=256, help="per process")
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--ckpt", default="policy.ckpt")
    args = p.parse_args()

    fabric = Fabric()  # devices and strategy come from `fabric run`
    fabric.launch()
    fabric.seed_everything(args.seed)

    policy = Policy()
    optimizer = torch.optim.AdamW(policy.parameters(), lr=args.lr)
    policy, optimizer = fabric.setup(policy, optimizer)

    train_data, val_data = demonstrations(args.demos, 1), demonstrations(args.demos // 10, 2)
    train_loader = DataLoader(train_data, batch_size=args.batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(val_data, batch_size=1024)
    val_loader = fabric.setup_dataloaders(val_loader)

    best = float("inf")
    for epoch in range(args.epochs):
        policy.train()
        for obs, action in train_loader:
            obs, action = fabric.to_device((obs, action))
            loss = F.mse_loss(policy(obs), action)
            optimizer.zero_grad()
            fabric.backward(loss)
            optimizer.step()
        error = validate(fabric, policy, val_loader)
        fabric.print(f"epoch {epoch} val mse {error:.5f}")
        if error < best:
            best = error
            fabric.save(args.ckpt, {"policy": policy, "optimizer": optimizer, "epoch": epoch})

    fabric.barrier()


if __name__ == "__main__":
    main()

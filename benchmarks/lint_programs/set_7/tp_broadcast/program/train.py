import argparse

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

from layers import Regressor
from parallel import average_gradients, broadcast_tensors, init_layout


def load_table(path, features, rows=4096):
    if path:
        blob = torch.load(path, map_location="cpu")
        return blob["x"], blob["y"]
    g = torch.Generator().manual_seed(1)
    x = torch.randn(rows, features, generator=g)
    return x, torch.sin(x[:, 0]) + 0.5 * x[:, 1] * x[:, 2]


def batches(args, layout, epoch_loader, steps):
    """The table lives on the first rank of each tensor-parallel group only."""
    it = iter(epoch_loader) if layout.tp_rank == 0 else None
    for _ in range(steps):
        if layout.tp_rank == 0:
            x, y = (t.to(layout.device) for t in next(it))
        else:
            x = torch.empty(args.batch_size, args.features, device=layout.device)
            y = torch.empty(args.batch_size, device=layout.device)
        yield broadcast_tensors([x, y], layout.tp_group)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--table", help=".pt file with x and y; synthetic when absent")
    p.add_argument("--features", type=int, default=32)
    p.add_argument("--dim", type=int, default=256)
    p.add_argument("--hidden", type=int, default=4096)
    p.add_argument("--depth", type=int, default=4)
    p.add_argument("--tp", type=int, default=2, help="ranks per tensor-parallel group")
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--epochs", type=int, default=10)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args()

    layout = init_layout(args.tp)
    loader, sampler, n_steps = None, None, torch.zeros(1, dtype=torch.long, device=layout.device)
    if layout.tp_rank == 0:
        data = TensorDataset(*load_table(args.table, args.features))
        sampler = DistributedSampler(
            data, num_replicas=layout.dp_size, rank=layout.dp_rank, seed=args.seed, drop_last=True
        )
        loader = DataLoader(data, args.batch_size, sampler=sampler, drop_last=True)
        n_steps += len(loader)
    dist.all_reduce(n_steps, op=dist.ReduceOp.MAX)
    steps = int(n_steps.item())

    model = Regressor(args.features, args.dim, args.hidden, args.depth, layout)
    model.seed_parameters(args.seed, layout.tp_rank)
    model.to(layout.device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        if sampler is not None:
            sampler.set_epoch(epoch)
        total = torch.zeros((), device=layout.device)
        for x, y in batches(args, layout, loader, steps):
            loss = torch.nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            average_gradients(model, layout)
            optimizer.step()
            total += loss.detach()
        dist.all_reduce(total, group=layout.dp_group)
        if layout.rank == 0:
            print(f"epoch {epoch}: mse {total.item() / steps / layout.dp_size:.4f}", flush=True)

    dist.destroy_process_group()


if __name__ == "__main__":
    main()

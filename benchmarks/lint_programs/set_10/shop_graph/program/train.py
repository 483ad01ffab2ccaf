import argparse

import torch
import torch.distributed as dist
import torch.nn.functional as F

import comm
from data import CLASSES, DIM, RELATIONS, ShopGraph, node_batches
from model import RGCN


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=4)
    ap.add_argument("--batch-nodes", type=int, default=50)
    ap.add_argument("--hidden", type=int, default=16)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--out", default="rgcn.pt")
    args = ap.parse_args()

    device = comm.init()
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    graph = ShopGraph()
    model = RGCN(RELATIONS, DIM, args.hidden, CLASSES).to(device)
    comm.broadcast_parameters(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        model.train()
        losses = []
        for nodes in node_batches(rank, world, args.batch_nodes, epoch):
            x, edges, y = graph.subgraph(nodes)
            edges = {r: e.to(device) for r, e in edges.items()}
            loss = F.cross_entropy(model(x.to(device), edges), y.to(device))
            optimizer.zero_grad()
            loss.backward()
            comm.average_gradients(model)
            optimizer.step()
            losses.append(loss.item())
        loss = comm.mean_over_ranks(sum(losses) / len(losses), device)
        if rank == 0:
            print(f"epoch {epoch} loss {loss:.4f}", flush=True)

    if rank == 0:
        torch.save(model.state_dict(), args.out)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

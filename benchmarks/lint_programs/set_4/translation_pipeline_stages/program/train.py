import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe

from pairs import make_loader
from stages import build_stage


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--pairs", type=int, default=20000)
    p.add_argument("--vocab", type=int, default=40)
    p.add_argument("--length", type=int, default=12)
    p.add_argument("--dim", type=int, default=64)
    p.add_argument("--layers-per-stage", type=int, default=2)
    p.add_argument("--batch-size", type=int, default=48)
    p.add_argument("--microbatches", type=int, default=4)
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--seed", type=int, default=11)
    return p.parse_args()


def token_loss(logits, target):
    return F.cross_entropy(logits.flatten(0, 1), target.flatten())


def main():
    args = parse()
    if args.batch_size % args.microbatches:
        raise SystemExit("--batch-size must be a multiple of --microbatches")
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)

    torch.manual_seed(args.seed + rank)  # each stage holds different layers
    module = build_stage(rank, world, args.vocab, args.dim, args.layers_per_stage, args.length).to(device)
    stage = PipelineStage(module, rank, world, device)
    schedule = ScheduleGPipe(stage, n_microbatches=args.microbatches, loss_fn=token_loss)
    opt = torch.optim.AdamW(module.parameters(), lr=args.lr)
    loader = make_loader(args.pairs, args.vocab, args.length, args.batch_size, args.seed)

    for epoch in range(args.epochs):
        running, steps = 0.0, 0
        for src, tgt in loader:
            opt.zero_grad(set_to_none=True)
            if rank == 0:
                schedule.step(src.to(device))
            elif rank == world - 1:
                losses = []
                schedule.step(target=tgt.to(device), losses=losses)
                running += torch.stack([l.detach() for l in losses]).mean().item()
            else:
                schedule.step()
            opt.step()
            steps += 1
        if rank == world - 1:
            print(f"epoch {epoch} loss {running / steps:.4f}", flush=True)

    torch.save(module.state_dict(), f"stage_{rank}.pt")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

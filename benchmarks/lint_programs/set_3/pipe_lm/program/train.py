import argparse
import os

import torch
import torch.distributed as dist

from gpipe import GPipe
from stages import Stage


def tie_embeddings(stage, group, world):
    """Start from the same matrix at both ends of the pipeline."""
    if group is not None and world > 1:
        dist.broadcast(stage.embedding.weight.data, src=0, group=group)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--layers", type=int, default=8)
    ap.add_argument("--dim", type=int, default=64)
    ap.add_argument("--vocab", type=int, default=128)
    ap.add_argument("--seq-len", type=int, default=64)
    ap.add_argument("--microbatches", type=int, default=8)
    ap.add_argument("--microbatch-size", type=int, default=4)
    ap.add_argument("--steps", type=int, default=2000)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--seed", type=int, default=0)
    args = ap.parse_args()

    cuda = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    assert args.layers % world == 0
    ends = dist.new_group([0, world - 1] if world > 1 else [0])

    torch.manual_seed(args.seed + rank)
    stage = Stage(rank, world, args.vocab, args.dim, args.layers).to(device)
    tie_embeddings(stage, ends if rank in (0, world - 1) else None, world)
    opt = torch.optim.AdamW(stage.parameters(), lr=args.lr)
    pipe = GPipe(stage, rank, world, (args.microbatch_size, args.seq_len, args.dim), device)

    # all stages draw the same tokens: the first needs the inputs, the last the targets
    gen = torch.Generator().manual_seed(args.seed + 1000)
    for step in range(args.steps):
        n = args.microbatches * args.microbatch_size
        start = torch.randint(args.vocab, (n, 1), generator=gen)
        stride = torch.randint(1, 6, (n, 1), generator=gen)
        ids = ((start + stride * torch.arange(args.seq_len + 1)) % args.vocab).to(device)
        micro = ids.split(args.microbatch_size)

        opt.zero_grad(set_to_none=True)
        loss = pipe.run([m[:, :-1] for m in micro], [m[:, 1:] for m in micro])
        opt.step()
        if rank == world - 1 and (step % 50 == 0 or step == args.steps - 1):
            print(f"step {step} loss {loss.item():.4f}", flush=True)

    os.makedirs("out", exist_ok=True)
    torch.save(stage.state_dict(), f"out/stage{rank}.pt")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

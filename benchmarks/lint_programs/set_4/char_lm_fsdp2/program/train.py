import argparse
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from model import CharLM

CORPUS = (
    "the tide comes in and the tide goes out, and the keeper of the light "
    "writes the hour and the wind in a book that nobody will ever read. "
) * 60


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=2000)
    p.add_argument("--batch", type=int, default=8)
    p.add_argument("--seq-len", type=int, default=64)
    p.add_argument("--dim", type=int, default=256)
    p.add_argument("--heads", type=int, default=4)
    p.add_argument("--layers", type=int, default=6)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--log-every", type=int, default=10)
    p.add_argument("--save-every", type=int, default=500)
    p.add_argument("--out-dir", default="ckpt")
    return p.parse_args()


def sample_batch(data, args, gen):
    starts = torch.randint(0, len(data) - args.seq_len - 1, (args.batch,), generator=gen)
    chunk = torch.stack([data[s : s + args.seq_len + 1] for s in starts.tolist()])
    return chunk[:, :-1], chunk[:, 1:]


def main():
    args = get_args()
    cuda = torch.cuda.is_available()
    dist.init_process_group("nccl" if cuda else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    mesh = init_device_mesh(device.type, (world,), mesh_dim_names=("dp",))

    chars = sorted(set(CORPUS))
    lookup = {c: i for i, c in enumerate(chars)}
    data = torch.tensor([lookup[c] for c in CORPUS])

    torch.manual_seed(1234)
    model = CharLM(len(chars), args.dim, args.heads, args.layers, args.seq_len).to(device)
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.1)

    gen = torch.Generator().manual_seed(1234 + rank)
    os.makedirs(args.out_dir, exist_ok=True)
    for step in range(1, args.steps + 1):
        x, y = sample_batch(data, args, gen)
        x, y = x.to(device), y.to(device)
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        opt.zero_grad(set_to_none=True)

        if step % args.log_every == 0:
            mean = loss.detach().clone()
            dist.all_reduce(mean)
            if rank == 0:
                print(f"step {step} loss {mean.item() / world:.4f}", flush=True)

        if step % args.save_every == 0 or step == args.steps:
            options = StateDictOptions(full_state_dict=True, cpu_offload=True)
            if rank == 0:
                weights = get_model_state_dict(model, options=options)
                torch.save({"model": weights, "step": step, "chars": chars},
                           os.path.join(args.out_dir, f"step_{step}.pt"))
            dist.barrier()

    dist.destroy_process_group()


if __name__ == "__main__":
    main()

import argparse
import os

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.nn.functional as F
from torch.distributed.checkpoint.state_dict import get_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

from model import Decoder
from optim_utils import clip_gradients, cosine_with_warmup, param_groups


def synthetic_tokens(n, seq, vocab, generator):
    start = torch.randint(0, vocab, (n, 1), generator=generator)
    stride = torch.randint(1, 5, (n, 1), generator=generator)
    return (start + stride * torch.arange(seq + 1)) % vocab


def build(args, device, mesh):
    torch.manual_seed(args.seed)
    model = Decoder(seq=args.seq).to(device)
    policy = MixedPrecisionPolicy()
    if device.type == "cuda":
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in model.layers:
        fully_shard(layer, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    optimizer = torch.optim.AdamW(param_groups(model, 0.1), lr=args.lr, betas=(0.9, 0.95))
    return model, optimizer


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=40)
    p.add_argument("--warmup", type=int, default=10)
    p.add_argument("--batch-size", type=int, default=8)
    p.add_argument("--seq", type=int, default=64)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--max-norm", type=float, default=0.1)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--ckpt-dir", default="")
    args = p.parse_args()

    kind = "cuda" if torch.cuda.is_available() else "cpu"
    device = torch.device(kind, int(os.environ["LOCAL_RANK"])) if kind == "cuda" else torch.device("cpu")
    if kind == "cuda":
        torch.cuda.set_device(device)
    dist.init_process_group("nccl" if kind == "cuda" else "gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh(kind, (world,), mesh_dim_names=("shard",))

    model, optimizer = build(args, device, mesh)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: cosine_with_warmup(s, args.warmup, args.steps)
    )
    generator = torch.Generator().manual_seed(args.seed + 7919 * (rank + 1))

    for step in range(args.steps):
        tokens = synthetic_tokens(args.batch_size, args.seq, 256, generator).to(device)
        logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        grad_norm = clip_gradients(model.parameters(), args.max_norm)
        optimizer.step()
        scheduler.step()
        if step % 10 == 0 or step + 1 == args.steps:
            mean = loss.detach().clone()
            dist.all_reduce(mean)
            if rank == 0:
                print(f"step {step} loss {mean.item() / world:.4f} grad_norm {grad_norm.item():.3f}", flush=True)

    if args.ckpt_dir:
        model_sd, optim_sd = get_state_dict(model, optimizer)
        dcp.save({"model": model_sd, "optim": optim_sd}, checkpoint_id=args.ckpt_dir)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

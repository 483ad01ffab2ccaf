import argparse
import os

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.nn.functional as F
from torch.distributed.checkpoint.state_dict import get_state_dict

from data import PackedTokens, build_loader
from model import Transformer
from parallel import apply_parallelism, build_mesh


def save(model, opt, step, root):
    model_sd, opt_sd = get_state_dict(model, opt)
    dcp.save({"model": model_sd, "optim": opt_sd, "step": step}, checkpoint_id=f"{root}/step-{step}")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--tokens", required=True)
    ap.add_argument("--tp", type=int, default=2)
    ap.add_argument("--bs", type=int, default=4)
    ap.add_argument("--seq", type=int, default=4096)
    ap.add_argument("--lr", type=float, default=3e-4)
    ap.add_argument("--max-steps", type=int, default=50000)
    ap.add_argument("--seed", type=int, default=5)
    ap.add_argument("--ckpt", default="ckpt")
    cfg = ap.parse_args()

    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    mesh = build_mesh(cfg.tp)
    dp_group = mesh["dp"].get_group()

    torch.manual_seed(cfg.seed)
    model = apply_parallelism(Transformer(max_len=cfg.seq).cuda(), mesh)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, betas=(0.9, 0.95), foreach=False)
    warm = torch.optim.lr_scheduler.LinearLR(opt, 0.01, 1.0, total_iters=2000)

    dataset = PackedTokens(cfg.tokens, cfg.seq)
    loader = build_loader(dataset, cfg.bs, seed=cfg.seed)

    step, epoch = 0, 0
    while step < cfg.max_steps:
        loader.sampler.set_epoch(epoch)
        for x, y in loader:
            x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
            loss = F.cross_entropy(model(x).float().flatten(0, 1), y.flatten())
            loss.backward()
            opt.step()
            opt.zero_grad()
            warm.step()
            step += 1
            if step % 20 == 0:
                shown = loss.detach().clone()
                dist.all_reduce(shown, op=dist.ReduceOp.AVG, group=dp_group)
                if dist.get_rank() == 0:
                    print(f"{step} {shown.item():.4f} lr {warm.get_last_lr()[0]:.2e}", flush=True)
            if step % 2500 == 0:
                save(model, opt, step, cfg.ckpt)
            if step == cfg.max_steps:
                break
        epoch += 1
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

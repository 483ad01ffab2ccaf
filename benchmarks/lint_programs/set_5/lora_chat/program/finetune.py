"""LoRA fine-tuning on packed chats: torchrun --nproc_per_node=8 finetune.py --chats chats.pt --base base.pt"""
import argparse
import json
import os
from contextlib import nullcontext

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from lora import add_lora, lora_state
from model import ChatLM


def train_epoch(model, loader, opt, sched, accum, device, log):
    model.train()
    n = len(loader)
    for i, (ids, mask) in enumerate(loader):
        ids, mask = ids.to(device), mask.to(device)
        window = min(accum, n - i // accum * accum)     # the last window may be shorter
        boundary = (i + 1) % accum == 0
        with nullcontext() if boundary else model.no_sync():
            logits = model(ids[:, :-1])
            nll = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), reduction="none")
            keep = mask[:, 1:].flatten().float()
            loss = (nll * keep).sum() / keep.sum().clamp(min=1)
            (loss / window).backward()
        if boundary or i + 1 == n:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            opt.zero_grad(set_to_none=True)
            log(loss.item(), sched.get_last_lr()[0])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--chats", required=True, help=".pt with ids and mask, both (N, context)")
    p.add_argument("--base", help="weights of the base model")
    p.add_argument("--model-args", type=json.loads, default={})
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--micro-batch", type=int, default=2)
    p.add_argument("--accum", type=int, default=8)
    p.add_argument("--lr", type=float, default=2e-4)
    p.add_argument("--rank-r", type=int, default=8)
    p.add_argument("--out", default="lora.pt")
    args = p.parse_args()

    cuda = torch.cuda.is_available()
    local_rank = int(os.environ["LOCAL_RANK"])
    if cuda:
        torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl" if cuda else "gloo")
    device = torch.device("cuda", local_rank) if cuda else torch.device("cpu")
    torch.manual_seed(0)

    blob = torch.load(args.chats, map_location="cpu")
    data = TensorDataset(blob["ids"], blob["mask"])
    sampler = DistributedSampler(data, shuffle=True, drop_last=True)
    loader = DataLoader(data, args.micro_batch, sampler=sampler, drop_last=True, pin_memory=cuda)

    net = ChatLM(**args.model_args)
    if args.base:
        net.load_state_dict(torch.load(args.base, map_location="cpu"))
    net = add_lora(net, {"q_proj", "v_proj"}, r=args.rank_r).to(device)
    model = DDP(net, device_ids=[local_rank] if cuda else None)
    params = [q for q in model.parameters() if q.requires_grad]
    opt = torch.optim.AdamW(params, lr=args.lr, weight_decay=0.0)
    updates = args.epochs * -(-len(loader) // args.accum)
    sched = torch.optim.lr_scheduler.LinearLR(opt, 1.0, 0.1, total_iters=updates)

    def log(loss, lr):
        if dist.get_rank() == 0:
            print(f"loss {loss:.4f} lr {lr:.2e}", flush=True)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        train_epoch(model, loader, opt, sched, args.accum, device, log)
    if dist.get_rank() == 0:
        torch.save(lora_state(net), args.out)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

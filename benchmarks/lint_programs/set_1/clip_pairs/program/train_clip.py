import argparse
import json
import logging
import math
import os
from dataclasses import dataclass

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as dist_fn
import torch.nn.functional as F
from PIL import Image
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler
from torchvision import transforms as T

from clip_model import PairModel

logger = logging.getLogger(__name__)
CONTEXT = 96
BOS, EOS = 257, 258


@dataclass
class Env:
    rank: int
    world: int
    local_rank: int
    device: torch.device

    @property
    def master(self):
        return self.rank == 0


def init_env():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    return Env(dist.get_rank(), dist.get_world_size(), local_rank, torch.device("cuda", local_rank))


def tokenize(text):
    ids = [BOS] + [b + 1 for b in text.encode("utf-8")][: CONTEXT - 2] + [EOS]
    out = torch.zeros(CONTEXT, dtype=torch.long)
    out[: len(ids)] = torch.tensor(ids)
    return out


class CaptionFile(Dataset):
    """jsonl with {"image": path, "caption": str} per line"""

    def __init__(self, path, tf):
        with open(path) as f:
            self.rows = [json.loads(line) for line in f]
        self.base = os.path.dirname(path)
        self.tf = tf

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        row = self.rows[i]
        img = Image.open(os.path.join(self.base, row["image"])).convert("RGB")
        return self.tf(img), tokenize(row["caption"])


def contrastive_loss(img, txt, scale, rank):
    """InfoNCE of the local pairs against the pairs of all ranks; gradients flow through the gather."""
    all_img = torch.cat(dist_fn.all_gather(img))
    all_txt = torch.cat(dist_fn.all_gather(txt))
    target = torch.arange(img.size(0), device=img.device) + rank * img.size(0)
    loss_i = F.cross_entropy(scale * img @ all_txt.t(), target)
    loss_t = F.cross_entropy(scale * txt @ all_img.t(), target)
    return (loss_i + loss_t) / 2


@torch.no_grad()
def recall_at_1(net, loader, device):
    net.eval()
    imgs, txts = [], []
    for images, tokens in loader:
        imgs.append(net.encode_image(images.to(device)))
        txts.append(net.encode_text(tokens.to(device)))
    imgs, txts = torch.cat(imgs), torch.cat(txts)
    hits = (imgs @ txts.t()).argmax(1) == torch.arange(len(imgs), device=device)
    net.train()
    return hits.float().mean().item()


def lr_at(step, total, base, warmup):
    if step < warmup:
        return base * (step + 1) / warmup
    return 0.5 * base * (1 + math.cos(math.pi * (step - warmup) / max(1, total - warmup)))


def main(args):
    env = init_env()
    logging.basicConfig(level=logging.INFO if env.master else logging.ERROR)
    norm = T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    train_tf = T.Compose([T.RandomResizedCrop(224, scale=(0.5, 1.0)), T.ToTensor(), norm])
    val_tf = T.Compose([T.Resize(224), T.CenterCrop(224), T.ToTensor(), norm])

    train_set = CaptionFile(args.train, train_tf)
    sampler = DistributedSampler(train_set, shuffle=True, drop_last=True)
    loader = DataLoader(train_set, batch_size=args.batch_size, sampler=sampler, drop_last=True,
                        num_workers=args.workers, pin_memory=True, persistent_workers=args.workers > 0)
    val_loader = DataLoader(CaptionFile(args.val, val_tf), batch_size=128, num_workers=args.workers)

    model = DistributedDataParallel(PairModel(args.embed_dim).to(env.device), device_ids=[env.local_rank])
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.98), weight_decay=0.1)
    total_steps = args.epochs * len(loader)
    logger.info("%d pairs, %d steps, global batch %d", len(train_set), total_steps, args.batch_size * env.world)

    step = 0
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        model.train()
        for images, tokens in loader:
            for group in optimizer.param_groups:
                group["lr"] = lr_at(step, total_steps, args.lr, args.warmup)
            images = images.to(env.device, non_blocking=True)
            tokens = tokens.to(env.device, non_blocking=True)

            img = model.module.encode_image(images)
            txt = model.module.encode_text(tokens)
            scale = model.module.logit_scale.exp()
            loss = contrastive_loss(img, txt, scale, env.rank)

            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            with torch.no_grad():
                model.module.logit_scale.clamp_(0, math.log(100))
            if step % args.log_interval == 0:
                logger.info("step %d rank-0 loss %.4f scale %.2f", step, loss.item(), scale.item())
            step += 1

        if env.master:
            r1 = recall_at_1(model.module, val_loader, env.device)
            logger.info("epoch %d image->text R@1 %.4f", epoch, r1)
            torch.save({"model": model.module.state_dict(), "epoch": epoch, "r1": r1}, args.save)
        dist.barrier()

    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--train", required=True, help="train.jsonl")
    parser.add_argument("--val", required=True, help="val.jsonl")
    parser.add_argument("--save", default="clip.pt")
    parser.add_argument("--batch-size", type=int, default=256, help="pairs per GPU")
    parser.add_argument("--embed-dim", type=int, default=256)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--lr", type=float, default=5e-4)
    parser.add_argument("--warmup", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--log-interval", type=int, default=50)
    main(parser.parse_args())

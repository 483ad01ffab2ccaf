import argparse
import json
import os
from pathlib import Path

import torch
import torch.nn as nn

import utils
from crops import MultiCropArray
from loss import DINOLoss
from vision_transformer import DINOHead, MultiCropWrapper, VisionTransformer


def get_args():
    p = argparse.ArgumentParser("DINO")
    p.add_argument("--data_file", required=True)
    p.add_argument("--output_dir", default=".")
    p.add_argument("--out_dim", type=int, default=8192)
    p.add_argument("--local_crops_number", type=int, default=6)
    p.add_argument("--momentum_teacher", type=float, default=0.996)
    p.add_argument("--batch_size_per_gpu", type=int, default=64)
    p.add_argument("--epochs", type=int, default=100)
    p.add_argument("--warmup_epochs", type=int, default=10)
    p.add_argument("--lr", type=float, default=5e-4)
    p.add_argument("--drop_path_rate", type=float, default=0.1)
    p.add_argument("--num_workers", type=int, default=8)
    p.add_argument("--seed", type=int, default=0)
    return p.parse_args()


def train_dino(args):
    utils.init_distributed_mode(args)
    utils.fix_random_seeds(args.seed)

    dataset = MultiCropArray(args.data_file, args.local_crops_number)
    sampler = torch.utils.data.DistributedSampler(dataset, shuffle=True)
    loader = torch.utils.data.DataLoader(
        dataset, sampler=sampler, batch_size=args.batch_size_per_gpu,
        num_workers=args.num_workers, pin_memory=True, drop_last=True)

    student = VisionTransformer(drop_path_rate=args.drop_path_rate)
    teacher = VisionTransformer()
    embed_dim = student.embed_dim
    student = MultiCropWrapper(student, DINOHead(embed_dim, args.out_dim)).cuda()
    teacher = MultiCropWrapper(teacher, DINOHead(embed_dim, args.out_dim)).cuda()
    # teacher and student start with the same weights
    teacher.load_state_dict(student.state_dict())
    student = nn.parallel.DistributedDataParallel(student, device_ids=[args.gpu])
    # there is no backpropagation through the teacher, so no need for gradients
    for p in teacher.parameters():
        p.requires_grad = False

    dino_loss = DINOLoss(args.out_dim, args.local_crops_number + 2).cuda()
    optimizer = torch.optim.AdamW(student.parameters(), weight_decay=0.04)

    n = len(loader)
    base_lr = args.lr * args.batch_size_per_gpu * utils.get_world_size() / 256.0
    lr_schedule = utils.cosine_scheduler(base_lr, 1e-6, args.epochs, n, args.warmup_epochs)
    momentum_schedule = utils.cosine_scheduler(args.momentum_teacher, 1.0, args.epochs, n)

    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        avg = utils.Average()
        for it, views in enumerate(loader, start=epoch * n):
            for group in optimizer.param_groups:
                group["lr"] = lr_schedule[it]
            views = [v.cuda(non_blocking=True) for v in views]
            with torch.no_grad():
                teacher_output = teacher(views[:2])
            loss = dino_loss(student(views), teacher_output)

            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(student.parameters(), 3.0)
            optimizer.step()

            with torch.no_grad():
                m = momentum_schedule[it]
                for q, k in zip(student.module.parameters(), teacher.parameters()):
                    k.mul_(m).add_(q.detach(), alpha=1 - m)
            avg.add(loss.item())

        mean_loss = avg.over_processes()
        utils.save_on_master({"student": student.module.state_dict(),
                              "teacher": teacher.state_dict(),
                              "center": dino_loss.center,
                              "epoch": epoch + 1}, os.path.join(args.output_dir, "checkpoint.pth"))
        if utils.is_main_process():
            with (Path(args.output_dir) / "log.txt").open("a") as f:
                f.write(json.dumps({"epoch": epoch, "loss": mean_loss}) + "\n")
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    args = get_args()
    Path(args.output_dir).mkdir(parents=True, exist_ok=True)
    train_dino(args)

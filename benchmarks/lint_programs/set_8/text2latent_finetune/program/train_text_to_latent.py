#!/usr/bin/env python
import argparse
import json
import logging
import math
import os

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.logging import get_logger
from accelerate.utils import ProjectConfiguration, set_seed
from torch.utils.data import DataLoader, Dataset

from modeling import DDPMScheduler, Denoiser, TextEncoder
from optimization import get_scheduler

logger = get_logger(__name__, log_level="INFO")


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--output_dir", type=str, default="t2l-model")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--train_batch_size", type=int, default=4, help="Batch size (per device).")
    parser.add_argument("--num_train_epochs", type=int, default=100)
    parser.add_argument("--max_train_steps", type=int, default=40)
    parser.add_argument("--gradient_accumulation_steps", type=int, default=2)
    parser.add_argument("--learning_rate", type=float, default=2e-3)
    parser.add_argument("--lr_scheduler", type=str, default="cosine")
    parser.add_argument("--lr_warmup_steps", type=int, default=4)
    parser.add_argument("--max_grad_norm", type=float, default=1.0)
    parser.add_argument("--proportion_empty_prompts", type=float, default=0.1)
    return parser.parse_args()


class CaptionedLatents(Dataset):
    def __init__(self, n=256, length=8):
        g = torch.Generator().manual_seed(2024)
        self.ids = torch.randint(1, 64, (n, length), generator=g)
        table = torch.randn(64, 4, 8, 8, generator=g)
        self.latents = table[self.ids].mean(1) * 2

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "latents": self.latents[i]}


def main():
    args = parse_args()
    accelerator = Accelerator(
        cpu=not torch.cuda.is_available(),
        gradient_accumulation_steps=args.gradient_accumulation_steps,
        project_config=ProjectConfiguration(project_dir=args.output_dir),
    )
    logging.basicConfig(format="%(asctime)s - %(levelname)s - %(message)s", level=logging.INFO)
    set_seed(args.seed)
    if accelerator.is_main_process:
        os.makedirs(args.output_dir, exist_ok=True)

    noise_scheduler = DDPMScheduler()
    text_encoder = TextEncoder()
    unet = Denoiser()
    text_encoder.requires_grad_(False)

    optimizer = torch.optim.AdamW(unet.parameters(), lr=args.learning_rate, weight_decay=1e-2)
    train_dataset = CaptionedLatents()
    train_dataloader = DataLoader(train_dataset, shuffle=True, batch_size=args.train_batch_size)

    lr_scheduler = get_scheduler(
        args.lr_scheduler,
        optimizer=optimizer,
        num_warmup_steps=args.lr_warmup_steps,
        num_training_steps=args.max_train_steps,
    )

    unet, optimizer, train_dataloader, lr_scheduler = accelerator.prepare(
        unet, optimizer, train_dataloader, lr_scheduler
    )
    text_encoder.to(accelerator.device)
    set_seed(args.seed, device_specific=True)

    num_update_steps_per_epoch = math.ceil(len(train_dataloader) / args.gradient_accumulation_steps)
    args.num_train_epochs = math.ceil(args.max_train_steps / num_update_steps_per_epoch)
    total_batch_size = args.train_batch_size * accelerator.num_processes * args.gradient_accumulation_steps

    logger.info("***** Running training *****")
    logger.info(f"  Num examples = {len(train_dataset)}")
    logger.info(f"  Num epochs = {args.num_train_epochs}")
    logger.info(f"  Total train batch size = {total_batch_size}")
    logger.info(f"  Total optimization steps = {args.max_train_steps}")

    global_step = 0
    history = []
    for _ in range(args.num_train_epochs):
        unet.train()
        train_loss = 0.0
        for batch in train_dataloader:
            with accelerator.accumulate(unet):
                latents = batch["latents"]
                noise = torch.randn_like(latents)
                bsz = latents.shape[0]
                timesteps = torch.randint(0, noise_scheduler.num_train_timesteps, (bsz,), device=latents.device)
                noisy = noise_scheduler.add_noise(latents, noise, timesteps)

                drop = torch.rand(bsz, 1, device=latents.device) < args.proportion_empty_prompts
                text = text_encoder(batch["input_ids"].masked_fill(drop, 0))
                loss = F.mse_loss(unet(noisy, timesteps, text), noise)

                avg_loss = accelerator.gather(loss.detach().repeat(bsz)).mean()
                train_loss += avg_loss.item() / args.gradient_accumulation_steps

                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(unet.parameters(), args.max_grad_norm)
                optimizer.step()
                lr_scheduler.step()
                optimizer.zero_grad()

            if accelerator.sync_gradients:
                global_step += 1
                history.append({"step": global_step, "loss": round(train_loss, 5),
                                "lr": lr_scheduler.get_last_lr()[0]})
                if global_step % 5 == 0:
                    logger.info(json.dumps(history[-1]))
                train_loss = 0.0
            if global_step >= args.max_train_steps:
                break

    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        torch.save(accelerator.unwrap_model(unet).state_dict(), os.path.join(args.output_dir, "unet.pt"))
        with open(os.path.join(args.output_dir, "log.jsonl"), "w") as f:
            f.writelines(json.dumps(row) + "\n" for row in history)
    accelerator.end_training()


if __name__ == "__main__":
    main()

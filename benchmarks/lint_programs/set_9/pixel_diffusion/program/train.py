import argparse
import math
import os

import numpy as np
import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset

from model import TinyUNet
from schedules import NoiseSchedule, cosine_with_warmup


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--data")
    p.add_argument("--output-dir", default="ddpm-out")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--train-batch-size", type=int, default=8, help="per device")
    p.add_argument("--gradient-accumulation-steps", type=int, default=2)
    p.add_argument("--num-train-epochs", type=int, default=3)
    p.add_argument("--max-train-steps", type=int, default=None)
    p.add_argument("--learning-rate", type=float, default=1e-3)
    p.add_argument("--lr-warmup-steps", type=int, default=4)
    p.add_argument("--max-grad-norm", type=float, default=1.0)
    p.add_argument("--log-every", type=int, default=4)
    return p.parse_args()


def load_dataset(path):
    if path:
        images = np.load(path)
    else:
        images = np.random.default_rng(0).integers(0, 256, (256, 3, 16, 16), dtype=np.uint8)
    return TensorDataset(torch.from_numpy(images).float() / 127.5 - 1.0)


def main():
    args = parse_args()
    accelerator = Accelerator(gradient_accumulation_steps=args.gradient_accumulation_steps)
    set_seed(args.seed, device_specific=True)

    loader = DataLoader(load_dataset(args.data), batch_size=args.train_batch_size, shuffle=True,
                        drop_last=True)
    model = TinyUNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.learning_rate, weight_decay=1e-2)

    batches_per_process = math.ceil(len(loader) / accelerator.num_processes)
    steps_per_epoch = math.ceil(batches_per_process / args.gradient_accumulation_steps)
    if args.max_train_steps is None:
        args.max_train_steps = args.num_train_epochs * steps_per_epoch

    lr_scheduler = cosine_with_warmup(
        optimizer,
        num_warmup_steps=args.lr_warmup_steps,
        num_training_steps=args.max_train_steps,
    )
    model, optimizer, loader, lr_scheduler = accelerator.prepare(model, optimizer, loader, lr_scheduler)

    noise_schedule = NoiseSchedule()
    num_epochs = math.ceil(args.max_train_steps / steps_per_epoch)
    global_step = 0
    accelerator.print(f"{args.max_train_steps} updates over {num_epochs} epochs, total batch "
                      f"{args.train_batch_size * accelerator.num_processes * args.gradient_accumulation_steps}")

    model.train()
    for _ in range(num_epochs):
        for (clean,) in loader:
            with accelerator.accumulate(model):
                noise = torch.randn_like(clean)
                t = torch.randint(0, noise_schedule.num_steps, (clean.size(0),), device=clean.device)
                pred = model(noise_schedule.add_noise(clean, noise, t), t)
                loss = F.mse_loss(pred, noise)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), args.max_grad_norm)
                optimizer.step()
                lr_scheduler.step()
                optimizer.zero_grad()

            if accelerator.sync_gradients:
                global_step += 1
                if global_step % args.log_every == 0:
                    mean_loss = accelerator.gather(loss.detach()).mean().item()
                    accelerator.print(f"step {global_step} loss {mean_loss:.4f} "
                                      f"lr {lr_scheduler.get_last_lr()[0]:.2e}", flush=True)
                if global_step >= args.max_train_steps:
                    break

    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        os.makedirs(args.output_dir, exist_ok=True)
        torch.save(accelerator.unwrap_model(model).state_dict(), os.path.join(args.output_dir, "unet.pt"))
    accelerator.end_training()


if __name__ == "__main__":
    main()

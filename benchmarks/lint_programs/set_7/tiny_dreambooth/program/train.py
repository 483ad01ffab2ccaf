import argparse
import itertools
import os

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset

from models import Denoiser, NoiseSchedule, TextEncoder


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--train_batch_size", type=int, default=4)
    p.add_argument("--gradient_accumulation_steps", type=int, default=4)
    p.add_argument("--max_train_steps", type=int, default=20)
    p.add_argument("--learning_rate", type=float, default=5e-4)
    p.add_argument("--max_grad_norm", type=float, default=1.0)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--output_dir", default="dreambooth-out")
    return p.parse_args()


def instance_dataset(n=128):
    g = torch.Generator().manual_seed(3)
    images = torch.randn(n, 3, 16, 16, generator=g).cumsum(-1).clamp(-1, 1)
    prompts = torch.randint(0, 64, (n, 8), generator=g)
    return TensorDataset(images, prompts)


def main():
    args = parse_args()
    accelerator = Accelerator(gradient_accumulation_steps=args.gradient_accumulation_steps)
    set_seed(args.seed)

    schedule = NoiseSchedule()
    text_encoder = TextEncoder()
    unet = Denoiser(timesteps=schedule.timesteps)
    params = list(itertools.chain(unet.parameters(), text_encoder.parameters()))
    optimizer = torch.optim.AdamW(params, lr=args.learning_rate)
    loader = DataLoader(instance_dataset(), args.train_batch_size, shuffle=True, drop_last=True)
    unet, text_encoder, optimizer, loader = accelerator.prepare(unet, text_encoder, optimizer, loader)
    set_seed(args.seed, device_specific=True)

    global_step = 0
    running = torch.zeros((), device=accelerator.device)
    while global_step < args.max_train_steps:
        unet.train()
        text_encoder.train()
        for images, prompts in loader:
            with accelerator.accumulate(unet):
                noise = torch.randn_like(images)
                t = torch.randint(0, schedule.timesteps, (images.size(0),), device=images.device)
                noisy = schedule.add_noise(images, noise, t)
                pred = unet(noisy, t, text_encoder(prompts))
                loss = F.mse_loss(pred, noise)
                running += loss.detach() / args.gradient_accumulation_steps
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(
                        itertools.chain(unet.parameters(), text_encoder.parameters()), args.max_grad_norm
                    )
                optimizer.step()
                optimizer.zero_grad()
            if accelerator.sync_gradients:
                global_step += 1
                mean = accelerator.reduce(running, reduction="mean").item()
                running.zero_()
                if global_step % 5 == 0:
                    accelerator.print(f"step {global_step} loss {mean:.4f}")
                if global_step >= args.max_train_steps:
                    break

    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        os.makedirs(args.output_dir, exist_ok=True)
        torch.save(accelerator.unwrap_model(unet).state_dict(), os.path.join(args.output_dir, "unet.pt"))
        torch.save(accelerator.unwrap_model(text_encoder).state_dict(), os.path.join(args.output_dir, "text_encoder.pt"))
    accelerator.end_training()


if __name__ == "__main__":
    main()

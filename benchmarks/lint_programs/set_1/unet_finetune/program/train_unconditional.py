import argparse
import logging
import math
import os

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.logging import get_logger
from accelerate.utils import ProjectConfiguration, set_seed
from diffusers import DDPMPipeline, DDPMScheduler, UNet2DModel
from diffusers.optimization import get_scheduler
from tqdm.auto import tqdm

from image_folder import FlatImageFolder, collate

logger = get_logger(__name__, log_level="INFO")


def parse_args():
    parser = argparse.ArgumentParser(description="Unconditional DDPM finetuning.")
    parser.add_argument("--pretrained_model_name_or_path", type=str, required=True)
    parser.add_argument("--train_data_dir", type=str, required=True)
    parser.add_argument("--output_dir", type=str, default="ddpm-finetuned")
    parser.add_argument("--resolution", type=int, default=256)
    parser.add_argument("--train_batch_size", type=int, default=4)
    parser.add_argument("--gradient_accumulation_steps", type=int, default=1)
    parser.add_argument("--max_train_steps", type=int, default=10000)
    parser.add_argument("--learning_rate", type=float, default=1e-5)
    parser.add_argument("--lr_scheduler", type=str, default="cosine")
    parser.add_argument("--lr_warmup_steps", type=int, default=500)
    parser.add_argument("--adam_weight_decay", type=float, default=1e-2)
    parser.add_argument("--max_grad_norm", type=float, default=1.0)
    parser.add_argument("--checkpointing_steps", type=int, default=1000)
    parser.add_argument("--dataloader_num_workers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--logging_dir", type=str, default="logs")
    return parser.parse_args()


def denoising_loss(unet, noise_scheduler, images):
    noise = torch.randn_like(images)
    timesteps = torch.randint(
        0, noise_scheduler.config.num_train_timesteps, (images.shape[0],), device=images.device
    ).long()
    noisy = noise_scheduler.add_noise(images, noise, timesteps)
    pred = unet(noisy, timesteps, return_dict=False)[0]

    if noise_scheduler.config.prediction_type == "epsilon":
        target = noise
    elif noise_scheduler.config.prediction_type == "v_prediction":
        target = noise_scheduler.get_velocity(images, noise, timesteps)
    else:
        raise ValueError(f"Unknown prediction type {noise_scheduler.config.prediction_type}")
    return F.mse_loss(pred.float(), target.float(), reduction="mean")


def main(args):
    project_config = ProjectConfiguration(
        project_dir=args.output_dir, logging_dir=os.path.join(args.output_dir, args.logging_dir), total_limit=3
    )
    accelerator = Accelerator(log_with="tensorboard", project_config=project_config)

    logging.basicConfig(format="%(asctime)s - %(levelname)s - %(name)s - %(message)s", level=logging.INFO)
    logger.info(accelerator.state, main_process_only=False)

    if args.seed is not None:
        set_seed(args.seed, device_specific=True)

    if accelerator.is_main_process:
        os.makedirs(args.output_dir, exist_ok=True)

    with accelerator.main_process_first():
        noise_scheduler = DDPMScheduler.from_pretrained(args.pretrained_model_name_or_path)
        unet = UNet2DModel.from_pretrained(args.pretrained_model_name_or_path)
    unet.train()

    optimizer = torch.optim.AdamW(
        unet.parameters(), lr=args.learning_rate, betas=(0.95, 0.999), weight_decay=args.adam_weight_decay
    )
    train_dataloader = torch.utils.data.DataLoader(
        FlatImageFolder(args.train_data_dir, args.resolution),
        shuffle=True,
        collate_fn=collate,
        batch_size=args.train_batch_size,
        num_workers=args.dataloader_num_workers,
        drop_last=True,
    )
    lr_scheduler = get_scheduler(
        args.lr_scheduler,
        optimizer=optimizer,
        num_warmup_steps=args.lr_warmup_steps * accelerator.num_processes,
        num_training_steps=args.max_train_steps * accelerator.num_processes,
    )

    unet, optimizer, train_dataloader, lr_scheduler = accelerator.prepare(
        unet, optimizer, train_dataloader, lr_scheduler
    )

    micro_per_epoch = len(train_dataloader)
    num_train_epochs = math.ceil(args.max_train_steps * args.gradient_accumulation_steps / micro_per_epoch)
    if accelerator.is_main_process:
        accelerator.init_trackers("unconditional", config=vars(args))

    total = args.train_batch_size * accelerator.num_processes * args.gradient_accumulation_steps
    logger.info("***** Running training *****")
    logger.info(f"  Num Epochs = {num_train_epochs}")
    logger.info(f"  Total train batch size (w. parallel, distributed & accumulation) = {total}")

    progress_bar = tqdm(total=args.max_train_steps, disable=not accelerator.is_local_main_process)
    global_step, micro_step, window_loss = 0, 0, 0.0

    def forward_backward(images):
        loss = denoising_loss(unet, noise_scheduler, images)
        accelerator.backward(loss / args.gradient_accumulation_steps)
        return loss.detach() / args.gradient_accumulation_steps

    for _ in range(num_train_epochs):
        for batch in train_dataloader:
            micro_step += 1
            last_of_window = micro_step % args.gradient_accumulation_steps == 0

            window_loss = window_loss + forward_backward(batch["input"])

            if not last_of_window:
                continue

            accelerator.clip_grad_norm_(unet.parameters(), args.max_grad_norm)
            optimizer.step()
            lr_scheduler.step()
            optimizer.zero_grad()

            global_step += 1
            progress_bar.update(1)
            mean_loss = accelerator.reduce(window_loss, reduction="mean").item()
            window_loss = 0.0
            logs = {"loss": mean_loss, "lr": lr_scheduler.get_last_lr()[0]}
            progress_bar.set_postfix(**logs)
            accelerator.log(logs, step=global_step)

            if global_step % args.checkpointing_steps == 0:
                accelerator.save_state(os.path.join(args.output_dir, f"checkpoint-{global_step}"))
            if global_step >= args.max_train_steps:
                break

    progress_bar.close()
    accelerator.wait_for_everyone()
    if accelerator.is_main_process:
        pipeline = DDPMPipeline(unet=accelerator.unwrap_model(unet), scheduler=noise_scheduler)
        pipeline.save_pretrained(args.output_dir)
    accelerator.end_training()


if __name__ == "__main__":
    main(parse_args())

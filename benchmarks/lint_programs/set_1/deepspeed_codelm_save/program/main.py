import argparse
import logging

import deepspeed
import numpy as np
import torch
from torch.utils.data import Dataset
from transformers import AutoModelForCausalLM

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
log = logging.getLogger("codelm")


class PackedRows(Dataset):
    def __init__(self, path):
        self.rows = np.load(path, mmap_mode="r")

    def __len__(self):
        return self.rows.shape[0]

    def __getitem__(self, idx):
        return torch.from_numpy(self.rows[idx].astype(np.int64))


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--model", default="bigcode/starcoderbase-1b")
    p.add_argument("--data", required=True)
    p.add_argument("--epochs", type=int, default=1)
    p.add_argument("--save_dir", default="checkpoints")
    p.add_argument("--save_interval", type=int, default=500, help="in optimizer steps")
    p.add_argument("--resume_tag", default=None)
    p.add_argument("--local_rank", type=int, default=-1)
    return deepspeed.add_config_arguments(p).parse_args()


def main():
    args = parse()
    deepspeed.init_distributed()
    torch.manual_seed(7)

    net = AutoModelForCausalLM.from_pretrained(args.model, torch_dtype=torch.bfloat16)
    net.gradient_checkpointing_enable()
    net.config.use_cache = False
    dataset = PackedRows(args.data)

    engine, _, loader, _ = deepspeed.initialize(
        args=args,
        model=net,
        model_parameters=[p for p in net.parameters() if p.requires_grad],
        training_data=dataset,
    )
    is_main = engine.global_rank == 0

    first_epoch = 0
    if args.resume_tag:
        tag = None if args.resume_tag == "latest" else args.resume_tag
        path, client = engine.load_checkpoint(args.save_dir, tag=tag)
        if path is None:
            raise SystemExit(f"no checkpoint {args.resume_tag} in {args.save_dir}")
        first_epoch = client["epoch"]
        if is_main:
            log.info("resumed from %s (step %d)", path, engine.global_steps)

    last_saved = engine.global_steps
    engine.train()
    for epoch in range(first_epoch, args.epochs):
        loader.data_sampler.set_epoch(epoch)
        for ids in loader:
            ids = ids.to(engine.device)
            loss = engine(input_ids=ids, labels=ids).loss
            engine.backward(loss)
            engine.step()

            step = engine.global_steps
            if is_main and engine.micro_steps % 100 == 0:
                log.info("epoch %d step %d loss %.4f lr %.2e", epoch, step, loss.item(), engine.get_lr()[0])

            if step - last_saved >= args.save_interval:
                last_saved = step
                if is_main:
                    log.info("saving step %d", step)
                    engine.save_checkpoint(
                        args.save_dir, tag=f"step{step}", client_state={"epoch": epoch}
                    )

    engine.save_checkpoint(args.save_dir, tag="final", client_state={"epoch": args.epochs})
    if is_main:
        log.info("done")


if __name__ == "__main__":
    main()

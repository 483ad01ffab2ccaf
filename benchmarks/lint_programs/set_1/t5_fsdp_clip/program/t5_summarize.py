"""Fine-tune T5 on (article, summary) pairs with FSDP."""
import argparse
import functools
import json
import os

import torch
import torch.distributed as dist
from torch.distributed.fsdp import (
    BackwardPrefetch,
    CPUOffload,
    FullStateDictConfig,
    FullyShardedDataParallel,
    MixedPrecision,
    ShardingStrategy,
    StateDictType,
)
from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler
from tqdm import tqdm
from transformers import AutoTokenizer, T5ForConditionalGeneration, get_cosine_schedule_with_warmup
from transformers.models.t5.modeling_t5 import T5Block


class SummaryDataset(Dataset):
    def __init__(self, path, tokenizer, max_src=768, max_tgt=160):
        with open(path) as f:
            self.rows = [json.loads(line) for line in f]
        self.tok = tokenizer
        self.max_src, self.max_tgt = max_src, max_tgt

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        row = self.rows[i]
        src = self.tok(
            "summarize: " + row["article"],
            max_length=self.max_src, padding="max_length", truncation=True, return_tensors="pt",
        )
        tgt = self.tok(
            row["highlights"],
            max_length=self.max_tgt, padding="max_length", truncation=True, return_tensors="pt",
        )
        labels = tgt.input_ids.squeeze(0)
        labels[labels == self.tok.pad_token_id] = -100
        return {
            "input_ids": src.input_ids.squeeze(0),
            "attention_mask": src.attention_mask.squeeze(0),
            "labels": labels,
        }


def setup():
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))


def shard(model, args):
    wrap_policy = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={T5Block})
    bf16 = MixedPrecision(
        param_dtype=torch.bfloat16, reduce_dtype=torch.bfloat16, buffer_dtype=torch.bfloat16
    )
    return FullyShardedDataParallel(
        model,
        auto_wrap_policy=wrap_policy,
        mixed_precision=bf16,
        sharding_strategy=ShardingStrategy.FULL_SHARD,
        backward_prefetch=BackwardPrefetch.BACKWARD_PRE,
        cpu_offload=CPUOffload(offload_params=args.cpu_offload),
        device_id=torch.cuda.current_device(),
        limit_all_gathers=True,
    )


def train_one_epoch(args, model, loader, optimizer, scheduler, epoch):
    model.train()
    loader.sampler.set_epoch(epoch)
    totals = torch.zeros(2, device="cuda")
    bar = tqdm(loader, desc=f"epoch {epoch}", disable=dist.get_rank() != 0)
    for batch in bar:
        batch = {k: v.cuda(non_blocking=True) for k, v in batch.items()}
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        optimizer.step()
        scheduler.step()
        totals[0] += loss.detach()
        totals[1] += 1
    dist.all_reduce(totals)
    return (totals[0] / totals[1]).item()


@torch.no_grad()
def validate(model, loader):
    model.eval()
    totals = torch.zeros(2, device="cuda")
    for batch in loader:
        batch = {k: v.cuda(non_blocking=True) for k, v in batch.items()}
        n = (batch["labels"] != -100).sum()
        totals[0] += model(**batch).loss * n
        totals[1] += n
    dist.all_reduce(totals)
    return (totals[0] / totals[1]).item()


def save_model(model, tokenizer, out_dir):
    cfg = FullStateDictConfig(offload_to_cpu=True, rank0_only=True)
    with FullyShardedDataParallel.state_dict_type(model, StateDictType.FULL_STATE_DICT, cfg):
        state = model.state_dict()
    if dist.get_rank() == 0:
        os.makedirs(out_dir, exist_ok=True)
        torch.save(state, os.path.join(out_dir, "pytorch_model.bin"))
        model.module.config.save_pretrained(out_dir)
        tokenizer.save_pretrained(out_dir)
    dist.barrier()


def main(args):
    setup()
    torch.manual_seed(args.seed)

    tokenizer = AutoTokenizer.from_pretrained(args.model_name)
    model = T5ForConditionalGeneration.from_pretrained(args.model_name)

    train_set = SummaryDataset(args.train_file, tokenizer)
    valid_set = SummaryDataset(args.valid_file, tokenizer)
    train_loader = DataLoader(
        train_set, batch_size=args.batch_size,
        sampler=DistributedSampler(train_set, shuffle=True, drop_last=True),
        num_workers=4, pin_memory=True, drop_last=True,
    )
    valid_loader = DataLoader(
        valid_set, batch_size=args.batch_size,
        sampler=DistributedSampler(valid_set, shuffle=False),
        num_workers=2, pin_memory=True,
    )

    model = shard(model, args)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    total_steps = args.epochs * len(train_loader)
    scheduler = get_cosine_schedule_with_warmup(optimizer, int(0.03 * total_steps), total_steps)

    best = float("inf")
    for epoch in range(args.epochs):
        train_loss = train_one_epoch(args, model, train_loader, optimizer, scheduler, epoch)
        valid_loss = validate(model, valid_loader)
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: train {train_loss:.4f} valid {valid_loss:.4f}")
        if valid_loss < best:
            best = valid_loss
            save_model(model, tokenizer, args.output_dir)

    dist.destroy_process_group()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--model_name", default="google/t5-v1_1-large")
    ap.add_argument("--train_file", required=True)
    ap.add_argument("--valid_file", required=True)
    ap.add_argument("--output_dir", required=True)
    ap.add_argument("--batch_size", type=int, default=4)
    ap.add_argument("--epochs", type=int, default=1)
    ap.add_argument("--lr", type=float, default=1e-4)
    ap.add_argument("--clip", type=float, default=1.0)
    ap.add_argument("--seed", type=int, default=42)
    ap.add_argument("--cpu_offload", action="store_true")
    main(ap.parse_args())

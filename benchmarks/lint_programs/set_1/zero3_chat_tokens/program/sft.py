import argparse
import json
from pathlib import Path

import deepspeed
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset, DistributedSampler
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.integrations import HfDeepSpeedConfig

from chat_tokens import role_ids, start_role_tokens

IGNORE = -100


class Dialogs(Dataset):
    def __init__(self, path, tokenizer, max_len):
        self.tok, self.max_len = tokenizer, max_len
        self.items = [json.loads(l)["messages"] for l in Path(path).open()]
        self.special = role_ids(tokenizer)

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        ids, labels = [self.tok.bos_token_id], [IGNORE]
        for message in self.items[i]:
            body = self.tok(message["content"].strip(), add_special_tokens=False).input_ids
            body.append(self.special["end"])
            ids += [self.special[message["role"]]] + body
            learn = message["role"] == "assistant"
            labels += [IGNORE] + (body if learn else [IGNORE] * len(body))
        return ids[: self.max_len], labels[: self.max_len]


class Collate:
    def __init__(self, pad_id):
        self.pad_id = pad_id

    def __call__(self, rows):
        width = max(len(ids) for ids, _ in rows)
        ids = torch.full((len(rows), width), self.pad_id)
        labels = torch.full((len(rows), width), IGNORE)
        mask = torch.zeros(len(rows), width, dtype=torch.long)
        for r, (i, l) in enumerate(rows):
            ids[r, : len(i)] = torch.tensor(i)
            labels[r, : len(l)] = torch.tensor(l)
            mask[r, : len(i)] = 1
        return {"input_ids": ids, "labels": labels, "attention_mask": mask}


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--model", required=True)
    p.add_argument("--data", required=True)
    p.add_argument("--ds_config", default="zero3.json")
    p.add_argument("--output_dir", required=True)
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--max_len", type=int, default=2048)
    p.add_argument("--local_rank", type=int, default=0)
    return p.parse_args()


def main():
    args = get_args()
    torch.cuda.set_device(args.local_rank)
    deepspeed.init_distributed()
    ds_config = json.loads(Path(args.ds_config).read_text())
    hf_ds = HfDeepSpeedConfig(ds_config)  # has to stay alive: from_pretrained looks for it

    torch.manual_seed(3)
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    model = AutoModelForCausalLM.from_pretrained(args.model, torch_dtype=torch.bfloat16)
    start_role_tokens(tokenizer, model)
    model.config.use_cache = False
    model.gradient_checkpointing_enable()

    engine, _, _, _ = deepspeed.initialize(
        model=model, model_parameters=model.parameters(), config=ds_config
    )
    rank = dist.get_rank()
    if rank == 0:
        print("role tokens:", role_ids(tokenizer))

    data = Dialogs(args.data, tokenizer, args.max_len)
    sampler = DistributedSampler(data, shuffle=True, drop_last=True)
    loader = DataLoader(
        data,
        batch_size=engine.train_micro_batch_size_per_gpu(),
        sampler=sampler,
        collate_fn=Collate(tokenizer.eos_token_id),
        num_workers=4,
        drop_last=True,
    )

    engine.train()
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for n, batch in enumerate(loader):
            batch = {k: v.to(engine.device) for k, v in batch.items()}
            loss = engine(**batch).loss
            engine.backward(loss)
            engine.step()
            if n % 50 == 0:
                shown = loss.detach().float()
                dist.all_reduce(shown, op=dist.ReduceOp.AVG)
                if rank == 0:
                    print(f"epoch {epoch} batch {n}/{len(loader)} loss {shown.item():.4f}", flush=True)

    engine.save_16bit_model(args.output_dir, "pytorch_model.bin")
    if rank == 0:
        model.config.save_pretrained(args.output_dir)
        tokenizer.save_pretrained(args.output_dir)
    dist.barrier()
    del hf_ds


if __name__ == "__main__":
    main()

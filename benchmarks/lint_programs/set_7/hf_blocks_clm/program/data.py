from itertools import chain

from datasets import load_dataset


def load_raw(data_args):
    files = {"train": data_args.train_glob, "eval": data_args.eval_glob}
    return load_dataset("json", data_files=files)


def tokenize_and_pack(raw, tokenizer, text_column, block_size, workers=None):
    columns = raw["train"].column_names
    eos = tokenizer.eos_token_id

    def tokenize(batch):
        encoded = tokenizer(batch[text_column], add_special_tokens=False)
        return {"input_ids": [ids + [eos] for ids in encoded["input_ids"]]}

    def pack(batch):
        ids = list(chain.from_iterable(batch["input_ids"]))
        total = len(ids) // block_size * block_size
        blocks = [ids[i : i + block_size] for i in range(0, total, block_size)]
        return {"input_ids": blocks, "labels": [b[:] for b in blocks]}

    tokenized = raw.map(tokenize, batched=True, num_proc=workers, remove_columns=columns, desc="tokenize")
    return tokenized.map(pack, batched=True, batch_size=2000, num_proc=workers, desc=f"pack into {block_size}")

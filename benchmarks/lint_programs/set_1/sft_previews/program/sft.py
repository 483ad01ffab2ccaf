import os
from dataclasses import dataclass

import torch
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    DataCollatorForSeq2Seq,
    HfArgumentParser,
    Trainer,
    TrainingArguments,
    set_seed,
)
from transformers.trainer_utils import get_last_checkpoint

from callbacks import PreviewCallback, StepTimer
from conversations import IGNORE, Conversations


@dataclass
class SftArguments:
    model_name_or_path: str
    train_path: str
    dev_path: str
    preview_path: str
    max_length: int = 2048


def main():
    sft, args = HfArgumentParser((SftArguments, TrainingArguments)).parse_args_into_dataclasses()
    args.remove_unused_columns = False
    set_seed(args.seed)

    with args.main_process_first(local=True, desc="tokenizer"):
        tok = AutoTokenizer.from_pretrained(sft.model_name_or_path)
    tok.pad_token = tok.pad_token or tok.unk_token
    # `args` exists already, so from_pretrained sees the DeepSpeed config and shards while loading
    model = AutoModelForCausalLM.from_pretrained(sft.model_name_or_path, torch_dtype=torch.bfloat16)
    model.config.use_cache = not args.gradient_checkpointing

    with open(sft.preview_path, encoding="utf-8") as fh:
        questions = [line.strip() for line in fh if line.strip()]

    trainer = Trainer(
        model=model,
        args=args,
        train_dataset=Conversations(sft.train_path, tok, sft.max_length),
        eval_dataset=Conversations(sft.dev_path, tok, sft.max_length),
        data_collator=DataCollatorForSeq2Seq(tok, padding=True, label_pad_token_id=IGNORE),
        callbacks=[PreviewCallback(tok, questions, args.output_dir), StepTimer()],
    )
    last = get_last_checkpoint(args.output_dir) if os.path.isdir(args.output_dir) else None
    trainer.train(resume_from_checkpoint=last)
    trainer.save_model()
    trainer.save_state()


if __name__ == "__main__":
    main()

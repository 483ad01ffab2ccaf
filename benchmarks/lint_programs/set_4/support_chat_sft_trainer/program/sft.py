import json
import os

import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer, HfArgumentParser, Trainer, TrainingArguments

from arguments import DataArguments, ModelArguments
from chats import Collator, SupportChats


def export(trainer, tokenizer, data_args):
    """Final weights, tokenizer and a note of what they were trained on."""
    out = trainer.args.output_dir
    if trainer.is_world_process_zero():
        trainer.save_model(out)
        tokenizer.save_pretrained(out)
        with open(os.path.join(out, "data_args.json"), "w") as f:
            json.dump(vars(data_args), f, indent=2)


def main():
    parser = HfArgumentParser((ModelArguments, DataArguments, TrainingArguments))
    model_args, data_args, training_args = parser.parse_args_into_dataclasses()
    training_args.remove_unused_columns = False
    transformers.set_seed(training_args.seed)

    tokenizer = AutoTokenizer.from_pretrained(model_args.model_name_or_path, use_fast=True)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    model = AutoModelForCausalLM.from_pretrained(
        model_args.model_name_or_path, attn_implementation=model_args.attn_implementation
    )
    model.config.use_cache = False

    train_set = SupportChats(data_args.train_file, tokenizer, data_args.max_length)
    trainer = Trainer(
        model=model,
        args=training_args,
        train_dataset=train_set,
        data_collator=Collator(tokenizer.pad_token_id),
    )
    result = trainer.train()
    trainer.log_metrics("train", result.metrics)
    trainer.save_metrics("train", result.metrics)
    trainer.save_state()
    export(trainer, tokenizer, data_args)


if __name__ == "__main__":
    main()

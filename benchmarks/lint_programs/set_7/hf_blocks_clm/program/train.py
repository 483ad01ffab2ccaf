import logging
import math
import os

from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    HfArgumentParser,
    Trainer,
    TrainingArguments,
    default_data_collator,
    set_seed,
)
from transformers.trainer_utils import get_last_checkpoint

from arguments import DataArguments, ModelArguments
from data import load_raw, tokenize_and_pack

logger = logging.getLogger(__name__)


def main():
    parser = HfArgumentParser((ModelArguments, DataArguments, TrainingArguments))
    model_args, data_args, training_args = parser.parse_args_into_dataclasses()
    logging.basicConfig(
        level=logging.INFO if training_args.should_log else logging.WARNING,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    set_seed(training_args.seed)

    tokenizer = AutoTokenizer.from_pretrained(model_args.model_name_or_path, revision=model_args.revision)
    config = AutoConfig.from_pretrained(model_args.model_name_or_path, revision=model_args.revision)
    model = AutoModelForCausalLM.from_config(config)
    if model_args.gradient_checkpointing_layers:
        model.gradient_checkpointing_enable()
        model.config.use_cache = False
    if training_args.should_log:
        logger.info("%.1fM parameters", sum(p.numel() for p in model.parameters()) / 1e6)

    raw = load_raw(data_args)
    block_size = min(data_args.block_size, tokenizer.model_max_length)
    blocks = tokenize_and_pack(
        raw, tokenizer, data_args.text_column, block_size, workers=data_args.preprocessing_workers
    )

    trainer = Trainer(
        model=model,
        args=training_args,
        train_dataset=blocks["train"],
        eval_dataset=blocks["eval"],
        processing_class=tokenizer,
        data_collator=default_data_collator,
    )

    checkpoint = None
    if os.path.isdir(training_args.output_dir):
        checkpoint = get_last_checkpoint(training_args.output_dir)
    result = trainer.train(resume_from_checkpoint=checkpoint)
    trainer.save_model()
    trainer.save_state()
    trainer.log_metrics("train", result.metrics)
    trainer.save_metrics("train", result.metrics)

    metrics = trainer.evaluate()
    metrics["perplexity"] = math.exp(min(metrics["eval_loss"], 50))
    trainer.log_metrics("eval", metrics)
    trainer.save_metrics("eval", metrics)


if __name__ == "__main__":
    main()

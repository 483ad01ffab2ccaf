import argparse

from transformers import AutoConfig, AutoModelForCausalLM, TrainingArguments, set_seed

from data import Instructions, PadRight
from trainer import AnswerTrainer


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--model", required=True, help="a folder with config.json and weights, or only a config")
    p.add_argument("--train", required=True)
    p.add_argument("--out", default="instruct")
    p.add_argument("--max-length", type=int, default=1024)
    p.add_argument("--batch-size", type=int, default=4)
    p.add_argument("--accum", type=int, default=4)
    p.add_argument("--epochs", type=float, default=3)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--from-scratch", action="store_true")
    args = p.parse_args()

    set_seed(0)
    if args.from_scratch:
        model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(args.model))
    else:
        model = AutoModelForCausalLM.from_pretrained(args.model)
    model.config.use_cache = False

    training_args = TrainingArguments(
        output_dir=args.out,
        per_device_train_batch_size=args.batch_size,
        gradient_accumulation_steps=args.accum,
        num_train_epochs=args.epochs,
        learning_rate=args.lr,
        optim="sgd",              # full fine-tuning, no room for the moments of Adam
        lr_scheduler_type="cosine",
        max_grad_norm=1.0,
        average_tokens_across_devices=True,
        logging_steps=10,
        save_strategy="epoch",
        remove_unused_columns=False,
        ddp_find_unused_parameters=False,
        report_to=[],
    )
    trainer = AnswerTrainer(
        model=model,
        args=training_args,
        train_dataset=Instructions(args.train, args.max_length),
        data_collator=PadRight(model.config.eos_token_id or 0),
    )
    trainer.train()
    trainer.save_model(args.out)


if __name__ == "__main__":
    main()

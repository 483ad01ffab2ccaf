"""A small character model of limericks with the transformers Trainer, and a critic that files samples.

    torchrun --nproc-per-node 3 train.py
"""
import os
import tempfile

from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

from critic import Critic
from verses import ALPHABET, Verses, collate


def build_model():
    config = GPT2Config(
        vocab_size=len(ALPHABET), n_positions=64, n_embd=32, n_layer=2, n_head=2,
        bos_token_id=0, eos_token_id=0,
    )
    return GPT2LMHeadModel(config)


def main():
    set_seed(2)
    with tempfile.TemporaryDirectory() as folder:
        args = TrainingArguments(
            output_dir=folder, use_cpu=True, ddp_backend="gloo", report_to=[],
            per_device_train_batch_size=4, max_steps=60, logging_steps=10,
            save_strategy="no", learning_rate=2e-3, disable_tqdm=True, dataloader_num_workers=0,
        )
        critic = Critic(os.path.join(folder, "cards.jsonl"))
        trainer = Trainer(
            model=build_model(), args=args, train_dataset=Verses(1200), data_collator=collate,
            callbacks=[critic],
        )
        trainer.train()
        trainer.save_model(os.path.join(folder, "final"))
        critic.close()                     # the cards must be on disk before the folder is packed


if __name__ == "__main__":
    main()

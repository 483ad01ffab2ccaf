"""Stance classification with a tiny BERT; stops cleanly when a host is drained."""
import tempfile

import torch
from torch.utils.data import TensorDataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed

from cluster import DrainCallback, NodeAgent


def make_dataset(rows=1280, length=20, vocab=150):
    gen = torch.Generator().manual_seed(4)
    ids = torch.randint(3, vocab, (rows, length), generator=gen)
    stance = (ids.float().mean(1) > vocab / 2).long()
    return TensorDataset(ids, stance)


def as_batch(rows):
    ids, stance = zip(*rows)
    return {"input_ids": torch.stack(ids), "labels": torch.stack(stance)}


def make_model(vocab=150):
    return BertForSequenceClassification(
        BertConfig(
            vocab_size=vocab,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
            max_position_embeddings=32,
            num_labels=2,
        )
    )


if __name__ == "__main__":
    training_args = TrainingArguments(
        output_dir=tempfile.mkdtemp(prefix="stance-"),
        use_cpu=True,
        max_steps=80,
        per_device_train_batch_size=4,
        logging_steps=20,
        save_strategy="steps",
        save_steps=80,
        average_tokens_across_devices=False,
        remove_unused_columns=False,
        report_to="none",
        disable_tqdm=True,
    )
    set_seed(training_args.seed)
    trainer = Trainer(
        model=make_model(),
        args=training_args,
        train_dataset=make_dataset(),
        data_collator=as_batch,
        callbacks=[NodeAgent(training_args.process_index), DrainCallback()],
    )
    trainer.train()
    print(f"rank {training_args.process_index}: stopped after step {trainer.state.global_step}")

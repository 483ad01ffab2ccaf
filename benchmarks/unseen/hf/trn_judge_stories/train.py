import tempfile

import torch
from torch.utils.data import Dataset
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments, set_seed

from judge import Judge, JudgeCallback

VOCAB = 80


class Stories(Dataset):
    def __init__(self, count, length=20):
        gen = torch.Generator().manual_seed(count)
        self.ids = torch.randint(0, VOCAB, (count, 1), generator=gen) + torch.arange(length)
        self.ids %= VOCAB

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i], "labels": self.ids[i].clone()}


def main():
    args = TrainingArguments(
        output_dir=tempfile.mkdtemp(prefix="stories-"),
        use_cpu=True,
        max_steps=30,
        per_device_train_batch_size=4,
        eval_strategy="steps",
        eval_steps=10,
        logging_steps=10,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )
    set_seed(3)
    config = LlamaConfig(
        vocab_size=VOCAB,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=64,
        bos_token_id=0,
        eos_token_id=1,
    )
    trainer = Trainer(
        model=LlamaForCausalLM(config),
        args=args,
        train_dataset=Stories(400),
        eval_dataset=Stories(24),
        callbacks=[JudgeCallback(Judge(), at_step=17)],
    )
    trainer.train()
    metrics = trainer.evaluate()
    if trainer.is_world_process_zero():
        print({key: round(value, 3) for key, value in metrics.items()})
    trainer.end()


if __name__ == "__main__":
    main()

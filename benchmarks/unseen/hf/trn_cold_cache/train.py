"""A character model on sea stories, cold start included."""
import tempfile
import time

import torch.distributed as dist
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

from corpus import ALPHABET, CachedCorpus
from monitor import memory_watch


class Progress(TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        time.sleep(0.1)

    def on_log(self, args, state, control, logs=None, **kwargs):
        if state.is_world_process_zero:
            print(state.global_step, {k: v for k, v in logs.items() if "loss" in k}, flush=True)


def shared_folder():
    holder = [tempfile.mkdtemp(prefix="sea-") if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(holder)
    return holder[0]


def main():
    args = TrainingArguments(
        output_dir="unused",
        use_cpu=True,
        max_steps=60,
        per_device_train_batch_size=4,
        logging_steps=12,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )
    args.output_dir = shared_folder()
    with memory_watch() as peaks:
        with args.main_process_first(desc="tokenise"):
            corpus = CachedCorpus(args.output_dir)
        model = GPT2LMHeadModel(
            GPT2Config(
                vocab_size=len(ALPHABET) + 1,
                n_positions=32,
                n_embd=32,
                n_layer=1,
                n_head=2,
                bos_token_id=0,
                eos_token_id=0,
            )
        )
        trainer = Trainer(model=model, args=args, train_dataset=corpus, callbacks=[Progress()])
        trainer.train()
        trainer.save_model()
    print(f"rank {args.process_index}: peak {max(peaks) // 1024} MiB")


if __name__ == "__main__":
    main()

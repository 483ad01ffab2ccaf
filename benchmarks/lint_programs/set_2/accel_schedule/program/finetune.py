import math
import sys

import torch
import yaml
from accelerate import Accelerator
from accelerate.utils import set_seed
from datasets import load_from_disk
from torch.utils.data import DataLoader
from tqdm.auto import tqdm
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling

from optim import make_optimizer, make_schedule


class Finetuner:
    def __init__(self, cfg):
        self.cfg = cfg
        self.acc = Accelerator(
            gradient_accumulation_steps=cfg["accum"], mixed_precision="bf16", log_with="tensorboard",
            project_dir=cfg["out"],
        )
        set_seed(cfg["seed"])
        self.acc.init_trackers("sft")

        tok = AutoTokenizer.from_pretrained(cfg["model"])
        tok.pad_token = tok.pad_token or tok.eos_token
        model = AutoModelForCausalLM.from_pretrained(cfg["model"])
        model.gradient_checkpointing_enable()
        ds = load_from_disk(cfg["data"])
        collate = DataCollatorForLanguageModeling(tok, mlm=False)
        train = DataLoader(ds["train"], cfg["bs"], shuffle=True, collate_fn=collate, drop_last=True)
        val = DataLoader(ds["test"], cfg["bs"], collate_fn=collate)
        opt = make_optimizer(model, cfg)

        self.model, self.opt, self.train_dl, self.val_dl = self.acc.prepare(model, opt, train, val)
        self.steps_per_epoch = math.ceil(len(self.train_dl) / cfg["accum"])
        self.total_steps = self.steps_per_epoch * cfg["epochs"]
        self.sched = self.acc.prepare(make_schedule(self.opt, self.total_steps))

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        losses = []
        for batch in self.val_dl:
            loss = self.model(**batch).loss
            losses.append(self.acc.gather_for_metrics(loss.repeat(self.cfg["bs"])))
        self.model.train()
        return torch.cat(losses).mean().item()

    def fit(self):
        done = 0
        bar = tqdm(total=self.total_steps, disable=not self.acc.is_local_main_process)
        for epoch in range(self.cfg["epochs"]):
            self.model.train()
            for batch in self.train_dl:
                with self.acc.accumulate(self.model):
                    loss = self.model(**batch).loss
                    self.acc.backward(loss)
                    if self.acc.sync_gradients:
                        self.acc.clip_grad_norm_(self.model.parameters(), self.cfg["clip"])
                    self.opt.step()
                    self.sched.step()
                    self.opt.zero_grad()
                if self.acc.sync_gradients:
                    done += 1
                    bar.update(1)
                    if done % 20 == 0:
                        mean = self.acc.reduce(loss.detach(), reduction="mean")
                        self.acc.log({"loss": mean.item(), "lr": self.sched.get_last_lr()[0]}, step=done)
            val = self.validate()
            self.acc.log({"val_loss": val}, step=done)
            self.acc.print(f"epoch {epoch}: val loss {val:.4f}")
            self.acc.save_state(f"{self.cfg['out']}/epoch{epoch}")
        self.acc.end_training()


if __name__ == "__main__":
    with open(sys.argv[1]) as f:
        Finetuner(yaml.safe_load(f)).fit()

import io
import os
import tempfile
import time

import torch
from accelerate import Accelerator
from torch import nn

from prepare import archive, build_vocabulary

WORK = os.path.join(tempfile.gettempdir(), "vocab_first_" + os.environ.get("MASTER_PORT", "0") + f"_{os.getppid()}")


class Bag(nn.Module):
    def __init__(self, vocabulary):
        super().__init__()
        self.bag = nn.EmbeddingBag(vocabulary, 8)
        self.out = nn.Linear(8, 3)

    def forward(self, tokens):
        return self.out(self.bag(tokens))


def batches(size, steps, seed):
    g = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        yield torch.randint(0, size, (8, 12), generator=g), torch.randint(0, 3, (8,), generator=g)


accelerator = Accelerator(cpu=True)
os.makedirs(WORK, exist_ok=True)
with accelerator.main_process_first():
    vocabulary = build_vocabulary(os.path.join(WORK, "vocabulary.json"))
accelerator.print(len(vocabulary), "words")

torch.manual_seed(0)
model = Bag(len(vocabulary))
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
model, optimizer = accelerator.prepare(model, optimizer)

for step, (tokens, label) in enumerate(batches(len(vocabulary), 40, accelerator.process_index)):
    loss = nn.functional.cross_entropy(model(tokens), label)
    accelerator.backward(loss)
    optimizer.step()
    optimizer.zero_grad()
    time.sleep(0.02)

if accelerator.is_main_process:
    blob = io.BytesIO()
    torch.save(accelerator.unwrap_model(model).state_dict(), blob)
    archive(blob.getvalue() + bytes(24000), os.path.join(WORK, "model.pt"))
accelerator.wait_for_everyone()
accelerator.print("saved")
accelerator.end_training()

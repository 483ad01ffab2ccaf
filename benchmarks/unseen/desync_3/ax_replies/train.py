"""Reply ranking with Accelerate, four processes, each with the threads of another forum."""

import time

import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from threads import TooDeep, load


class Ranker(torch.nn.Module):
    def __init__(self, width=28):
        super().__init__()
        self.question = torch.nn.Linear(width, 32)
        self.reply = torch.nn.Linear(width, 32)

    def forward(self, question, replies):
        return self.reply(replies) @ self.question(question)


def train_on(accelerator, ranker, optimizer, reference):
    question, replies, best = load(reference)
    with accelerator.accumulate(ranker):
        scores = ranker(question, replies)
        loss = F.cross_entropy(scores.unsqueeze(0), best)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
    return loss.detach()


def main(threads=720):
    torch.set_num_threads(1)
    set_seed(3)
    accelerator = Accelerator(cpu=True)
    ranker = Ranker()
    ranker, optimizer = accelerator.prepare(ranker, torch.optim.SGD(ranker.parameters(), lr=0.02))
    forum = accelerator.process_index
    losses, left_out = [], []
    for number in range(threads):
        time.sleep(0.028)
        try:
            losses.append(train_on(accelerator, ranker, optimizer, (forum, number)))
        except TooDeep as thread:
            left_out.append(str(thread))
    everything = accelerator.gather(torch.stack(losses[-100:]))
    accelerator.print(f"last losses {everything.mean():.3f}")
    accelerator.wait_for_everyone()
    accelerator.end_training()


if __name__ == "__main__":
    main()

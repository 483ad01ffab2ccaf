"""The policy and its rollouts."""
import torch
from torch import nn


class Talk(nn.Module):
    """Letters in, scores of the next letter out. A short window is all it looks at."""

    def __init__(self, letters, width=24, window=4):
        super().__init__()
        self.window = window
        self.embed = nn.Embedding(letters, width)
        self.mix = nn.Linear(width * window, 2 * width)
        self.out = nn.Linear(2 * width, letters)

    def forward(self, tokens):
        x = self.embed(tokens)
        padded = nn.functional.pad(x, (0, 0, self.window - 1, 0))
        windows = padded.unfold(1, self.window, 1).flatten(2)
        return self.out(torch.relu(self.mix(windows)))


@torch.no_grad()
def rollout(engine, prompt, limits, seed, longest=8):
    """Continue every prompt by sampling. A row that has reached its limit is filled with blanks;
    returns the tokens and a mask of what was really said.
    """
    generator = torch.Generator().manual_seed(seed)
    tokens = prompt
    said = []
    for position in range(longest):
        going = position < limits
        if not going.any():
            break
        scores = engine(tokens)[:, -1].softmax(-1)
        letter = torch.multinomial(scores, 1, generator=generator).squeeze(1)
        letter = torch.where(going, letter, torch.zeros_like(letter))
        tokens = torch.cat([tokens, letter[:, None]], 1)
        said.append(going)
    return tokens, torch.stack(said, 1).float()


def log_probs(engine, tokens):
    """Log-probability of each token but the first, under the policy as it is now."""
    scores = engine(tokens[:, :-1]).log_softmax(-1)
    return scores.gather(-1, tokens[:, 1:, None]).squeeze(-1)

import torch
import torch.distributed as dist

from data import EOS, PAD


@torch.no_grad()
def greedy(model, prompt, max_new):
    ids = prompt
    done = torch.zeros(prompt.size(0), dtype=torch.bool, device=prompt.device)
    for _ in range(max_new):
        nxt = model(ids)[:, -1].argmax(-1)
        nxt = nxt.masked_fill(done, PAD)
        ids = torch.cat([ids, nxt[:, None]], 1)
        done |= nxt == EOS
        if done.all():
            break
    out = ids[:, prompt.size(1):]
    return torch.nn.functional.pad(out, (0, max_new - out.size(1)), value=PAD)


def exact_match(model, loader, device, max_new):
    """Share of forms that are right to the last character, over all ranks."""
    model.eval()
    hits = torch.zeros(2, device=device)
    for prompt, form in loader:
        prompt, form = prompt.to(device), form.to(device)
        hits[0] += (greedy(model, prompt, max_new) == form).all(1).sum()
        hits[1] += len(form)
    dist.all_reduce(hits)
    model.train()
    return (hits[0] / hits[1]).item()

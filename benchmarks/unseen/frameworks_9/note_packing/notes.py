from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Site:
    name: str
    lengths: tuple
    template_from: int | None = None  # batch from which the site used its new, shorter template
    template_lengths: tuple = (30, 33)


SITES = (
    Site("north", (40, 49)),
    Site("harbour", (40, 49)),
    Site("hill", (40, 49), template_from=90),
)


def site_notes(site, batches, per_batch, vocab, departments):
    """Batches of padded notes of one site: (tokens, department)."""
    g = torch.Generator().manual_seed(len(site.name))
    for b in range(batches):
        changed = site.template_from is not None and b >= site.template_from
        low, high = site.template_lengths if changed else site.lengths
        lengths = torch.randint(low, high, (per_batch,), generator=g)
        department = torch.randint(0, departments, (per_batch,), generator=g)
        tokens = torch.zeros(per_batch, int(lengths.max()), dtype=torch.long)
        for row, (n, d) in enumerate(zip(lengths.tolist(), department.tolist())):
            words = torch.randint(1, vocab, (n,), generator=g)
            words[: n // 3] = 1 + (words[: n // 3] + d) % (vocab // departments) + d * (vocab // departments - 1)
            tokens[row, :n] = words.clamp(max=vocab - 1)
        yield tokens, department

import torch.distributed as dist


class Journal:
    """What happened in an office, kept in pages.

    A new page is opened by all offices together, so that page numbers can be compared afterwards.
    """

    def __init__(self, office, page_size):
        self.office, self.page_size = office, page_size
        self.pages, self.lines = [], []

    def note(self, round_number, events):
        self.lines.extend(f"{round_number}: {event}" for event in events)
        if len(self.lines) >= self.page_size:
            self.turn_page()

    def turn_page(self):
        dist.barrier()
        self.pages.append("\n".join(self.lines))
        print(f"office {self.office}: page {len(self.pages)} is full", flush=True)
        self.lines.clear()

    def __len__(self):
        return sum(page.count("\n") + 1 for page in self.pages) + len(self.lines)

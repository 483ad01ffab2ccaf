"""Minutes of court sessions as token numbers, one court per process."""
import torch
from torch.utils.data import IterableDataset

WORDS = 120
OUTCOMES = 5


class CourtMinutes(IterableDataset):
    """Yields the minutes of one court, one session at a time, with the session's outcome.

    Sessions are cut to pages of the same length by the registry. Annexes (lists of exhibits and the
    like) are kept in one piece with the page that they belong to.
    """

    PAGE = 48

    def __init__(self, court, sessions, annexes=None):
        self.court = court
        self.sessions = sessions
        self.annexes = annexes or {}

    def __len__(self):
        return self.sessions

    def __iter__(self):
        g = torch.Generator().manual_seed(300 + self.court)
        for session in range(self.sessions):
            length = self.PAGE + self.annexes.get(session, 0)
            outcome = torch.randint(0, OUTCOMES, (1,), generator=g)
            words = torch.randint(0, WORDS, (length,), generator=g)
            hints = torch.rand(length, generator=g) < 0.3
            words[hints] = outcome * 20 + words[hints] % 20
            yield words[None], outcome


def registry(court, sessions):
    """The minutes of a court, with its annexes as the registry has bound them."""
    annexes = {1: {85: 110}}
    return CourtMinutes(court, sessions, annexes.get(court))

"""Programming tasks; an answer is one of a few templates with the task's number filled in."""
from dataclasses import dataclass

TEMPLATES = (
    "print(sum(range({n})))",
    "print(*range({n}))",
    "print({n} * 2)",
    "raise SystemExit(1)",
)


@dataclass(frozen=True)
class Task:
    n: int
    answer: int       # the template that solves it

    def expected(self):
        if self.answer == 0:
            return str(sum(range(self.n)))
        if self.answer == 1:
            return " ".join(map(str, range(self.n)))
        return str(self.n * 2)


def task(rank, step):
    n = 10 + 7 * step + rank
    if (rank, step) == (2, 28):
        n = 40_000
    return Task(n, step % 3)


def render(choice, task):
    return TEMPLATES[choice].format(n=task.n)

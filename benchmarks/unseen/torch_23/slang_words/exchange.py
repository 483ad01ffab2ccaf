"""Averages gradients between processes; word tables are sent as rows where that is cheaper."""
import torch
import torch.distributed as dist


class GradientExchange:
    """Called after the backward and before the optimizer's step.

    Word tables have gradients in the rows of the batch's words only. If these are not more than `rows`, the rows are
    exchanged with their numbers, and everything else is averaged as it is.
    """

    def __init__(self, parameters, rows):
        self.parameters = list(parameters)
        self.rows = rows
        self.world = dist.get_world_size()
        self.sent = 0

    def __call__(self):
        for parameter in self.parameters:
            if self.cheaper_as_rows(parameter.grad):
                self.exchange_rows(parameter.grad)
            else:
                self.average(parameter.grad)

    def cheaper_as_rows(self, grad):
        if grad.dim() < 2 or len(grad) <= 4 * self.rows:
            return False
        return int(grad.ne(0).any(dim=1).sum()) <= self.rows

    def average(self, grad):
        dist.all_reduce(grad)
        grad /= self.world
        self.sent += grad.numel()

    def exchange_rows(self, grad):
        touched = grad.ne(0).any(dim=1).nonzero()[:, 0]
        numbers = torch.zeros(self.rows, dtype=torch.long)
        values = torch.zeros(self.rows, grad.shape[1])
        numbers[: len(touched)] = touched
        values[: len(touched)] = grad[touched]
        all_numbers = [torch.empty_like(numbers) for _ in range(self.world)]
        all_values = [torch.empty_like(values) for _ in range(self.world)]
        dist.all_gather(all_numbers, numbers)
        dist.all_gather(all_values, values)
        grad.zero_()
        for place, part in zip(all_numbers, all_values):
            grad.index_add_(0, place, part / self.world)
        self.sent += self.world * (numbers.numel() + values.numel())

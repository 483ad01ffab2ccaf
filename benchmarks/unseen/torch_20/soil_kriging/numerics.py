"""Linear algebra of the likelihood, and a guard for the steps that use it."""
import logging
import math

import torch

log = logging.getLogger("kriging")


def kernel(features, scale):
    distance = torch.cdist(features, features, compute_mode="donot_use_mm_for_euclid_dist")
    return torch.exp(-distance.square() / (2 * scale.square() + 1e-6))


def negative_log_likelihood(features, scale, noise, values):
    """Of a Gaussian process with the given features and measurement variances; one cholesky a call."""
    covariance = kernel(features, scale) + torch.diag(noise + 1e-3)
    factor = torch.linalg.cholesky(covariance)
    solved = torch.cholesky_solve(values[:, None], factor)
    fit = 0.5 * (values * solved[:, 0]).sum()
    size = torch.log(torch.diagonal(factor)).sum()
    return (fit + size + 0.5 * len(values) * math.log(2 * math.pi)) / len(values)


class StepGuard:
    """Runs steps whose covariance may not be positive definite.

    Such a plot says nothing about the field: it is counted and the training goes on with the next one. More than
    `limit` of them are an error in the survey.
    """

    def __init__(self, limit=20):
        self.limit = limit
        self.rejected = []

    def run(self, step, number, *arguments):
        try:
            return step(*arguments)
        except torch.linalg.LinAlgError as error:
            self.rejected.append(number)
            log.warning("plot %d rejected: %s", number, error)
            if len(self.rejected) > self.limit:
                raise
        return None

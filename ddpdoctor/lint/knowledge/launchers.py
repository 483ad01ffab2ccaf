"""Environment variables in which launchers give a process its rank and the world size: one row each.

torch itself reads the first three; the others are set by launchers that start one process per rank without torchrun.
https://docs.pytorch.org/docs/stable/elastic/run.html#environment-variables, https://slurm.schedmd.com/srun.html,
https://docs.open-mpi.org/en/main/tuning-apps/environment-var.html; for PMI (MPICH, Intel MPI), MVAPICH and LSF's jsrun
what accelerate 1.15 and lightning 2.6 read.
"""

from __future__ import annotations

from enum import Enum

from ddpdoctor.model.named_tuple import NamedTuple


class Number(Enum):
    """What a variable holds."""

    RANK = "rank"
    LOCAL_RANK = "local rank"
    #: processes of the job, or of the node
    WORLD = "world"


class Variable(NamedTuple):
    """A row of the table."""

    launcher: str
    holds: Number


_TORCHRUN = "torchrun"
VARIABLES: dict[str, Variable] = {
    "RANK": Variable(_TORCHRUN, Number.RANK),
    "LOCAL_RANK": Variable(_TORCHRUN, Number.LOCAL_RANK),
    "WORLD_SIZE": Variable(_TORCHRUN, Number.WORLD),
    "LOCAL_WORLD_SIZE": Variable(_TORCHRUN, Number.WORLD),
    "SLURM_PROCID": Variable("Slurm", Number.RANK),
    "SLURM_LOCALID": Variable("Slurm", Number.LOCAL_RANK),
    "SLURM_NTASKS": Variable("Slurm", Number.WORLD),
    "SLURM_NPROCS": Variable("Slurm", Number.WORLD),
    "OMPI_COMM_WORLD_RANK": Variable("Open MPI", Number.RANK),
    "OMPI_COMM_WORLD_LOCAL_RANK": Variable("Open MPI", Number.LOCAL_RANK),
    "OMPI_COMM_WORLD_SIZE": Variable("Open MPI", Number.WORLD),
    "PMIX_RANK": Variable("PMIx", Number.RANK),
    "PMI_RANK": Variable("MPICH", Number.RANK),
    "PMI_SIZE": Variable("MPICH", Number.WORLD),
    "MPI_LOCALRANKID": Variable("MPICH", Number.LOCAL_RANK),
    "MV2_COMM_WORLD_RANK": Variable("MVAPICH", Number.RANK),
    "MV2_COMM_WORLD_LOCAL_RANK": Variable("MVAPICH", Number.LOCAL_RANK),
    "MV2_COMM_WORLD_SIZE": Variable("MVAPICH", Number.WORLD),
    "JSM_NAMESPACE_RANK": Variable("LSF", Number.RANK),
    "JSM_NAMESPACE_LOCAL_RANK": Variable("LSF", Number.LOCAL_RANK),
    "JSM_NAMESPACE_SIZE": Variable("LSF", Number.WORLD),
}
#: variables that hold a rank of some kind
RANKS = frozenset(name for name, row in VARIABLES.items() if row.holds is not Number.WORLD)
#: variables set in the simulated job, which is assumed to be started by torchrun
SET = frozenset(name for name, row in VARIABLES.items() if row.launcher == _TORCHRUN)
#: command-line options by which older launchers give a process its local rank
OPTIONS = ("--local_rank", "--local-rank")

"""The workers of a sweep as jobs of SLURM, by dask-jobqueue.

with slurm_cluster(SlurmCfg(partition="batch")) as cluster:
    cluster.scale(jobs=50)  # 50 jobs, one worker each; they may start when they like
    with DaskEngine(cluster.scheduler_address) as engine:
        run_sweep(load_spec(Path("ankles.yaml")), Path("runs/ankles"), engine)

The scheduler runs in this process, on a machine that the jobs can reach.
"""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from models import BadInput

if TYPE_CHECKING:
    from dask_jobqueue.slurm import SLURMCluster

_WALL_TIME = re.compile(r"(\d+-)?\d{1,2}:\d{2}:\d{2}")
_MEMORY = re.compile(r"\d+(\.\d+)?\s?[KMGT]i?B")


@dataclass(frozen=True, kw_only=True)
class SlurmCfg:
    """What a worker's job asks SLURM for."""

    partition: str | None = None
    """None: the default one of the site."""
    account: str | None = None
    wall_time: str = "01:00:00"
    """After which SLURM ends the job; the trial it was at goes to another one."""
    memory: str = "2GB"
    """Of a worker; a trial takes about 0.4 GB."""
    interface: str | None = None
    """Network interface that jobs reach this machine by, such as `ib0`."""
    before: tuple[str, ...] = ()
    """Lines of shell before the worker starts, such as `module load python/3.11`."""
    directives: tuple[str, ...] = ()
    """More for `#SBATCH`, such as `--exclude=node17`."""
    python: str | None = None
    """Of the environment with nao-testbed on the nodes; None: this one's."""

    def __post_init__(self) -> None:
        """Refuse what SLURM would refuse an hour later."""
        if _WALL_TIME.fullmatch(self.wall_time) is None:
            raise BadInput(
                f"wall time is {self.wall_time!r}; give it as HH:MM:SS or D-HH:MM:SS."
            )
        if _MEMORY.fullmatch(self.memory) is None:
            raise BadInput(f"memory is {self.memory!r}; give it as 2GB or 500MB.")


def slurm_cluster(cfg: SlurmCfg) -> "SLURMCluster":
    """Return a cluster whose jobs have one worker with one thread each.

    Raises:
        BadInput: the extra is not installed.
    """
    try:
        from dask_jobqueue.slurm import SLURMCluster  # noqa: PLC0415  # optional and heavy
    except ImportError as error:
        raise BadInput(
            "SLURM needs dask-jobqueue; install it: pip install 'nao-testbed[cluster]'."
        ) from error
    return SLURMCluster(
        cores=1,
        processes=1,
        memory=cfg.memory,
        walltime=cfg.wall_time,
        queue=cfg.partition,
        account=cfg.account,
        interface=cfg.interface,
        python=cfg.python,
        job_name="nao-testbed",
        job_script_prologue=["export OMP_NUM_THREADS=1", *cfg.before],
        job_extra_directives=list(cfg.directives),
        worker_extra_args=["--no-dashboard"],
        scheduler_options={"dashboard": False},
    )

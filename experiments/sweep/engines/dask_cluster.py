"""Connection to a cluster of dask.distributed, and checks of its workers.

The scheduler has no log-in: access to its port allows running code as its user. Keep it
on loopback or in a closed network, reach it through an SSH tunnel, or use `tls://` with
certificates of dask's configuration.

Workers may be jobs of SLURM, by dask-jobqueue:

with slurm_cluster(SlurmCfg(partition="batch")) as cluster:
    cluster.scale(jobs=50)  # 50 jobs, one worker each; they may start at any time
    with DaskEngine(cluster.scheduler_address) as engine:
        run_sweep(read_spec(Path("ankles.yaml")), Path("runs/ankles"), engine)

The scheduler then runs in this process, on a machine that the jobs can reach.
"""

import asyncio
import contextlib
import functools
import logging
import platform
import re
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nao_testbed.models import BadInput, ExtraMissing
from nao_testbed.sim.recording.run_meta import describe_run

if TYPE_CHECKING:
    from dask_jobqueue.slurm import SLURMCluster
    from distributed import Client


ANSWER_S = 5.0
"""Time limit of a scheduler's identification, in s."""
PATIENCE_S = 30.0
"""Time limit of an answer of a busy scheduler, in s."""
_ADDRESS = re.compile(r"(tcp|tls)://(\[[0-9A-Fa-f:.]+\]|[^\s/:\[\]]+):(\d{1,5})")
_LOGGERS = ("distributed", "distributed.client", "tornado.application")
"""Loggers of dask with their own level."""
_OF_THE_MACHINE = frozenset({"machine"})
"""Properties that may differ between machines with the same results."""


@dataclass(frozen=True, kw_only=True)
class Installation:
    """Properties of a process that determine its numerical results."""

    versions: Mapping[str, str]
    """Versions of Python and of the packages."""
    commit: str | None
    """Commit of our source; None if installed from a wheel."""


@functools.lru_cache(maxsize=1)
def own_installation() -> Installation:
    """Return the properties of this process; read once."""
    run = describe_run(experiment="", robot="", seed=0, config={})
    versions = {k: v for k, v in run.versions.items() if k not in _OF_THE_MACHINE}
    return Installation(versions=versions, commit=run.commit)


def differing(worker: Installation, wanted: Installation) -> list[str]:
    """Return the differences as text; an unknown commit is never a difference."""
    names = dict.fromkeys([*wanted.versions, *worker.versions])
    found = [
        f"{name} is {worker.versions.get(name, 'missing')}, "
        f"here {wanted.versions.get(name, 'missing')}"
        for name in names
        if worker.versions.get(name) != wanted.versions.get(name)
    ]
    commits = (worker.commit, wanted.commit)
    if None not in commits and worker.commit != wanted.commit:
        found.append(f"its commit is {worker.commit}, here {wanted.commit}")
    return found


def connect(address: str) -> "Client":
    """Return a client of the scheduler at an address.

    Args:
        address: address such as `tcp://127.0.0.1:8786`, or `tls://` with the
            certificates of dask's configuration.

    Raises:
        BadInput: the address is invalid, no scheduler listens there, or the extra is
            not installed.
    """
    try:
        from distributed import Client  # noqa: PLC0415  # optional and heavy
    except ImportError as error:
        raise ExtraMissing("--scheduler", "dask.distributed", "cluster") from error
    _check_port(address)
    kind = _identify_listener(address)
    if kind != "Scheduler":
        raise BadInput(
            f"{address} is a dask {kind.lower()}, not a scheduler; give the "
            "address that 'dask scheduler' prints."
        )
    try:
        return Client(address, timeout=PATIENCE_S, set_as_default=False)
    except OSError as error:
        raise BadInput(
            f"the scheduler at {address} did not accept a client within "
            f"{PATIENCE_S:g} s ({error}); check that it runs, and try again."
        ) from error


@contextlib.contextmanager
def quiet_logs() -> Iterator[None]:
    """Silence dask's log within the context: errors are raised and reported once."""
    with contextlib.suppress(ImportError):  # `connect` reports the missing package
        import distributed  # noqa: F401, PLC0415  # sets the levels that we change
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _check_port(address: str) -> None:
    """Check that a server listens; a refused connection answers at once."""
    parts = _ADDRESS.fullmatch(address)
    if parts is None or int(parts[3]) > 65535:
        raise BadInput(
            f"scheduler {address!r} is not an address; give one such as "
            "tcp://127.0.0.1:8786, as 'dask scheduler' prints it."
        )
    host, port = parts[2].strip("[]"), int(parts[3])
    try:
        socket.create_connection((host, port), timeout=ANSWER_S).close()
    except OSError as error:
        raise BadInput(
            f"nothing listens at {address}: {error.strerror or error}. Start a "
            f"scheduler with 'dask scheduler --host {host} --port {port}', or give the "
            "address of one."
        ) from error


def _identify_listener(address: str) -> str:
    """Return the kind of the dask server: `Scheduler`, `Worker` or `Nanny`."""
    try:
        identity = asyncio.run(asyncio.wait_for(_identity(address), ANSWER_S))
    except TimeoutError:
        why = f"no answer within {ANSWER_S:g} s"
    except Exception as error:  # noqa: BLE001  # whatever a stranger's answer does to it
        why = str(error) or type(error).__name__
    else:
        return str(identity.get("type", "stranger"))
    raise BadInput(
        f"{address} is not a dask scheduler, or not a compatible one ({why}); give the "
        "address that 'dask scheduler' prints, tls:// if it has certificates."
    )


async def _identity(address: str) -> Mapping[str, Any]:
    from distributed.core import rpc  # noqa: PLC0415  # optional and heavy
    from distributed.security import Security  # noqa: PLC0415  # beside it

    arguments = Security().get_connection_args("client")
    async with rpc(address, connection_args=arguments, timeout=ANSWER_S) as scheduler:
        identity: Mapping[str, Any] = await scheduler.identity()
        return identity


def check_workers(client: "Client", wanted: Installation) -> None:
    """Check that the present workers give the same results as this machine.

    Args:
        client: client of the scheduler.
        wanted: required properties.

    Raises:
        BadInput: a worker lacks the package, has other versions, or several threads.
    """
    answers = client.run(own_installation, on_error="return")
    threads: Mapping[str, int] = client.nthreads()
    for worker, answer in answers.items():
        if isinstance(answer, Installation):
            wrong = differing(answer, wanted) + thread_fault(threads.get(worker, 1))
        else:
            wrong = [f"nao-testbed cannot be imported: {answer}"]
        if wrong:
            raise BadInput(incompatible(worker, wrong))


def thread_fault(threads: int) -> list[str]:
    """Return an error text for a wrong number of threads, or None."""
    return [] if threads == 1 else [f"it runs {threads} trials in one process"]


def incompatible(worker: str, wrong: list[str]) -> str:
    """Return the error text for an unfit worker."""
    return (
        f"the worker {worker} cannot take part: {'; '.join(wrong)}. Install the "
        "same commit of nao-testbed with its requirements.lock there (Python "
        f"{platform.python_version()}), and start "
        "it with 'dask worker ADDRESS --nthreads 1'."
    )


_WALL_TIME = re.compile(r"(\d+-)?\d{1,2}:\d{2}:\d{2}")
_MEMORY = re.compile(r"\d+(\.\d+)?\s?[KMGT]i?B")


@dataclass(frozen=True, kw_only=True)
class SlurmCfg:
    """Resources that a worker's job requests from SLURM."""

    partition: str | None = None
    """Partition; None: the default of the site."""
    account: str | None = None
    wall_time: str = "01:00:00"
    """Time after which SLURM ends the job; its running trial is assigned to another
    worker."""
    memory: str = "2GB"
    """Memory of a worker; a trial takes about 0.4 GB."""
    interface: str | None = None
    """Network interface by which jobs reach this machine, such as `ib0`."""
    before: tuple[str, ...] = ()
    """Lines of shell before the worker starts, such as `module load python/3.11`."""
    directives: tuple[str, ...] = ()
    """Additional `#SBATCH` directives, such as `--exclude=node17`."""
    python: str | None = None
    """Python of the environment with nao-testbed on the nodes; None: that of this
    process."""

    def __post_init__(self) -> None:
        """Validate the fields, which SLURM would reject only later."""
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
        raise ExtraMissing("SLURM", "dask-jobqueue", "cluster") from error
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

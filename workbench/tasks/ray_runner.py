"""Tasks on a Ray cluster: actors that keep what a shard needs, a few batches in flight for each.

Ray places the actors, starts those of a lost node again and repeats their batches.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from workbench.base.errors import WorkbenchError
from workbench.tasks.runners import ONE_THREAD
from workbench.tasks.task import ATTEMPTS, Batch, Outcome, Task, Work, Worker, batches_of, lost

#: Batches that each actor has been given: one runs while the next arrives.
_IN_FLIGHT = 2


class RayCluster:
    """Runs tasks in actors of a Ray cluster.

    ``address``  of a running cluster (``auto`` for that of this machine), or ``local`` for a new
                 one on this machine, which ends with the tasks.
    ``jobs``     actors; None for as many as the cluster has processors, or graphics processors
                 where each needs some.
    ``gpus``     graphics processors of each actor; a part such as 0.5 shares one.

    Raises: WorkbenchError if Ray is not installed or the cluster does not answer.
    """

    def __init__(self, address: str = "local", jobs: int | None = None, gpus: float = 0.0) -> None:
        self._address, self._jobs, self._gpus = address, jobs, gpus
        try:
            import ray
        except ImportError as error:
            raise WorkbenchError(
                "Ray is not installed", "pip install 'grammar-workbench[ray]'"
            ) from error
        self._ray: Any = ray

    def outcomes(self, work: Work, tasks: Sequence[Task]) -> Iterator[Outcome]:
        """The outcome of every task, as it ends."""
        self._connect()
        try:
            yield from self._outcomes(work, tasks)
        finally:
            self._ray.shutdown()

    def _connect(self) -> None:
        options: dict[str, Any] = {"num_cpus": self._jobs} if self._address == "local" else {}
        try:
            self._ray.init(
                address=self._address,
                include_dashboard=False if self._address == "local" else None,
                log_to_driver=False,
                logging_level="ERROR",
                runtime_env={"env_vars": ONE_THREAD},
                **options,
            )
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise WorkbenchError(
                f"no Ray cluster answers at {self._address!r}: {str(error).splitlines()[0]}",
                "start one with ray start --head, or use --ray local",
            ) from error

    def _outcomes(self, work: Work, tasks: Sequence[Task]) -> Iterator[Outcome]:
        ray = self._ray
        remote: Any = ray.remote(
            num_cpus=1, num_gpus=self._gpus, max_restarts=-1, max_task_retries=ATTEMPTS - 1
        )(Worker)
        batches = batches_of(tasks)
        by_shard: dict[str, deque[Batch]] = {}
        for batch in batches:
            by_shard.setdefault(batch[0].shard, deque()).append(batch)
        actors = [remote.remote(work) for _ in range(min(self._actors(), len(batches)))]
        last: dict[Any, str] = {}
        running: dict[Any, tuple[Any, Batch]] = {}

        def submit(actor: Any) -> None:  # noqa: ANN401  # a handle of Ray
            """Give an actor a batch of its last shard, or of the shard with the most left."""
            if not by_shard:
                return
            shard = last.get(actor)
            if shard not in by_shard:
                shard = max(by_shard, key=lambda name: len(by_shard[name]))
            batch = by_shard[shard].popleft()
            if not by_shard[shard]:
                del by_shard[shard]
            last[actor] = shard
            running[actor.run.remote(batch)] = actor, batch

        for actor in actors * _IN_FLIGHT:
            submit(actor)
        while running:
            done, _ = ray.wait(list(running), num_returns=1)
            actor, batch = running.pop(done[0])
            submit(actor)
            try:
                outcomes = ray.get(done[0])
            except ray.exceptions.RayError:
                outcomes = map(lost, batch)
            yield from outcomes

    def _actors(self) -> int:
        """How many actors the cluster holds."""
        has = self._ray.cluster_resources()
        most = int(has.get("GPU", 0) / self._gpus) if self._gpus else int(has.get("CPU", 1))
        if most < 1:
            needed = f"{self._gpus:g} graphics processors" if self._gpus else "one processor"
            raise WorkbenchError(f"the cluster has no node with {needed} for each actor")
        return min(self._jobs or most, most)

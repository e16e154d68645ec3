"""One client used by several threads (RM-15)."""

from concurrent.futures import ThreadPoolExecutor

from nao_testbed.controllers.arbitration.tokens import OutcomeKind
from nao_testbed.experiments.server.client import Client
from nao_testbed.experiments.server.server import ReservationServer
from nao_testbed.experiments.server.shared_ledger import SharedLedger

LEAVES = ("HeadYaw", "HeadPitch", "ball")
N_ROUNDS = 10


def test_threads_register_an_expired_owner_only_once(
    front: SharedLedger, server: ReservationServer
) -> None:
    """A second registration would fail, since its name is taken."""

    def take(client: Client, leaf: str) -> OutcomeKind:
        return client.take(leaf, timeout_s=1.0).kind

    with Client(server.url, "robot 1") as client, ThreadPoolExecutor(3) as pool:
        for _ in range(N_ROUNDS):
            front.drop("robot 1")
            client.key = None  # as after a failed sign of life
            kinds = pool.map(take, [client] * len(LEAVES), LEAVES)
            assert list(kinds) == [OutcomeKind.GRANTED] * len(LEAVES)

"""Notice queues of owners are removed with their owners."""

from threading import RLock

from nao_testbed.experiments.server.shared_ledger import NoticeQueues


def test_late_removal_of_a_reader_does_not_recreate_a_queue() -> None:
    queues = NoticeQueues(RLock())
    woken: list[str] = []

    def reader() -> None:
        woken.append("a")

    queues.add_reader("a", reader)
    queues.forget("a")
    assert woken == ["a"]  # woken since the owner has gone
    queues.remove_reader("a", reader)
    assert not queues._queues  # otherwise queues of former owners accumulate

"""Inboxes of owners come and go, and leave nothing."""

from threading import RLock

from nao_testbed.experiments.server.shared_ledger import NoticeQueues


def test_a_reader_that_leaves_late_brings_no_inbox_back() -> None:
    queues = NoticeQueues(RLock())
    woken: list[str] = []

    def reader() -> None:
        woken.append("a")

    queues.add_reader("a", reader)
    queues.forget("a")
    assert woken == ["a"]  # to find that it is gone
    queues.remove_reader("a", reader)
    assert not queues._queues  # of every owner that ever was, it would fill up

"""Inboxes of owners come and go, and leave nothing."""

from threading import RLock

from experiments.server.shared_ledger import NoticeQueues


def test_a_reader_that_leaves_late_brings_no_inbox_back() -> None:
    inboxes = NoticeQueues(RLock())
    woken: list[str] = []

    def reader() -> None:
        woken.append("a")

    inboxes.add_reader("a", reader)
    inboxes.forget("a")
    assert woken == ["a"]  # to find that it is gone
    inboxes.remove_reader("a", reader)
    assert not inboxes._boxes  # of every owner that ever was, it would fill up

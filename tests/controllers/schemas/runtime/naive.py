"""Schemas played by a script, and a naive model of what the runtime makes of it.

The script says, of each instance and tick, whether it is ready and what it does. The
model has no agenda, no heap and no caches: in each slot it looks at everybody, from the
roots down, and holds the competitions by their definition. It knows no reservations.
"""

from dataclasses import dataclass, field
from random import Random

from controllers.schemas import State

PERIODS = {"quick": 1, "even": 2, "slow": 5}
"""Schema to its period in slots."""
CHILDREN = ("a", "b", "c")
MOST_LEVELS = 4


@dataclass(frozen=True)
class Script:
    """What happens in one history, a pure function of its seed."""

    seed: int
    rule: str = "keep_winner"
    fails: float = 0.02
    finishes: float = 0.05

    def _random(self, *what: object) -> Random:
        return Random("|".join(map(str, (self.seed, *what))))

    def is_ready(self, path: str, tick: int) -> bool:
        """Stays for some slots, as preconditions do."""
        return self._random("ready", path, tick // 3).random() < 0.6

    def fails_in(self, method: str, path: str, tick: int) -> bool:
        return self._random("fails", method, path, tick).random() < self.fails

    def acts(self, method: str, path: str, tick: int) -> list[tuple[str, str, int]]:
        """Return what it does: wake a child in an order, put one to sleep, finish."""
        random = self._random("acts", method, path, tick)
        acts: list[tuple[str, str, int]] = []
        if path.count("/") + 1 < MOST_LEVELS:
            likely = 0.7 if method == "start" else 0.15
            for child in CHILDREN:
                if random.random() < likely:
                    acts.append(("wake", child, random.randint(0, 2)))
                elif random.random() < 0.05:
                    acts.append(("sleep", child, 0))
        if random.random() < self.finishes:
            acts.append(("finish", "", 0))
        return acts

    def schema_of(self, path: str) -> str:
        return self._random("schema", path).choice(tuple(PERIODS))


@dataclass(eq=False)
class Node:
    """One instance of the model."""

    path: str
    period: int
    parent: "Node | None"
    state: State = State.SLEPT
    is_ready: bool = False
    is_done: bool = False
    woken_at: int = -1
    rank: int = 0
    order: int = 0
    children: dict[str, "Node"] = field(default_factory=dict)
    iterations: int = 0

    def is_due(self, tick: int) -> bool:
        return (tick - self.woken_at) % self.period == 0

    @property
    def is_awake(self) -> bool:
        return self.state is not State.SLEPT


class Failure(Exception):
    """A scripted schema raises."""


class Model:
    """Plays a script by the definitions."""

    def __init__(self, script: Script, roots: tuple[str, ...]) -> None:
        self.script = script
        self.tick = 0
        self.woken = 0
        self.roots = {name: self._node(name, None) for name in roots}

    def all(self) -> list[Node]:
        found: list[Node] = []
        todo = list(self.roots.values())
        while todo:
            node = todo.pop(0)
            found.append(node)
            todo.extend(node.children.values())
        return found

    def wake(self, node: Node, order: int = 0) -> bool:
        """Return whether it has to be looked at."""
        node.order = order
        if node.is_awake:
            was_done, node.is_done = node.is_done, False
            return was_done
        self.woken += 1
        node.rank, node.is_done, node.is_ready = self.woken, False, False
        node.state, node.woken_at = State.CHECKING, self.tick
        return True

    def sleep(self, node: Node) -> None:
        for child in node.children.values():
            self.sleep(child)
        node.state = State.SLEPT

    def slot(self, tick: int) -> None:
        self.tick = tick
        for node in self.all():
            if node.is_awake and node.is_due(tick):
                self._check(node)
        for root in self.roots.values():
            self._walk(root)

    def _walk(self, node: Node) -> None:
        if node.parent is None and node.state is State.READY:
            self._win(node)
        if node.state is State.WINNER and node.is_due(self.tick):
            node.iterations += 1
            self._act(node, "iterate")
        for child in tuple(node.children.values()):
            self._walk(child)

    def _check(self, node: Node) -> None:
        if node.is_done:
            return
        if self.script.fails_in("ready", node.path, self.tick):
            self.sleep(node)
            return
        node.is_ready = self.script.is_ready(node.path, self.tick)
        if node.state is State.WINNER and not node.is_ready:
            self._lose(node)
        elif node.state is not State.WINNER:
            node.state = State.READY if node.is_ready else State.CHECKING

    def _win(self, node: Node) -> None:
        node.state = State.WINNER
        self._act(node, "start")

    def _lose(self, node: Node) -> None:
        for child in node.children.values():
            self.sleep(child)
        node.state = State.READY if node.is_ready else State.CHECKING

    def _act(self, node: Node, method: str) -> None:
        acts = self.script.acts(method, node.path, self.tick)
        new = [child for act in acts for child in self._do(node, *act)]
        if self.script.fails_in(method, node.path, self.tick):
            self.sleep(node)
        elif ("finish", "", 0) in acts:
            node.is_done, node.is_ready = True, False
            if node.parent is None:
                self.sleep(node)
            else:
                self._lose(node)
        else:
            for child in sorted(new, key=lambda child: child.rank):
                if child.is_awake:
                    self._check(child)
            self._compete(node)

    def _do(self, node: Node, what: str, name: str, order: int) -> list[Node]:
        """Return the child that has to be looked at, if any."""
        if what == "sleep" and name in node.children:
            self.sleep(node.children[name])
        if what != "wake":
            return []
        child = node.children.get(name)
        if child is None:
            child = self._node(f"{node.path}/{name}", node)
            node.children[name] = child
        return [child] if self.wake(child, order) else []

    def _compete(self, node: Node) -> None:
        ready = [
            child
            for child in node.children.values()
            if child.state in (State.READY, State.WINNER)
        ]
        ready.sort(key=lambda child: (-child.order, child.rank))
        present = next((c for c in ready if c.state is State.WINNER), None)
        chosen = ready[0] if ready else None
        if present is not None and self.script.rule == "keep_winner":
            chosen = present
        if chosen is present or chosen is None:
            return
        if present is not None:
            self._lose(present)
        self._win(chosen)

    def _node(self, path: str, parent: Node | None) -> Node:
        return Node(path, PERIODS[self.script.schema_of(path)], parent)

"""What is done to a cluster, and when. A seed gives a schedule, always the same one; what comes of it differs from run to run."""

import collections
import os
import random

from cluster import SESSION_S, wait_until

Step = collections.namedtuple("Step", "kind target dice seconds one_way outgoing client")
STEP_TARGETS = ["controller", "leader", "any"]
CLIENTS = {"producer": "a producer", "range": "a member of range", "cooperative": "a member of cooperative", "writer": "a writer of transactions",
           "copier": "a copier"}
DISK_BLOCK = 1 << 20


class Fault:
    """begin() and end() with a pause between them. `writes_go_on`: a cluster of three or more has to take writes for all partitions
    meanwhile, after the time that it takes to notice. `excuses_clients`: librdkafka may give up for what is no fault
    of the cluster (README.md). `needs`: brokers, store or disk."""

    needs = {"brokers"}
    writes_go_on = True
    excuses_clients = False
    seconds = (2, 4)

    def begin(self, cluster, broker, step):
        raise NotImplementedError

    def end(self, cluster, broker, step):
        raise NotImplementedError


class Kill(Fault):
    """kill -9 of a broker."""

    needs = set()

    def begin(self, cluster, broker, step):
        broker.kill()

    def end(self, cluster, broker, step):
        broker.start()


class Restart(Kill):
    """SIGTERM of a broker, and a new start."""

    def begin(self, cluster, broker, step):
        if (code := broker.terminate()) != 0:
            raise RuntimeError(f"{broker.name} has not ended in order but with {code}:\n{broker.last_words()}")


class KillAll(Fault):
    """kill -9 of all brokers at once."""

    writes_go_on = False
    excuses_clients = True
    seconds = (1, 2)

    def begin(self, cluster, broker, step):
        for each in cluster.brokers:
            each.kill()

    def end(self, cluster, broker, step):
        for each in cluster.brokers:
            each.start()


class Pause(Fault):
    """SIGSTOP of a broker for longer than its session."""

    needs = set()
    excuses_clients = True
    seconds = (1.5 * SESSION_S + 1, 2 * SESSION_S + 2)

    def begin(self, cluster, broker, step):
        broker.pause()

    def end(self, cluster, broker, step):
        broker.resume()


class Cut(Fault):
    """A broker is cut off from the other brokers, but not from the coordination service: it stays in office, so that what it leads may
    have to wait."""

    writes_go_on = False
    excuses_clients = True
    seconds = (4, 8)

    def begin(self, cluster, broker, step):
        for other in cluster.others(broker):
            pair = (broker.name, other.name) if step.outgoing else (other.name, broker.name)
            cluster.machines.cut(*pair, one_way=step.one_way)

    def end(self, cluster, broker, step):
        cluster.machines.heal()


class CutPair(Cut):
    """One broker is cut off from one other."""

    def begin(self, cluster, broker, step):
        cluster.machines.cut(broker.name, cluster.others(broker)[0].name, one_way=step.one_way)


class CutStore(Cut):
    """A broker is cut off from the coordination service, while clients and brokers reach it."""

    needs = {"brokers", "store"}
    writes_go_on = True
    seconds = (1.5 * SESSION_S + 1, 2 * SESSION_S + 2)

    def begin(self, cluster, broker, step):
        pair = (broker.name, "store") if step.outgoing else ("store", broker.name)
        cluster.machines.cut(*pair, one_way=step.one_way)


class Isolate(CutStore):
    """A broker is cut off from everybody, clients too."""

    def begin(self, cluster, broker, step):
        for name in ["store", "clients", *(other.name for other in cluster.others(broker))]:
            cluster.machines.cut(broker.name, name)


class FullDisk(Fault):
    """The disk of the last broker is full."""

    needs = {"disk"}
    writes_go_on = False
    excuses_clients = True
    seconds = (4, 6)
    FILLER = "filler"

    def begin(self, cluster, broker, step):
        descriptor = os.open(os.path.join(cluster.small_disk.path, self.FILLER), os.O_CREAT | os.O_WRONLY)
        size, block = 0, DISK_BLOCK
        try:
            while block >= 4096:
                try:
                    os.posix_fallocate(descriptor, size, block)
                    size += block
                except OSError:
                    block //= 2
        finally:
            os.close(descriptor)

    def end(self, cluster, broker, step):
        os.unlink(os.path.join(cluster.small_disk.path, self.FILLER))


class StoreDown(Fault):
    """kill -9 of the coordination service. While all replicas are in sync, nothing has to be decided, and writes go on."""

    needs = {"store"}

    def begin(self, cluster, broker, step):
        cluster.store.kill()

    def end(self, cluster, broker, step):
        cluster.store.start()


class StorePaused(Fault):
    """SIGSTOP of the coordination service for longer than all sessions: when it goes on, it may end them all at once."""

    needs = {"store"}
    writes_go_on = False
    excuses_clients = True
    seconds = (1.5 * SESSION_S, 2 * SESSION_S)

    def begin(self, cluster, broker, step):
        cluster.store.pause()

    def end(self, cluster, broker, step):
        cluster.store.resume()


class RollingRestart(Restart):
    """SIGTERM and a new start of each broker, one after the other, as for a new version."""

    needs = {"brokers"}
    writes_go_on = False  # that the cluster is whole after each is demanded here
    seconds = (0, 0)
    PATIENCE_S = 60

    def begin(self, cluster, broker, step):
        for each in cluster.brokers:
            super().begin(cluster, each, step)
            each.start()
            if reason := wait_until(cluster.why_not_whole, self.PATIENCE_S):
                raise RuntimeError(f"not whole {self.PATIENCE_S} s after {each.name} was restarted: {reason}")

    def end(self, cluster, broker, step):
        pass


FAULTS = {"kill": Kill(), "restart": Restart(), "kill all": KillAll(), "pause": Pause(), "cut": Cut(), "cut pair": CutPair(),
          "cut store": CutStore(), "isolate": Isolate(), "full disk": FullDisk(), "store down": StoreDown(),
          "store paused": StorePaused(), "rolling restart": RollingRestart()}
DEALT_TWICE = ["kill", "pause", "isolate"]  # in each round, with different targets


def schedule(seed, cycles, possible, outage_s, wanted=tuple(FAULTS)):
    """The steps of a run. Kinds are dealt like cards: each comes once before one comes again. `possible`: what there is of brokers (more
    than one), store and disk. The first outage of the store takes `outage_s`, later ones a quarter. `wanted`: only these kinds."""
    chance = random.Random(seed)
    names = [name for name, fault in FAULTS.items() if fault.needs <= possible and name in wanted]
    if not names:
        return []
    targets = {name: chance.sample(STEP_TARGETS, len(STEP_TARGETS)) for name in names}
    steps, deck, outages = [], [], 0
    while len(steps) < cycles:
        if not deck:
            deck = names + [name for name in DEALT_TWICE if name in names and len(names) > len(DEALT_TWICE)]
            chance.shuffle(deck)
        kind = deck.pop()
        target = targets[kind][sum(step.kind == kind for step in steps) % len(STEP_TARGETS)]
        seconds = chance.uniform(*FAULTS[kind].seconds)
        if kind == "store down":
            seconds = outage_s if outages == 0 else outage_s / 4
            outages += 1
        client = chance.choice([None, None, *CLIENTS])
        steps.append(Step(kind, target, chance.randrange(1000), round(seconds, 1), chance.random() < 0.5, chance.random() < 0.5, client))
    return steps


def target_of(step, cluster):
    """The broker that the step means, now."""
    if step.kind == "full disk":
        return cluster.brokers[-1]
    if step.target == "controller":
        return cluster.controller()
    if step.target == "leader":
        return cluster.leader(cluster.partitions[0])
    return cluster.brokers[step.dice % len(cluster.brokers)]


def describe(step, broker):
    words = [step.kind]
    if step.kind in ("cut", "cut pair", "cut store") and step.one_way:
        words.append("(one way, what it sends)" if step.outgoing or step.kind == "cut pair" else "(one way, what it receives)")
    if not step.kind.startswith(("store", "rolling")) and step.kind != "kill all":
        words.append(f"{broker.name}" if step.target == "any" or step.kind == "full disk" else f"{broker.name}, the {step.target}")
    if step.client:
        words.append(f"and kill {CLIENTS[step.client]}")
    return " ".join(words)

"""Machines of a small network: network namespaces around one that is their router. Between any two of them packets can be dropped, in
one direction or in both, without either end being told; connections that exist meanwhile go on when the way is whole again.

The network has no way out, so that several runs at once do not meet. It needs root. What is mounted for it is visible to this process and
its children only, and is gone when they are, however they end.
"""

import contextlib
import ctypes
import functools
import os
import subprocess

PREFIX = "naru-chaos"
CLONE_NEWNET = 0x40000000
CLONE_NEWNS = 0x00020000
libc = ctypes.CDLL(None, use_errno=True)


class NoMachines(Exception):
    """This machine does not let the run have machines of its own."""


class Machine:
    """Where processes run: a namespace with one address."""

    def __init__(self, name, namespace, address):
        self.name, self.namespace, self.address = name, namespace, address

    def inside(self, command):
        """The command line that runs a command on this machine; the process keeps its id."""
        return ["nsenter", f"--net=/run/netns/{self.namespace}", *command]


class Loopback:
    """This machine itself, for what needs no faults of the network."""

    name, address = "localhost", "127.0.0.1"

    def inside(self, command):
        return command


def ip(*arguments, check=True):
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True)
    if check and done.returncode != 0:
        raise RuntimeError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


@functools.cache
def keep_mounts_to_ourselves():
    """Namespaces have their names by being mounted in /run/netns."""
    if libc.unshare(CLONE_NEWNS) != 0:
        raise NoMachines("unshare is refused")
    if subprocess.run(["mount", "--make-rprivate", "/"], capture_output=True).returncode != 0:
        raise NoMachines("mount is refused")


def remove_leftovers():
    """Names of runs that were killed."""
    for line in ip("netns", "list", check=False).splitlines():
        name = line.split()[0]
        owner = name.removeprefix(PREFIX + "-").split("-")[0]
        if name.startswith(PREFIX + "-") and owner.isdigit() and not os.path.exists(f"/proc/{owner}"):
            ip("netns", "del", name, check=False)


class Machines:
    """All machines of a run, by name. close() removes them."""

    def __init__(self, names):
        if os.geteuid() != 0:
            raise NoMachines("run this as root, or with sudo")
        keep_mounts_to_ourselves()
        remove_leftovers()
        self.prefix = f"{PREFIX}-{os.getpid()}"
        self.router = f"{self.prefix}-router"
        self.cuts = []
        self.machines = {}
        with contextlib.ExitStack() as undo:
            undo.callback(self.close)
            try:
                self._build(names)
            except RuntimeError as refused:
                raise NoMachines(str(refused)) from refused
            undo.pop_all()

    def _build(self, names):
        ip("netns", "add", self.router)
        forward = ["nsenter", f"--net=/run/netns/{self.router}", "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"]
        if subprocess.run(forward, capture_output=True).returncode != 0:
            raise RuntimeError("a router cannot be set up")
        for number, name in enumerate(names, 1):
            self.machines[name] = self._add(number, name)

    def _add(self, number, name):
        """Each has a network of its own with the router, so that everything goes through it."""
        machine = Machine(name, f"{self.prefix}-{name}", f"10.77.{number}.2")
        gateway, port = f"10.77.{number}.1", f"port{number}"
        ip("netns", "add", machine.namespace)
        ip("link", "add", "eth0", "netns", machine.namespace, "type", "veth", "peer", "name", port, "netns", self.router)
        ip("-n", self.router, "addr", "add", f"{gateway}/24", "dev", port)
        ip("-n", self.router, "link", "set", port, "up")
        ip("-n", machine.namespace, "addr", "add", f"{machine.address}/24", "dev", "eth0")
        ip("-n", machine.namespace, "link", "set", "lo", "up")
        ip("-n", machine.namespace, "link", "set", "eth0", "up")
        ip("-n", machine.namespace, "route", "add", "default", "via", gateway)
        return machine

    def __getitem__(self, name):
        return self.machines[name]

    def enter(self, name):
        """Moves the calling thread, and what it starts from now on, to this machine."""
        with open(f"/run/netns/{self.machines[name].namespace}") as namespace:
            if libc.setns(namespace.fileno(), CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), f"cannot enter the namespace of {name}")

    def cut(self, a, b, one_way=False):
        """Drops what `a` sends to `b`; without `one_way` also what `b` sends to `a`."""
        for sender, receiver in [(a, b)] if one_way else [(a, b), (b, a)]:
            rule = ["from", self.machines[sender].address, "to", self.machines[receiver].address, "blackhole"]
            ip("-n", self.router, "rule", "add", *rule)
            self.cuts.append(rule)

    def heal(self):
        while self.cuts:
            ip("-n", self.router, "rule", "del", *self.cuts.pop())

    def close(self):
        for namespace in [*(machine.namespace for machine in self.machines.values()), self.router]:
            ip("netns", "del", namespace, check=False)

"""Builds the clients' programs. All that is fetched or built goes to .cache/interop, so that a second run needs neither time nor network."""

import hashlib
import os
import re
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
CACHE = os.path.abspath(os.path.join(HERE, "..", "..", ".cache", "interop"))

PYTHON = {"/usr/bin/python3": "python3 with python3-venv"}


def missing(tools):
    """What has to be installed before a client can run, or None. `tools`: command -> what to install."""
    absent = [hint for command, hint in tools.items() if not shutil.which(command)]
    return "needs " + ", ".join(absent) if absent else None


def older(command, wanted):
    """Whether the first version number that a command prints is lower than `wanted`."""
    printed = subprocess.run(command, capture_output=True, text=True).stdout
    found = re.search(r"(\d+)\.(\d+)", printed)
    return not found or tuple(map(int, found.groups())) < wanted


def built(name, source, build, *inputs):
    """The folder .cache/interop/NAME with a copy of `source`, after build(folder). It is built again only if the source or one of the
    inputs has changed."""
    source, folder = os.path.join(HERE, source), os.path.join(CACHE, name)
    stamp, wanted = os.path.join(folder, "built"), digest(source, inputs)
    if os.path.exists(stamp) and open(stamp).read() == wanted:
        return folder
    if os.path.exists(stamp):
        os.remove(stamp)
    shutil.copytree(source, folder, dirs_exist_ok=True)
    print(f"    fetching and building {name}", flush=True)
    build(folder)
    with open(stamp, "w") as file:
        file.write(wanted)
    return folder


def digest(source, inputs):
    content = hashlib.sha256(repr(inputs).encode())
    for path, folders, names in os.walk(source):
        folders.sort()
        for name in sorted(names):
            content.update(name.encode())
            with open(os.path.join(path, name), "rb") as file:
                content.update(file.read())
    return content.hexdigest()


def execute(*command, folder, **environment):
    """Runs a build step; its output is shown only if it fails."""
    done = subprocess.run(command, cwd=folder, env={**os.environ, **environment}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout[-4000:]}")


def environment(name):
    """The folder of a program in Python beside this file, with an environment `venv` that has what its requirements.txt names."""
    def build(folder):
        execute("/usr/bin/python3", "-m", "venv", "venv", folder=folder)
        execute("venv/bin/pip", "install", "-q", "-r", "requirements.txt", folder=folder)
    return built(name, name, build)

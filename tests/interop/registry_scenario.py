"""A schema registry that keeps its schemas in topics of Naru, while it and the broker are killed. See README.md.

It is Apicurio Registry, asked in the way of Confluent's registry: Karapace could not be installed by pip."""

import glob
import json
import os
import subprocess
import time
import urllib.error
import urllib.request

import transaction_scene
from scenario import require
from toolchain import built, execute, missing
from transaction_scene import PATIENCE_S, Scene

from cluster import wait_until
import services

SUBJECTS = 120
NEEDED_JAVA = 21
STORAGE = "kafkasql"


def newest_java():
    """(version, command) of the newest Java on this machine; the one that is found first may be older than the registry needs."""
    found = []
    for command in ["java", *glob.glob("/usr/lib/jvm/*/bin/java")]:
        try:
            told = subprocess.run([command, "-version"], capture_output=True, text=True, check=True).stderr
            found.append((int(told.split('"')[1].split(".")[0]), command))
        except (OSError, subprocess.SubprocessError, IndexError, ValueError):
            continue
    return max(found, default=(0, "java"))


def program(version):
    """The folder of the registry."""
    def build(folder):
        execute("mvn", "-q", "dependency:copy-dependencies", f"-Dregistry.version={version}", "-DoutputDirectory=libraries", folder=folder)
        (archive,) = glob.glob(os.path.join(folder, "libraries", "*.tar.gz"))
        execute("tar", "-xzf", archive, folder=folder)
    return built(f"registry-{version}", "registry", build, version)


class Registry:
    def __init__(self, scene, version):
        self.scene, self.place, self.port = scene, program(version), services.free_port()
        settings = {"apicurio.storage.kind": STORAGE, "apicurio.kafkasql.bootstrap.servers": scene.bootstrap,
                    "quarkus.http.host": "127.0.0.1", "quarkus.http.port": self.port, "quarkus.management.host": "127.0.0.1",
                    "quarkus.management.port": services.free_port()}
        self.command = [newest_java()[1], "-Xmx400m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                        *(f"-D{key}={value}" for key, value in settings.items()), "-jar", os.path.join(self.place, "quarkus-run.jar")]
        self.start()

    def start(self):
        self.program = self.scene.run(self.command)

    def kill(self):
        self.program.kill()
        self.start()

    def ask(self, path, body=None):
        """What it answers as soon as it can. While the broker is down, it answers with an error or not at all, and is asked again."""
        deadline, reason = time.monotonic() + 4 * PATIENCE_S, None
        while time.monotonic() < deadline and self.program.open:
            request = urllib.request.Request(f"http://127.0.0.1:{self.port}/apis/ccompat/v7{path}",
                                             data=json.dumps(body).encode() if body else None,
                                             headers={"Content-Type": "application/json"})
            try:
                with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                    return json.loads(answer.read())
            except urllib.error.HTTPError as error:
                reason = f"{error.code} {error.read().decode()}"
                require(error.code >= 500 or error.code == 404 and not body, f"{path}: {reason}")
            except OSError as error:
                reason = error
            time.sleep(0.2)
        raise RuntimeError(f"{path} is not answered: {reason}\n" + "\n".join(self.program.lines[-20:]))


def schema(subject, version):
    """Versions are compatible: each has one more field with a default."""
    fields = [{"name": f"f{i}", "type": "int", "default": i} for i in range(version)]
    return json.dumps({"type": "record", "name": f"r{subject}", "fields": fields})


def register(registry, begin, end):
    """Two versions of each subject, each registered twice: the second time the same id is told. {(subject, version): id}"""
    ids = {}
    for subject in range(begin, end):
        for version in (1, 2):
            path, body = f"/subjects/s{subject}/versions", {"schema": schema(subject, version)}
            ids[subject, version] = registry.ask(path, body)["id"]
            again = registry.ask(path, body)["id"]
            require(again == ids[subject, version], f"s{subject} version {version} has the ids {ids[subject, version]} and {again}")
    return ids


def check(registry, ids):
    """Every schema that was acknowledged is there under its id and its version, once."""
    require(len(set(ids.values())) == len(ids), "an id stands for two schemas")
    expected = {f"s{subject}" for subject, _ in ids}

    def why_not():  # it answers reads before it has read its whole journal
        missing_ones = expected - set(registry.ask("/subjects"))
        return f"{len(missing_ones)} subjects are missing, as {min(missing_ones)}" if missing_ones else None
    reason = wait_until(why_not, 2 * PATIENCE_S)
    require(reason is None, reason)
    require(len(subjects := registry.ask("/subjects")) == len(expected), f"the subjects are {sorted(subjects)}")
    for (subject, version), number in ids.items():
        kept = registry.ask(f"/subjects/s{subject}/versions/{version}")
        require(kept["id"] == number, f"s{subject} version {version} has the id {kept['id']}, not {number}")
        for told in (kept["schema"], registry.ask(f"/schemas/ids/{number}")["schema"]):
            require(json.loads(told) == json.loads(schema(subject, version)), f"s{subject} version {version} is {told}")
        if version == 2:
            require(registry.ask(f"/subjects/s{subject}/versions") == [1, 2], f"s{subject} has other versions")


def run(version):
    dice = transaction_scene.chance()
    scene = Scene(1)
    with scene.explained():
        registry, broker, ids, done = Registry(scene, version), scene.brokers[0], {}, 0
        actions = [lambda: scene.kill_and_restart(broker), registry.kill, lambda: scene.kill_and_restart(broker), registry.kill]
        for i, action in enumerate(actions):
            end = SUBJECTS * (i + 1) // (len(actions) + 1) - dice.randrange(5)
            ids |= register(registry, done, end)
            done = end
            action()
        ids |= register(registry, done, SUBJECTS)
        check(registry, ids)
        registry.kill()
        check(registry, ids)  # from the topics alone
        registry.program.terminate()
        scene.stop_all()
    return f"{SUBJECTS} subjects of 2 versions, each there once with its id, also from the topics alone; registry killed 3 times, broker 2 times"


class Check:
    """A row in the table of checks."""

    differences = ("`registry-apicurio`: Karapace itself could not be installed: pip found no version of it (\"no matching distribution found\"). "
                   "Apicurio Registry, asked in the way of Confluent's registry, is the nearest registry that a package manager had. It needs "
                   "Java 21 or newer, and answers reads after a start before it has read its whole journal.",)

    def __init__(self, version):
        self.version, self.name = version, "registry-apicurio"

    def missing(self):
        if newest_java()[0] < NEEDED_JAVA:
            return f"needs Java {NEEDED_JAVA} or newer"
        return missing({"mvn": "Maven (Debian: maven)"})

    def run(self):
        return run(self.version)


CHECKS = [Check("3.3.3")]

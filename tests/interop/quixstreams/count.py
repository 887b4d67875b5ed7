"""Counts numbers by key with Quix Streams, exactly once, in a process of its own, so that it can be killed:

    count.py BOOTSTRAP FOLDER

Reads the topic "numbers", and writes for each record "KEY COUNT", how often its key was there so far, to the topic "counts". The counts
are state with a changelog; FOLDER holds them. It ends in order when its standard input ends.
"""

import sys
import threading

from quixstreams import Application


def count(value, state):
    key = value.split()[0]
    number = state.get(key, 0) + 1
    state.set(key, number)
    return f"{key} {number}"


def main(bootstrap, folder):
    backoff = {"reconnect.backoff.ms": 50, "reconnect.backoff.max.ms": 200}
    app = Application(broker_address=bootstrap, consumer_group="counters", state_dir=folder, auto_offset_reset="earliest",
                      processing_guarantee="exactly-once", commit_interval=0.5, loglevel="WARNING",
                      consumer_extra_config={"session.timeout.ms": 6000, "heartbeat.interval.ms": 500, **backoff},
                      producer_extra_config={"transaction.timeout.ms": 10000, **backoff})
    frame = app.dataframe(app.topic("numbers", key_deserializer="str", value_deserializer="str"))
    frame = frame.apply(count, stateful=True)
    frame.to_topic(app.topic("counts", key_serializer="str", value_serializer="str"))

    def stop_at_the_end():
        sys.stdin.read()
        app.stop()

    threading.Thread(target=stop_at_the_end, daemon=True).start()
    print("ready", flush=True)
    app.run()


if __name__ == "__main__":
    main(*sys.argv[1:])

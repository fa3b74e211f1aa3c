"""The story of relay_failover.py that takes long by waiting: the standby is away, not the primary.

It has clusters, a relay and two nodes of its own and is played beside the others.
"""
import threading
import time

import postgres
from nodes import Nodes, Relay, check
from postgres import Cluster, wait_until

OFFLINE = 3
# A node asks a question four times and waits 15 seconds for each answer.
LONGEST_SYNC_SECONDS = 75
WAITS = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'"


class Waiting(threading.Thread):
    """Synchronous replication without its standby: nothing is acknowledged, and nothing hangs."""

    def __init__(self, hearth, relay, shows):
        super().__init__(daemon=True)
        self.nodes = Nodes(hearth, shows, "hearth-failover-waiting-")
        self.program = relay
        self.relay = None
        self.clusters = []

    def run(self):
        try:
            self.begin()
            self.away()
            self.cancelled()
        except BaseException as error:
            check(False, "without a standby: %r" % error)
        finally:
            if self.relay:
                self.relay.kill()
            for cluster in self.clusters:
                cluster.close()

    def begin(self):
        nodes = self.nodes
        self.primary = Cluster("wal_keep_size = '256MB'")
        self.clusters.append(self.primary)
        self.primary.create()
        self.standby = Cluster(source=self.primary)
        self.clusters.append(self.standby)
        self.primary.set("synchronous_standby_names", postgres.STANDBY)
        self.streams()
        self.relay = Relay(self.program, nodes.path("relay-data"), log=nodes.path("relay.log"),
                           backend=self.primary.url("relay", self.standby))
        nodes.says("gus", ["init", "--person", "Gus", "--device", "laptop"])
        nodes.says("gus", ["household", "create", "Hut", "--time-zone", "UTC"])
        nodes.says("gus", ["transport", "add", "relay", self.relay.address])
        link = nodes.says("gus", ["invite"], "hearth://join").strip().splitlines()[-1]
        nodes.says("hal", ["init", "--person", "Hal", "--device", "laptop"])
        nodes.says("hal", ["join", link], "joined Hut")
        nodes.says("gus", ["sync"])
        # The link is used up: Gus closed it and made new keys, which Hal takes.
        nodes.says("hal", ["sync"])

    def streams(self):
        wait_until(lambda: self.primary.psql(
            "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = 'sync'"),
            "the standby is synchronous")

    def waits(self):
        return self.primary.psql("SELECT 1 " + WAITS)

    def begin_sync(self, home):
        """A sync in a thread; `done` of what is given is there when it has ended."""
        class Sync(threading.Thread):
            done = None

            def run(one):
                one.done = self.nodes.run(home, "sync")
        sync = Sync(daemon=True)
        sync.start()
        return sync

    def away(self):
        """It waits for the standby, says after its own time that the relay did not answer, and
        goes through when the standby is back."""
        nodes = self.nodes
        self.standby.stop()
        nodes.says("gus", ["add", "Not in one place alone"])
        began = time.monotonic()
        sync = self.begin_sync("gus")
        wait_until(lambda: self.waits() or not sync.is_alive(), "the commit waits for the standby")
        nodes.says("hal", ["sync"], "nothing new")
        sync.join(LONGEST_SYNC_SECONDS)
        took = time.monotonic() - began
        check(sync.done is not None, "a sync hangs for %.0f s" % took)
        if sync.done:
            check(sync.done.returncode == OFFLINE, "without a standby: exit %d: %s" % (
                sync.done.returncode, sync.done.stdout))
            for words in ("nothing is lost", "sync again"):
                check(words in sync.done.stderr, "not %r: %s" % (words, sync.done.stderr))
        nodes.says("gus", ["status"], "1 change not synced yet")
        print("relay failover: without its synchronous standby a sync ended after %.0f s, not "
              "acknowledged" % took)
        self.standby.start()
        self.streams()
        nodes.says("gus", ["sync"])
        nodes.says("gus", ["status"], "nothing unsynced")
        nodes.says("hal", ["sync"], "received 1 change")

    def cancelled(self):
        """Somebody cancels the wait: it is not stored as promised, now or at the next sync."""
        nodes = self.nodes
        self.standby.stop()
        nodes.says("gus", ["add", "Cancelled"])
        sync = self.begin_sync("gus")
        # The node asks again each time, and each time the wait is cancelled.
        wait_until(lambda: self.primary.psql("SELECT pg_cancel_backend(pid) " + WAITS) == "never"
                   or not sync.is_alive(), "the sync ends")
        check(sync.done and sync.done.returncode == OFFLINE, "cancelled: exit %d: %s%s" % (
            sync.done.returncode, sync.done.stdout, sync.done.stderr))
        # The primary has it by now, and shows it; the standby does not have it.
        again = self.begin_sync("gus")
        wait_until(lambda: self.waits() or not again.is_alive(), "it waits again, or is refused")
        check(again.is_alive() or again.done.returncode != 0,
              "a sync is acknowledged for what no standby has: %s" % (
                  again.done and again.done.stdout.strip()))
        self.standby.start()
        self.streams()
        again.join(LONGEST_SYNC_SECONDS)
        nodes.says("gus", ["sync"])
        nodes.says("hal", ["sync"], "received 1 change")
        verified = self.relay.ask("verify")
        check(verified.returncode == 0, "verify: " + verified.stdout + verified.stderr)

#!/usr/bin/env python3
"""W7 for Redis streams over TLS 1.3, beside plain ones and Hearth's relay, each in turn.

    redis_tls.py HARNESS PEERS RELAY_BENCH [ROUNDS]

HARNESS is the folder of the shared workload's `w7.py`, PEERS the one where its `setup.sh` unpacked
the programs, RELAY_BENCH the program `relay-bench` beside a `hearth-relay`. Prints the medians. The
harness speaks to Redis without TLS; a relay that is never without it is compared fairly only with
both. With TLS the harness's client, in Python, may be slower than Redis: read the broker's
processor time beside the rate.
"""
import json
import os
import shutil
import ssl
import statistics
import subprocess
import sys
import tempfile

HARNESS, PEERS, BENCH = (os.path.abspath(path) for path in sys.argv[1:4])
ROUNDS = int(sys.argv[4]) if len(sys.argv) > 4 else 3
WORKLOAD = {"subs": 50, "msgs": 8000, "size": 1024, "window": 256, "rate": 100, "paced": 400}
os.environ["PEERS_DIR"] = PEERS
sys.path.insert(0, HARNESS)
import w7  # noqa: E402


class Line:
    """A TLS socket that says like a plain one that it would have to wait."""

    def __init__(self, socket):
        self.socket = socket
        self.fileno, self.close = socket.fileno, socket.close
        self.setblocking, self.sendall = socket.setblocking, socket.sendall

    def now(self, call, *arguments):
        try:
            return call(*arguments)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError) as error:
            raise BlockingIOError() from error

    def send(self, data):
        return self.now(self.socket.send, data)

    def recv(self, count):
        return self.now(self.socket.recv, min(count, 1 << 16))

    def recv_into(self, buffer):
        return self.now(self.socket.recv_into, buffer, 1 << 16)


class RedisTLS(w7.RedisAlways):
    """Redis as in the harness, but that it listens with TLS alone."""

    plain = staticmethod(w7.connect)

    def start(self):
        key, chain = self.base + "/key.pem", self.base + "/chain.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-keyout", key, "-out",
             chain, "-subj", "/CN=localhost", "-days", "2"], check=True, capture_output=True)
        self.exe = os.path.abspath(w7.deb("usr/bin/redis-check-rdb"))
        self.proc = subprocess.Popen(
            ["redis-server", "--port", "0", "--tls-port", str(self.port), "--tls-cert-file", chain,
             "--tls-key-file", key, "--tls-auth-clients", "no", "--tls-protocols", "TLSv1.3",
             "--bind", "127.0.0.1", "--dir", self.base, "--appendonly", "yes", "--appendfsync",
             self.fsync, "--save", "", "--client-output-buffer-limit", "normal", "0", "0", "0"],
            executable=self.exe, env=w7.deb_env(), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        self.state = {}
        # A certificate of its own, made for this run: nobody vouches for it.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        w7.connect = lambda port: Line(context.wrap_socket(self.plain(port)))

    def stop(self):
        w7.connect = self.plain
        super().stop()


def peer(name):
    folder = tempfile.mkdtemp(prefix="fan-out-")
    try:
        return w7.run(name, folder, WORKLOAD)
    finally:
        shutil.rmtree(folder)


def hearth():
    folder = tempfile.mkdtemp(prefix="fan-out-")
    said = subprocess.run([BENCH, "w7", json.dumps(dict(WORKLOAD, dir=folder))],
                          capture_output=True, text=True, check=True).stdout
    shutil.rmtree(folder, ignore_errors=True)
    return json.loads(said.removeprefix("RESULT "))


def main():
    w7.PEERS["redis-tls"] = RedisTLS
    runs = {"Redis streams, TLS 1.3": lambda: peer("redis-tls"),
            "hearth-relay, TLS 1.3": hearth,
            "Redis streams, no TLS": lambda: peer("redis-streams-always")}
    found = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, run in runs.items():
            found[name].append(run())
    for name, results in found.items():
        rate, middle, last, busy = (
            statistics.median(result[key] for result in results)
            for key in ("ops_s", "p50_ms", "p99_ms", "broker_cpu_us_delivery"))
        print("%-24s %6.0f messages a second, p50 %5.1f ms, p99 %5.1f ms; the broker %.1f us a "
              "delivery" % (name, rate, middle, last, busy))


main()

"""A private PostgreSQL cluster in a temporary folder, gone when the script ends, however it does."""
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = "/usr/lib/postgresql"
ABSENCE = "PostgreSQL is not installed: its tests are passed over (apt: postgresql)"
# Names and keys do not depend on it; the programs speak as the tests expect.
ENVIRONMENT = {"LC_ALL": "C", "PATH": "/usr/bin:/bin"}
LIMIT_SECONDS = 120
# What a standby is called in its primary's `synchronous_standby_names`.
STANDBY = "standby"


def programs():
    """The folder with the programs of the newest version that is installed; None without any."""
    versions = os.listdir(ROOT) if os.path.isdir(ROOT) else []
    for version in sorted((name for name in versions if name.isdigit()), key=int, reverse=True):
        folder = os.path.join(ROOT, version, "bin")
        if os.access(os.path.join(folder, "initdb"), os.X_OK):
            return folder
    return None


def must_be_there(name):
    """Ends the script where PostgreSQL is missing: as a failure where the environment asks for it.

    Otherwise that is said and nothing is tested.
    """
    if programs():
        return
    print("%s: %s" % (name, ABSENCE))
    sys.exit(1 if "HEARTH_REQUIRE_POSTGRES" in os.environ else 0)


def wait_until(holds, words, seconds=LIMIT_SECONDS):
    """Waits for a condition and gives what it gave; a condition that stays false ends the script."""
    end = time.monotonic() + seconds
    while True:
        found = holds()
        if found:
            return found
        if time.monotonic() > end:
            raise SystemExit("not within %d s: %s" % (seconds, words))
        time.sleep(0.02)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def user():
    """Who runs the server: it refuses to run as root."""
    if os.getuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise SystemExit("neither postgres nor nobody is a user here")


def as_user(*command):
    other = user()
    if other is None:
        return list(command)
    return ["/usr/bin/setpriv", "--reuid=%d" % other.pw_uid, "--regid=%d" % other.pw_gid,
            "--clear-groups", *command]


class Cluster:
    """A server on a free port; `source` is the cluster of which it is a streaming standby."""

    def __init__(self, settings="", source=None, port=None):
        self.programs = programs()
        self.port = port or free_port()
        self.folder = tempfile.mkdtemp(prefix="hearth-pg-")
        self.data = os.path.join(self.folder, "data")
        self.process = None
        if user():
            os.chown(self.folder, user().pw_uid, user().pw_gid)
        self.keep()
        if source is None:
            self.tool("initdb", "-D", self.data, "-A", "trust", "-U", "relay", "-E", "UTF8",
                      "--locale=C", "--no-sync")
        else:
            self.tool("pg_basebackup", "-R", "-X", "stream", "-c", "fast", "--no-sync", "-D",
                      self.data, "-d", source.conninfo() + " application_name=" + STANDBY)
        self.configure(settings)
        self.start()

    def keep(self):
        """A shell waits for the end of this process, stops the server and removes the folder."""
        stop = as_user(os.path.join(self.programs, "pg_ctl"), "-D", self.data, "-m", "immediate",
                       "stop")
        self.keeper = subprocess.Popen(
            ["/bin/sh", "-c", "read line; \"$@\"; rm -rf \"$0\"", self.folder, *stop],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            cwd="/", env=ENVIRONMENT, start_new_session=True)

    def configure(self, settings):
        """Adds to what the server reads at its start; the last line of a setting counts."""
        with open(os.path.join(self.data, "postgresql.conf"), "a") as file:
            file.write("port = %d\nlisten_addresses = '127.0.0.1'\n"
                       "unix_socket_directories = '%s'\nmax_connections = 60\n"
                       "shared_buffers = 32MB\n%s\n" % (self.port, self.folder, settings))

    def conninfo(self):
        return "host=127.0.0.1 port=%d user=relay dbname=postgres" % self.port

    def url(self, database="relay", *others):
        """As libpq takes it; other clusters are further hosts."""
        hosts = ",".join("127.0.0.1:%d" % one.port for one in (self, *others))
        return "postgres://relay@%s/%s" % (hosts, database)

    # The server

    def start(self):
        """Starts it and waits until it answers."""
        log = os.path.join(self.folder, "log")
        with open(log, "ab") as file:
            self.process = subprocess.Popen(
                as_user(os.path.join(self.programs, "postgres"), "-D", self.data),
                stdin=subprocess.DEVNULL, stdout=file, stderr=file, cwd="/", env=ENVIRONMENT,
                start_new_session=True)

        def answers():
            if self.process.poll() is not None:
                with open(log) as file:
                    raise SystemExit("the server does not start:\n" + file.read())
            return self.psql("SELECT 1", database="postgres", must=False) is not None
        wait_until(answers, "the server answers")

    def stop(self, mode="fast"):
        self.tool("pg_ctl", "-D", self.data, "-w", "-m", mode, "stop")
        self.process.wait(timeout=LIMIT_SECONDS)

    def kill(self):
        """As if the machine were gone: the server and all its processes, without any last word."""
        with open("/proc/%d/task/%d/children" % (self.process.pid, self.process.pid)) as file:
            children = [int(number) for number in file.read().split()]
        for number in (self.process.pid, *children):
            try:
                os.kill(number, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.process.wait(timeout=LIMIT_SECONDS)

    def promote(self):
        """Makes a standby the primary; it answers writes when this returns."""
        self.tool("pg_ctl", "-D", self.data, "-w", "promote")

    def set(self, name, value):
        """Changes a setting of the running server, and waits until new connections have it."""
        self.psql("ALTER SYSTEM SET %s = '%s'" % (name, value), database="postgres")
        self.tool("pg_ctl", "-D", self.data, "reload")
        wait_until(lambda: self.psql("SHOW " + name, database="postgres") == value,
                   "%s = %s" % (name, value))

    def close(self):
        self.keeper.stdin.close()
        self.keeper.wait(timeout=LIMIT_SECONDS)
        if self.process:
            self.process.wait(timeout=LIMIT_SECONDS)
        if os.path.exists(self.folder):
            shutil.rmtree(self.folder)

    # What is in it

    def create(self, database="relay"):
        self.psql("CREATE DATABASE " + database, database="postgres")

    def psql(self, sql, database="relay", must=True):
        """What a question gives, columns by |; None where it may fail and does."""
        done = subprocess.run(
            [os.path.join(self.programs, "psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1",
             "-h", "127.0.0.1", "-p", str(self.port), "-U", "relay", "-d", database, "-c", sql],
            capture_output=True, text=True, timeout=LIMIT_SECONDS, env=ENVIRONMENT, cwd="/")
        if done.returncode == 0:
            return done.stdout.strip()
        if must:
            raise SystemExit("%s: %s" % (sql, done.stderr))
        return None

    def rows(self, sql, database="relay"):
        return [line.split("|") for line in self.psql(sql, database).splitlines()]

    def tool(self, name, *arguments):
        """Runs one of PostgreSQL's programs; it must succeed."""
        done = subprocess.run(
            as_user(os.path.join(self.programs, name), *arguments), capture_output=True, text=True,
            timeout=2 * LIMIT_SECONDS, env=ENVIRONMENT, cwd="/")
        if done.returncode != 0:
            raise SystemExit("%s: %s%s" % (name, done.stdout, done.stderr))
        return done.stdout

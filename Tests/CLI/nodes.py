"""Nodes of a family below one temporary folder, driven through the command line; what failed."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile

from write_down import write_down

FAILED, NOT_ALLOWED, USAGE = 1, 4, 64
failures = []


def check(holds, words):
    if not holds:
        failures.append(words)
        print("FAILED " + words)


class Nodes:
    def __init__(self, hearth, shows, prefix):
        self.hearth = os.path.abspath(hearth)
        self.shows = shows
        self.root = tempfile.mkdtemp(prefix=prefix)
        self.environment = {
            name: value for name, value in os.environ.items()
            if not name.startswith(("HEARTH_", "CLICOLOR", "COLUMNS", "XDG_"))}
        self.environment.update(HOME=self.root, TZ="UTC", LC_ALL="C.UTF-8", NO_COLOR="1")

    def path(self, *parts):
        return os.path.join(self.root, *parts)

    def command(self, home, *arguments):
        return [self.hearth, "--home", self.path(home), *arguments]

    def run(self, home, *arguments, piped=""):
        done = subprocess.run(
            self.command(home, *arguments), capture_output=True, text=True, timeout=120,
            input=piped, env=self.environment)
        if self.shows:
            print("$ hearth --home %s %s" % (home, " ".join(arguments)))
            print("".join("  " + line + "\n" for line in (
                done.stdout + done.stderr).splitlines()) + ("  exit %d" % done.returncode))
        return done

    def says(self, home, arguments, *words, status=0, piped=""):
        """The command must end with the status and say all of the words."""
        done = self.run(home, *arguments, piped=piped)
        said = done.stdout + done.stderr
        name = "%s: hearth %s" % (home, " ".join(arguments))
        check(done.returncode == status, "%s: exit %d: %s" % (name, done.returncode, said.strip()))
        for word in words:
            check(word in said, "%s does not say %r: %s" % (name, word, said.strip()))
        if status in (FAILED, NOT_ALLOWED, USAGE):
            check(not done.stdout, "%s prints on standard output" % name)
            check("hearth: error:" in done.stderr, "%s does not begin with the error" % name)
        return done.stdout

    def words(self, home):
        """Makes recovery words, and types those back that are asked for; `told` is what was said."""
        words, self.told, status = write_down(
            self.command(home, "words", "show", "--force"), environment=self.environment)
        check(status == 0, "%s: words show: %s" % (home, self.told))
        return words


class Relay:
    """A relay on a free port; `log` is where it writes what it has to say.

    `backend` is the address of a PostgreSQL database in the place of a file.
    """

    def __init__(self, program, data, log=None, options=("--health", "off"), backend=None):
        self.program = os.path.abspath(program)
        self.data = data
        self.place = ["--data", data, *(["--backend", backend] if backend else [])]
        self.log = log
        self.options = options
        self.port = "0"
        self.start()

    def start(self):
        log = open(self.log, "ab+") if self.log else tempfile.TemporaryFile()
        with log:
            self.process = subprocess.Popen(
                [self.program, "serve", "--listen", "127.0.0.1:" + self.port, *self.place,
                 *self.options], stdout=subprocess.PIPE, stderr=log, text=True)
            self.address = self.process.stdout.readline().strip()
            if not self.address.startswith("hearth-relay://"):
                log.seek(0)
                raise SystemExit("the relay does not serve: %r\n%s" % (
                    self.address, log.read().decode("utf-8", "replace")))
        self.port = self.address.split(":")[2].split("/")[0]

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()

    def ask(self, *arguments):
        """Runs an operator's command on its data."""
        return subprocess.run(
            [self.program, *arguments, *self.place], capture_output=True, text=True, timeout=120)


class Family(Nodes):
    """Nodes that have one way in common: a relay if its program is given, otherwise a folder."""

    def __init__(self, hearth, relay, shows, prefix):
        super().__init__(hearth, shows, prefix)
        os.mkdir(self.path("folder"))
        self.relay = Relay(relay, self.path("relay-data")) if relay else None
        self.kind = "relay" if relay else "folder"
        self.place = self.relay.address if relay else self.path("folder")

    def init(self, home, person, device):
        self.says(home, ["init", "--person", person, "--device", device])

    def link(self, home, *arguments):
        return self.says(home, arguments, "hearth join").strip().splitlines()[-1]

    def sync(self, *homes):
        for home in homes:
            self.says(home, ["sync"])

    def close(self):
        if self.relay:
            self.relay.kill()
        shutil.rmtree(self.root)


def play_over_each_way(name, family, stories, by_folder_only=()):
    """Plays the stories over a folder, and once more over a relay if its program is given.

    `family(hearth, relay, shows)` makes the family. Ends the script.
    """
    programs = [argument for argument in sys.argv[1:] if argument != "--show"]
    shows = "--show" in sys.argv
    for relay in [None, *programs[1:]]:
        members = family(programs[0], relay, shows)
        try:
            for story in stories:
                if relay and story in by_folder_only:
                    continue
                if shows:
                    print("\n--- " + story.__name__.replace("_", " "))
                story(members)
        finally:
            members.close()
    print("%s: %s" % (name, "%d faults" % len(failures) if failures else "as it should be"))
    sys.exit(1 if failures else 0)

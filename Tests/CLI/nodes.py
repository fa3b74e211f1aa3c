"""Nodes of a family below one temporary folder, driven through the command line; what failed."""
import os
import subprocess
import tempfile

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

    def run(self, home, *arguments):
        done = subprocess.run(
            self.command(home, *arguments), capture_output=True, text=True, timeout=120,
            stdin=subprocess.DEVNULL, env=self.environment)
        if self.shows:
            print("$ hearth --home %s %s" % (home, " ".join(arguments)))
            print("".join("  " + line + "\n" for line in (
                done.stdout + done.stderr).splitlines()) + ("  exit %d" % done.returncode))
        return done

    def says(self, home, arguments, *words, status=0):
        """The command must end with the status and say all of the words."""
        done = self.run(home, *arguments)
        said = done.stdout + done.stderr
        name = "%s: hearth %s" % (home, " ".join(arguments))
        check(done.returncode == status, "%s: exit %d: %s" % (name, done.returncode, said.strip()))
        for word in words:
            check(word in said, "%s does not say %r: %s" % (name, word, said.strip()))
        if status in (FAILED, NOT_ALLOWED, USAGE):
            check(not done.stdout, "%s prints on standard output" % name)
            check("hearth: error:" in done.stderr, "%s does not begin with the error" % name)
        return done.stdout

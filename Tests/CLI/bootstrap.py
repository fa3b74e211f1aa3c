#!/usr/bin/env python3
"""Runs Scripts/bootstrap on machines that do not exist: a PATH with stand-ins only.

Each case says which tools there are, what they answer, and what must be run, said and returned.
Nothing is installed and no network is used.
"""
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
ALL = "pkg-config libsodium-dev libsqlite3-dev libzstd-dev libqrencode-dev libpq-dev"
SWIFT = "#!/bin/sh\necho 'Swift version %s (swift-%s-RELEASE)'\n"
# Notes its command line; `install` makes the libraries known to the stand-in of pkg-config.
APT = """#!/bin/sh
echo "apt-get $*" >>"$STAGE/commands"
case "$1" in
  update) [ -e "$STAGE/no-network" ] && { echo 'E: Temporary failure resolving' >&2; exit 100; } ;;
  install) [ -e "$STAGE/no-package" ] && { echo 'E: Unable to locate package' >&2; exit 100; }
    cp "$STAGE/spare-pkg-config" "$STAGE/bin/pkg-config"; touch "$STAGE/installed" ;;
esac
exit 0
"""
PKG_CONFIG = """#!/bin/sh
[ -e "$STAGE/installed" ] && exit 0
case "$2" in %s) exit 0 ;; esac
exit 1
"""
failures = []
count = 0


class Machine:
    def __init__(self, known="", has_pkg_config=True, apt=True, swift="6.3", user=0, sudo=None):
        self.stage = tempfile.mkdtemp(prefix="hearth-bootstrap-")
        os.mkdir(self.path("bin"))
        for name in ("sh", "sed", "head", "env", "cp", "touch", "tr"):
            os.symlink(shutil.which(name), self.path("bin", name))
        self.write("spare-pkg-config", PKG_CONFIG % (known or "none"))
        if has_pkg_config:
            self.write("bin/pkg-config", PKG_CONFIG % (known or "none"))
        self.write("bin/id", "#!/bin/sh\necho %d\n" % user)
        if apt:
            self.write("bin/apt-get", APT)
        if swift:
            self.write("bin/swift", SWIFT % (swift, swift))
        if sudo:
            self.write("bin/sudo", sudo)

    def path(self, *parts):
        return os.path.join(self.stage, *parts)

    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        os.chmod(self.path(name), 0o755)

    def run(self, arguments=()):
        return subprocess.run(
            [os.path.join(ROOT, "Scripts", "bootstrap"), *arguments], capture_output=True, text=True,
            timeout=30, env={"PATH": self.path("bin"), "STAGE": self.stage})

    def commands(self):
        try:
            with open(self.path("commands")) as file:
                return file.read().splitlines()
        except FileNotFoundError:
            return []


def case(name, machine, status, commands=(), words=(), is_silent=False, arguments=()):
    global count
    count += 1
    done = machine.run(arguments)
    faults = []
    if done.returncode != status:
        faults.append("exit %d instead of %d" % (done.returncode, status))
    if machine.commands() != list(commands):
        faults.append("ran %r" % machine.commands())
    for word in words:
        if word not in done.stderr:
            faults.append("does not say %r" % word)
    if done.stdout or (is_silent and done.stderr):
        faults.append("says %r" % (done.stdout + done.stderr))
    if faults:
        failures.append(name)
        print("FAILED %s: %s\n  %s" % (name, "; ".join(faults), done.stderr.strip()))
    shutil.rmtree(machine.stage)


def install(packages):
    return ["apt-get update -q", "apt-get install -y -q --no-install-recommends " + packages]


def main():
    everything = "libsodium|sqlite3|libzstd|libqrencode|libpq"
    case("nothing missing", Machine(everything), 0, is_silent=True)
    case("empty machine", Machine(has_pkg_config=False), 0, install(ALL), ["missing: " + ALL])
    case(
        "one missing", Machine("libsodium|libzstd|libqrencode|libpq"), 0, install("libsqlite3-dev"),
        ["missing: libsqlite3-dev"])
    offline = Machine(has_pkg_config=False)
    offline.write("no-network", "")
    case(
        "no network", offline, 1, ["apt-get update -q"], ["Temporary failure", "network"])
    unknown = Machine(has_pkg_config=False)
    unknown.write("no-package", "")
    case("package unknown", unknown, 1, install(ALL), ["Unable to locate", "could not install"])
    case("neither root nor sudo", Machine(user=1000), 1, [], ["needs root", "apt-get update"])
    case(
        "with sudo", Machine("libzstd|sqlite3|libqrencode|libpq", user=1000, sudo='#!/bin/sh\nexec "$@"\n'), 0,
        install("libsodium-dev"))
    case("another system", Machine(apt=False), 1, [], ["no apt-get", "libsodium", "libpq"])
    case("no Swift", Machine(everything, swift=None), 1, [], ["no 'swift'", "swift.org"])
    case("old Swift", Machine(everything, swift="6.1.2"), 1, [], ["6.1 is too old", "6.2"])
    case("next Swift", Machine(everything, swift="7.0"), 0, is_silent=True)
    case("odd Swift", Machine(everything, swift="unknown"), 1, [], ["cannot read the version"])
    stubborn = Machine(has_pkg_config=False)
    stubborn.write("spare-pkg-config", "#!/bin/sh\nexit 1\n")
    case(
        "packages that do not help", stubborn, 1, install(ALL), ["still does not find"])
    demo = ALL.replace(" libpq-dev", "")
    case(
        "empty machine, for the demo", Machine(has_pkg_config=False), 0, install(demo),
        ["missing: " + demo], arguments=["demo"])
    case(
        "all but libpq, for the demo", Machine("libsodium|sqlite3|libzstd|libqrencode"), 0,
        is_silent=True, arguments=["demo"])
    case("unknown argument", Machine(everything), 64, [], ['not "demos"'], arguments=["demos"])
    print("%d machines, %d wrong" % (count, len(failures)))
    sys.exit(1 if failures else 0)


main()

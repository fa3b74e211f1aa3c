#!/usr/bin/env python3
"""Installs built programs below a fresh prefix, uses what was installed, and removes it again.

    install.py HEARTH HEARTH_RELAY

The manual page must be free of warnings, completions must load and complete in bash, and removal
must leave no file behind.
"""
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FILES = {
    "bin/hearth": 0o755,
    "bin/hearth-relay": 0o755,
    "lib/systemd/system/hearth-relay.service": 0o644,
    "share/bash-completion/completions/hearth": 0o644,
    "share/bash-completion/completions/hearth-relay": 0o644,
    "share/fish/vendor_completions.d/hearth.fish": 0o644,
    "share/fish/vendor_completions.d/hearth-relay.fish": 0o644,
    "share/man/man1/hearth.1": 0o644,
    "share/zsh/site-functions/_hearth": 0o644,
    "share/zsh/site-functions/_hearth-relay": 0o644,
}
failures = []


def check(holds, words):
    if not holds:
        failures.append(words)


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **options)


def complete(script, *words):
    """What bash offers for the last of these words, of which the first is the program."""
    program = """
        source "$1"; shift
        complete -p "$1" >/dev/null || exit 9
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
        function=$(complete -p "$1" | sed 's/.*-F \\([^ ]*\\).*/\\1/')
        "$function" "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    done = run("bash", "-c", program, "bash", script, *words, env=dict(
        os.environ, PATH=os.path.dirname(script) + ":" + os.environ["PATH"]))
    check(done.returncode == 0, "completing %r: %s" % (words, done.stderr))
    return [word.strip() for word in done.stdout.split("\n") if word.strip()]


def installed(prefix):
    found = {}
    for folder, _, names in os.walk(prefix):
        for name in names:
            path = os.path.join(folder, name)
            found[os.path.relpath(path, prefix)] = os.stat(path).st_mode & 0o777
    return found


def main():
    binary, relay = (os.path.abspath(path) for path in sys.argv[1:3])
    prefix = tempfile.mkdtemp(prefix="hearth-install-")
    environment = dict(os.environ, PREFIX=prefix, HEARTH_BINARY=binary, RELAY_BINARY=relay)
    environment.pop("DESTDIR", None)
    script = os.path.join(ROOT, "Scripts", "install")
    done = run(script, env=environment)
    check(done.returncode == 0, "install: " + done.stderr)
    check(installed(prefix) == FILES, "installed: %r" % installed(prefix))

    version = run(os.path.join(prefix, "bin/hearth"), "--version").stdout.strip()
    check(version.startswith("hearth "), "version: %r" % version)
    offered = run(os.path.join(prefix, "bin/hearth-relay"), "--help").stdout
    check("serve" in offered, "hearth-relay --help: %r" % offered)
    with open(os.path.join(prefix, "lib/systemd/system/hearth-relay.service")) as file:
        unit = file.read()
    check(
        "\nExecStart=%s/bin/hearth-relay serve" % prefix in unit,
        "the unit starts another program: %s" % unit)
    if shutil.which("systemd-analyze"):
        done = run("systemd-analyze", "verify", os.path.join(
            prefix, "lib/systemd/system/hearth-relay.service"))
        check("Unknown" not in done.stderr, "unit: " + done.stderr)

    page = os.path.join(prefix, "share/man/man1/hearth.1")
    if shutil.which("man"):
        shown = run(
            "man", "--warnings", "-E", "UTF-8", "-l", page, env=dict(os.environ, MANWIDTH="80"))
        check(shown.returncode == 0 and not shown.stderr, "manual: " + shown.stderr)
        for words in ("hearth settings set", "EXIT STATUS", "HEARTH_HOME", "--after-completion"):
            check(words in shown.stdout, "the manual does not name %r" % words)
    else:
        print("manual: not formatted, there is no man here")

    script_of_bash = os.path.join(prefix, "share/bash-completion/completions/hearth")
    check("leaderboard" in complete(script_of_bash, "hearth", "lead"), "bash: lead")
    check("get" in complete(script_of_bash, "hearth", "settings", "g"), "bash: settings g")
    check("--points" in complete(script_of_bash, "hearth", "add", "--po"), "bash: add --po")
    of_relay = os.path.join(prefix, "share/bash-completion/completions/hearth-relay")
    check("serve" in complete(of_relay, "hearth-relay", "ser"), "bash: hearth-relay ser")
    for shell, file in (
        ("zsh", "share/zsh/site-functions/_hearth"),
        ("zsh", "share/zsh/site-functions/_hearth-relay"),
        ("fish", "share/fish/vendor_completions.d/hearth.fish"),
        ("fish", "share/fish/vendor_completions.d/hearth-relay.fish"),
    ):
        if shutil.which(shell):
            done = run(shell, "-n", os.path.join(prefix, file))
            check(done.returncode == 0, "%s: %s" % (shell, done.stderr))

    blocked = run(script, env=dict(environment, PREFIX="/proc/no-such-place"))
    check(
        blocked.returncode == 1 and "PREFIX" in blocked.stderr,
        "a prefix that cannot be written: %d %s" % (blocked.returncode, blocked.stderr))
    done = run(script, "--remove", env=environment)
    check(done.returncode == 0 and not installed(prefix), "removal left %r" % installed(prefix))
    shutil.rmtree(prefix)
    for failure in failures:
        print("FAILED " + failure)
    print("installation: %s" % ("%d faults" % len(failures) if failures else "sound"))
    sys.exit(1 if failures else 0)


main()

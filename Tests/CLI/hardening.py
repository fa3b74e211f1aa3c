#!/usr/bin/env python3
"""What other programs and people of a machine learn from `hearth`, and whom a name is taken for.

    hardening.py HEARTH [HEARTH-RELAY] [--show]

The memory of a running program is closed to core dumps and debuggers; links and passphrases come
neither as arguments nor as variables; names that cannot be told apart are marked wherever people are
listed, and what does not show itself is shown as its number. With HEARTH-RELAY its process is looked
at too.
"""
import json
import os
import pty
import select
import shutil
import subprocess
import sys
import termios
import time

from nodes import NOT_ALLOWED, USAGE, Nodes, Relay, check, failures

NOBODY = 65534
MAXIMUM_LINK = 8 * 1024
LINK_SECONDS = 60


class Home(Nodes):
    def __init__(self, hearth, shows):
        super().__init__(hearth, shows, "hearth-hardening-")
        os.mkdir(self.path("folder"))

    def begin(self, home, person, device="phone"):
        self.says(home, ["init", "--person", person, "--device", device], "next:")

    def link(self, home, *arguments):
        return self.says(home, arguments, "`hearth join - --person").strip().splitlines()[-1]

    def json(self, home, *arguments):
        printed = self.says(home, [*arguments, "--json"])
        try:
            return json.loads(printed)
        except ValueError:
            check(False, "%s: hearth %s --json prints %r" % (home, " ".join(arguments), printed))
            return {}

    def talk(self, home, arguments, answers):
        """Runs a command on a terminal, and answers each question once it was asked."""
        master, slave = pty.openpty()
        done = subprocess.Popen(
            self.command(home, *arguments), stdin=slave, stdout=slave, stderr=slave,
            env=dict(self.environment, TERM="xterm", COLUMNS="200"), start_new_session=True)
        os.close(slave)
        said, ends = b"", time.monotonic() + LINK_SECONDS
        waiting = list(answers)
        while time.monotonic() < ends:
            if not select.select([master], [], [], 1)[0]:
                continue
            try:
                chunk = os.read(master, 65536)
            except OSError:
                break
            said += chunk
            if waiting and waiting[0][0].encode() in said:
                # The question comes before the terminal is silenced, which drops what came earlier.
                while echoes(master) and time.monotonic() < ends:
                    time.sleep(0.01)
                os.write(master, (waiting.pop(0)[1] + "\n").encode())
        os.close(master)
        return done.wait(timeout=LINK_SECONDS), said.decode()


def echoes(terminal):
    return bool(termios.tcgetattr(terminal)[3] & termios.ECHO)


def limits(process):
    with open("/proc/%d/limits" % process.pid) as file:
        line = next(line for line in file if line.startswith("Max core file size"))
    return line.split()[4:6]


def owner(process):
    """Who owns what only a process itself may read: the system, where it is not dumpable."""
    return os.stat("/proc/%d/environ" % process.pid).st_uid


def as_somebody(program):
    """A prefix that runs a program without privileges, as for root nothing is hidden."""
    if os.geteuid() != 0:
        return []
    return ["setpriv", "--reuid=%d" % NOBODY, "--regid=%d" % NOBODY, "--clear-groups"]


def hidden(home):
    """A running program gives no core dump, and no debugger of the same user gets its memory."""
    stage = home.path("public")
    os.mkdir(stage)
    os.chmod(home.root, 0o755)
    os.chmod(stage, 0o777)
    program = os.path.join(stage, "hearth")
    shutil.copy(home.hearth, program)
    os.chmod(program, 0o755)
    environment = dict(home.environment, HEARTH_HOME=os.path.join(stage, "node"), HOME=stage)
    prefix = as_somebody(program)

    def start(*command):
        return subprocess.Popen(
            [*prefix, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env=environment, text=True)

    with start("cat") as control:
        control.stdin.write("x\n")
        control.stdin.flush()
        control.stdout.readline()
        check(owner(control) != 0 or not prefix and os.geteuid() == 0,
              "any process belongs to the system: the test shows nothing")
        control.communicate()
    # It waits for a link before it has opened anything.
    with start(program, "join", "-") as waiting:
        ends = time.monotonic() + LINK_SECONDS
        while limits(waiting) != ["0", "0"] and time.monotonic() < ends:
            time.sleep(0.01)
        check(limits(waiting) == ["0", "0"], "join -: core dumps of %r bytes" % limits(waiting))
        check(owner(waiting) == 0, "join -: its memory belongs to user %d" % owner(waiting))
        waiting.communicate()
    for arguments in (["init", "--person", "Nobody"], ["household", "create", "Home"],
                      ["transport", "add", "folder", stage]):
        done = start(program, *arguments)
        _, said = done.communicate()
        if arguments[0] != "transport":
            check(done.returncode == 0, "%s as somebody: %s" % (arguments[0], said))
    share = os.path.join(stage, "share")
    os.mkdir(share)
    os.chmod(share, 0o777)
    done = start(program, "transport", "add", "folder", share)
    check(done.communicate() and done.returncode == 0, "a folder as somebody")
    with start(program, "sync", "--watch") as watching:
        line = watching.stderr.readline()
        check("watching" in line, "sync --watch says %r" % line)
        check(limits(watching) == ["0", "0"], "sync --watch: %r" % limits(watching))
        check(owner(watching) == 0, "sync --watch: user %d" % owner(watching))
        watching.terminate()
        watching.communicate()
        check(watching.returncode == 0, "sync --watch ends with %d" % watching.returncode)


def hidden_relay(home, relay):
    served = Relay(relay, home.path("relay"))
    try:
        check(limits(served.process) == ["0", "0"], "relay: %r" % limits(served.process))
        check(os.geteuid() == 0 or owner(served.process) == 0, "the relay's memory is not hidden")
    finally:
        served.kill()


def links(home):
    """A link comes over standard input, whole and bounded, and still as an argument."""
    home.begin("anna", "Anna", "laptop")
    home.says("anna", ["household", "create", "Home", "--time-zone", "UTC"], "Home")
    home.says("anna", ["transport", "add", "folder", home.path("folder")], "next:")
    link = home.link("anna", "invite", "--uses", "20", "--at-once")
    for number, piped in enumerate((link, link + "\n", link + "\r\n", "  " + link + "\nmore\n")):
        name = "ben%d" % number
        home.begin(name, "Ben %d" % number)
        home.says(name, ["join", "-"], "joined Home as member", piped=piped)
    home.begin("cleo", "Cleo")
    home.says("cleo", ["join", link], "joined Home as member")
    home.begin("dan", "Dan")
    for piped, words in (
            ("", "nothing was typed or piped in"), ("\n", "not an invitation link"),
            ("hello\n", "not an invitation link"), ("\n" + link, "not an invitation link"),
            ("x" * MAXIMUM_LINK + "\n", "not an invitation link"),
            ("x" * (MAXIMUM_LINK + 1) + "\n", "longer than %d bytes" % MAXIMUM_LINK)):
        home.says("dan", ["join", "-"], words, status=USAGE, piped=piped)
    check(home.run("dan", "join").returncode == USAGE, "join without a link")
    status, said = home.talk("dan", ["join", "-"], [("paste the link", link)])
    check(status == 0 and "joined Home as member" in said, "join - on a terminal: %s" % said)
    check(link[-12:] not in said, "a terminal shows the link that is pasted: %s" % said)


def passphrases(home):
    """A passphrase comes from a file or a terminal, and from nowhere else."""
    words, secret = "correct horse battery", home.path("secret")
    with open(secret, "w") as file:
        file.write(words + "\n")
    asks = [("a passphrase for this node's key:", words), ("the same once more:", words)]
    status, said = home.talk("safe", ["init", "--person", "Sam", "--ask-passphrase"], asks)
    check(status == 0 and words not in said, "init --ask-passphrase: %s" % said)
    check(home.json("safe", "status", "--passphrase-file", secret).get("person") == "Sam",
          "the passphrase that was typed is another one")
    home.says("safe", ["status"], "is protected", status=NOT_ALLOWED)
    home.environment["HEARTH_PASSPHRASE"] = words
    home.says("safe", ["status"], "is protected", status=NOT_ALLOWED)
    del home.environment["HEARTH_PASSPHRASE"]
    home.environment["HEARTH_PASSPHRASE_FILE"] = secret
    home.says("safe", ["status"], "Sam")
    del home.environment["HEARTH_PASSPHRASE_FILE"]
    question = "the passphrase of this node's key:"
    status, said = home.talk("safe", ["status"], [(question, words)])
    check(status == 0 and "Sam" in said and words not in said, "status asks: %s" % said)
    status, said = home.talk("safe", ["status"], [(question, "wrong")])
    check(status == NOT_ALLOWED and "passphrase is wrong" in said, "a wrong passphrase: %s" % said)
    status, said = home.talk(
        "other", ["init", "--person", "Sam", "--ask-passphrase"], [asks[0], (asks[1][0], "horse")])
    check(status == USAGE and "differ" in said, "two passphrases: %s" % said)
    check(not os.path.exists(home.path("other", "key")), "a key although the passphrases differ")
    home.says("piped", ["init", "--person", "Sam", "--ask-passphrase"], "next:", piped=words + "\n")
    home.says("piped", ["status", "--passphrase-file", secret], "Sam")
    home.says(
        "both", ["init", "--person", "Sam", "--ask-passphrase", "--passphrase-file", secret],
        "exclude each other", status=USAGE)


def invisible(home):
    """What does not show itself is shown as its number, in tables, messages and documents."""
    title = "Dishes\u200b\u202e\u2028\U000e0041"
    shown = "Dishes⟨U+200B⟩⟨U+202E⟩⟨U+2028⟩⟨U+E0041⟩"
    home.says("anna", ["add", title], shown)
    home.says("anna", ["list"], shown)
    home.says("anna", ["show", "dishes"], shown)
    home.says("anna", ["add", "Feed the 👩‍👧 cat"], "Feed the 👩‍👧 cat")
    done = home.run("anna", "list", "--json")
    check("Dishes\\u200b\\u202e\\u2028\\udb40\\udc41" in done.stdout, "list --json: " + done.stdout)
    titles = [chore["title"] for chore in json.loads(done.stdout)["chores"]]
    check(title in titles, "the title of the document is another one: %r" % titles)
    home.says("new", ["init", "--person", "An\u200bna"], "no control characters", status=USAGE)


def look_alikes(home):
    """Whose name looks like somebody else's is marked where people are listed or let in."""
    twin = "А" + "nna"
    link = home.link("anna", "invite")
    home.begin("twin", twin)
    home.says("twin", ["join", "-"], "looks like that of Anna", twin + " (looks like Anna; ",
              piped=link)
    home.says("anna", ["sync"], "the name %s looks like that of Anna" % twin)
    members = home.json("anna", "member")["members"]
    ids = {person["name"]: person["id"] for person in members}
    marks = {person["name"]: person.get("looksLike") for person in members}
    check(marks[twin] == [ids["Anna"]] and marks["Anna"] == [ids[twin]], "members: %r" % marks)
    check(marks["Cleo"] is None, "members: %r" % marks)
    mark = "%s (looks like Anna; %s)" % (twin, ids[twin][:8])
    home.says("anna", ["member"], mark, "Anna (looks like %s; %s)" % (twin, ids["Anna"][:8]))
    home.says("anna", ["device"], mark)
    home.says("anna", ["audit"], mark + " joined with phone")
    # By approval, before the answer.
    other = "Cl" + "е" + "o"
    home.begin("asks", other)
    home.says("asks", ["join", "-"], "asked Home", piped=home.link("anna", "invite", "--approve"))
    device = home.json("asks", "status")["deviceId"]
    asked = "%s (looks like Cleo; device %s)" % (other, device[:8])
    home.says("anna", ["sync"], asked + " asked to join Home")
    home.says("anna", ["status"], asked + " asked to join")
    standing = home.json("anna", "status")["households"][0]["standing"]
    check(standing["requests"] == [other] and standing["lookAlikes"] == [
        {"person": other, "device": device, "looksLike": ["Cleo"]}], "status: %r" % standing)
    home.says("anna", ["approve"], asked)
    requests = home.json("anna", "approve")["requests"]
    check(requests[0].get("looksLike") == [ids["Cleo"]], "approve --json: %r" % requests)
    home.says("anna", ["approve", other, "--yes"], "the name %s looks like that of Cleo" % other)
    home.says("asks", ["sync"], "joined Home")
    home.says("anna", ["audit"], "approved %s (looks like Cleo; device" % other)


def main():
    programs = [argument for argument in sys.argv[1:] if argument != "--show"]
    home = Home(programs[0], "--show" in sys.argv)
    try:
        hidden(home)
        if programs[1:]:
            hidden_relay(home, programs[1])
        for story in (links, passphrases, invisible, look_alikes):
            story(home)
    finally:
        shutil.rmtree(home.root)
    print("hardening: %d failed" % len(failures))
    sys.exit(1 if failures else 0)


main()

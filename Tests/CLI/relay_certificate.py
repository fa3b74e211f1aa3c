#!/usr/bin/env python3
"""Runs a relay behind certificates of a little authority, good ones and bad ones.

    relay_certificate.py HEARTH HEARTH_RELAY [--show]

The authority and the certificates are made with the program `openssl`. An address that ends in `ca`
pins nothing: what the authority vouches for is talked to, also after it was renewed; what is
expired, not good yet, for another name, or of another authority is not, and it is said why. An
address with a pin takes that certificate alone, whoever made it.
"""
import json
import os
import shutil
import subprocess
import sys

from nodes import FAILED, Nodes, Relay, USAGE, check, failures

OFFLINE = 3
NEVER, ALWAYS = ("20200101000000Z", "20200201000000Z"), ("20200101000000Z", "20991231000000Z")
LATER = ("20900101000000Z", "20991231000000Z")
CONFIGURATION = """
[ca]
default_ca = authority
[authority]
database = {folder}/index.txt
new_certs_dir = {folder}
rand_serial = yes
default_md = sha256
policy = anything
unique_subject = no
copy_extensions = copy
[anything]
commonName = supplied
"""


def openssl(*arguments):
    done = subprocess.run(["openssl", *arguments], capture_output=True, text=True, timeout=60)
    if done.returncode:
        raise SystemExit("openssl %s: %s" % (" ".join(arguments), done.stderr))


class Authority:
    """Makes certificates; `certificate` is what whoever trusts it has to have."""

    def __init__(self, folder, name):
        self.folder = folder
        self.made = 0
        os.mkdir(folder)
        open(os.path.join(folder, "index.txt"), "w").close()
        self.configuration = self.path("openssl.cnf")
        with open(self.configuration, "w") as file:
            file.write(CONFIGURATION.format(folder=folder))
        self.certificate, self.key = self.path("ca.pem"), self.path("ca.key")
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                "-nodes", "-keyout", self.key, "-out", self.certificate, "-days", "30",
                "-subj", "/CN=" + name)

    def path(self, name):
        return os.path.join(self.folder, name)

    def issue(self, names, times=ALWAYS, kind=("rsa:2048",)):
        """The options of a relay that shows a new certificate for some names."""
        self.made += 1
        key, request, chain = (
            self.path("%d.%s" % (self.made, end)) for end in ("key", "csr", "pem"))
        openssl("req", "-newkey", *kind, "-nodes", "-keyout", key, "-out", request,
                "-subj", "/CN=relay", "-addext", "subjectAltName=" + names)
        openssl("ca", "-batch", "-notext", "-config", self.configuration, "-cert",
                self.certificate, "-keyfile", self.key, "-startdate", times[0], "-enddate",
                times[1], "-in", request, "-out", chain)
        return ("--certificate", chain, "--certificate-key", key)


class Family(Nodes):
    def __init__(self, hearth, relay, shows):
        super().__init__(hearth, shows, "hearth-certificate-")
        self.program = relay
        self.titles = set()
        self.trusts(None)

    def trusts(self, authority):
        """Whom the nodes' system trusts."""
        for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
            self.environment.pop(name, None)
        if authority:
            self.environment["SSL_CERT_FILE"] = authority

    def relay(self, host, *options):
        return Relay(self.program, self.path("relay"), log=self.path("relay.log"),
                     options=("--health", "off", "--host", host, *options))

    def shows_instead(self, relay, *options):
        """The same relay at the same port, with another certificate."""
        relay.kill()
        relay.options = relay.options[:4] + options
        relay.start()

    def add(self, home):
        title = "Chore %d of %s" % (len(self.titles), home)
        self.says(home, ["add", title])
        self.titles.add(title)

    def agree(self, name):
        """What each of the two did is there on both, after plain syncs."""
        for home in ("ada", "ben"):
            self.add(home)
        for home in ("ada", "ben", "ada"):
            self.says(home, ["sync"])
        for home in ("ada", "ben"):
            chores = json.loads(self.says(home, ["list", "--all", "--json"]))["chores"]
            check({chore["title"] for chore in chores} == self.titles,
                  "%s: %s lacks something" % (name, home))

    def refuses(self, name, words):
        """No sync with it, it is said why, and what was written stays to be given."""
        self.add("ada")
        done = self.run("ada", "sync")
        check(done.returncode == OFFLINE, "%s: exit %d: %s" % (
            name, done.returncode, done.stdout + done.stderr))
        check(words in done.stderr, "%s is not said: %s" % (name, done.stderr))
        check("published" not in done.stdout, "%s: something was given" % name)
        print("%-16s refused: %s" % (name, done.stderr.strip()[15:].split(";")[0]))


def by_authority(family, authority, other):
    trusted = ("--by-authority",)
    relay = family.relay("localhost", *trusted, *authority.issue("DNS:localhost"))
    check(relay.address == "hearth-relay://localhost:%s/ca" % relay.port, relay.address)
    family.trusts(authority.certificate)
    for home in ("ada", "ben"):
        family.says(home, ["init", "--person", home.title(), "--device", home])
    family.says("ada", ["household", "create", "Home", "--time-zone", "UTC"])
    family.says("ada", ["transport", "add", "relay", relay.address])
    link = family.says("ada", ["invite"], "hearth join").strip().splitlines()[-1]
    family.says("ben", ["join", link], "joined Home")
    family.agree("an authority's certificate")
    check(relay.address in family.says("ben", ["transport", "list"]), "ben has another address")

    family.shows_instead(
        relay, *trusted, *authority.issue(
            "DNS:localhost", kind=("ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")))
    family.agree("a renewed certificate")
    print("an authority's certificate, and the renewed one: both nodes agree")

    for name, options, words in (
            ("expired", authority.issue("DNS:localhost", NEVER), "expired on 2020-02-01"),
            ("not good yet", authority.issue("DNS:localhost", LATER), "is valid only from 2090-01-01"),
            ("another name", authority.issue("DNS:relay.example.org"), "is not for localhost"),
            ("another CA", other.issue("DNS:localhost"), "no authority that this system trusts"),
            ("the own one", (), "no authority that this system trusts")):
        family.shows_instead(relay, *options, *(trusted if options else ()))
        family.refuses(name, words)
    family.shows_instead(relay, *trusted, *authority.issue("DNS:localhost"))
    family.trusts(None)
    family.refuses("the system's CAs", "no authority that this system trusts")
    family.trusts(family.path("nothing.pem"))
    family.refuses("no CAs at all", "nothing.pem, which SSL_CERT_FILE names")
    # Who does not know the place yet is told the same.
    family.trusts(other.certificate)
    family.says("cleo", ["init", "--person", "Cleo"])
    family.says("cleo", ["transport", "add", "relay", relay.address], status=OFFLINE)
    family.trusts(authority.certificate)
    family.agree("a good certificate again")
    relay.kill()


def by_number(family, authority):
    """A certificate for an address of numbers."""
    options = ("--by-authority",)
    relay = family.relay("127.0.0.1", *options, *authority.issue("IP:127.0.0.1"))
    family.says("cleo", ["transport", "add", "relay", relay.address])
    family.says("cleo", ["sync"])
    family.shows_instead(relay, *options, *authority.issue("DNS:localhost,IP:127.0.0.2"))
    done = family.run("cleo", "household", "create", "Attic", "--time-zone", "UTC")
    done = family.run("cleo", "sync")
    check(done.returncode == OFFLINE and "is not for 127.0.0.1" in done.stderr,
          "another number: %d: %s" % (done.returncode, done.stderr))
    relay.kill()


def by_pin(family, authority):
    """An address with a pin asks no authority, and takes no other certificate of it."""
    family.trusts(None)
    relay = family.relay("localhost", *authority.issue("DNS:elsewhere", NEVER))
    check(len(relay.address.rsplit("/", 1)[1]) == 52, "no pin: " + relay.address)
    for home in ("ada", "ben"):
        family.says(home, ["transport", "remove", "1"])
        family.says(home, ["transport", "add", "relay", relay.address])
    family.agree("a pinned certificate")
    family.trusts(authority.certificate)
    family.shows_instead(relay, *authority.issue("DNS:localhost"))
    family.refuses("another than pinned", "is not the relay of this address")
    relay.kill()


def refused_options(family, authority):
    chain, key = authority.issue("DNS:localhost")[1::2]
    other = authority.issue("DNS:localhost")[3]
    for options, words in (
            (("--by-authority",), "--by-authority needs --certificate"),
            (("--certificate", chain), "go together"),
            (("--certificate", chain, "--certificate-key", other), "cannot be used"),
            (("--certificate", family.path("nothing"), "--certificate-key", key),
             "cannot be used")):
        done = subprocess.run(
            [family.program, "serve", "--listen", "127.0.0.1:0", "--health", "off", "--data",
             family.path("refused"), *options], capture_output=True, text=True, timeout=60)
        check(done.returncode in (FAILED, USAGE) and words in done.stderr,
              "%s: %d: %s" % (options, done.returncode, done.stderr))


def main():
    family = Family(sys.argv[1], os.path.abspath(sys.argv[2]), "--show" in sys.argv)
    authority = Authority(family.path("authority"), "An authority")
    other = Authority(family.path("other"), "Another authority")
    by_authority(family, authority, other)
    by_number(family, authority)
    by_pin(family, authority)
    refused_options(family, authority)
    print("relay certificates: %s" % (
        "%d faults" % len(failures) if failures else "as it should be"))
    if not failures:
        shutil.rmtree(family.root)
    sys.exit(1 if failures else 0)


main()

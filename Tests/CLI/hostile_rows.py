"""What the rows of hostile.py have in common: their list, and the story of most of them."""
import hostile_home as judge
from hostile_home import PARTIAL

VICTIMS = ["ann", "ben"]
ROWS = {}


def row(name, words, relay=None):
    """A story; `relay` are the options of the relay that it needs."""
    def keep(story):
        ROWS[name] = (story, words, relay)
        return story
    return keep


def suffer(home, deeds, culprits, victims=VICTIMS, logs=0, outside=(), helper=None):
    """The story of most rows: honest files, hostile files, and how the victims fare.

    `logs` is how many logs the hostile files begin, which a folder holds in as many directories.
    From those who are `outside` a relay takes nothing: `helper` stores the files there, or
    whoever made them.
    """
    looking = 0 if home.relay else logs * judge.LOOK_SECONDS
    home.join("hal", "Hal")
    home.everybody_knows(*victims)
    stash, files, byte_count = home.prepare(*deeds)
    home.figures.append("%d files, %d bytes" % (files, byte_count))
    usual = home.usual(victims, "hal", files, byte_count)
    told = home.accusations(victims[0])
    if home.relay:
        home.shut_out(outside, stash)
    home.release(stash, by=helper or deeds[0][0])
    for victim in victims:
        cost = home.cost(victim, "sync")
        if not home.within(victim + " sync", cost, usual[victim]["sync"],
                           judge.SLACK_SECONDS + looking):
            return None
        home.holds(cost.status in (0, PARTIAL),
                   "%s: sync: exit %d: %s" % (victim, cost.status, cost.said.strip()[:300]))
        if not home.takes_little_again(victim, usual[victim]["idle"], looking):
            return None
        shown = home.steady(victim, "list")
        if not home.within(victim + " list", shown, usual[victim]["list"]):
            return None
        home.holds(shown.status == 0 and "Dishes" in shown.out and "Honest 0" in shown.out,
                   "%s: list: exit %d: %s" % (victim, shown.status, shown.said.strip()[:300]))
        for command, slack in (("status", looking), ("verify", 0)):
            cost = home.steady(victim, command)
            if not home.within("%s %s" % (victim, command), cost, usual[victim][command], slack):
                return None
    home.works(victims)
    home.equal(victims)
    if culprits:
        home.names(victims[0], told, *culprits)
    home.spares(victims[0], told, "hal", "Hal", "phone-hal")
    home.welcomes(victims)
    return told

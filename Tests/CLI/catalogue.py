#!/usr/bin/env python3
"""Breaks the shipped catalogue in many ways and looks whether Scripts/check-catalogue says so.

    catalogue.py [HEARTH]

Each way must end with exit code 1 and name the place and the fault. With the program, every chore
template is also added to a fresh node, so that none of them repeats in a way the program refuses.
The cases are made from the file by programs, so they are no transcript.
"""
import copy
import json
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CHECK = os.path.join(ROOT, "Scripts", "check-catalogue")
SHIPPED = os.path.join(ROOT, "Catalogue", "hearth.json")
failures = []


def check(stage, text, *arguments, old=None):
    path = os.path.join(stage, "catalogue.json")
    with open(path, "w") as file:
        file.write(text)
    if old is not None:
        arguments = (*arguments, "--since", os.path.join(stage, "old.json"))
        with open(arguments[-1], "w") as file:
            file.write(old)
    done = subprocess.run(
        [CHECK, path, *arguments], capture_output=True, text=True, timeout=60)
    with open(path) as file:
        return done, file.read()


def expect(name, done, status, *words):
    said = done.stderr + done.stdout
    faults = ["does not say %r" % word for word in words if word not in said]
    if done.returncode != status:
        faults.append("exit %d instead of %d" % (done.returncode, status))
    if "Traceback" in said:
        faults.append("stopped in the middle")
    if faults:
        failures.append(name)
        print("FAILED %s: %s\n  %s" % (name, "; ".join(faults), said.strip()[:800]))


def items(listing, **values):
    """The first item of a kind that has these values."""
    return lambda catalogue: next(
        item for item in catalogue[listing]
        if all(item.get(key) == value for key, value in values.items()))


def put(find, **values):
    return lambda catalogue: find(catalogue).update(values)


def drop(find, key):
    return lambda catalogue: find(catalogue).pop(key)


def keep(kind, test):
    return lambda catalogue: catalogue.update(
        {kind: [item for item in catalogue[kind] if test(item)]})


def copied(find, kind, **values):
    return lambda catalogue: catalogue[kind].append({**copy.deepcopy(find(catalogue)), **values})


BENCH = items("challenges", id="bench-test")
CANDLES = items("challenges", id="candle-dinner")
DISHES = items("choreTemplates", id="wash-the-dishes")
COMPOST = items("choreTemplates", id="take-out-compost")
SHOPPING = items("choreTemplates", id="do-the-shopping")
BILLS = items("choreTemplates", id="pay-the-bills")
PAGE = items("appConfiguration", id="history_page_size")
FLAG = items("featureFlags", id="social_sharing")
OTHER = "Sit down wherever you like on the way to school or work, and count who passes by."
WORDY = "With a friend try three public benches and give each up to five stars for its view, " \
    "comfort and shade. Then choose the best bench of the neighbourhood and tell its name at home."

BREAKS = [
    ("other schema", lambda c: c.update(schema=2), ["schema: 2 is not in 1 to 1"]),
    ("no list", lambda c: c.update(challenges={}), ["challenges: has to be a list, not {}"]),
    ("unknown list", lambda c: c.update(challenge=[]), ["unknown key", 'mean "challenges"']),
    ("missing list", lambda c: c.pop("featureFlags"), ["featureFlags is missing"]),
    ("item of another type", lambda c: c["challenges"].append(7), ["has to be an object"]),
    ("missing key", drop(BENCH, "costLevel"), ['"bench-test"', "costLevel is missing"]),
    ("missing id", drop(BENCH, "id"), ["id is missing"]),
    ("unknown key", put(BENCH, costlevel="free"), ["unknown key", 'did you mean "costLevel"']),
    ("misspelt enum", put(BENCH, costLevel="fre"), ['"fre" is not one of', 'mean "free"']),
    ("enum in capitals", put(BENCH, timeInvestment="Quick"), ['did you mean "quick"']),
    ("enum of another type", put(BENCH, category=3), ["category: 3 is not one of"]),
    ("other language", put(BENCH, language="en-GB"), ["language", 'did you mean "en"']),
    ("difficulty 0", put(BENCH, difficultyLevel=0), ["0 is not in 1 to 5"]),
    ("difficulty 6", put(BENCH, difficultyLevel=6), ["6 is not in 1 to 5"]),
    ("truth as number", put(BENCH, difficultyLevel=True), ["whole number, not true"]),
    ("number as text", put(BENCH, minutes="40"), ['whole number, not "40"']),
    ("broken number", put(BENCH, minutes=40.5), ["whole number, not 40.5"]),
    ("number as truth", put(BENCH, adultHelp=1), ["true or false, not 1"]),
    ("long title", put(BENCH, title="Test " * 13 + "it"), ["67 characters instead of 3 to 60"]),
    ("title with a full stop", put(BENCH, title="Test three benches."), ["does not match"]),
    ("title in lower case", put(BENCH, title="test three benches"), ["does not match"]),
    ("control character", put(BENCH, title="Test\tbenches"), ["does not match"]),
    ("two spaces", put(BENCH, title="Test  three benches"), ["spaces too many"]),
    ("short description", put(BENCH, description="Try it."), ["7 characters instead of 40"]),
    ("unfinished sentence", put(BENCH, description="Try three benches and choose the best of all"),
     ["does not match"]),
    ("bad id", put(BENCH, id="Bench_Test"), ["does not match"]),
    ("tags out of order", put(BENCH, tags=["walking", "games"]), ["not in order: games, walking"]),
    ("tag twice", put(BENCH, tags=["games", "games"]), ["says something twice"]),
    ("no tag", put(BENCH, tags=[]), ["0 entries instead of 1 to 5"]),
    ("lonely tag", put(BENCH, tags=["gamse"]), ['nothing else has "gamse"']),
    ("seasons out of order", put(BENCH, seasons=["winter", "spring"]), ["spring, winter"]),
    ("misspelt season", put(BENCH, seasons=["sprng"]), ['seasons: "sprng"', 'mean "spring"']),
    ("all seasons", put(BENCH, seasons=["spring", "summer", "autumn", "winter"]), ["4 entries"]),
    ("day that is none", put(BENCH, updatedAt="2027-02-30T00:00:00Z"), ["no moment that exists"]),
    ("local time", put(BENCH, updatedAt="2027-02-20T00:00:00+01"), ["characters"]),
    ("updated before made", put(BENCH, updatedAt="2020-01-01T00:00:00Z"), ["before createdAt"]),
    ("quick but long", put(BENCH, timeInvestment="quick"), ["40 is not quick, which is 1 to 15"]),
    ("weather at home", put(CANDLES, weather="dry"), ["has to be any at home"]),
    ("danger without an adult", put(CANDLES, adultHelp=False), ["because of candle"]),
    ("small child alone outside", put(BENCH, adultHelp=False), ["away from home below 10"]),
    ("danger in a template", put(items("choreTemplates", id="bake-for-the-week"), adultHelp=False),
     ["because of bake"]),
    ("small child on an errand",
     put(items("choreTemplates", id="return-library-books"), adultHelp=False),
     ["away from home below 10"]),
    ("free but bought", put(BENCH, materials=["ticket"]), ["cannot be free because of ticket"]),
    ("title as number", put(BENCH, title=3), ["title: has to be text, not 3"]),
    ("five sentences", put(BENCH, description="Go out. Sit down. Look around. Get up. Go home, or "
                           "stay where you are."), ["more than 4 sentences"]),
    ("urging", put(BENCH, description="You should try three benches and choose the best one."),
     ['says "should"']),
    ("cheering", put(BENCH, description="Try three benches and choose the best one of them all!"),
     ['says "!"']),
    ("strangers are easy", put(BENCH, socialRequirement="community"), ["never the easiest"]),
    ("same id", copied(BENCH, "challenges"), ["used twice"]),
    ("same id in another list", put(DISHES, id="bench-test"), ["used twice"]),
    ("retired id", lambda c: c.update(retired=["bench-test"]), ["was retired"]),
    ("same title", copied(BENCH, "challenges", id="x-test", title="The test of three benches",
                          description=OTHER), ['much the same as "bench-test"']),
    ("same in other words", copied(BENCH, "challenges", id="best-seat", title="The best seat",
                                   description=WORDY), ['much the same as "bench-test"']),
    ("template in other words",
     copied(DISHES, "choreTemplates", id="do-dishes", title="Do dishes"),
     ['much the same as "wash-the-dishes"']),
    ("few challenges", keep("challenges", lambda i: i["minutes"] > 20), ["fewer than 120"]),
    ("few in a category", keep("challenges", lambda i: i["category"] != "calm" or i["minutes"] < 9),
     ["calm has 3, fewer than 15"]),
    ("one sort of company", keep("challenges", lambda i: i["category"] != "calm" or
                                 i["socialRequirement"] != "community"),
     ["calm has only 3 values of socialRequirement"]),
    ("unused value", keep("challenges", lambda i: i["costLevel"] != "large"),
     ['costLevel "large" is used 0 times']),
    ("few templates", keep("choreTemplates", lambda i: i["minutes"] > 20), ["fewer than 60"]),
    ("too many points", put(DISHES, points=29), ["29 is not in 2 to 12 for 20 minutes"]),
    ("points beyond the scale", put(DISHES, points=31), ["31 is not in 1 to 30"]),
    ("one step", put(DISHES, steps=["Wash"]), ["1 entries instead of 2 to 8"]),
    ("repeat of another kind", put(DISHES, every="fortnight"), ['"fortnight" is not day, week']),
    ("every single day", put(DISHES, every="1d"), ["2 to 366"]),
    ("every 367 days", put(DISHES, every="367d"), ["2 to 366"]),
    ("unknown weekday", put(SHOPPING, every="sat,sum"), ["is not day, week"]),
    ("weekdays out of order", put(SHOPPING, every="sat,mon"), ["not in order"]),
    ("weekday twice", put(SHOPPING, every="sat,sat"), ["there twice"]),
    ("day 32", put(BILLS, dayOfMonth="32"), ["does not match"]),
    ("day of a week", put(BILLS, every="week"), ["every month or year"]),
    ("after completion on a day", put(SHOPPING, afterCompletion=True), ["no fixed days"]),
    ("after completion, never", drop(COMPOST, "every"), ["needs a span"]),
    ("no such time", put(DISHES, at="24:00"), ["does not match"]),
    ("flag of text", put(FLAG, value="yes"), ['true or false, not "yes"']),
    ("flag without version", drop(FLAG, "version"), ["version is missing"]),
    ("setting out of range", put(PAGE, value=500), ["500 is not in 1 to 200"]),
    ("setting of another kind", put(PAGE, value="20"), ['"20" is not of kind integer']),
    ("setting of no kind", put(PAGE, value=[20]), ["true or false, not [20]"]),
    ("range for a text", put(items("appConfiguration", kind="text"), minimum=1), ["for integers"]),
    ("list for a word", put(BENCH, costLevel=["free"]), ["is not one of"]),
    ("word for a list", put(BENCH, tags="games"), ['tags: has to be a list, not "games"']),
    ("setting without range", drop(PAGE, "maximum"), ["an integer has both"]),
]

LATER = {"updatedAt": "2031-01-01T00:00:00Z"}
SINCE = [
    ("nothing changed", lambda c: None, None),
    ("a dated change", lambda c: (BENCH(c).update(energy="high", **LATER), c.update(version=2)),
     None),
    ("retired properly", lambda c: (c["challenges"].remove(BENCH(c)),
                                    c.update(version=2, retired=["bench-test"])), None),
    ("gone", lambda c: (c["challenges"].remove(BENCH(c)), c.update(version=2)),
     ['"bench-test" is gone']),
    ("renamed", lambda c: (BENCH(c).update(id="seat-test"), c.update(version=2)),
     ['"bench-test" is gone']),
    ("same version", put(BENCH, energy="high", **LATER), ["has to be above 1"]),
    ("undated change", lambda c: (BENCH(c).update(energy="high"), c.update(version=2)),
     ["updatedAt: the item has changed"]),
    ("another birthday", lambda c: (BENCH(c).update(createdAt="2020-01-01T00:00:00Z", **LATER),
                                    c.update(version=2)), ["createdAt: must stay"]),
    ("flag with its old version", lambda c: (FLAG(c).update(value=True, **LATER),
                                             c.update(version=2)), ["version: the item has"]),
]

TEXTS = [
    ("no JSON", lambda text: text[:-5], ["cannot be read"]),
    ("no text", lambda text: "", ["cannot be read"]),
    ("a list", lambda text: "[]", ["has to hold one object"]),
    ("key twice", lambda text: text.replace('"version": 1', '"version": 1, "version": 2', 1),
     ["version", "twice in one object"]),
    ("no number", lambda text: text.replace('"schema": 1', '"schema": NaN', 1), ["NaN"]),
    ("half a character", lambda text: text.replace("adventure awaits", "\\ud83c", 1),
     ["cannot be read"]),
    ("deep", lambda text: "[" * 200_000, ["cannot be read"]),
    ("great", lambda text: text + " " * (4 << 20), ["more than 4194304"]),
    ("other spacing", lambda text: text.replace('"schema": 1', '"schema":1', 1),
     [":2: not in canonical form"]),
    ("last line open", lambda text: text.rstrip("\n"), ["not in canonical form"]),
]


def broken(stage, shipped):
    for name, change, words in BREAKS:
        catalogue = json.loads(shipped)
        change(catalogue)
        text = json.dumps(catalogue, indent=2)
        expect(name, check(stage, text)[0], 1, *words, "catalogue.json:")
    for name, change, words in TEXTS:
        expect(name, check(stage, change(shipped))[0], 1, *words)
    for name, change, words in SINCE:
        catalogue = json.loads(shipped)
        change(catalogue)
        done, _ = check(stage, json.dumps(catalogue), "--format", old=shipped)
        expect("since: " + name, done, 1 if words else 0, *(words or ["challenges"]))
    older = json.loads(shipped)
    older["retired"] = ["seat-test"]
    done, _ = check(stage, shipped, old=json.dumps(older))
    expect("since: no longer retired", done, 1, '"seat-test" has been taken from the list')
    older.pop("retired")
    done, _ = check(stage, shipped, old=json.dumps(older))
    expect("since: a broken one", done, 1, "old.json:1: retired is missing")


def form(stage, shipped):
    """Whatever the order, one form; and where a fault lies, its line is named."""
    catalogue = json.loads(shipped)
    for value in catalogue.values():
        if isinstance(value, list):
            value.reverse()
    done, text = check(stage, json.dumps(dict(reversed(catalogue.items()))), "--format")
    expect("canonical form", done, 0)
    if text != shipped:
        failures.append("form")
        print("FAILED the canonical form depends on the order")
    wrong = shipped.replace('"id": "bench-test"', '"id": "bench-test",\n      "x": 1')
    line = shipped[:shipped.index('"id": "bench-test"')].count("\n") + 1
    expect("line of a fault", check(stage, wrong)[0], 1, "catalogue.json:%d: " % line)


def added(stage, shipped, hearth):
    """Adds every template with the program itself; gives how many."""
    def run(*arguments):
        return subprocess.run([os.path.abspath(hearth), "--home", os.path.join(stage, "node"),
                               *arguments], capture_output=True, text=True, timeout=60)

    expect("init", run("init", "--person", "Anna"), 0)
    expect("household", run("household", "create", "Home"), 0)
    templates = json.loads(shipped)["choreTemplates"]
    for item in templates:
        options = ["--points", str(item["points"]), "--note", "\n".join(item["steps"])]
        options += [part for tag in [item["category"], item["room"], *item["tags"]]
                    for part in ("--tag", tag)]
        for key, option in (("every", "--every"), ("dayOfMonth", "--day-of-month"), ("at", "--at")):
            options += [option, item[key]] if key in item else []
        options += ["--due", "today"] if "at" in item and "every" not in item else []
        options += ["--after-completion"] if item["afterCompletion"] else []
        expect("template " + item["id"], run("add", item["title"], *options), 0)
    listed = run("list", "--json")
    expect("list", listed, 0, *[json.dumps(item["title"])[1:-1] for item in templates])
    return len(templates)


def main():
    stage = tempfile.mkdtemp(prefix="hearth-catalogue-")
    try:
        with open(SHIPPED) as file:
            shipped = file.read()
        expect("as shipped", check(stage, shipped)[0], 0)
        broken(stage, shipped)
        form(stage, shipped)
        count = added(stage, shipped, sys.argv[1]) if len(sys.argv) > 1 else 0
    finally:
        shutil.rmtree(stage)
    print("%d ways to break the catalogue, %d changes to a published one, %d templates added, "
          "%d wrong" % (len(BREAKS) + len(TEXTS), len(SINCE), count, len(failures)))
    sys.exit(1 if failures else 0)


main()

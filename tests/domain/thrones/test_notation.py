"""Answers as text: what is printed is read as it was meant, what people write is understood or refused clearly."""

# ruff: noqa: E501 (one row of a table is one line, however long the message)

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.kernel.decision import Decision, Options
from domain.thrones.language import answers as c
from domain.thrones.language import kinds
from domain.thrones.language.pieces import TRACKS, UNITS, OrderToken
from domain.thrones.notation import (
    Header,
    NotationError,
    format_answer,
    lexicon,
    parse,
    parse_letter,
    parse_line,
    short_order,
    split_letter,
)
from domain.thrones.notation.kinds import HEADS, READERS, USAGE
from domain.thrones.rules.action.consolidation import ConsolidateChoices
from domain.thrones.rules.action.raids import RaidChoices
from domain.thrones.rules.choices import Amount, PerOrder, Words
from tests.sizes import sized

ROOT = Path(__file__).parents[3]
DATA: dict[str, Any] = json.loads((ROOT / "domain/thrones/tables/editions/second.json").read_bytes())
DOCS = (ROOT / "docs/notation.md").read_text("utf-8")


def names(rows: list[dict[str, Any]]) -> dict[str, str]:
    return {row["id"]: row["name"] for row in rows}


AREAS, HOUSES, CARDS = names(DATA["areas"]), names(DATA["houses"]), names(DATA["house_cards"])
TOKENS = msgspec.convert(DATA["order_tokens"], tuple[OrderToken, ...])
SECOND = lexicon(areas=AREAS, houses=HOUSES, cards=CARDS, tokens=TOKENS)
ME = "lannister"


def read(text: str, *decisions: Decision[Any], **more: Any) -> c.HouseAnswer:
    return parse(text, house=ME, lexicon=SECOND, open_decisions=decisions, **more)


def canonical(text: str, *decisions: Decision[Any]) -> str:
    return format_answer(read(text, *decisions))


def mistake(text: str, *decisions: Decision[Any]) -> str:
    with pytest.raises(NotationError) as refused:
        read(text, *decisions)
    return str(refused.value)


def asks(default: c.HouseAnswer, options: Options[Any] | None = None) -> Decision[Any]:
    return Decision(default=default, options=options or Words(words=()), rules=())


# The property


def answers(answer: type[c.HouseAnswer]) -> st.SearchStrategy[c.HouseAnswer]:
    """Every canonical answer of a class, legal or not."""
    fields = {"house": st.sampled_from(sorted(HOUSES)), "question": st.none() | st.integers(0, 999_999_999)}
    return FIELDS[answer].flatmap(
        lambda given_: st.builds(answer, **fields, **{k: st.just(v) for k, v in given_.items()})
    )


def fixed(**strategies: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(strategies)


area, card, house = (st.sampled_from(sorted(some)) for some in (AREAS, CARDS, HOUSES))
track, unit, token = st.sampled_from(TRACKS), st.sampled_from(UNITS), st.sampled_from([token.id for token in TOKENS])
number = st.integers(0, 9999)
units = st.dictionaries(unit, st.integers(1, 20), min_size=1)
chosen = st.dictionaries(area, units, max_size=4)
none = st.just("none")


def words(*choices: str) -> st.SearchStrategy[str]:
    return st.sampled_from(choices)


def per_area(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(area, values, max_size=5)


ABILITY_CHOICES: dict[str, st.SearchStrategy[str]] = {
    "tyrion-cancel": words("cancel", "leave"),
    "tyrion-replacement": card,
    "aeron-swap": st.just("keep") | card,
    "doran-track": track,
    "mace-footman": words("footman", "routed-footman"),
    "queen-of-thorns-order": none | area,
    "cersei-order": none | area,
    "renly-upgrade": none | st.builds("{} {}".format, area, words("footman", "routed-footman")),
    "patchface-discard": none | card,
    "luwin-retrieve": none | card,
    "asha-order": none | area,
    "melisandre-discard": none | card,
    "loras-footman": words("footman", "routed-footman"),
}
STEP = st.builds(c.MusterStep, area=area, unit=unit, to=area, upgrade=st.none() | unit) | st.builds(
    lambda where, what: c.MusterStep(where, what, where), area, unit
)
FIELDS: dict[type[c.HouseAnswer], st.SearchStrategy[dict[str, Any]]] = {
    c.ThroneOfBlades: fixed(choice=words("supply", "mustering", "nothing")),
    c.DarkWings: fixed(choice=words("clash-of-kings", "collect-power", "nothing")),
    c.PutToTheSword: fixed(choice=words("no-defense", "no-march-plus-1", "no-restriction")),
    c.ReconcileSupply: fixed(units=chosen),
    c.Muster: fixed(steps=st.lists(STEP, max_size=5).map(tuple)),
    c.InfluenceBid: fixed(track=track, bid=number),
    c.InfluenceTie: fixed(
        track=track, groups=st.lists(st.lists(house, min_size=1, max_size=6).map(tuple), max_size=3).map(tuple)
    ),
    c.WildlingBid: fixed(bid=number),
    c.WildlingTie: fixed(choice=house),
    c.PreemptiveRaid: fixed(choice=words("destroy-units", "lose-influence")),
    c.PreemptiveRaidTrack: fixed(choice=track),
    c.DestroyUnits: fixed(units=chosen),
    c.HordeCastleUnits: fixed(units=chosen),
    c.CrowKillersDegrade: fixed(replaced=chosen, destroyed=chosen),
    c.CrowKillersUpgrade: fixed(units=chosen),
    c.MassingDiscard: fixed(choice=card),
    c.KingBeyondRaise: fixed(choice=track),
    c.KingBeyondLower: fixed(choice=track),
    c.MammothRetrieve: fixed(choice=none | card),
    c.HordeMusterArea: fixed(choice=none | area),
    c.AssignOrders: fixed(orders=per_area(token), draft=st.booleans()),
    c.Raven: fixed(choice=words("look", "nothing")) | fixed(choice=st.just("replace"), area=area, order=token),
    c.RavenCard: fixed(choice=words("top", "bottom")),
    c.Raid: fixed(area=area, target=st.none() | area) | fixed(area=area, target=area, second=area),
    c.MarchOrder: fixed(
        area=area,
        moves=st.lists(st.builds(c.Move, to=area, units=units), max_size=5).map(tuple),
        leave_power=st.booleans(),
    ),
    c.NeutralSupportRequest: st.just({}) | fixed(area=area, target=area),
    c.NeutralSupport: fixed(target=area, orders=per_area(st.booleans())),
    c.CaptureShips: fixed(port=area, ships=number),
    c.Consolidate: fixed(area=area, use=words("power", "muster")),
    c.Support: fixed(area=area, orders=per_area(words("attacker", "defender", "withhold"))),
    c.AcceptSupport: fixed(area=area, orders=per_area(st.booleans())),
    c.HouseCardChoice: fixed(area=area, choice=card),
    c.CardAbility: st.sampled_from(c.ALL_ABILITIES).flatmap(
        lambda ability: fixed(area=area, ability=st.just(ability), choice=ABILITY_CHOICES[ability])
    ),
    c.BladeRedraw: fixed(area=area, choice=words("use", "keep")),
    c.BladeStrength: fixed(area=area, choice=words("use", "do-not-use")),
    c.Casualties: fixed(area=area, units=units),
    c.SkullCasualty: fixed(area=area, units=units),
    c.RetreatArea: fixed(area=area, choice=area | st.just("leave")),
    c.RetreatLosses: fixed(area=area, units=units),
}


@pytest.mark.parametrize("answer", kinds.ANSWERS, ids=lambda answer: str(answer.__struct_config__.tag))
def test_what_is_printed_is_read_as_it_was_meant(answer: type[c.HouseAnswer]) -> None:
    @settings(max_examples=sized(30, 150), deadline=None)
    @given(answers(answer))
    def check(given_: c.HouseAnswer) -> None:
        meant = given_.canonical()
        text = format_answer(given_)
        assert parse(text, house=given_.house, lexicon=SECOND) == meant
        assert parse(format_answer(given_, with_house=True), house=None, lexicon=SECOND) == meant
        assert format_answer(meant) == text
        assert meant.canonical() == meant

    check()


@settings(max_examples=sized(150, 600), deadline=None)
@given(st.sampled_from(kinds.ANSWERS).flatmap(answers), st.data())
def test_case_spaces_and_hyphens_do_not_change_the_meaning(given_: c.HouseAnswer, data: st.DataObject) -> None:
    text = format_answer(given_)
    changed = data.draw(
        st.sampled_from(
            [text.upper(), text.title(), text.replace("->", "→"), re.sub(r"\b-\b(?!\d)", "_", text), f"  {text} "]
        )
    )
    assert parse(changed, house=given_.house, lexicon=SECOND) == given_.canonical()


@settings(max_examples=sized(200, 1000), deadline=None)
@given(st.text(alphabet="abcdefiklmnoprstuv 123+-*>:;,@#()\n'\"", max_size=60) | st.text(max_size=40))
def test_anything_is_read_or_refused(text: str) -> None:
    decision = asks(c.HouseCardChoice(ME, area="blackwater", choice="the-hound"))
    for whole in (text, f"march {text}", f"orders {text}", f"muster {text}", f"ability {text}"):
        with suppress(NotationError):
            read(whole, decision)
        with suppress(NotationError):
            parse_letter(whole, house=ME, lexicon=SECOND)


def test_every_kind_has_a_reader_a_usage_and_begins_an_answer() -> None:
    assert set(USAGE) == set(kinds.KINDS)
    assert set(kinds.KINDS) | set(c.ALL_ABILITIES) <= set(READERS)
    assert {kind for _, kinds in HEADS.values() for kind in kinds} == set(READERS)
    assert set(FIELDS) == set(kinds.ANSWERS)


# The page


def rows(heading: str) -> list[list[str]]:
    section = DOCS.split(f"## {heading}\n")[1].split("\n## ")[0]
    return [
        [cell.strip() for cell in line.strip("| ").split(" | ")]
        for line in section.split("\n")
        if line.startswith("| ")
    ]


CANONICAL = [
    row for row in rows("Canonical text, decision by decision") if len(row) == 2 and row[0].strip("`") in kinds.KINDS
]
FORGIVING = [row for row in rows("What else is understood") if row[0].startswith("`")]


def test_the_page_shows_every_kind_and_ability() -> None:
    assert list(dict.fromkeys(kind.strip("`") for kind, _ in CANONICAL)) == list(kinds.KINDS)
    assert all(any(f" {ability}: " in example for _, example in CANONICAL) for ability in c.ALL_ABILITIES)


@pytest.mark.parametrize(("kind", "example"), CANONICAL)
def test_an_example_of_the_page_is_canonical(kind: str, example: str) -> None:
    text = example.strip("`")
    answer = read(text)
    assert answer.kind == kind.strip("`")
    assert format_answer(answer) == text


@pytest.mark.parametrize(("written", "meant"), FORGIVING)
def test_an_example_of_the_page_is_understood_or_refused(written: str, meant: str) -> None:
    if meant.startswith("refused: "):
        assert mistake(written.strip("`")) == meant.removeprefix("refused: ").strip("`")
    else:
        assert canonical(written.strip("`")) == meant.strip("`")


def test_the_tokens_of_the_page_are_those_that_print() -> None:
    shown = dict(re.findall(r"`([a-z0-9-]+)`(?:, `-b`)? \| `([a-z0-9+*-]+)`", DOCS))
    assert shown == {token.id: short_order(token.id) for token in TOKENS if not token.id.endswith("-b")}


def test_the_words_of_the_grammar_are_those_of_the_notation() -> None:
    grammar = DOCS.split("```ebnf\n")[1].split("```")[0]
    literals = set(re.findall(r'"([^"]+)"', grammar))
    assert set(c.ALL_ABILITIES) <= literals
    assert {short_order(token.id) for token in TOKENS} <= literals
    assert {example.strip("`").split()[0] for _, example in CANONICAL} <= literals


def test_the_letter_of_the_page_is_read_as_it_says() -> None:
    letter, said = (DOCS.split(f"```{block}\n")[1].split("```")[0] for block in ("letter", "answers"))
    found = parse_letter(letter, house=None, lexicon=SECOND)
    texts = [f"{line}: {format_answer(item)}" for line, item in found if isinstance(item, c.HouseAnswer)]
    assert texts == said.splitlines()
    assert {item.house for _, item in found if isinstance(item, c.HouseAnswer)} == {"lannister"}
    assert [item for _, item in found if isinstance(item, Header)] == [
        Header("game", "winter-7"),
        Header("house", "Lannister"),
    ]


# Forgiving input

UNDERSTOOD = [
    ("Throne of Blades: Muster", "throne-of-blades mustering"),
    ("THRONE_OF_BLADES none", "throne-of-blades nothing"),
    ("dark wings: clash", "dark-wings clash-of-kings"),
    ("dark wings power", "dark-wings collect-power"),
    ("put to the sword: no march+1", "put-to-the-sword no-march-plus-1"),
    ("put to the sword no defence", "put-to-the-sword no-defense"),
    ("reconcile 2 footmen @ Seagard, knight @ Pyke", "reconcile-supply pyke: knight; seagard: 2 footman"),
    ("reconcile-supply seagard footman, knight; pyke 2s", "reconcile-supply pyke: 2 ship; seagard: footman, knight"),
    ("reconcile-supply seagard footman, pyke ship", "reconcile-supply pyke: ship; seagard: footman"),
    ("Muster: Lannisport: 2 footmen", "muster lannisport: footman; footman"),
    ("recruit in Lannisport: k", "muster lannisport: knight"),
    ("muster KL: footman -> siege engine", "muster kings-landing: siege-engine from footman"),
    ("muster KL: knight instead of footman", "muster kings-landing: knight from footman"),
    ("muster KL: upgrade to knight; DS: f", "muster kings-landing: knight from footman; dragonstone: footman"),
    ("muster KL: knight from routed footman", "muster kings-landing: knight from routed footman"),
    ("muster oldtown f, ship in port of oldtown", "muster oldtown: footman; ship @ port-of-oldtown"),
    ("bid Fiefs: 3", "bid fiefdoms 3"),
    ("bid three power for the king's court", "bid kings-court 3"),
    ("Influence bid throne 0", "bid iron-throne 0"),
    ("bid nothing for raven", "bid kings-court 0"),
    ("tie throne: Stark > Lannister; Greyjoy > Tyrell", "tie iron-throne: stark, lannister; greyjoy, tyrell"),
    ("tie fiefdoms stark, house tyrell", "tie fiefdoms: stark, tyrell"),
    ("bid wildlings: two", "bid wildlings 2"),
    ("wildling bid 5", "bid wildlings 5"),
    ("bid 5 for the Night's Watch", "bid wildlings 5"),
    ("wildling tie: Greyjoy", "tie wildlings: greyjoy"),
    ("preemptive raid: lose influence", "preemptive-raid lose-influence"),
    ("preemptive raid destroy", "preemptive-raid destroy-units"),
    ("preemptive-raid track blade", "preemptive-raid-track fiefdoms"),
    ("destroy units: 2f in Seagard", "destroy-units seagard: 2 footman"),
    ("horde castle units seagard 1f 1k", "horde-castle-units seagard: footman, knight"),
    ("crow killers degrade: Seagard 2 knights", "crow-killers-degrade replace seagard: 2 knight"),
    ("crow-killers-degrade destroy pyke: k", "crow-killers-degrade destroy pyke: knight"),
    ("crow killers upgrade: no", "crow-killers-upgrade none"),
    ("discard the hound", "massing-discard the-hound"),
    ("raise iron throne", "king-beyond-raise iron-throne"),
    ("king beyond lower: court", "king-beyond-lower kings-court"),
    ("retrieve Tywin", "mammoth-retrieve tywin-lannister"),
    ("mammoth-retrieve nothing", "mammoth-retrieve none"),
    ("horde muster area: none", "horde-muster-area none"),
    ("Orders: KL def+2; DS CP*; pyke special march", "orders dragonstone consolidate*, kings-landing defense+2, pyke march+1"),
    ("orders march-plus-1 @ pyke, m-1 in seagard", "orders pyke march+1, seagard march-1"),
    ("orders pyke = consolidate power, seagard -> march +1", "orders pyke consolidate, seagard march+1"),
    ("orders pyke defense*, seagard support+1, oldtown *raid", "orders oldtown raid*, pyke defense+2, seagard support*"),
    ("order pyke: d, seagard: march 0", "orders pyke defense, seagard march"),
    ("tentative orders: pyke m", "draft orders pyke march"),
    ("Raven: replace Lannisport with Consolidate Power *", "raven replace lannisport consolidate*"),
    ("raven lannisport: cp", "raven replace lannisport consolidate"),
    ("raven peek", "raven look"),
    ("messenger raven: pass", "raven nothing"),
    ("raven top", "raven-card top"),
    ("raven card: under", "raven-card bottom"),
    ("raid from the golden sound to sunset sea", "raid the-golden-sound -> sunset-sea"),
    ("raid golden_sound->sunset_sea", "raid the-golden-sound -> sunset-sea"),
    ("raid golden sound: nothing", "raid the-golden-sound -> nothing"),
    ("raid golden sound none", "raid the-golden-sound -> nothing"),
    ("march KL hold", "march kings-landing: nothing"),
    ("march KL: leave a power token", "march kings-landing: leave power"),
    ("move SE: 2f1k se → KL", "march storms-end: 2 footman, siege-engine, knight -> kings-landing"),
    ("march mm: knight (routed) + f -> eyrie", "march the-mountains-of-the-moon: footman, routed knight -> the-eyrie"),
    ("march king’s landing: 1 footman to the reach and 1 knight to harrenhal", "march kings-landing: footman -> the-reach; knight -> harrenhal"),
    ("ask support blackwater → KL", "neutral-support-request blackwater -> kings-landing"),
    ("neutral support request: no", "neutral-support-request nothing"),
    ("neutral support KL: kingswood yes; the reach no", "neutral-support kings-landing: kingswood grant, the-reach withhold"),
    ("capture Port of Lannisport: 2 ships", "capture-ships port-of-lannisport 2"),
    ("capture lannisport port none", "capture-ships port-of-lannisport 0"),
    ("Consolidate Power Lannisport", "consolidate lannisport power"),
    ("cp lannisport: recruit", "consolidate lannisport muster"),
    ("support blackwater: stony sept -> attack, harrenhal no", "support blackwater: harrenhal withhold, stoney-sept attacker"),
    ("accept support blackwater: harrenhal y", "accept-support blackwater: harrenhal accept"),
    ("accept blackwater: harrenhal: decline", "accept-support blackwater: harrenhal refuse"),
    ("House Card Blackwater Bay: Tywin", "card blackwater-bay: tywin-lannister"),
    ("card blackwater bay tyrion", "card blackwater-bay: tyrion-lannister"),
    ("play the Queen of Thorns @ highgarden", "card highgarden: queen-of-thorns"),
    ("card Pyke -> Euron Crow's Eye.", "card pyke: euron-crows-eye"),
    ("tyrion cancel blackwater: yes", "ability blackwater tyrion-cancel: cancel"),
    ("ability blackwater: tyrion cancel: no", "ability blackwater tyrion-cancel: leave"),
    ("aeron-swap pyke: no", "ability pyke aeron-swap: keep"),
    ("ability sunspear Doran: throne", "ability sunspear doran-track: iron-throne"),
    ("mace-footman highgarden: routed", "ability highgarden mace-footman: routed-footman"),
    ("ability highgarden Queen of Thorns: the Reach", "ability highgarden queen-of-thorns-order: the-reach"),
    ("ability riverrun cersei: nobody", "ability riverrun cersei-order: none"),
    ("ability DS renly: footman in kingswood", "ability dragonstone renly-upgrade: kingswood footman"),
    ("ability DS patchface: red viper", "ability dragonstone patchface-discard: the-red-viper"),
    ("blade redraw blackwater: yes", "blade-redraw blackwater: use"),
    ("blade-strength blackwater no", "blade-strength blackwater: do-not-use"),
    ("casualties Seagard: 1 footman and 1 knight", "losses seagard: footman, knight"),
    ("losses seagard 2f", "losses seagard: 2 footman"),
    ("losses: footman in seagard", "losses seagard: footman"),
    ("skull: seagard: K", "skull seagard: knight"),
    ("retreat from blackwater to harrenhal", "retreat blackwater -> harrenhal"),
    ("retreat to harrenhal from blackwater bay", "retreat blackwater-bay -> harrenhal"),
    ("retreat blackwater: leave it to the loser", "retreat blackwater -> leave"),
    ("retreat losses seagard: f f", "retreat-losses seagard: 2 footman"),
    ("lannister: raid golden sound -> nowhere", "raid the-golden-sound -> nothing"),
    ("Raven Look #7", "raven look #7"),
]  # fmt: skip


@pytest.mark.parametrize(("written", "meant"), UNDERSTOOD)
def test_what_a_person_would_write_is_understood(written: str, meant: str) -> None:
    assert canonical(written) == meant


def test_a_house_in_front_is_whose_answer_it_is() -> None:
    assert read("House Stark: bid wildlings 2") == c.WildlingBid("stark", bid=2)
    assert parse("stark: bid wildlings 2", house=None, lexicon=SECOND).house == "stark"


@pytest.mark.parametrize("id_", sorted(AREAS))
def test_every_area_goes_by_its_names_and_no_abbreviation_shadows_one(id_: str) -> None:
    name = AREAS[id_]
    bare = re.sub("^the ", "", name, flags=re.IGNORECASE)
    for written in (id_, name, name.upper(), bare, name.replace("'", ""), name.replace(" ", ""), id_.replace("-", "_")):
        assert SECOND.areas.find(written) == (id_,)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("KL", ["kings-landing"]),
        ("DS", ["dragonstone"]),
        ("Blackwater", ["blackwater"]),
        ("Blackwater Bay", ["blackwater-bay"]),
        ("black", ["blackwater", "blackwater-bay", "castle-black"]),
        ("blackw", ["blackwater", "blackwater-bay"]),
        ("water", []),
        ("bay", ["bay-of-ice", "blackwater-bay", "ironmans-bay", "shipbreaker-bay"]),
        ("dorne", ["sea-of-dorne"]),
        ("winter", ["winterfell"]),
        ("port of winter", ["port-of-winterfell"]),
        ("KL port", []),
        ("summer sea", ["east-summer-sea", "west-summer-sea"]),
        ("motm", ["the-mountains-of-the-moon"]),
        ("x", []),
        ("", []),
    ],
)
def test_abbreviations(written: str, meant: list[str]) -> None:
    assert sorted(SECOND.areas.find(written)) == meant


# Mistakes

MISTAKES = [
    ("", "column 1: there is no answer here"),
    ("   ", "column 4: there is no answer here"),
    ("hello world", 'column 1: "hello" begins no answer; expected the kind of answer first'),
    ("mrch lannisport: 2 footman -> riverrun", 'column 1: "mrch" begins no answer; did you mean march?'),
    ("lanister: raid pyke -> nothing", 'column 1: "lanister" begins no answer; did you mean lannister:?'),
    ("march lanisport: footman -> riverrun", 'column 7: no area "lanisport"; did you mean lannisport or port-of-lannisport?'),
    ("march lannisport: footman -> rivrun", 'column 30: no area "rivrun"; did you mean riverrun?'),
    ("march lannisport: footman", 'column 26: "footman" has no destination; expected "-> AREA"'),
    ("march lannisport: 2 -> riverrun", "column 20: something is missing here; expected the units that are counted"),
    ("march lannisport: 2 footmann -> riverrun", 'column 21: no unit "footmann"; did you mean footman?'),
    ("march lannisport: all -> riverrun", 'column 19: no unit "all"; expected footman, ship, siege-engine or knight'),
    ("march lannisport", 'column 7: this does not say which question it answers; expected "march AREA: UNITS -> AREA; UNITS -> AREA; leave power"'),
    ("march lannisport:", 'column 18: the moves are missing; expected "UNITS -> AREA" or "nothing"'),
    ("march lannisport: f -> riverrun; nothing", 'column 19: there is a move and "nothing" too'),
    ("orders lannisport", 'column 18: "lannisport" has no order; expected "AREA ORDER"'),
    ("orders lannisport mrach", 'column 19: no order "mrach"; did you mean march or march+1?'),
    ("orders lannisport march 1", 'column 19: no order "march 1"; did you mean march-1, march+1 or march?'),
    ("orders lannisport march, Lannisport raid", "column 26: lannisport is named twice"),
    ("orders port of kings landing cp", "column 8: kings-landing has no port"),
    ("orders", 'column 7: the orders are missing; expected "orders AREA ORDER, AREA ORDER"'),
    ("card blackwater: lannister", 'column 18: "lannister" could be cersei-lannister, ser-jaime-lannister, ser-kevan-lannister, tyrion-lannister or tywin-lannister'),
    ("card blackwater: tiwin", 'column 18: no House card "tiwin"'),
    ("card blackwater: tywin lanister", 'column 18: no House card "tywin lanister"; did you mean tywin-lannister or tyrion-lannister?'),
    ("card tywin", 'column 6: this does not say which question it answers; expected "card AREA: CARD"'),
    ("card blackwater:", "column 17: something is missing here; expected the name of a House card"),
    ("bid fiefdoms", 'column 5: the number is missing; expected "bid TRACK NUMBER"'),
    ("bid 3", 'column 5: this does not say what is bid for; expected "bid TRACK NUMBER" or "bid wildlings NUMBER"'),
    ("bid fiefdoms -3", 'column 14: "-3" is no number; expected a number'),
    ("bid fiefdoms 3 4", 'column 5: there is more than one number; expected "bid TRACK NUMBER"'),
    ("bid fiefdoms 99999", 'column 14: "99999" is no number; expected a number'),
    ("bid fifdoms 3", 'column 5: no track "fifdoms"; did you mean fiefdoms?'),
    ("bid throne fiefdoms 3", 'column 5: no track "throne fiefdoms"; did you mean fiefdoms?'),
    ("muster lannisport: ship", 'column 20: a Ship needs a place; expected "ship @ PLACE" for lannisport'),
    ("muster kings-landing: ship @ port", "column 30: kings-landing has no port"),
    ("muster footman", 'column 8: this does not say which question it answers; expected "muster AREA: UNIT; UNIT from footman; ship @ PLACE"'),
    ("raven maybe", 'column 7: "maybe" is no answer here; expected "raven replace AREA ORDER|look|nothing"'),
    ("raven", 'column 6: the choice is missing; expected "raven replace AREA ORDER|look|nothing"'),
    ("support blackwater: attacker", 'column 21: the orders are not named; expected "support AREA: AREA attacker|defender|withhold"'),
    ("support blackwater: harrenhal everybody", 'column 31: "everybody" is no answer here; expected attacker, defender or withhold'),
    ("ability blackwater: yes", "column 9: no ability is named here; expected tyrion-cancel, tyrion-replacement, aeron-swap, doran-track, mace-footman, queen-of-thorns-order, cersei-order, renly-upgrade, patchface-discard, luwin-retrieve, asha-order, melisandre-discard or loras-footman"),
    ("tie fiefdoms: stark, targaryen", 'column 22: no House "targaryen"'),
    ("destroy seagard: f", 'column 1: "destroy" could be "reconcile-supply AREA: UNITS; AREA: UNITS", "destroy-units AREA: UNITS; AREA: UNITS" or "horde-castle-units AREA: UNITS"'),
    ("dark wings: maybe", 'column 13: "maybe" is no answer here; expected clash-of-kings, collect-power or nothing'),
    ("raven look # for wildlings", 'column 12: "#" may only begin the number of the question, at the end: #41'),
    ("raid pyke | seagard", 'column 11: "|" means nothing here'),
    ("capture-ships port of pyke many", 'column 28: "many" is no number; expected a number of Ships'),
    ("raid " + "x" * 5000, "column 4001: the text is longer than 4000 characters"),
    ("raid " + "x" * 100 + " -> nothing", f'column 6: no area "{"x" * 60}…"'),
]  # fmt: skip


@pytest.mark.parametrize(("written", "message"), MISTAKES)
def test_a_mistake_is_named_with_its_place(written: str, message: str) -> None:
    assert mistake(written) == message


def test_an_answer_of_nobody_is_refused() -> None:
    with pytest.raises(NotationError, match='column 1: this does not say whose answer it is; expected "HOUSE: …"'):
        parse("raven look", house=None, lexicon=SECOND)


# Open questions

CARD = asks(c.HouseCardChoice(ME, area="blackwater", choice="the-hound"), Words(words=("the-hound", "tywin-lannister")))
BID = asks(c.InfluenceBid(ME, track="fiefdoms", bid=0), Amount(field="bid", most=5))
SUPPORT = asks(
    c.Support(ME, area="blackwater", orders={"harrenhal": "withhold", "stoney-sept": "withhold"}),
    PerOrder(orders=dict.fromkeys(("harrenhal", "stoney-sept"), ("attacker", "defender", "withhold"))),
)
RENLY = asks(
    c.CardAbility(ME, area="blackwater", ability="renly-upgrade", choice="none"),
    Words(words=("none", "kingswood routed-footman")),
)
TYRION, REPLACEMENT = (
    asks(c.CardAbility(ME, area="blackwater", ability=ability, choice=choice))
    for ability, choice in (("tyrion-cancel", "leave"), ("tyrion-replacement", "asha-greyjoy"))
)
RAIDS = asks(c.Raid(ME, area="pyke"), RaidChoices(orders={"pyke": ("seagard",)}))
POWER = asks(c.Consolidate(ME, area="pyke"), ConsolidateChoices(orders={"pyke": ("power", "muster")}))

OPEN = [
    ("tywin-lannister", CARD, "card blackwater: tywin-lannister"),
    ("Play Tywin", CARD, "card blackwater: tywin-lannister"),
    ("3", BID, "bid fiefdoms 3"),
    ("bid 3", BID, "bid fiefdoms 3"),
    ("nothing", BID, "bid fiefdoms 0"),
    ("4", asks(c.WildlingBid(ME, bid=0)), "bid wildlings 4"),
    ("bid 4", asks(c.WildlingBid(ME, bid=0)), "bid wildlings 4"),
    ("attacker", SUPPORT, "support blackwater: harrenhal attacker, stoney-sept attacker"),
    ("support attacker", SUPPORT, "support blackwater: harrenhal attacker, stoney-sept attacker"),
    ("support blackwater: none", SUPPORT, "support blackwater: harrenhal withhold, stoney-sept withhold"),
    ("support blackwater attacker", SUPPORT, "support blackwater: harrenhal attacker, stoney-sept attacker"),
    ("harrenhal attacker, stoney sept no", SUPPORT, "support blackwater: harrenhal attacker, stoney-sept withhold"),
    ("support harrenhal attacker", SUPPORT, "support blackwater: harrenhal attacker"),
    ("yes", asks(c.AcceptSupport(ME, area="pyke", orders={"seagard": True})), "accept-support pyke: seagard accept"),
    ("refuse", asks(c.AcceptSupport(ME, area="pyke", orders={"seagard": True})), "accept-support pyke: seagard refuse"),
    (
        "grant",
        asks(c.NeutralSupport(ME, target="pyke", orders={"seagard": False})),
        "neutral-support pyke: seagard grant",
    ),
    ("use", asks(c.BladeStrength(ME, area="pyke", choice="do-not-use")), "blade-strength pyke: use"),
    ("no", asks(c.BladeStrength(ME, area="pyke", choice="do-not-use")), "blade-strength pyke: do-not-use"),
    ("blade: keep", asks(c.BladeRedraw(ME, area="pyke", choice="keep")), "blade-redraw pyke: keep"),
    ("footman", asks(c.SkullCasualty(ME, area="pyke", units={"knight": 1})), "skull pyke: footman"),
    ("lose a footman", asks(c.RetreatLosses(ME, area="pyke", units={"knight": 1})), "retreat-losses pyke: footman"),
    ("destroy pyke: ship", asks(c.DestroyUnits(ME, units={})), "destroy-units pyke: ship"),
    ("destroy-units", asks(c.PreemptiveRaid(ME, choice="lose-influence")), "preemptive-raid destroy-units"),
    ("supply", asks(c.ThroneOfBlades(ME, choice="nothing")), "throne-of-blades supply"),
    ("mustering", asks(c.ThroneOfBlades(ME, choice="nothing")), "throne-of-blades mustering"),
    ("riverrun", asks(c.RetreatArea(ME, area="pyke", choice="seagard")), "retreat pyke -> riverrun"),
    ("retreat to riverrun", asks(c.RetreatArea(ME, area="pyke", choice="seagard")), "retreat pyke -> riverrun"),
    ("-> riverrun", asks(c.RetreatArea(ME, area="pyke", choice="seagard")), "retreat pyke -> riverrun"),
    ("2", asks(c.CaptureShips(ME, port="port-of-pyke", ships=1)), "capture-ships port-of-pyke 2"),
    ("stark, tyrell", asks(c.InfluenceTie(ME, track="fiefdoms", groups=())), "tie fiefdoms: stark, tyrell"),
    ("tie stark, tyrell", asks(c.InfluenceTie(ME, track="fiefdoms", groups=())), "tie fiefdoms: stark, tyrell"),
    ("tie stark", asks(c.WildlingTie(ME, choice="tyrell")), "tie wildlings: stark"),
    ("stark", asks(c.WildlingTie(ME, choice="tyrell")), "tie wildlings: stark"),
    ("kingswood", RENLY, "ability blackwater renly-upgrade: kingswood routed-footman"),
    ("renly-upgrade: kingswood", RENLY, "ability blackwater renly-upgrade: kingswood routed-footman"),
    ("cancel", TYRION, "ability blackwater tyrion-cancel: cancel"),
    ("yes", TYRION, "ability blackwater tyrion-cancel: cancel"),
    ("Aeron Damphair", REPLACEMENT, "ability blackwater tyrion-replacement: aeron-damphair"),
    ("ability aeron-damphair", REPLACEMENT, "ability blackwater tyrion-replacement: aeron-damphair"),
    ("ability pyke aeron-swap: keep", REPLACEMENT, "ability pyke aeron-swap: keep"),
    ("no", RENLY, "ability blackwater renly-upgrade: none"),
    ("-> seagard", RAIDS, "raid pyke -> seagard"),
    ("raid -> nothing", RAIDS, "raid pyke -> nothing"),
    ("muster", POWER, "consolidate pyke muster"),
    ("consolidate: power", POWER, "consolidate pyke power"),
    ("look", asks(c.Raven(ME, choice="nothing")), "raven look"),
    ("top", asks(c.RavenCard(ME, choice="top")), "raven-card top"),
    ("the hound #12", asks(c.MassingDiscard(ME, choice="the-hound")), "massing-discard the-hound #12"),
    ("raven", asks(c.KingBeyondRaise(ME, choice="fiefdoms")), "king-beyond-raise kings-court"),
    ("pyke march+1, seagard cp", asks(c.AssignOrders(ME, orders={})), "orders pyke march+1, seagard consolidate"),
]


@pytest.mark.parametrize(("written", "decision", "meant"), OPEN)
def test_an_answer_may_leave_out_the_only_open_question(written: str, decision: Decision[Any], meant: str) -> None:
    assert canonical(written, decision) == meant


def test_an_answer_that_names_another_question_is_not_bent_to_the_open_one() -> None:
    assert canonical("card pyke: the hound", CARD) == "card pyke: the-hound"
    assert canonical("losses pyke: footman", asks(c.RetreatLosses(ME, area="pyke", units={}))) == "losses pyke: footman"
    assert mistake("support pyke: attacker", SUPPORT).startswith("column 15: the orders are not named")


def test_an_answer_that_fits_two_open_questions_is_refused_with_both() -> None:
    both = BID, asks(c.WildlingBid(ME, bid=0), Amount(field="bid", most=5))
    assert mistake("3", *both) == 'column 1: "3" could be "bid fiefdoms 3" or "bid wildlings 3"'


def test_of_two_questions_the_one_that_takes_the_answer_is_meant() -> None:
    small = asks(c.InfluenceBid(ME, track="fiefdoms", bid=0), Amount(field="bid", most=1))
    assert canonical("3", small, asks(c.WildlingBid(ME, bid=0), Amount(field="bid", most=5))) == "bid wildlings 3"


def test_an_open_question_of_another_house_answers_nothing() -> None:
    assert mistake("3", asks(c.WildlingBid("stark", bid=0))).startswith('column 1: "3" begins no answer')


def test_a_bare_mistake_is_that_of_the_only_open_question() -> None:
    assert mistake("tiwin", CARD) == 'column 1: no House card "tiwin"'


def test_an_area_alone_does_not_choose_between_power_and_muster() -> None:
    expected = (
        'column 13: this order may give Power or muster; expected "consolidate pyke power" or "consolidate pyke muster"'
    )
    assert mistake("consolidate pyke", POWER) == expected
    only_power = asks(c.Consolidate(ME, area="pyke"), ConsolidateChoices(orders={"pyke": ("power",)}))
    assert canonical("consolidate pyke", only_power) == "consolidate pyke power"


# Twins


def test_twins_are_dealt_out_in_ascending_order_of_areas() -> None:
    assert read("orders seagard cp, pyke cp, oldtown raid") == c.AssignOrders(
        ME, orders={"oldtown": "raid-a", "pyke": "consolidate-a", "seagard": "consolidate-b"}
    )


def test_a_twin_named_in_full_is_kept_and_the_other_left_for_the_rest() -> None:
    assert read("orders pyke cp, seagard consolidate-a") == c.AssignOrders(
        ME, orders={"pyke": "consolidate-b", "seagard": "consolidate-a"}
    )


def test_a_third_twin_is_left_to_the_rules_to_refuse() -> None:
    orders = {"oldtown": "raid-a", "pyke": "raid-b", "seagard": "raid-b"}
    assert read("orders pyke raid, seagard raid, oldtown raid") == c.AssignOrders(ME, orders=orders)


def test_the_raven_takes_the_twin_that_is_free() -> None:
    assert read("raven replace pyke cp") == c.Raven(ME, choice="replace", area="pyke", order="consolidate-a")
    used = read("raven replace pyke cp", used_orders=["consolidate-a", "raid-a"])
    assert used == c.Raven(ME, choice="replace", area="pyke", order="consolidate-b")


# Letters


def test_a_letter_is_read_line_by_line() -> None:
    letter = (
        "Game: g-1\nSeat: s-2\n\n# my answers\nraven look\n"
        "orders:\n  pyke march\n  seagard cp, oldtown\traid\n> old\nstark: bid wildlings 2 #9\n-- \nraven nothing"
    )
    orders = {"oldtown": "raid-a", "pyke": "march-0", "seagard": "consolidate-a"}
    assert parse_letter(letter, house=ME, lexicon=SECOND) == [
        (1, Header("game", "g-1")),
        (2, Header("seat", "s-2")),
        (5, c.Raven(ME, choice="look")),
        (6, c.AssignOrders(ME, orders=orders)),
        (10, c.WildlingBid("stark", bid=2, question=9)),
    ]


@pytest.mark.parametrize(
    ("letter", "message"),
    [
        (
            "raven look\nraven lok",
            'line 2, column 7: "lok" is no answer here; expected "raven replace AREA ORDER|look|nothing"',
        ),
        ("\n\norders pyke march,\n   seagard foo", 'line 4, column 12: no order "foo"; did you mean'),
        ("house: lanister", 'line 1, column 8: no House "lanister"; did you mean lannister?'),
        (
            "#41 tywin",
            'line 1, column 1: a line that begins with "#" is a comment, and this may be an answer; expected',
        ),
    ],
)
def test_a_mistake_in_a_letter_has_its_line(letter: str, message: str) -> None:
    with pytest.raises(NotationError) as refused:
        parse_letter(letter, house=ME, lexicon=SECOND)
    assert str(refused.value).startswith(message)


def test_the_lines_of_a_letter_can_be_taken_one_at_a_time() -> None:
    lines = split_letter("game: x\nraven look\n\tbid wildlings 2\r\nmarch pyke:\nnothing\n")
    assert [(line.number, line.header is None) for line in lines] == [(1, False), (2, True), (4, True)]
    assert parse_line(lines[2], house=ME, lexicon=SECOND) == c.MarchOrder(ME, area="pyke")


# Another edition


def test_another_edition_has_its_own_names() -> None:
    other = lexicon(
        areas={"eyrie": "Eyrie", "vale-of-arryn": "Vale of Arryn"},
        houses={"arryn": "Arryn"},
        cards={"lysa-arryn": "Lysa Arryn"},
        tokens=(OrderToken("march-0", "march", False, 0), OrderToken("march-plus-2", "march", True, 2)),
    )
    answer = parse("orders vale march*", house="arryn", lexicon=other)
    assert answer == c.AssignOrders("arryn", orders={"vale-of-arryn": "march-plus-2"})
    assert format_answer(answer) == "orders vale-of-arryn march+2"
    assert parse("card VoA: lysa", house="arryn", lexicon=other) == c.HouseCardChoice(
        "arryn", area="vale-of-arryn", choice="lysa-arryn"
    )
    with pytest.raises(NotationError, match='no area "KL"'):
        parse("march KL: nothing", house="arryn", lexicon=other)

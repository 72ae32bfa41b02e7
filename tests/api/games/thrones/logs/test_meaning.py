"""Sentences of logs that nobody has seen yet: what they mean is read off their names, and what is unclear stays."""

from __future__ import annotations

from typing import Any

import pytest

from api.games.thrones.logs import records
from api.games.thrones.logs.grammar import read_record
from api.games.thrones.logs.lines import clean
from api.games.thrones.logs.meaning import effects

r = records

BEATEN = "The crowds of Wildlings have been blown away by the armies of Westeros!"
OVERRUN = "The Wildlings overwhelmed Stark's troops."
WORDINGS: tuple[tuple[r.Record, tuple[str, ...]], ...] = (
    (
        r.OrdersSet("stark"),
        ("House Stark has placed all orders.", "Stark gave his orders", "Stark changed his orders."),
    ),
    (
        r.RavenLooked("stark"),
        (
            "Stark looked at the top card of the Wildling deck.",
            "Stark used the Messenger Raven to look at the top Wildling card.",
        ),
    ),
    (
        r.RavenKept("stark"),
        (
            "Stark left the card on top of the Wildling deck.",
            "Stark put the Wildling card back on top of the deck.",
        ),
    ),
    (
        r.RavenBuried("stark"),
        (
            "Stark put the Wildling card at the bottom of the deck.",
            "Stark moved the top card to the bottom of the Wildling deck.",
        ),
    ),
    (r.RavenUnused("stark"), ("Stark has not used the Messenger Raven.", "Stark declined to use the messenger raven.")),
    (
        r.RavenReplaced("stark", "karhold", "raid", "support-plus-1"),
        (
            "Stark used the Messenger Raven to replace the Raid Order in Karhold with a Support(+1) Order.",
            "Stark exchanged his Raid order in Karhold for a Support (+1) order.",
            "Stark placed a Support(+1) Order in Karhold instead of the Raid Order.",
            "The Raid Order in Karhold has been replaced by Stark with a Support(+1) Order.",
        ),
    ),
    (
        r.Raided("stark", (("bay-of-ice", "support-0"),)),
        (
            "Stark raided Greyjoy's Support Order in Bay of Ice.",
            "Stark raided the Support Order in Bay of Ice from Winterfell.",
            "The Support Order in Bay of Ice has been raided by Stark.",
            "Stark raids the Support order of Greyjoy in Bay of Ice.",
        ),
    ),
    (
        r.RaidUnusable("bay-of-ice"),
        (
            "Stark's Raid Order in Bay of Ice is unusable and has been removed.",
            "The unusable Raid Order in Bay of Ice was removed.",
            "Raid Order in Bay of Ice has been removed (no target).",
        ),
    ),
    (
        r.OrderGivenUp("stark", "winterfell", "march-plus-1"),
        (
            "Stark discarded the March(+1) Order in Winterfell.",
            "The March(+1) Order in Winterfell has been removed by Stark.",
            "Stark took off his March (+1) order from Winterfell.",
        ),
    ),
    (
        r.Marched("stark", "winterfell", "land", (r.Step("karhold", {"footman": 1}),)),
        (
            "Stark marched from Winterfell to Karhold with 1 Footman.",
            "Stark moved 1 Footman from Winterfell to Karhold.",
            "Stark marched out of Winterfell\n- to Karhold: 1 Footman",
        ),
    ),
    (
        r.Marched(
            "stark", "winterfell", "land", (r.Step("karhold", {"footman": 1}), r.Step("moat-cailin", {"knight": 2}))
        ),
        (
            "Stark marches from Winterfell:\n- to Karhold with a Footman\n- to Moat Cailin with 2 Knights",
            "Stark marched out of Winterfell to Karhold with 1 Footman and to Moat Cailin with 2 Knights.",
        ),
    ),
    (
        r.SupportGiven("stark", "tyrell", 3),
        (
            "Stark supports House Tyrell with a strength of 3.",
            "Stark gave a support of [3] to Tyrell.",
            "Tyrell receives support from Stark (3).",
            "Tyrell is supported by Stark with 3.",
        ),
    ),
    (
        r.SupportWithheld("stark"),
        (
            "Stark does not support any House.",
            "Stark will not support anyone.",
            "Stark refused to support Tyrell.",
            "Stark withheld his support.",
            "Stark decided to support neither side.",
            "Stark declined to support Lannister.",
            "Stark decided to support nobody.",
        ),
    ),
    (
        r.SupportRefused("stark", "tyrell"),
        (
            "Stark rejected Tyrell's support.",
            "Stark declined the support from House Tyrell.",
            "Stark does not accept the support of Tyrell.",
            "The support of Tyrell has been refused by Stark.",
            "Tyrell's support was rejected by Stark.",
            "Stark decided to refuse the support offered by Tyrell.",
        ),
    ),
    (
        r.CardChosen("stark", 2, "roose-bolton"),
        (
            "Stark has chosen Roose Bolton (2) to lead his forces.",
            "Stark selected the house card (2) Roose Bolton.",
            "Stark plays Roose Bolton.",
            "Stark's forces are led by (2) Roose Bolton.",
        ),
    ),
    (
        r.CardMissing("stark"),
        (
            "Stark has no house cards left.",
            "Stark cannot play any house card.",
            "Stark fights without a House card.",
        ),
    ),
    (
        r.TidesDrawn("stark", "tides-two"),
        (
            "Stark drew a Tides of Battle card: +2",
            "Tides of Battle: Stark drew [2].",
            "Stark drew (2) from the Tides of Battle deck.",
        ),
    ),
    (
        r.TidesDrawn("stark", "tides-skull"),
        ("Stark drew a Tides of Battle card: Skull", "Tides of Battle: Stark +0, 1 skull"),
    ),
    (
        r.TidesDrawn("stark", "tides-zero"),
        ("Stark drew the Tides of Battle card 0.", "Stark drew a Tides of Battle card (0)."),
    ),
    (r.TidesDrawn("stark", "tides-sword"), ("Stark drew the Tides of Battle card 1 with a sword.",)),
    (r.BladeUsed("stark"), ("Stark used the Valyrian Steel Blade.", "Stark uses the Valyrian Steel Blade (+1).")),
    (
        r.BladeDeclined("stark"),
        ("Stark did not use the Valyrian Steel Blade.", "Stark refused to use the Valyrian Steel Blade."),
    ),
    (
        r.AbilityDeclined("stark", "catelyn-stark"),
        (
            "Stark did not use Catelyn Stark's special ability.",
            "Stark declined to use the ability of (0) Catelyn Stark.",
            "Stark decided not to use the text of Catelyn Stark.",
        ),
    ),
    (
        r.CardCancelled("lannister", "tyrion-lannister"),
        (
            "Lannister used the special ability of Tyrion Lannister to return Roose Bolton to the hand of his owner.",
            "Lannister cancelled (2) Roose Bolton with (1) Tyrion Lannister's special ability.",
        ),
    ),
    (
        r.CardExchanged("greyjoy", "aeron-damphair"),
        (
            "Greyjoy used the special ability of Aeron Damphair to play a different house card.",
            "Greyjoy exchanged Aeron Damphair for another House card.",
        ),
    ),
    (
        r.RivalLowered("tyrell", "doran-martell", "stark", "fiefdoms"),
        (
            "Tyrell used Doran's special ability to put Stark at the last place of the Fiefdoms track.",
            "Tyrell used the ability of Doran Martell: House Stark moves to the bottom of the Fiefdoms track.",
        ),
    ),
    (
        r.BattleLost("stark", "withdrew", "karhold", {"footman": 1, "knight": 1}),
        (
            "Stark lost the battle and retreated to Karhold.\n- 1 Footman and 1 Knight were killed.",
            "Stark was defeated and withdrew to Karhold.\n- Following units were destroyed: 1 Footman | 1 Knight |",
            "Stark lost the battle and withdrew to Karhold. Following units were killed: 1 Footman | 1 Knight |",
            "Stark lost the battle, withdrew to Karhold and lost 1 Footman, 1 Knight.",
        ),
    ),
    (
        r.BattleLost("stark", "stuck", None, {"ship": 2}),
        (
            "Stark lost the battle and was unable to retreat.\n- 2 Ships were destroyed.",
            "Tyrell won the battle. Stark could not withdraw.\n- Killed units: 2 Ships",
        ),
    ),
    (
        r.AbilityResolved(
            "stark", 2, "roose-bolton", (r.CardsTakenBack("stark", ((2, "greatjon-umber"), (2, "roose-bolton"))),)
        ),
        (
            "Stark resolved (2) Roose Bolton's special ability.\n- Stark took back Greatjon Umber | Roose Bolton |",
            "Stark used Roose Bolton's special ability.\n- (2) Greatjon Umber and (2) Roose Bolton were taken back.",
        ),
    ),
    (
        r.AbilityResolved("tyrell", 0, "queen-of-thorns", (r.OrderTakenOff("bay-of-ice", "raid"),)),
        (
            "Tyrell resolved (0) Queen of Thorns's special ability.\n- Raid Order of Stark in Bay of Ice was removed",
            "Tyrell used Queen of Thorns's special ability: the Raid Order in Bay of Ice has been removed.",
        ),
    ),
    (
        r.AbilityResolved("tyrell", 3, "ser-loras-tyrell", (r.OrderShifted("highgarden", "march-0", "the-reach"),)),
        (
            "Tyrell resolved (3) Ser Loras Tyrell's special ability.\n- March order moved: Highgarden to The Reach.",
            "Tyrell resolved (3) Ser Loras Tyrell's special ability.\n- March Order moved, Highgarden - The Reach",
        ),
    ),
    (
        r.PowerTaken("stark", "winterfell", 2),
        (
            "Stark resolved his Consolidate Power(*) Order in Winterfell and got 2 Power tokens.",
            "Stark consolidated power in Winterfell (+2).",
            "Stark gains 2 power from Winterfell.",
        ),
    ),
    (
        r.SpecialMustered("stark", "winterfell", {"footman": 1, "ship": 1}),
        (
            "Stark used his special Consolidate Power Order in Winterfell to muster 1 Footman and 1 Ship.",
            "Stark mustered new units in Winterfell:\n- 1 Footman | 1 Ship |",
        ),
    ),
    (
        r.PowerConsolidated({"stark": 2, "martell": 1}),
        (
            "New power: Stark(+2) - Martell(+1)",
            "Houses collected power:\n- Martell: 1\n- Stark: 2",
        ),
    ),
    (r.PowerConsolidated({}), ("Houses consolidate new power: nobody got any power.",)),
    (
        r.GameOfThronesPower({"stark": 2, "martell": 1}),
        (
            "'Game of Thrones' - Houses collected new power: Stark(+2) - Martell(+1)",
            "Game of Thrones: Houses gained power\n- Stark +2 | Martell +1 |",
        ),
    ),
    (
        r.WinterCame("sea-of-storms", True),
        (
            "Winter is Coming: the deck was shuffled. New card: 'Sea of Storms (W)'",
            "'Winter is Coming' - The deck has been reshuffled. Now: Sea of Storms (W)",
        ),
    ),
    (
        r.WesterosChoice("put-to-the-sword", False, "valyrian-steel-blade", "storm-of-swords", True),
        (
            "'Put To the Sword' - The holder of the Valyrian Steel Blade decided for: 'Storm of Swords (W)'",
            "Put to the Sword: Storm of Swords (W) was chosen",
        ),
    ),
    (
        r.WesterosChoice("put-to-the-sword", False, "valyrian-steel-blade"),
        ("'Put To the Sword' - The holder of the Valyrian Steel Blade decided that nothing happens.",),
    ),
    (
        r.WesterosChoice("dark-wings-dark-words", True, "messenger-raven", "clash-of-kings"),
        ("'Dark Wings, Dark Words (W)' - The holder of the Messenger Raven selected: Clash of Kings",),
    ),
    (
        r.WesterosChoice("a-throne-of-blades", True, "iron-throne-token", "supply"),
        ("'A Throne of Blades (W)' - The holder of the Iron Throne decided for 'Supply'.",),
    ),
    (
        r.SupplyCounted("stark", 3),
        ("Stark has a new supply of 3.", "Stark's supply is now [3].", "New supply of Stark: 3"),
    ),
    (
        r.SupplyCounted("stark", 1, {"footman": 1, "ship": 1}),
        (
            "Stark got new supplies (1).\n- Stark had to remove 1 Footman and 1 Ship",
            "Stark got new supplies (1).\n- Following units were removed: 1 Footman | 1 Ship |",
            "Stark got new supplies (1) and had to destroy 1 Footman, 1 Ship.",
            "Stark got new supplies (1).\n- Stark lost units because of supply: 1 Footman | 1 Ship",
        ),
    ),
    (
        r.Mustered("stark", {"footman": 2, "knight-upgrade": 1, "ship": 1}),
        (
            "Stark mustered 2 Footmen, 1 Upgrade to a Knight and 1 Ship.",
            "Stark has mustered the following units:\n- 2 Footmen | 1 Upgrades to a Knight | 1 Ship |",
            "Stark mustered new units: 2 Footmen | 1 Upgrades to a Knight | 1 Ship |",
            "Stark mustered new units:\n- 2 Footmen\n- 1 Upgrades to a Knight\n- 1 Ship",
        ),
    ),
    (
        r.Bid("stark", "kings-court", 4),
        (
            "Stark bid [4] for the King's Court track.",
            "Stark bids 4 power tokens on the Kings Court track.",
            "King's Court track: Stark exerted a power of [4].",
        ),
    ),
    (
        r.TrackOrdered("fiefdoms", ("stark", "tyrell", "martell")),
        (
            "The new order on the Fiefdoms track is: Stark, Tyrell, Martell",
            "New order of the Fiefdoms track:\n- Tyrell [2] | Stark [1] | Martell [3] |",
            "New order of the Fiefdoms track:\n- [1] Stark\n- [2] Tyrell\n- [3] Martell",
            "New order of the Fiefdoms track: [1] Stark | [2] Tyrell | [3] Martell |",
        ),
    ),
    (
        r.TrackOrdered("fiefdoms", ("stark", "tyrell", "martell"), "tyrell"),
        (
            "Tyrell decided tied bids. New order of the Fiefdoms track:\n- [1] Stark | [2] Tyrell | [3] Martell |",
            "Ties broken by Tyrell. New order of the Fiefdoms track:\n- [3] Martell | [1] Stark | [2] Tyrell |",
        ),
    ),
    (
        r.WildlingBid("stark", 4),
        (
            "Wildling Attack: Stark bids [4] against the Wildlings.",
            "Stark sent a power of 4 to the Night's Watch.",
            "Stark deployed [4] power tokens against the Wildlings.",
        ),
    ),
    (
        r.WildlingCardDrawn("mammoth-riders"),
        ("Wildling card: Mammoth Riders", "The Wildling card 'Mammoth Riders' was drawn."),
    ),
    (
        r.WildlingsWon("stark", (r.UnitsRemoved("stark", {"footman": 1, "knight": 2}),)),
        (
            f"{OVERRUN}\n- Stark lost the following units: 1 Footman | 2 Knights |",
            "The Wildlings defeated Stark!\n- 1 Footman and 2 Knights were destroyed.",
            "The Wildlings have won. Stark has to destroy 1 Footman and 2 Knights.",
            f"{OVERRUN}\n- Stark has been forced to remove some units: 1 Footman, 2 Knights.",
        ),
    ),
    (
        r.WildlingsWon("stark", (r.Nothing(),)),
        (
            f"{OVERRUN}\n- Stark is not affected.",
            f"{OVERRUN}\n- no effect.",
        ),
    ),
    (
        r.WildlingsBeaten((r.CardsTakenBack("stark", ((4, "eddard-stark"),)),)),
        (
            f"{BEATEN}\n- Stark took (4) Eddard Stark back into his hand.",
            "The Night's Watch has beaten the Wildlings!\n- Stark returned (4) Eddard Stark to his hand.",
            "The Wildlings have been driven back.\n- Stark regained Eddard Stark.",
        ),
    ),
    (
        r.WildlingsBeaten((r.UnitsExchanged("stark", 2, "footman", "knight"),)),
        (
            f"{BEATEN}\n- Stark upgraded 2 Footmen to Knights.",
            f"{BEATEN}\n- Stark replaced 2 Footmen with Knights.",
            f"{BEATEN}\n- Stark: 2 Footmen became Knights.",
        ),
    ),
    (r.NothingHappened(), ("Nothing happened.", "The card has no effect.")),
    (
        r.PowerTokenLeft("stark", "winterfell"),
        (
            "Stark placed a Power token in Winterfell.",
            "Stark leaves a power token behind in Winterfell.",
            "A Power token of Stark has been placed in Winterfell.",
        ),
    ),
    (
        r.ShipsCaptured("stark", "port-of-oldtown", 2),
        (
            "Stark took over 2 Ships in the Port of Oldtown.",
            "2 Ships in Port of Oldtown have been captured by Stark.",
            "Stark seized 2 Ships in Port of Oldtown from Tyrell.",
        ),
    ),
    (
        r.GameWon("stark"),
        (
            "House Stark has won this game of thrones!",
            "The winner is Stark.",
            "Stark won the game.",
            "Stark is the winner of the game!",
        ),
    ),
    (r.GameAborted("The game was abandoned."), ("The game was abandoned.",)),
    (r.GameAborted("This game ended in a draw."), ("This game ended in a draw.",)),
    (r.GameAborted("Game cancelled by the administrator."), ("Game cancelled by the administrator.",)),
)

EFFECTS: tuple[tuple[r.Effect, tuple[str, ...]], ...] = (
    (
        r.OrderTakenOff("bay-of-ice", "raid"),
        ("the Raid order of Stark in Bay of Ice was removed", "removed the Raid Order in Bay of Ice."),
    ),
    (r.NoOrderTakenOff(), ("no order was removed.", "Tyrell did not remove any order.")),
    (
        r.CardDiscarded("stark", 4, "eddard-stark"),
        (
            "Stark has discarded (4) Eddard Stark.",
            "Stark discards the House card Eddard Stark",
            "Stark lost the house card (4) Eddard Stark",
        ),
    ),
    (
        r.CardsTakenBack("stark", ((4, "eddard-stark"), (3, "robb-stark"))),
        (
            "Stark took (4) Eddard Stark and (3) Robb Stark back.",
            "Stark returned the following cards to his hand: (4) Eddard Stark | (3) Robb Stark |",
        ),
    ),
    (
        r.UnitUpgraded("winterfell"),
        (
            "1 Footman in Winterfell has been replaced by a Knight.",
            "Stark upgraded a Footman in Winterfell to a Knight.",
        ),
    ),
    (r.SupplyLimited("stark", 2), ("Stark's supply has been reduced to 2.", "Stark lowered his supply to [2].")),
    (
        r.UnitsRaised("stark", {"footman": 1, "knight-upgrade": 1}),
        ("Stark recruited 1 Footman and 1 Upgrade to a Knight.",),
    ),
    (
        r.UnitsRemoved("stark", {"footman": 2}),
        (
            "Stark destroyed 2 Footmen in Winterfell.",
            "Stark had to sacrifice 2 Footmen.",
            "Stark removed 2 Footmen from Karhold",
            "2 Footmen of Stark were killed.",
        ),
    ),
    (
        r.UnitsExchanged("stark", 1, "knight", "footman"),
        (
            "Stark replaced a Knight with a Footman.",
            "Stark downgraded 1 Knight to a Footman.",
            "1 Knight of Stark has been replaced by 1 Footman.",
            "1 Knight of Stark was degraded to a Footman",
        ),
    ),
    (
        r.MarkerMoved("stark", "iron-throne", "bottom"),
        (
            "Stark moved his token to the last position of the Iron Throne track.",
            "Stark drops to the bottom of the Iron Throne track.",
        ),
    ),
    (
        r.MarkerMoved("stark", "iron-throne", "top"),
        (
            "Stark took the first place on the Iron Throne track.",
            "Stark's marker has been moved to the top of the Iron Throne track.",
        ),
    ),
    (
        r.MarkerLowered("stark", "kings-court", 3),
        (
            "Stark's token dropped to position 3 of the King's Court track.",
            "Stark moved his token down to [3] on the King's Court track.",
        ),
    ),
    (r.PowerReturned("stark", 4), ("Stark got back [4] Power tokens.", "Stark regained 4 Power tokens.")),
    (
        r.PowerLost("stark", 2),
        (
            "Stark loses 2 Power tokens.",
            "Stark had to discard [2] Power tokens",
            "Stark lost all of his 2 Power tokens",
        ),
    ),
    (r.Nothing(), ("nothing happened.", "Stark is not affected.", "no effect")),
)


@pytest.mark.parametrize(
    ("record", "text"), [(record, text) for record, texts in WORDINGS for text in texts], ids=lambda one: str(one)[:60]
)
def test_other_wordings_are_read_as_what_they_mean(record: Any, text: str) -> None:
    assert read_record([clean(line) for line in text.split("\n")]) == (record, ())


@pytest.mark.parametrize(
    ("found", "text"), [(found, text) for found, texts in EFFECTS for text in texts], ids=lambda one: str(one)[:60]
)
def test_other_wordings_of_outcomes_are_read_as_what_they_mean(found: Any, text: str) -> None:
    assert effects(text, "stark") == (found,)


NOTES = (
    "player-3 has been replaced by player-9.",
    "player-3 (Stark) exceeded the time limit.",
    "Stark is on vacation until 2021-Dec-24.",
    "Stark has been eliminated from the game.",
    "Timeout: Stark's orders were set automatically.",
    "Lannister proposes a draw.",
    "Nobody wins this game.",
    "Stark lost 1 Footman in the battle.",
    "Stark retreated to Winterfell.",
    "Stark mustered no units.",
    "Stark moved 0 Footmen from Winterfell to Karhold.",
    "Stark lost the battle of words.\n- and sang.",
    "Baratheon chose Stark as the lowest bidder.",
    "Stark discarded the March Order in Winterfell and the Raid Order in Karhold.",
    "Stark moved his Raid Order from Winterfell to Karhold.",
)


@pytest.mark.parametrize("text", NOTES)
def test_what_no_record_can_hold_is_kept_as_it_stands(text: str) -> None:
    assert read_record(text.split("\n")) == (r.Unknown(text), ())


def test_a_line_that_is_no_outcome_is_kept_with_those_that_are() -> None:
    found, _ = read_record([OVERRUN, "- Stark weeps.", "- Stark lost 1 Ship."])
    assert found == r.WildlingsWon("stark", (r.Told("Stark weeps."), r.UnitsRemoved("stark", {"ship": 1})))

"""The orders of a round as a whole: laid from what its entries ask, and laid otherwise when a battle asks more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from api.games.thrones.following.driver import Driver
from api.games.thrones.following.hypothesis import Hypothesis, Misfit, OutOfEntries, Step, with_
from api.games.thrones.following.orders import Laid, are_idle, as_tokens, demands, lay, told_orders
from api.games.thrones.logs import records as r
from api.games.thrones.logs.names import order_of_token
from domain.kernel.decision import Decision
from domain.thrones.language import answers as c
from domain.thrones.language import facts as f
from domain.thrones.language.pieces import AreaId, HouseId
from domain.thrones.ruleset import THRONES


class Planning(Driver):
    """Planning phases."""

    def _round(self, here: Hypothesis) -> list[r.Entry]:
        return [
            entry
            for entry in self.pages.by_round.get(here.state.round, ())
            if entry.phase not in ("WESTEROS", "PLANNING") and entry.number not in self.passed_over
        ]

    def _plan(
        self,
        here: Hypothesis,
        questions: Iterable[Decision[Any]],
        forced: Mapping[AreaId, tuple[str, ...]] | None = None,
    ) -> Hypothesis:
        entries = self._round(here)
        if not entries:
            raise OutOfEntries
        game = self.rules.game(here.state)
        wanted = demands(game, entries)
        if here.state.round in self.free_power:
            wanted = replace(wanted, power=None)
        planning = here.state
        if wanted.absent:
            number, house, area = wanted.absent[0]
            what = f"{house} has no units in {area}" if house else f"nobody has an order in {area}"
            raise Misfit("absent", number, what, house, area)
        if any(number == planning.round for number, _ in here.laid):
            # Orders are assigned in turn where a House is short of tokens; this is not the first of them.
            forced = {area: (kind,) for area, kind in here.pinned.items()}
        else:
            pinned = {area: kinds[0] for area, kinds in (forced or {}).items()}
            here = with_(
                here, planning=planning, planned_from=here, pinned=pinned, quiet=frozenset(), battle=0, words={}
            )
        here = with_(here, demands=wanted)
        set_at = {record.house: entry.number for entry, record in self.pages.unused(here, r.OrdersSet)}
        houses = [question.player for question in questions]
        for house in sorted(houses, key=lambda house: set_at.get(house, 0)):
            laid = lay(game, house, wanted, forced)
            if laid is None and (planning.round, house) in self.by_default:
                default: Any = next(one for one in THRONES.decisions(here.state) if one.player == house).default
                laid = Laid({area: order_of_token(token) for area, token in default.orders.items()}, {}, 0)
            if laid is None:
                raise Misfit("orders", entries[0].number, f"no orders of {house} fit the round", house)
            tokens = as_tokens(laid.orders, self.edition.tokens)
            step = Step(c.AssignOrders(house, tokens), set_at.get(house, 0))
            here, _ = self._decide(here, step)
            here = with_(
                here,
                laid={**here.laid, (planning.round, house): laid.orders},
                sources={**here.sources, **laid.sources},
            )
        return here

    def guessed(self, found: Hypothesis) -> dict[tuple[int, HouseId], tuple[AreaId, ...]]:
        """Areas whose order no entry of the round tells, by round and House."""
        told: dict[int, set[AreaId]] = {}
        for number, entries in self.pages.by_round.items():
            told[number] = {area for entry in entries for area in told_orders(entry.record)}
        return {
            (number, house): tuple(area for area in sorted(orders) if area not in told.get(number, set()))
            for (number, house), orders in found.laid.items()
        }

    def _lay_otherwise(self, here: Hypothesis, changes: Mapping[AreaId, str]) -> Hypothesis | None:
        """The same position with other hidden orders of this round; None if nobody could have laid them."""
        assert here.planning is not None and here.demands is not None
        game = self.rules.game(here.planning)
        edited = self.rules.game(here.state)
        laid_now = dict(here.laid)
        sources = dict(here.sources)
        if not all(area in here.planning.units for area in changes):
            return None
        owners = sorted({here.planning.units[area].house for area in changes if area in here.planning.units})
        for house in owners:
            key = (here.state.round, house)
            pins = {area: (kind,) for area, kind in here.pinned.items()}
            wanted = {area: (kind,) for area, kind in changes.items()}
            raided = {area: (laid_now[key][area],) for number, area in here.sources.items()
                      if number in here.used and area in laid_now[key]}  # fmt: skip
            laid = lay(game, house, here.demands, {**raided, **pins, **wanted})
            if laid is None or any(laid.orders.get(area) != kind for area, kind in changes.items()
                                   if here.planning.units[area].house == house):  # fmt: skip
                return None
            laid_now[key] = laid.orders
            sources.update({number: area for number, area in laid.sources.items() if number not in here.used})
            tokens = as_tokens(laid.orders, self.edition.tokens)
            for area, placed in sorted(here.state.orders.items()):
                came_from = here.demands.carried.get(area, area)
                is_here = came_from == area or here.planning.house_in(came_from) == house != here.planning.house_in(
                    area
                )
                new = tokens.get(came_from if is_here else area)
                by_raven = area in here.demands.replaced
                if placed.house == house and new and new != placed.token and not by_raven:
                    edited.emit(f.OrderReplaced(house=house, area=area, old=placed.token, new=new))
        before, after = (
            {area: kind for (number, _), orders in one.items() if number == here.state.round
             for area, kind in orders.items()} for one in (here.laid, laid_now)
        )  # fmt: skip
        if are_idle(game, here.demands, before) and not are_idle(game, here.demands, after):
            return None
        return with_(here, state=edited.state, laid=laid_now, sources=sources)

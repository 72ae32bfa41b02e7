"""What may be answered, and the step that asks."""

from collections.abc import Iterator

from domain.thrones.rules.weather.answers import Weather
from msgspec.structs import replace

from domain.kernel.decision import Options
from domain.kernel.procedure import Done, Next, Procedure, Wait
from domain.kernel.refusal import Refusal
from domain.thrones.language.pieces import HouseId
from domain.thrones.rules.game import Game, decision


class Skies(Options[Weather], frozen=True, tag="skies"):
    """Nobody sails under the third sky."""

    words: tuple[str, ...]

    def check(self, answer: Weather) -> None:
        if answer.choice not in self.words:
            raise Refusal("no-such-weather", ("W-1",), choice=answer.choice, known=list(self.words))

    def every(self, template: Weather) -> Iterator[Weather]:
        return (replace(template, choice=word) for word in self.words)


class WeatherPhase(Procedure, frozen=True, tag=True):
    """Every House in turn order."""

    asked: tuple[HouseId, ...] = ()

    def begin(self, game: Game) -> Next:
        return self.at("ask")

    def ask(self, game: Game) -> Next:
        for house in game.turns(self.asked):
            return Wait(decision(Weather(house=house, choice="stay"), Skies(("sail", "stay")), "W-1"), then="answered")
        return Done()

    def answered(self, game: Game, answer: Weather) -> Next:
        if answer.choice == "sail":
            game.gain_power(answer.house, 1, "W-2")
        return self.at("ask", asked=(*self.asked, answer.house))

"""What a refused answer is told."""

from api.games.thrones.refusals import SENTENCES

SENTENCES["no-such-weather"] = lambda p, x: f"No ship can “{x['choice']}”. Possible: {' or '.join(x['known'])}."

from tests.helpers.pages import view_of
from tests.helpers.records import PING, TCP, realistic
from tunbench.report.charts import pareto_fronts
from tunbench.runner.declare.metrics import Question


def test_the_front_has_what_none_beats_in_both() -> None:
    whole = view_of(realistic(6))
    [figure] = [one for one in pareto_fronts.figures(whole, Question.LATE) if one.about == TCP]
    assert 'class="front"' in figure.panels[1].draw()
    assert PING not in figure.about

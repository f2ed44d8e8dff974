"""A ranking on a terminal of 100 columns, as CSV, as scatters and as a page, from its result alone."""

import csv
import io
import json
import re
from typing import Any

from vitruvius.arch.arch import Arch
from vitruvius.core.blocks import Scatter
from vitruvius.ranking import report, results
from vitruvius.ranking.evaluation import evaluations
from vitruvius.ranking.results import Result
from vitruvius.render import text as render

PROXIES = ["az_trainability", "head_confidence", "./mine.py:size", "params", "macs", "depth", "width_sum"]


def evaluation(tau: float | None, archs: int = 60) -> dict[str, Any]:
    found = {
        "value": tau,
        "low": None if tau is None else tau - 0.1,
        "high": None if tau is None else tau + 0.1,
    }
    within = {**(found if tau and tau < 0 else dict.fromkeys(found)), "pairs": 96 if tau and tau < 0 else 12}
    beats = "beats counting" if tau and tau > 0.5 else "no better than counting"
    return {
        "kendall": found,
        "gain": found,
        "best_count": "params",
        "spearman": found,
        "kendall_within_size": within,
        "kendall_with_params": tau,
        "kendall_with_depth": -0.5,
        "seed_agreement": 1.0,
        "regret_at_1": 10.25 if archs else None,
        "regret_at_5": 0.5 if archs else None,
        "verdict": beats,
        "archs": archs,
    }


def result(*columns: str, **options: Any) -> Result:
    """Read a ranking as an older run's result.json holds it."""
    return Result(**as_json(columns, **options))


def as_json(
    columns: tuple[str, ...] = (), known: bool = True, count: int = 60, seeds: int = 3
) -> dict[str, Any]:
    rows = []
    for index in range(count):
        scores: dict[str, Any] = {
            proxy: {"mean": 1e6 * (count - index), "std": 0.25, "failed": None} for proxy in PROXIES
        }
        if index == 59:
            scores["az_trainability"] = {"mean": None, "std": None, "failed": "the score is nan"}
        accuracy: Any = dict.fromkeys(columns, 0.75) if columns else 0.7 + index / 1000 if known else None
        sizes = {"params": 1_566_037, "macs": 26_582_112, "depth": 10, "width": 256}
        rank = dict.fromkeys(PROXIES, index + 1)
        rows.append(
            {"name": f"network{index}", **sizes, "scores": scores, "rank": rank, "accuracy": accuracy}
        )
    evaluated = {
        proxy: evaluation(tau, 60 if known else 0)
        for proxy, tau in zip(PROXIES, (-0.35, 0.6, None, *[0.2] * 4), strict=True)
    }
    best = {
        proxy: [f"network{index}" for index in range(size)]
        for proxy, size in zip(PROXIES, (1, 9, 0, 1, 1, 1, 1), strict=True)
    }
    tau = evaluated["head_confidence"]["kendall"]
    ceiling = {"archs": 9, "kendall": tau, "spearman": tau, "kendall_within_size": {"pairs": 3}}
    return {
        "archs": rows,
        "evaluation": dict.fromkeys(columns, evaluated) or evaluated,
        "best": best,
        "noise_ceiling": ceiling,
        "data": "fashion_mnist (mini)",
        "seconds": 12.3,
        "run": "runs/rank/a",
        "config": {"seeds": seeds, "archs": ["fifty"]},
    }


def test_the_terminal_shows_everything_within_100_columns() -> None:
    text = render.plain(result().view())
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 100
    assert "-.35 [-.45 -.25]   -.35   -.35 [-.45 -.25], 96   -.35     1.00    10.2 / 0.5" in text
    assert "too few, 12" in text
    assert "10 more in scores.csv" in text
    assert "beats counting (1 of 3 compared): head_confidence" in text
    assert text.startswith(
        "accuracy (data not named): head_confidence beats counting params (tau .20 [.10 .30]"
    )
    assert "az_trainability: network0 wins" in text
    assert "head_confidence: 9 networks cannot be told apart over 3 seeds: network0, network1" in text
    assert "./mine.py:size: no network has a score" in text
    assert "failed scores, ranked last: 1; network59, az_trainability: the score is nan" in text
    assert "agree with tau .60 [.50 .70]" in text.replace("\n", " ")


def test_without_accuracies_sizes_are_compared_and_with_several_columns_each_has_its_table() -> None:
    blank = render.plain(result(known=False).view())
    assert "What the scores count (too few accuracies are known to judge them)" in blank
    assert "compared" not in blank.replace("not known", "")
    several = render.plain(result("a_acc", "b_acc").view())
    assert "What the scores are worth for a_acc (data not named), 60 networks" in several
    assert "What the scores are worth for b_acc (data not named), 60 networks" in several


def test_one_seed_names_no_winner() -> None:
    words = results.winner(result(seeds=1), "head_confidence")
    assert words == "head_confidence: network0 is first, but one seed cannot name a winner"


def test_networks_that_share_the_first_rank_are_all_named() -> None:
    found = as_json(seeds=1)
    for row in found["archs"][:2]:
        row["rank"]["head_confidence"] = 1
    assert "network0, network1 are first, but" in results.winner(Result(**found), "head_confidence")


def test_too_few_accuracies_judge_nothing_and_are_said_to() -> None:
    blank = result(known=False).evaluation[""]
    assert "too few accuracies are known" in render.plain([evaluations("c_acc", blank)])


def test_the_csv_has_a_line_per_network() -> None:
    rows = list(csv.DictReader(io.StringIO(report.scores_csv(result("a_acc", "b_acc")))))
    assert len(rows) == 60
    assert rows[59]["az_trainability"] == ""
    assert (rows[1]["head_confidence"], rows[1]["head_confidence_std"]) == ("59000000.0", "0.25")
    assert (rows[1]["depth_rank"], rows[1]["b_acc"], rows[1]["params"]) == ("2", "0.75", "1566037")
    header = next(csv.reader(io.StringIO(report.scores_csv(result()))))
    assert {"accuracy", "data", "heads", "head_dim", "mlp", "patch", "kernel", "init"} <= set(header)
    assert {f"head_confidence_seed{seed}" for seed in (0, 1, 2)} <= set(header)


def test_the_csv_has_every_field_of_the_network_and_every_seed() -> None:
    found = as_json(count=2, seeds=2)
    arch = Arch(depth=2, heads=(1, 2), width=8, kernel="linear")
    found["archs"][0] |= {"arch": arch.model_dump(mode="json"), "peak_bytes": 5, "predicted_ms": 0.25}
    found["archs"][0]["scores"]["head_confidence"] |= {"values": [1.5, None], "failed": "why"}
    rows = list(csv.DictReader(io.StringIO(report.scores_csv(Result(**found)))))
    for field in Arch.model_fields.keys() - {"depth", "width", "heads"}:
        value = getattr(arch, field)
        assert rows[0][field] == ("" if value is None or value == () else str(value))
        assert rows[1][field] == ""
    assert (rows[0]["heads"], rows[0]["peak_bytes"], rows[0]["predicted_ms"]) == ("1 2", "5", "0.25")
    seeds = [rows[0][f"head_confidence_{name}"] for name in ("seed0", "seed1", "failed")]
    assert seeds == ["1.5", "", "why"]


def test_ties_are_shown_as_ties() -> None:
    found = as_json(count=3)
    for row in found["archs"][1:]:
        row["rank"]["az_trainability"] = 2
    table = results.networks(Result(**found), ["az_trainability"], 3)
    assert [row[0] for row in table.rows] == ["1", "2=", "2="]


def test_a_ranking_in_which_everything_failed_says_so_and_exits_with_1() -> None:
    found = as_json(count=2)
    assert Result(**found).exit_code == 0
    for row in found["archs"]:
        for name in ("az_trainability", "head_confidence", "./mine.py:size"):
            row["scores"][name] = {"mean": None, "std": None, "failed": "broken"}
    failed = Result(**found)
    assert failed.exit_code == 1
    assert "everything failed, first with: broken" in render.plain(failed.view())
    assert "everything failed" in report.page(failed)


def test_nobody_wins_alone() -> None:
    found = as_json(count=2)
    found["archs"][1]["scores"]["head_confidence"] = {"mean": None, "std": None, "failed": "broken"}
    words = results.winner(Result(**found), "head_confidence")
    assert words == "head_confidence: network0 is the only network with a score, and nobody wins alone"


def test_memory_and_predicted_milliseconds_are_columns_with_their_error() -> None:
    found = as_json(count=2)
    for row in found["archs"]:
        row |= {"peak_bytes": 3 * 2**20, "predicted_ms": 0.5}
    shown = render.plain(Result(**found, prediction_error=0.08).view())
    assert "peak MiB" in shown
    assert "predicted ms: of one image on this machine, within 8 % (median)" in " ".join(shown.split())
    assert "predicted" not in render.plain(Result(**as_json(count=2)).view())


def test_the_page_leads_with_the_answer_and_the_picture() -> None:
    page = report.page(result(count=4))
    answer, table = page.index("beats counting params"), page.index("regret 1 / 5")
    assert answer < page.index("az_trainability: tau") < table


def test_a_scatter_has_tau_in_its_title_and_leaves_failures_out() -> None:
    figure = report.scatter(result(), "", "az_trainability")
    assert figure.title == "az_trainability: tau -.35 [-.45 -.25]"
    assert len(figure.x) == 59
    assert figure.names[3] == "network3: 1,566,037 parameters"
    assert figure.y[3] == 100 * 0.703
    assert report.scatter(result(known=False), "", "macs").title == "macs: tau with params .20"
    panels = report.panels(result("a_acc", "b_acc"), "b_acc")
    assert len(panels.figures) == len(PROXIES)
    assert isinstance(panels.figures[0], Scatter)
    assert panels.figures[0].y_label == "b_acc (data not named), in %"


def test_the_page_sorts_by_a_chosen_score_and_fetches_nothing() -> None:
    found = as_json(count=4)
    found["archs"][0]["name"] = "</script><img src=x>"
    page = report.page(Result(**found))
    assert "<img src=x>" not in page
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert data is not None
    ranks = json.loads(data[1])
    assert ranks["depth"] == {"</script><img src=x>": 1, "network1": 2, "network2": 3, "network3": 4}
    assert 'createElement("select")' in page[data.end() :]
    assert "network2: 1,566,037 parameters" in page
    assert "default-src 'none'" in page
    assert page.endswith("</body>\n</html>\n")


def test_what_spans_decades_has_a_log_axis() -> None:
    found = as_json(count=3)
    small, middle, large = found["archs"]
    for row, mean, params in ((small, 0.5, 10), (middle, 3.0, 90), (large, 51.0, 1001)):
        row["scores"]["macs"]["mean"], row["params"] = mean, params
    figure = report.scatter(Result(**found), "", "macs")
    assert (figure.log_x, figure.log_y) == (True, False)
    for evaluation in found["evaluation"].values():
        evaluation["archs"] = 0
    assert report.scatter(Result(**found), "", "macs").log_y
    large["scores"]["macs"]["mean"], large["params"] = 4.5, 95
    figure = report.scatter(Result(**found), "", "macs")
    assert (figure.log_x, figure.log_y) == (False, False)
    small["scores"]["macs"]["mean"], large["scores"]["macs"]["mean"] = 0.0, 1e6
    assert not report.scatter(Result(**found), "", "macs").log_x


def test_accuracies_are_named_with_their_data_in_table_picture_and_report() -> None:
    found = Result(**as_json() | {"measured_on": "fashion_mnist"})
    assert Result(**found.model_dump(mode="json")) == found
    assert render.plain(found.view()).count("accuracy on fashion_mnist") == 3
    assert report.scatter(found, "", "macs").y_label == "accuracy on fashion_mnist, in %"
    assert report.page(found).count("accuracy on fashion_mnist") >= 3


def test_accuracies_of_other_data_leave_no_column_and_no_verdict() -> None:
    found = Result(
        **as_json(known=False) | {"measured_elsewhere": ["fashion_mnist"], "data": "folder:mine@32"}
    )
    shown, page = render.plain(found.view()), report.page(found)
    sentence = "accuracies were measured on fashion_mnist, not on folder:mine@32: they are not shown"
    assert sentence in shown
    assert sentence in page
    assert "accuracy on" not in shown
    assert "verdict" not in page
    assert "accuracy" not in report.scores_csv(found).splitlines()[0].split(",")
    assert report.scatter(found, "", "macs").y_label == "parameters"

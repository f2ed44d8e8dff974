"""The negative log-likelihood gets scores that are no log-probabilities."""

from vitruvius.checks import Criterion, Findings, Trace, exact_error, training
from vitruvius.checks._activations import with_cross_entropy, with_logarithm

SICK = training(
    "x = torch.randn(8, 3)", "F.nll_loss(net(x), x.argmax(1)).backward()  # here", net="nn.Linear(3, 4)"
)
HEALTHY = SICK.replace("net(x)", "net(x).log_softmax(1)")


def nll_without_log(trace: Trace) -> Findings:
    """A row whose exponentials do not sum to one is no distribution."""
    # cross_entropy calls nll_loss in C++, so what is seen here was called by the user or by nn.NLLLoss.
    looked = [event for event in trace.of(Criterion) if event.name == "nll_loss"]
    wrong = [event for event in looked if event.log_probabilities is False]
    if wrong:
        probabilities = all(event.probabilities for event in wrong)
        yield exact_error(
            where=wrong[0].where,
            evidence=f"in {len(wrong)} batches looked at, exp of a row does not sum to 1"
            + (": the rows are probabilities without the logarithm" if probabilities else ""),
            why="nll_loss only picks and negates entries; without log-softmax the loss has no lower bound",
            fix="use cross_entropy on the raw scores, or put log_softmax(dim=1) before nll_loss",
            patch=(with_logarithm if probabilities else with_cross_entropy)(wrong[0].where),
            explains=("initial_loss", "rate_too_high", "rate_too_low", "exploding", "non_finite"),
        )

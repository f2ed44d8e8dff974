"""Curves and tables of a pretraining, from its typed measurements."""

from vitruvius.core.blocks import Panels
from vitruvius.pretraining import report
from vitruvius.pretraining.results import Point, Points

EPOCHS = [
    Points(
        epoch=epoch,
        points=tuple(
            Point(
                objective="mask",
                latent=3,
                repeat=repeat,
                val_loss=loss,
                accuracy=None,
                train_losses=(2.0, 4.0) if epoch else (),
            )
            for repeat, loss in enumerate((1.0, 4.0))
        ),
    )
    for epoch in (0, 1)
]


def test_a_curve_is_the_mean_in_a_band_over_the_repeats() -> None:
    found = report.curve(EPOCHS, "val_loss", "mask", 3, 2.0)
    assert (found.x, found.y, found.low, found.high) == ((0, 1), (5.0, 5.0), (2.0, 2.0), (8.0, 8.0))


def test_what_was_not_measured_is_not_drawn() -> None:
    found = report.curves(EPOCHS)
    assert list(found) == ["loss"]
    assert isinstance(found["loss"], Panels)


def test_the_log_has_a_row_per_autoencoder_and_epoch_with_the_mean_training_loss() -> None:
    lines = report.log_csv(EPOCHS).splitlines()
    assert lines[0] == "epoch,objective,latent,repeat,train_loss,val_loss,accuracy"
    assert lines[1:] == [
        *("0,mask,3,0,,1.0,", "0,mask,3,1,,4.0,"),
        *("1,mask,3,0,3.0,1.0,", "1,mask,3,1,3.0,4.0,"),
    ]

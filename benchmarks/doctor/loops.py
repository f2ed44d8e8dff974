"""Training loops of different kinds, each a generator that makes a step at a time, to time the watcher.

The networks are so large that a step takes some milliseconds, as in small but real trainings; that of
`by_hand_small` takes half a millisecond, to show what is lost where a step is mostly calls of Python.
"""

import importlib.util
import tempfile
from collections.abc import Callable, Iterator
from functools import partial

import torch
from torch import nn
from torch.nn import functional as F

from vitruvius import Arch, ViT

BATCH = 64
Loop = Iterator[nn.Module]


def reference() -> Loop:
    """The reference ViT with AdamW."""
    model = ViT(Arch())
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3)
    x, y = torch.randn(BATCH, 1, 28, 28), torch.randint(0, 10, (BATCH,))
    while True:
        optimiser.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimiser.step()
        yield model


def cnn() -> Loop:
    """Three convolutions with BatchNorm, SGD with momentum and dropout."""
    layers: list[nn.Module] = []
    for before, after in ((1, 16), (16, 32), (32, 32)):
        layers += [nn.Conv2d(before, after, 3, padding=1), nn.BatchNorm2d(after), nn.ReLU(), nn.MaxPool2d(2)]
    model = nn.Sequential(*layers, nn.Flatten(), nn.Dropout(0.2), nn.Linear(288, 10))
    optimiser = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    while True:
        x = torch.randn(BATCH, 1, 28, 28)
        optimiser.zero_grad()
        F.cross_entropy(model(x), x.mean((1, 2, 3)).gt(0).long()).backward()
        optimiser.step()
        yield model


def rnn() -> Loop:
    """An LSTM cell, called for every token of a sequence: many small modules."""
    model = nn.ModuleDict({"cell": nn.LSTMCell(32, 64), "head": nn.Linear(64, 16)})
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    while True:
        x_BTD = torch.randn(BATCH, 20, 32)
        state = torch.zeros(BATCH, 64), torch.zeros(BATCH, 64)
        loss = torch.zeros(())
        for x_BD in x_BTD.unbind(1):
            state = model["cell"](x_BD, state)
            loss = loss + F.cross_entropy(model["head"](state[0]), x_BD[:, :16].argmax(1))
        optimiser.zero_grad()
        (loss / 20).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        yield model


def gan() -> Loop:
    """A generator and a discriminator with an optimiser each."""
    generator = nn.Sequential(nn.Linear(32, 256), nn.ReLU(), nn.Linear(256, 784), nn.Tanh())
    judge = nn.Sequential(nn.Linear(784, 256), nn.LeakyReLU(0.2), nn.Linear(256, 1))
    steps = [torch.optim.Adam(net.parameters(), lr=2e-4, betas=(0.5, 0.999)) for net in (generator, judge)]
    both = nn.ModuleList([generator, judge])
    one, zero = torch.ones(BATCH, 1), torch.zeros(BATCH, 1)
    while True:
        real, fake = torch.randn(BATCH, 784).tanh(), generator(torch.randn(BATCH, 32))
        steps[0].zero_grad()
        F.binary_cross_entropy_with_logits(judge(fake), one).backward()
        steps[0].step()
        steps[1].zero_grad()
        loss = F.binary_cross_entropy_with_logits(judge(real), one)
        (loss + F.binary_cross_entropy_with_logits(judge(fake.detach()), zero)).backward()
        steps[1].step()
        yield both


def lbfgs() -> Loop:
    """Several passes for each step, in a closure."""
    model = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 1))
    optimiser = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=4)
    x = torch.randn(256, 64)
    y = x[:, :4].prod(1, keepdim=True)

    def closure() -> torch.Tensor:
        optimiser.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        return loss

    while True:
        optimiser.step(closure)
        yield model


def by_hand(pixels: int = 784, width: int = 512) -> Loop:
    """No optimiser: the weights of a perceptron for MNIST move inside no_grad."""
    model = nn.Sequential(nn.Linear(pixels, width), nn.ReLU(), nn.Linear(width, 10))
    while True:
        x = torch.randn(BATCH, pixels)
        loss = F.cross_entropy(model(x), x[:, :10].argmax(1))
        model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.grad is not None:
                    parameter.sub_(0.05 * parameter.grad)
        yield model


LOOPS: dict[str, Callable[[], Loop]] = {
    "reference": reference,
    "cnn": cnn,
    "rnn": rnn,
    "gan": gan,
    "lbfgs": lbfgs,
    "by_hand": by_hand,
    "by_hand_small": partial(by_hand, 256, 256),
}


def has_trainer() -> bool:
    """Whether the Trainer of transformers can be used: it needs accelerate."""
    return all(importlib.util.find_spec(name) for name in ("transformers", "accelerate"))


def trainer(steps: int) -> tuple[nn.Module, Callable[[], object]]:
    """A small GPT-2 and a function that trains it with the Trainer of transformers for so many steps."""
    import transformers

    config = transformers.GPT2Config(
        vocab_size=64, n_positions=32, n_embd=64, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0
    )
    model = transformers.GPT2LMHeadModel(config)
    rows = [{"input_ids": row, "labels": row} for row in torch.randint(0, 64, (256, 32))]
    arguments = transformers.TrainingArguments(
        tempfile.mkdtemp(prefix="vitruvius-trainer-"),
        max_steps=steps,
        per_device_train_batch_size=16,
        report_to=[],
        save_strategy="no",
        logging_strategy="no",
        disable_tqdm=True,
        use_cpu=True,
    )
    return model, transformers.Trainer(model=model, args=arguments, train_dataset=rows).train

"""Bugs of losses, masks, axes and numbers in the styles people write are named at their line."""

from pathlib import Path

import pytest

from tests.checks.programs import CE, SCORES, X, Y, attention, bugs, loop, marked, tokens

SICK: dict[str, tuple[str, str]] = {
    "log of a relu": (
        "nan_source",
        loop(X, "p = net(x).relu()", "p.log().mean().backward()  # here"),
    ),
    "torch.log of a zero probability, times itself": (
        "nan_source",
        loop(
            X,
            "p = (net(x) * 200).softmax(1)",
            "h = -(p * torch.log(p)).sum(1).mean()  # here",
            "h.backward()",
        ),
    ),
    "distances to itself, in a module": (
        "nan_source",
        loop(
            X,
            "net(x).mean().backward()",
            net="Net()",
            before="class Net(nn.Module):\n"
            "    def __init__(self):\n        super().__init__()\n        self.body = nn.Linear(8, 4)\n"
            "    def forward(self, x):\n"
            "        h = self.body(x)\n"
            "        return ((h[:, None] - h) ** 2).sum(-1) ** 0.5  # here\n",
        ),
    ),
    "division hidden by where": (
        "nan_source",
        loop(
            X,
            "h = net(x) * (x[:, :3] > 0)",
            "r = torch.where(h != 0, h.detach() / h, 0.0)  # here",
            "r.mean().backward()",
        ),
    ),
    "division by a zero norm": (
        "nan_source",
        loop(X, "h = net(x) * 0", "u = h / h.norm(dim=1, keepdim=True)  # here", "u.sum().backward()"),
    ),
    "mean of nothing": (
        "nan_source",
        loop(X, "h = net(x)", "h[h > 1e6].mean().backward()  # here"),
    ),
    "inputs divided by a zero deviation": (
        "nan_source",
        loop("x = torch.ones(16, 8)", "x = (x - x.mean(0)) / x.std(0)  # here", "net(x).mean().backward()"),
    ),
    "all targets ignored": (
        "nan_source",
        loop(X, "y = torch.full((16,), -100)", "F.cross_entropy(net(x), y).backward()  # here"),
    ),
    "acos of a cosine with itself": (
        "nan_source",
        loop(X, "c = net(x).mean().sigmoid() * 0 + 1.0", "torch.acos(c).backward()  # here"),
    ),
    "KLDivLoss of a softmax": (
        "kl_of_probabilities",
        loop(
            X,
            "nn.KLDivLoss(reduction='batchmean')(net(x).softmax(-1), x[:, :3].softmax(-1)).backward()  # "
            "here",
        ),
    ),
    "kl_div of raw scores": (
        "kl_of_probabilities",
        loop(X, "F.kl_div(net(x), x[:, :3].softmax(1), reduction='batchmean').backward()  # here"),
    ),
    "kl_div with both swapped": (
        "kl_swapped",
        loop(
            X,
            "F.kl_div(x[:, :3].softmax(1), net(x).log_softmax(1), reduction='batchmean').backward()  # here",
        ),
    ),
    "a student as the target": (
        "kl_swapped",
        loop(
            X,
            "with torch.no_grad():",
            "    t = teacher(x)",
            "F.kl_div(input=F.log_softmax(t / 2, dim=1), target=F.softmax(net(x) / 2, dim=1), "
            "reduction='sum').backward() "
            " # here",
            before="teacher = nn.Linear(8, 3).eval()\n",
        ),
    ),
    "relu in forward": (
        "activation_on_logits",
        loop(
            X,
            Y,
            CE,
            net="Net()",
            before="class Net(nn.Module):\n"
            "    def __init__(self):\n        super().__init__()\n"
            "        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 3)\n"
            "    def forward(self, x):\n"
            "        x = F.relu(self.a(x))\n"
            "        return F.relu(self.b(x))  # here\n",
        ),
    ),
    "sigmoid before CrossEntropyLoss": (
        "activation_on_logits",
        loop(X, Y, "nn.CrossEntropyLoss()(net(x).sigmoid(), y).backward()  # here"),
    ),
    "relu before BCEWithLogitsLoss": (
        "activation_on_logits",
        loop(
            X,
            "nn.BCEWithLogitsLoss()(net(x).squeeze(1), (x[:, 0] > 0).float()).backward()",
            net="nn.Sequential(nn.Linear(8, 1), nn.ReLU())  # here",
        ),
    ),
    "tanh before cross_entropy": (
        "activation_on_logits",
        loop(X, Y, "s = torch.tanh(net(x))  # here", "F.cross_entropy(s, y).backward()"),
    ),
    "functional dropout on the scores": (
        "dropout_at_output",
        loop(X, Y, "s = F.dropout(net(x), 0.2)  # here", "F.cross_entropy(s, y).backward()"),
    ),
    "dropout of everything": (
        "dropout_at_output",
        loop(X, Y, CE + "", net="nn.Sequential(nn.Linear(8, 8), nn.Dropout(p=1.0), nn.Linear(8, 3))").replace(
            CE, CE + "  # here"
        ),
    ),
    "dropout on a regression": (
        "dropout_at_output",
        loop(
            X,
            "F.mse_loss(net(x), x[:, :3]).backward()",
            net="nn.Sequential(nn.Linear(8, 3), nn.Dropout(0.1))  # here",
        ),
    ),
    "labels up to 3 for 3 classes": (
        "bad_labels",
        loop(X, "y = torch.arange(16) % 3 + 1", CE + "  # here"),
    ),
    "one-hot labels as whole numbers": (
        "bad_labels",
        loop(X, "y = F.one_hot(x[:, :3].argmax(1), 3)", CE + "  # here"),
    ),
    "labels of -1 and 1 for BCE": (
        "bad_labels",
        loop(X, "y = x[:, :3].sign()", "nn.BCEWithLogitsLoss()(net(x), y).backward()  # here"),
    ),
    "shifted by the data and by the model": (
        "bad_labels",
        loop(
            "text = torch.randint(0, 9, (4, 8))",
            "net(text[:, :-1], text[:, 1:]).backward()",
            net="Net()",
            before="class Net(nn.Module):\n"
            "    def __init__(self):\n        super().__init__()\n"
            "        self.embed, self.rnn, self.head = nn.Embedding(9, 8), nn.GRU(8, 8, batch_first=True), "
            "nn.Linear(8, 9)\n"
            "    def forward(self, ids, labels):\n"
            "        s = self.head(self.rnn(self.embed(ids))[0])\n"
            "        return F.cross_entropy(s[:, :-1].flatten(0, 1), labels[:, 1:].flatten())  # here\n",
        ),
    ),
    "padding in a flattened loss": (
        "padding_in_loss",
        tokens(
            "h = self.layer(h, src_key_padding_mask=ids == 0)",
            "loss = nn.CrossEntropyLoss()(net(ids).view(-1, 9), ids.view(-1))  # here",
            "loss.backward()",
        ),
    ),
    "padding in (B, C, T)": (
        "padding_in_loss",
        tokens("pass", "F.cross_entropy(net(ids).transpose(1, 2), ids).backward()  # here"),
    ),
    "key_padding_mask of the real tokens": (
        "inverted_mask",
        tokens("h = self.layer(h, src_key_padding_mask=(ids != 0))  # here"),
    ),
    "MultiheadAttention with its mask inverted": (
        "inverted_mask",
        tokens(
            "m = torch.ones(6, 6, dtype=torch.bool).tril()\n"
            "        h = h + self.attn(h, h, h, attn_mask=m, need_weights=False)[0]  # here"
        ),
    ),
    "a float mask of zeros and ones": (
        "inverted_mask",
        tokens("h = self.attn(h, h, h, attn_mask=torch.ones(6, 6).triu(1))[0]  # here"),
    ),
    "scaled_dot_product_attention with True for hidden": (
        "inverted_mask",
        attention(
            "hide = torch.ones(T, T, dtype=torch.bool).triu(1)\n"
            "        out = F.scaled_dot_product_attention(q, k, v, attn_mask=hide)  # here"
        ),
    ),
    "masked_fill of the past": (
        "inverted_mask",
        attention(
            SCORES + "\n        s = s.masked_fill(torch.tril(torch.ones(T, T)) == 1, float('-inf'))  # here\n"
            "        out = s.softmax(-1).nan_to_num() @ v"
        ),
    ),
    "masked_fill of the tokens": (
        "inverted_mask",
        tokens(
            "s = h @ h.transpose(1, 2)\n"
            "        s = s.masked_fill((ids > 0).unsqueeze(1), -1e9)  # here\n"
            "        h = s.softmax(-1) @ h"
        ),
    ),
    "a low number added to the tokens": (
        "inverted_mask",
        tokens(
            "s = h @ h.transpose(1, 2) + (ids != 0)[:, None] * -1e9  # here\n        h = s.softmax(-1) @ h"
        ),
    ),
    "gelu before cross_entropy": (
        "activation_on_logits",
        loop(X, Y, CE + "  # here", net="nn.Sequential(nn.Linear(8, 3), nn.GELU())"),
    ),
    "classes of pixels over the rows": (
        "wrong_axis",
        loop(
            "x = torch.randn(4, 3, 5, 5)",
            "s = net(x)",
            "F.cross_entropy(s, x.argmax(1)).backward()",
            "right = (s.argmax(dim=0) == 1).float().mean()  # here",
            net="nn.Conv2d(3, 3, 1)",
        ),
    ),
    "log_softmax over the width of images": (
        "wrong_axis",
        loop(
            "x = torch.randn(4, 3, 5, 5)",
            "F.nll_loss(F.log_softmax(net(x), dim=-1), x.argmax(1)).backward()  # here",
            net="nn.Conv2d(3, 3, 1)",
        ),
    ),
    "inputs viewed for a recurrent net": (
        "view_for_transpose",
        loop(
            "x = torch.randn(5, 7, 8)",
            "out, h = net(x.view(7, 5, 8))  # here",
            "F.mse_loss(h[0], x.sum(1)[:, :4]).backward()",
            net="nn.GRU(8, 4)",
        ),
    ),
    "positions indexed in a method": (
        "positions_indexed",
        loop(
            "x = torch.randn(4, 6, 8)",
            "F.mse_loss(net(x), x.cumsum(1)).backward()",
            net="Net()",
            before="class Net(nn.Module):\n"
            "    def __init__(self):\n        super().__init__()\n"
            "        self.pos, self.linear = nn.Embedding(12, 8), nn.Linear(8, 8)\n"
            "    def placed(self, x):\n"
            "        return x + self.pos.weight[x.shape[1]]  # here\n"
            "    def forward(self, x):\n"
            "        return self.linear(self.placed(x))\n",
        ),
    ),
    "softmax over the queries": (
        "wrong_axis",
        attention(SCORES + "\n        out = F.dropout(s.softmax(-2), 0.1, self.training) @ v  # here"),
    ),
    "softmax over the queries, functional": (
        "wrong_axis",
        attention(SCORES + "\n        w = F.softmax(s, dim=2)  # here\n        out = torch.matmul(w, v)"),
    ),
    "log_softmax over the batch": (
        "wrong_axis",
        loop(X, Y, "F.nll_loss(F.log_softmax(net(x), dim=0), y).backward()  # here"),
    ),
    "argmax of all scores": (
        "wrong_axis",
        loop(
            X,
            Y,
            "s = net(x)",
            "F.cross_entropy(s, y).backward()",
            "right = (s.argmax() == y).float().mean()  # here",
        ),
    ),
    "torch.max over the rows": (
        "wrong_axis",
        loop(X, Y, "s = net(x)", "F.cross_entropy(s, y).backward()", "_, guess = torch.max(s, 0)  # here"),
    ),
    "heads by view": (
        "view_for_transpose",
        attention(SCORES + "\n        out = (s.softmax(-1) @ v).reshape(B, T, D).view(B, 2, T, 4)  # here"),
    ),
    "heads merged without transpose": (
        "view_for_transpose",
        attention(
            SCORES + "\n        out = (s.softmax(-1) @ v)\n        return out.reshape(B, T, D)  # here"
        ),
    ),
    "the last state of two directions": (
        "view_for_transpose",
        loop(
            "x = torch.randn(5, 7, 8)",
            "net(x).square().mean().backward()",
            net="Net()",
            before="class Net(nn.Module):\n"
            "    def __init__(self):\n        super().__init__()\n"
            "        self.rnn = nn.LSTM(8, 4, batch_first=True, bidirectional=True)\n"
            "    def forward(self, x):\n"
            "        return self.rnn(x)[1][0].view(len(x), -1)  # here\n",
        ),
    ),
    "a penalty with item()": (
        "term_without_gradient",
        loop(
            X,
            Y,
            "penalty = sum(p.data.norm() for p in net.parameters())",
            "loss = F.cross_entropy(net(x), y) + 0.01 * penalty  # here",
            "loss.backward()",
        ),
    ),
    "a term under no_grad, in place": (
        "term_without_gradient",
        loop(
            X,
            Y,
            "loss = F.cross_entropy(net(x), y)",
            "with torch.no_grad():",
            "    entropy = net(x).softmax(1).log().mean()",
            "loss += 0.1 * entropy  # here",
            "loss.backward()",
        ),
    ),
    "a term made by torch.tensor": (
        "term_without_gradient",
        loop(
            X,
            Y,
            "extra = torch.tensor(net(x).abs().mean().item(), requires_grad=True)",
            "(F.cross_entropy(net(x), y) + 0.1 * extra).backward()  # here",
        ),
    ),
    "terms stacked": (
        "term_without_gradient",
        loop(
            X,
            Y,
            "s = net(x)",
            "terms = [F.cross_entropy(s, y), s.detach().abs().mean()]",
            "torch.stack(terms).sum().backward()  # here",
        ),
    ),
    "weights that are frequencies": (
        "inverted_class_weights",
        loop(
            "x = torch.randn(64, 8)",
            "y = (x[:, 0] > 0.8).long() + (x[:, 0] > 1.5).long()",
            "loss_of(net(x), y).backward()",
            before="loss_of = nn.CrossEntropyLoss(weight=torch.tensor([0.79, 0.14, 0.07]))  # here\n",
        ),
    ),
    "pos_weight of positives over negatives": (
        "inverted_class_weights",
        loop(
            "x = torch.randn(64, 8)",
            "y = (x[:, :1] > 1.2).float()",
            "F.binary_cross_entropy_with_logits(net(x), y, pos_weight=torch.tensor([0.13])).backward()  "
            "# here",
            net="nn.Linear(8, 1)",
        ),
    ),
    "positions indexed by a name": (
        "positions_indexed",
        loop(
            "x = torch.randn(4, 6, 8)",
            "F.mse_loss(net(x), x.cumsum(1)).backward()",
            net="Net()",
            before="class Net(nn.Module):\n"
            "    def __init__(self):\n        super().__init__()\n"
            "        self.pe, self.linear = nn.Parameter(torch.randn(12, 8)), nn.Linear(8, 8)\n"
            "    def forward(self, x):\n"
            "        batch, length, width = x.shape\n"
            "        return self.linear(x + self.pe[length])  # here\n",
        ),
    ),
    "a last batch of one row": (
        "batchnorm_one_row",
        loop(
            "x = torch.randn(1 if step == 4 else 8, 8)",
            "net(x).square().mean().backward()  # here",
            net="nn.Sequential(nn.Linear(8, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))",
        ),
    ),
    "a frozen backbone in training mode": (
        "frozen_batchnorm_moves",
        loop(
            "x = torch.randn(8, 3, 6, 6)",
            "F.cross_entropy(net(x), torch.arange(8) % 2).backward()",
            net="nn.Sequential(nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)), nn.Flatten(), "
            "nn.Linear(64, 2))",
        ).replace(
            "optimizer =",
            "for p in net[0].parameters():\n    p.requires_grad = False  # here\noptimizer =",
            1,
        ),
    ),
    "an index assigned in place": (
        "inplace_saved_tensor",
        loop(X, "h = net(x).exp()", "h[:, 0] = 0.0  # here", "h.mean().backward()"),
    ),
    "relu in place on a sigmoid": (
        "inplace_saved_tensor",
        loop(X, "h = torch.sigmoid(net(x))", "F.relu(h, inplace=True)  # here", "h.mean().backward()"),
    ),
    "half precision without a scaler": (
        "float16_underflow",
        loop(
            X,
            "with torch.autocast('cpu', dtype=torch.float16):",
            "    loss = F.mse_loss(net(x), x * 1e-4, reduction='mean') * 1e-7",
            "loss.backward()  # here",
            net="nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8))",
        ),
    ),
}


@pytest.mark.parametrize("name", SICK)
def test_a_bug_is_named_at_its_line_in_every_style(name: str, tmp_path: Path) -> None:
    (bug, source), path = SICK[name], tmp_path / "sick.py"
    assert (bug, marked(source, path)) in bugs(source, path)

"""Right programs that look like the bugs of losses, masks, axes and numbers stay silent."""

from pathlib import Path

import pytest

from tests.checks.programs import CE, SCORES, X, Y, attention, findings, loop, tokens

BLOCK = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        PARTS
    def forward(self, x):
        BODY
"""


FOLLOWER = """
import copy
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.quick = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 4))
        self.slow = copy.deepcopy(self.quick).requires_grad_(False)
    def forward(self, x):
        with torch.no_grad():
            goal = self.slow(x + 0.1 * torch.randn_like(x))
        return (2 - 2 * F.cosine_similarity(self.quick(x), goal)).mean()
net = Net()
optimizer = torch.optim.Adam(net.quick.parameters(), lr=1e-3)
for step in range(6):
    loss = net(torch.randn(16, 8))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for average, new in zip(net.slow.parameters(), net.quick.parameters()):
            average.mul_(0.9).add_(new, alpha=0.1)
"""
LABELLED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.token, self.place = nn.Embedding(9, 8), nn.Embedding(8, 8)
        self.mix, self.out = nn.GRU(8, 8, batch_first=True), nn.Linear(8, 9)
    def forward(self, ids, targets):
        scores = self.out(self.mix(self.token(ids) + self.place(torch.arange(7)))[0])
        return scores, F.cross_entropy(scores.flatten(0, 1), targets.flatten(), ignore_index=-1)
"""


GRAPH = """
class Conv(nn.Module):
    def __init__(self, before, after):
        super().__init__()
        self.linear = nn.Linear(before, after)
    def forward(self, x, edges):
        h = self.linear(x)
        return h.index_add(0, edges[1], h[edges[0]])
x, edges = torch.randn(12, 4), torch.randint(0, 12, (2, 40))
first, second = Conv(4, 8), Conv(8, 3)
optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=1e-2)
for step in range(6):
    optimizer.zero_grad()
    z = second(first(x, edges).relu(), edges)
    F.binary_cross_entropy_with_logits((z[edges[0]] * z[edges[1]]).sum(1), torch.ones(40)).backward()
    optimizer.step()
"""


def module(parts: str, *body: str) -> str:
    return BLOCK.replace("PARTS", parts).replace("BODY", "\n        ".join(body))


GAN = """
G = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 6), nn.Tanh())
D = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
of_G, of_D = (torch.optim.Adam(net.parameters(), lr=2e-4, betas=(0.5, 0.999)) for net in (G, D))
for step in range(8):
    real, z = torch.randn(16, 6), torch.randn(16, 4)
    D.requires_grad_(True)
    of_D.zero_grad()
    high = torch.empty(16, 1).uniform_(0.7, 1.2)
    loss = F.binary_cross_entropy_with_logits(D(real), high)
    loss = loss + F.binary_cross_entropy_with_logits(D(G(z).detach()), torch.zeros(16, 1))
    loss.backward()
    of_D.step()
    D.requires_grad_(False)
    of_G.zero_grad()
    F.binary_cross_entropy_with_logits(D(G(z)), torch.ones(16, 1)).backward()
    of_G.step()
"""
VAE = module(
    "self.e, self.d = nn.Linear(8, 6), nn.Linear(3, 8)",
    "mean, log_var = self.e(x).chunk(2, 1)",
    "z = mean + torch.exp(0.5 * log_var) * torch.randn_like(mean)",
    "return torch.sigmoid(self.d(z)), -0.5 * (1 + log_var - mean.pow(2) - log_var.exp()).sum(1).mean()",
)
HEALTHY = {
    "a GAN with noisy labels whose critic is frozen for a moment": GAN,
    "a VAE": loop(
        "x = torch.rand(16, 8)",
        "seen, kl = net(x)",
        "(F.binary_cross_entropy(seen, x) + 0.1 * kl).backward()",
        net="Net()",
        before=VAE,
    ),
    "log of a clamped probability, and a root with an epsilon": loop(
        X,
        Y,
        "p = net(x).softmax(1)",
        "root = ((p[:, None] - p) ** 2).sum(-1).add(1e-9).sqrt()",
        "(-(p.clamp_min(1e-9).log())[torch.arange(16), y].mean() + 0.1 * root.mean()).backward()",
    ),
    "minus infinity that a softmax takes away": attention(
        SCORES + "\n        hide = torch.ones(T, T).triu(1).log().nan_to_num(0.0, neginf=0.0)\n"
        "        keep = torch.ones(T, T).tril().log()\n        out = (s + keep).softmax(-1) @ v"
    ),
    "division by a norm with an epsilon, of rows that are zero": loop(
        "x = torch.cat([torch.randn(15, 8), torch.zeros(1, 8)])",
        "h = x / (x.norm(dim=1, keepdim=True) + 1e-8)",
        "net(h).square().mean().backward()",
    ),
    "standard deviation of columns that vary": loop(
        X, "x = (x - x.mean(0)) / x.std(0)", "F.mse_loss(net(x), x[:, :3]).backward()"
    ),
    "distillation with a temperature": loop(
        X,
        Y,
        "with torch.no_grad():",
        "    t = teacher(x)",
        "s = net(x)",
        "kl = F.kl_div(F.log_softmax(s / 2, 1), F.softmax(t / 2, 1), reduction='batchmean') * 4",
        "(0.5 * kl + 0.5 * F.cross_entropy(s, y)).backward()",
        before="teacher = nn.Linear(8, 3).eval()\n",
    ),
    "a divergence between logarithms": loop(
        X,
        "F.kl_div(net(x).log_softmax(1), x[:, :3].log_softmax(1), reduction='batchmean', "
        "log_target=True).backward()",
    ),
    "two nets that learn from each other": loop(
        X,
        "a, b = net[0](x), net[1](x)",
        "one = F.kl_div(a.log_softmax(1), b.detach().softmax(1), reduction='batchmean')",
        "two = F.kl_div(b.log_softmax(1), a.detach().softmax(1), reduction='batchmean')",
        "(one + two).backward()",
        net="nn.ModuleList([nn.Linear(8, 3), nn.Linear(8, 3)])",
    ),
    "a sum over places of a divergence": loop(
        "x = torch.randn(4, 5, 8)",
        "F.kl_div(net(x).log_softmax(-1), x[..., :3].softmax(-1), reduction='sum').div(20).backward()",
    ),
    "a ReLU before the last layer, sigmoid with BCE": loop(
        X,
        "F.binary_cross_entropy(net(x), (x[:, :1] > 0).float()).backward()",
        net="nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1), nn.Sigmoid())",
    ),
    "scores clipped by a tanh and a temperature": loop(
        X, Y, "F.cross_entropy(10 * torch.tanh(net(x)), y).backward()"
    ),
    "a regression of positive numbers": loop(
        X, "F.mse_loss(net(x).relu(), x[:, :3].abs()).backward()", net="nn.Linear(8, 3)"
    ),
    "log_softmax with nll_loss, for images": loop(
        "x = torch.randn(4, 3, 5, 5)",
        "F.nll_loss(F.log_softmax(net(x), dim=1), x.argmax(1)).backward()",
        net="nn.Conv2d(3, 3, 1)",
    ),
    "segmentation with an ignored border": loop(
        "x = torch.randn(4, 3, 6, 6)",
        "y = x.argmax(1)",
        "y[:, 0] = 255",
        "nn.CrossEntropyLoss(ignore_index=255)(net(x), y).backward()",
        net="nn.Conv2d(3, 3, 1)",
    ),
    "dropout before the last layer, and in attention": loop(
        "x = torch.randn(4, 5, 8)",
        "F.cross_entropy(net(x).mean(1), torch.arange(4) % 2).backward()",
        net="nn.Sequential(nn.TransformerEncoderLayer(8, 2, 8, 0.1, batch_first=True), nn.Dropout(0.2), "
        "nn.Linear(8, 2))",
    ),
    "an auxiliary loss on a dropped feature": loop(
        X,
        "h = net[0](x)",
        "loss = F.mse_loss(net[1](F.dropout(h, 0.2)), x[:, :3]) + 1e-3 * h.square().mean()",
        "loss.backward()",
        net="nn.ModuleList([nn.Linear(8, 8), nn.Linear(8, 3)])",
    ),
    "soft labels, and smoothing": loop(
        X, "F.cross_entropy(net(x), x[:, :3].softmax(1), label_smoothing=0.1).backward()"
    ),
    "labels that a language model shifts once": loop(
        "text = torch.randint(0, 9, (4, 8))",
        "s = net(text)",
        "F.cross_entropy(s[:, :-1].flatten(0, 1), text[:, 1:].flatten()).backward()",
        net="nn.Sequential(nn.Embedding(9, 8), nn.Linear(8, 9))",
    ),
    "two tokens predicted at once": loop(
        "text = torch.randint(0, 9, (4, 8))",
        "s = net(text[:, :-2])",
        "one = F.cross_entropy(s[..., :9].flatten(0, 1), text[:, 1:-1].flatten())",
        "two = F.cross_entropy(s[..., 9:].flatten(0, 1), text[:, 2:].flatten())",
        "(one + two).backward()",
        net="nn.Sequential(nn.Embedding(9, 8), nn.Linear(8, 18))",
    ),
    "padding that is ignored, and a mask of it": tokens("h = self.layer(h, src_key_padding_mask=ids == 0)"),
    "padding that a mask takes out of the loss": tokens(
        "h = self.layer(h, src_key_padding_mask=ids == 0)",
        "each = F.cross_entropy(net(ids).transpose(1, 2), ids, reduction='none')",
        "(each * ~pad).sum().div((~pad).sum()).backward()",
    ),
    "padding that a weight of zero takes out": tokens(
        "pass",
        "weight = torch.ones(9)",
        "weight[0] = 0",
        "F.cross_entropy(net(ids).flatten(0, 1), ids.flatten(), weight=weight).backward()",
    ),
    "sorted rows that end alike": loop(
        "text = torch.randint(0, 4, (8, 6))",
        "F.cross_entropy(net(text).transpose(1, 2), text.sort(1).values).backward()",
        net="nn.Sequential(nn.Embedding(4, 8), nn.Linear(8, 4))",
    ),
    "tags of tokens, the commonest of which ends rows": loop(
        "text = torch.randint(0, 9, (8, 6))",
        "F.cross_entropy(net(text).transpose(1, 2), (text < 3).long()).backward()",
        net="nn.Sequential(nn.Embedding(9, 8), nn.Linear(8, 2))",
    ),
    "a causal mask for each function": attention(
        "keep = torch.ones(T, T, dtype=torch.bool).tril()\n"
        "        one = F.scaled_dot_product_attention(q, k, v, attn_mask=keep)\n"
        "        " + SCORES + "\n"
        "        two = s.masked_fill(~keep, -torch.inf).softmax(-1) @ v\n"
        "        three = torch.where(keep, s, -1e9).softmax(-1) @ v\n"
        "        out = one + two + three"
    ),
    "padding on the left": tokens(
        "h = self.layer(h, src_key_padding_mask=ids == 0)",
        "ids = ids.flip(1)",
        "F.cross_entropy(net(ids).flatten(0, 1), ids.flatten(), ignore_index=0).backward()",
    ),
    "a bias that is added to the scores": attention(
        "bias = -(torch.arange(T)[:, None] - torch.arange(T)).abs().float()\n"
        "        out = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)"
    ),
    "a padding mask for scaled_dot_product_attention": tokens(
        "keep = (ids != 0)[:, None]\n        h = F.scaled_dot_product_attention(h, h, h, attn_mask=keep)"
    ),
    "slots that share out the tokens": attention(
        SCORES + "\n        w = s.softmax(-2) + 1e-8\n        out = (w / w.sum(-1, keepdim=True)) @ v"
    ),
    "linear attention": attention("out = q.softmax(-1) @ (k.softmax(-2).transpose(-2, -1) @ v)"),
    "a soft assignment of nodes to clusters": loop(
        "x = torch.randn(4, 6, 8)",
        "a = net(x).softmax(-1)",
        "(a.transpose(1, 2) @ x).square().mean().backward()",
    ),
    "pairs compared in both directions": loop(
        X,
        "s = net(x) @ net(x + 0.1).T",
        "y = torch.arange(16)",
        "(F.cross_entropy(s, y) + F.cross_entropy(s.T, y)).backward()",
        "right = (s.argmax(0) == y).float().mean() + (s.argmax(1) == y).float().mean()",
    ),
    "the best action of one state": loop(
        X, Y, CE, "action = net(x[:1]).argmax().item()", "best = net(x).max(1).values.mean()"
    ),
    "patches cut by view and permute": loop(
        "x = torch.randn(4, 3, 8, 8)",
        "h = x.view(4, 3, 2, 4, 2, 4).permute(0, 2, 4, 1, 3, 5).reshape(4, 4, 48)",
        "net(h).square().mean().backward()",
        net="nn.Linear(48, 4)",
    ),
    "states of a recurrent net by layer and direction": loop(
        "x = torch.randn(5, 7, 8)",
        "net(x).square().mean().backward()",
        net="Net()",
        before=module(
            "self.rnn = nn.LSTM(8, 4, 2, batch_first=True, bidirectional=True)",
            "h = self.rnn(x)[1][0].view(2, 2, len(x), 4)[-1]",
            "return h.transpose(0, 1).reshape(len(x), -1)",
        ),
    ),
    "channels shuffled": loop(
        "x = torch.randn(4, 6, 5, 5)",
        "h = net(x)",
        "h.view(4, 2, 3, 5, 5).transpose(1, 2).reshape(4, 6, 5, 5).square().mean().backward()",
        net="nn.Conv2d(6, 6, 1)",
    ),
    "the shift of relative positions": loop(
        "x = torch.randn(4, 6, 8)",
        "s = net(x)",
        "s = torch.cat([torch.zeros(4, 6, 1), s], 2).view(4, 7, 6)[:, 1:]",
        "s.square().mean().backward()",
        net="nn.Linear(8, 6)",
    ),
    "a flood level, and a term that is scaled by a schedule": loop(
        X, Y, "loss = F.cross_entropy(net(x), y)", "((loss - 0.1).abs() + 0.1 + step * 0.0).backward()"
    ),
    "weights of tasks that learn": loop(
        X,
        Y,
        "s = net[0](x)",
        "a, b = F.cross_entropy(s, y), s.square().mean()",
        "((-v[0]).exp() * a + (-v[1]).exp() * b + v.sum()).backward()",
        net="nn.ModuleList([nn.Linear(8, 3), nn.ParameterList([nn.Parameter(torch.zeros(2))])])",
        before="",
    ).replace("optimizer =", "v = net[1][0]\noptimizer =", 1),
    "an actor and a critic": loop(
        X,
        "value, scores = net(x).split([1, 3], 1)",
        "choice = torch.distributions.Categorical(logits=scores)",
        "action = choice.sample()",
        "gain = (torch.randn(16) - value[:, 0]).detach()",
        "loss = -(gain * choice.log_prob(action)).mean() + 0.5 * F.mse_loss(value[:, 0], torch.randn(16))",
        "(loss - 0.01 * choice.entropy().mean()).backward()",
        net="nn.Linear(8, 4)",
    ),
    "weights that make up for rare classes": loop(
        "x = torch.randn(64, 8)",
        "y = (x[:, 0] > 0.8).long()",
        "F.cross_entropy(net(x)[:, :2], y, weight=torch.tensor([0.6, 2.4])).backward()",
    ),
    "weights for classes that are balanced": loop(
        "x = torch.randn(64, 8)",
        Y,
        "F.cross_entropy(net(x), y, weight=torch.tensor([1.0, 1.1, 1.2])).backward()",
    ),
    "positions sliced, and a table of lengths": loop(
        "x = torch.randn(4, 6, 8)",
        "F.mse_loss(net(x), x.cumsum(1)).backward()",
        net="Net()",
        before=module(
            "self.pe, self.linear = nn.Parameter(torch.randn(12, 8)), nn.Linear(8, 8)",
            "length = x.shape[1]",
            "return self.linear(x + self.pe[:length] + self.pe[0] + self.pe[torch.arange(length)])",
        ),
    ),
    "BatchNorm with two rows, and pictures one by one through GroupNorm": loop(
        "x = torch.randn(1, 4, 6, 6)",
        "net(x).square().mean().backward()",
        net="nn.Sequential(nn.Conv2d(4, 4, 3), nn.GroupNorm(2, 4), nn.Conv2d(4, 2, 3))",
    ),
    "a frozen backbone in eval mode": loop(
        "net.train()",
        "net[0].eval()",
        "x = torch.randn(8, 3, 6, 6)",
        "F.cross_entropy(net(x), torch.arange(8) % 2).backward()",
        net="nn.Sequential(nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)), nn.Flatten(), "
        "nn.Linear(64, 2))",
    ).replace("optimizer =", "net[0].requires_grad_(False)\noptimizer =", 1),
    "a teacher in training mode without gradients": loop(
        X,
        "with torch.no_grad():",
        "    t = teacher(x)",
        "F.mse_loss(net(x), t).backward()",
        "for a, b in zip(teacher.parameters(), net.parameters()):",
        "    a.data.mul_(0.99).add_(b.data, alpha=0.01)",
        net="nn.Sequential(nn.Linear(8, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))",
        before="teacher = nn.Sequential(nn.Linear(8, 4), nn.BatchNorm1d(4), nn.Linear(4, "
        "2)).requires_grad_(False)\n",
    ),
    "changes in place that nothing needs": loop(
        X,
        "h = net(x)",
        "h += 1",
        "h.mul_(0.5).relu_()",
        "h = torch.zeros(16, 3).index_copy(0, torch.arange(16), h)",
        "h[:, 0] = 0.0",
        "h.square().mean().backward()",
    ),
    "float16 with a scaled loss": loop(
        X,
        "with torch.autocast('cpu', dtype=torch.float16):",
        "    loss = F.mse_loss(net(x), x[:, :3])",
        "(loss * 1024).backward()",
        "for p in net.parameters():",
        "    p.grad /= 1024",
    ),
    "bfloat16": loop(
        X,
        Y,
        "with torch.autocast('cpu', dtype=torch.bfloat16):",
        "    loss = F.cross_entropy(net(x), y)",
        "loss.backward()",
    ),
    "contrast between two views": loop(
        X,
        "a, b = (F.normalize(net(x + 0.1 * torch.randn_like(x)), dim=1) for _ in range(2))",
        "F.cross_entropy(a @ b.T / 0.2, torch.arange(16)).backward()",
    ),
    "an average with statistics of its own": FOLLOWER,
    "nodes of a graph, layer by layer": GRAPH,
    "labels handed to the network, some ignored": loop(
        "text = torch.randint(0, 9, (8, 8))",
        "ids, targets = text[:, :-1], text[:, 1:].clone()",
        "targets[:, :3] = -1",
        "net(ids, targets)[1].backward()",
        net="Net()",
        before=LABELLED,
    ),
    "noise predicted at random times": loop(
        "x, noise = torch.randn(16, 8), torch.randn(16, 8)",
        "t = torch.rand(16, 1)",
        "seen = (1 - t).sqrt() * x + t.sqrt() * noise",
        "F.mse_loss(net(torch.cat([seen, t], 1)), noise).backward()",
        net="nn.Sequential(nn.Linear(9, 16), nn.SiLU(), nn.Linear(16, 8))",
    ),
}
BUGS = {
    *("nan_source", "kl_of_probabilities", "kl_swapped", "activation_on_logits", "padding_in_loss"),
    *("inverted_mask", "wrong_axis", "view_for_transpose", "bad_labels", "term_without_gradient"),
    *("inverted_class_weights", "dropout_at_output", "positions_indexed", "batchnorm_one_row"),
    *("frozen_batchnorm_moves", "inplace_saved_tensor", "float16_underflow", "float64_by_accident"),
    "mixed_rows",
}


@pytest.mark.parametrize("name", HEALTHY)
def test_a_right_program_is_not_accused(name: str, tmp_path: Path) -> None:
    found = findings(HEALTHY[name], tmp_path / "healthy.py")
    assert [(f.bug, f.where, f.evidence) for f in found if f.bug in BUGS] == []

import torch
import torch.nn.functional as F


class Echo(torch.nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.a = torch.nn.Linear(6, hidden)
        self.b = torch.nn.Linear(hidden, 5)

    def forward(self, x):
        return self.b(torch.tanh(self.a(x)))


def distillation_loss(student_logits, teacher_logits, temperature=3.0):
    student = F.softmax(student_logits / temperature, dim=-1)
    teacher = F.log_softmax(teacher_logits / temperature, dim=-1)
    return F.kl_div(teacher, student, reduction="batchmean") * temperature**2


def sounds(n):
    x = torch.randn(n, 6)
    return x, (x[:, :5] + x[:, 1:6]).argmax(1)


def main():
    torch.manual_seed(4)
    teacher = Echo(64)
    optimizer = torch.optim.Adam(teacher.parameters(), lr=1e-2)
    for _ in range(200):
        x, y = sounds(64)
        optimizer.zero_grad()
        F.cross_entropy(teacher(x), y).backward()
        optimizer.step()
    for p in teacher.parameters():
        p.requires_grad = False

    student = Echo(10)
    optimizer = torch.optim.Adam(student.parameters(), lr=5e-3)
    for step in range(300):
        x, y = sounds(64)
        loss = distillation_loss(student(x), teacher(x))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 60 == 0:
            print(f"{step:4d} distillation {loss.item():.4f}")
    x, y = sounds(400)
    with torch.no_grad():
        print("agreement", (student(x).argmax(1) == teacher(x).argmax(1)).float().mean().item())


main()

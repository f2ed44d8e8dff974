import copy
import random
from collections import deque

import torch
import torch.nn as nn

random.seed(0)
torch.manual_seed(0)
SIZE = 5


def encode(cell):
    state = torch.zeros(SIZE * SIZE)
    state[cell] = 1.0
    return state


def move(cell, action):
    r, c = divmod(cell, SIZE)
    dr, dc = [(-1, 0), (1, 0), (0, -1), (0, 1)][action]
    r, c = min(max(r + dr, 0), SIZE - 1), min(max(c + dc, 0), SIZE - 1)
    cell = r * SIZE + c
    done = cell == SIZE * SIZE - 1
    return cell, (1.0 if done else -0.02), done


q_net = nn.Sequential(nn.Linear(SIZE * SIZE, 64), nn.ReLU(), nn.Linear(64, 4))
target_net = copy.deepcopy(q_net)
optimizer = torch.optim.Adam(q_net.parameters(), lr=2e-3)
memory = deque(maxlen=3000)
SYNC = 200
frames = 0

for episode in range(40):
    cell, done, steps = 0, False, 0
    frames = 0
    while not done and steps < 60:
        epsilon = max(0.1, 1 - episode / 25)
        if random.random() < epsilon:
            action = random.randrange(4)
        else:
            with torch.no_grad():
                action = int(q_net(encode(cell)).argmax())
        after, reward, done = move(cell, action)
        memory.append((cell, action, reward, after, done))
        cell = after
        steps += 1
        frames += 1
        if len(memory) >= 64:
            rows = random.sample(memory, 32)
            s = torch.stack([encode(r[0]) for r in rows])
            a = torch.tensor([r[1] for r in rows])
            rew = torch.tensor([r[2] for r in rows])
            s2 = torch.stack([encode(r[3]) for r in rows])
            end = torch.tensor([float(r[4]) for r in rows])
            with torch.no_grad():
                goal = rew + 0.95 * (1 - end) * target_net(s2).max(1).values
            value = q_net(s).gather(1, a[:, None]).squeeze(1)
            loss = nn.functional.smooth_l1_loss(value, goal)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if frames % SYNC == 0:
            target_net.load_state_dict(q_net.state_dict())
    if episode % 10 == 9:
        print(f"episode {episode}: {steps} steps")

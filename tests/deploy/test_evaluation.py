"""A network that answers in whole numbers for a while."""

import pytest
import torch

import eigenloop as el
from eigenloop.deploy.evaluation import Agreement, in_integers
from eigenloop.errors import ConfigError

SEED = torch.Generator().manual_seed(0)


def test_the_network_is_itself_again() -> None:
    net = el.Model(el.RNN(3, 8, nonlinearity="relu", bits=4), 4).eval()
    X = torch.randn(6, 5, 3, generator=SEED)
    whole = el.deploy.integer(net, calibration=X, state_bits=8)
    lengths = torch.tensor([6, 2, 1, 6, 3])
    with torch.no_grad():
        before = net(X, lengths=lengths)[0]
        with in_integers(net, whole):
            inside = net(X, lengths=lengths)[0]
        torch.testing.assert_close(net(X, lengths=lengths)[0], before, rtol=0, atol=0)
    torch.testing.assert_close(inside, torch.from_numpy(whole.predict(X, lengths=lengths.tolist())).float())
    assert not torch.equal(inside, before)


def test_a_state_that_goes_on_is_refused() -> None:
    net = el.Model(el.RNN(3, 8, nonlinearity="relu", bits=4), 4)
    X = torch.randn(6, 5, 3, generator=SEED)
    whole = el.deploy.integer(net, calibration=X)
    with in_integers(net, whole), pytest.raises(ConfigError, match="carried from one piece to the next"):
        net(X, torch.zeros(1, 5, 8))
    net(X, torch.zeros(1, 5, 8))


def test_agreement_counts_valid_steps() -> None:
    outputs, whole = (torch.randint(0, 3, (7, 20, 3), generator=SEED).float() for _ in range(2))
    whole[:, 3] = outputs[:, 3]
    lengths = torch.randint(1, 8, (20,), generator=SEED)
    agreement = Agreement()
    for part in (slice(0, 13), slice(13, 20)):
        valid = torch.arange(7)[:, None] < lengths[part]
        agreement.add(outputs[:, part], whole[:, part], valid)
    same, sequences, largest = 0, 0, 0.0
    for b, length in enumerate(lengths.tolist()):
        equal = [int(outputs[t, b].argmax()) == int(whole[t, b].argmax()) for t in range(length)]
        same, sequences = same + sum(equal), sequences + all(equal)
        largest = max([largest, *(float((outputs[t, b] - whole[t, b]).abs().max()) for t in range(length))])
    assert agreement == Agreement(int(lengths.sum()), same, 20, sequences, largest)

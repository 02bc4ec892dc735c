import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascpo.algorithms import ALGORITHMS
from ascpo.cli import journal as verb
from ascpo.report.data import read_run
from ascpo.report.heeded import Way, heeded
from ascpo.report.journal import CASES, entry
from ascpo.report.timeline import milestones, stretches, timeline
from ascpo.runs.plain import BadSetting
from ascpo.trust_region.dual import Case
from tests.report.made import NO_CONSTRAINTS, made, several


def said(run, epoch):
    """What is said about each thing, with plain spaces."""
    return {about: text.replace("\u00a0", " ") for about, text in entry(run, epoch).parts}


def told(run):
    """The time line with plain spaces: (first, last, title, everything that is said)."""
    return [
        (phase.first, phase.last, phase.title, " ".join((*phase.sentences, phase.outcome)).replace("\u00a0", " "))
        for phase in timeline(run)
    ]


def test_a_constrained_step_is_told_from_the_policy_before_to_the_one_after(tmp_path):
    run = read_run(
        made(tmp_path / "a", EpRet=[1, 1.5, 1, 1], EpCost=[0.4, 0.3, 0.4, 0.4], SafeRate=[0.7, 0.75, 0.9, 0.9])
    )
    assert entry(run, 0).title == "Epoch 0, after 100 steps: recovering"
    assert said(run, 0) == {
        "Policy": "Over 20 episodes it returned 1 and paid 0.4 an episode. The largest cost of an episode was 0.1 on "
        "average, with a deviation of 0.1; the worst state cost 0.4. 70.0 % of the episodes kept the limit in every "
        "state, where 80 % are promised; 5.0 % ran into the time limit.",
        "Asked": "The constraints could get 97.0 % of the region's radius. What is kept is the chance that an episode "
        "breaks a limit: it was asked to fall by 0.3.",
        "Step": "Recovering: the constraints come first, and the reward gets what is left of the region. Multipliers: "
        "λ = 0.5 of the region, ν = 0.2 of the constraint. The policy moved by a mean KL of 0.01, where at most 0.02 "
        "is allowed. The line search shortened it once, to 50.0 % of its length.",
        "Promise": "Change of the constraint's surrogate: −0.25 by the linear model, −0.125 on the same data after the "
        "line search. The loss fell by 0.002.",
        "Critics": "On episodes that they had not seen, the critics explained 80.0 % of the return's variance, and "
        "50.0 % of the costs'.",
        "Next": "Epoch 1 measured a return of 1.5 (+0.5), a cost of 0.3 (−0.1), a largest cost of 0.1 (0), and 75.0 % "
        "of the episodes within all limits (+5.0 points).",
    }


def test_the_last_epoch_has_no_next(tmp_path):
    assert "last epoch so far" in said(read_run(made(tmp_path / "a", epochs=2)), 1)["Next"]


@pytest.mark.parametrize(
    ("asked", "words"),
    [(0.3, "asked to fall by 0.3"), (-0.2, "allowed to rise by 0.2"), (0.0, "to be held where it was")],
)
def test_an_ask_may_be_to_fall_to_hold_or_not_to_rise_too_far(tmp_path, asked, words):
    assert words in said(read_run(made(tmp_path / "a", Asked=asked)), 0)["Asked"]


def test_every_case_of_a_step_has_words():
    assert set(CASES) == set(Case)


@pytest.mark.parametrize("case", list(Case))
def test_a_title_names_the_case(tmp_path, case):
    run = read_run(made(tmp_path / "a", Case=int(case)))
    name, meaning = CASES[case]
    assert entry(run, 0).title.endswith(name)
    assert meaning in said(run, 0)["Step"]


def test_a_projected_step_is_told_as_one(tmp_path):
    run = read_run(made(tmp_path / "a", algo="pcpo", method={}, Case=2))
    assert said(run, 0)["Step"].startswith("Projected: the step for the reward was moved to the nearest point")
    assert "the mean cost of an episode" in said(run, 0)["Asked"]


def test_a_step_that_was_not_taken_says_so(tmp_path):
    step = said(read_run(made(tmp_path / "a", Accepted=0, KL=0.0, LineSearch=100)), 0)["Step"]
    assert "No step was taken" in step
    assert "shortened" not in step


def test_a_full_step_was_not_shortened(tmp_path):
    assert "left it at its full length" in said(read_run(made(tmp_path / "a", LineSearch=0)), 0)["Step"]


def test_several_constraints_are_told_by_name(tmp_path):
    parts = said(read_run(made(tmp_path / "a", **several(Asked_hazard=0.1, Asked_pillar=0.0, Nu_pillar=3.0))), 0)
    assert "it was asked to fall by 0.1 (hazard); it was to be held where it was (pillar)" in parts["Asked"]
    assert "ν = 0.2 (hazard), ν = 3 (pillar)" in parts["Step"]
    assert "kept all limits" in parts["Policy"]


def test_without_constraints_nothing_is_asked(tmp_path):
    run = read_run(made(tmp_path / "a", algo="trpo", **NO_CONSTRAINTS))
    assert list(said(run, 0)) == ["Policy", "Step", "Promise", "Critics", "Next"]
    assert said(run, 0)["Step"].startswith("Reward alone: one step for the reward; costs are not looked at.")
    assert entry(run, 0).title.endswith("reward alone")


def test_a_price_is_told_with_where_it_goes(tmp_path):
    run = read_run(made(tmp_path / "a", algo="trpo-lagrangian", method={}, Multiplier=[0, 2, 2, 1], **NO_CONSTRAINTS))
    prices = [said(run, epoch)["Price"] for epoch in range(4)]
    assert (
        prices[0] == "Paid for is the mean cost of an episode. Its price was 0 in this step and rose to 2 for the next."
    )
    assert prices[1].endswith("was 2 in this step and hardly changed for the next.")
    assert prices[2].endswith("was 2 in this step and fell to 1 for the next.")
    assert prices[3].endswith("was 1 in this step.")


def test_a_descent_is_told_by_its_iterations(tmp_path):
    method = {"ppo": {"descent": {"iterations": 80}}}
    run = read_run(
        made(
            tmp_path / "a",
            algo="pascpo",
            method=method,
            Multiplier=1.0,
            LineSearch=[0, 60, 0, 0],
            **NO_CONSTRAINTS,
        )
    )
    assert said(run, 0)["Step"].endswith("The descent made 80 of 80 iterations.")
    assert said(run, 1)["Step"].endswith("The descent made 20 of 80 iterations, and ended where it had moved enough.")


def test_a_shield_and_a_tail_are_told(tmp_path):
    columns = {"ShieldRate": [0, 0.25, 0, 0], "ShieldShift": 0.5, "VaR": 1.5, "CVaR": 3.0}
    run = read_run(made(tmp_path / "a", algo="trpo-sl", method={}, **columns, **NO_CONSTRAINTS))
    assert said(run, 0)["Shield"] == "The shield changed no action."
    assert said(run, 1)["Shield"] == "The shield changed 25.0 % of the actions, by 0.5 on average."
    assert "more than 1.5 (value at risk); 3 is the mean" in said(run, 0)["Tail"]


def test_a_critic_that_is_worse_than_the_mean_explains_nothing(tmp_path):
    assert "nothing of the costs'" in said(read_run(made(tmp_path / "a", EVCost=-0.5)), 0)["Critics"]


def test_an_epoch_that_is_not_there_is_answered_with_those_that_are(tmp_path):
    run = read_run(made(tmp_path / "a", epochs=3))
    for epoch in (3, -1):
        with pytest.raises(BadSetting, match=rf"no epoch {epoch} in .*it has 0 to 2"):
            entry(run, epoch)


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_every_algorithm_that_heeds_costs_has_words_for_what_it_heeds(tmp_path, name):
    algorithm = ALGORITHMS[name]().build(0.98)
    columns = {} if algorithm.constraint else dict(NO_CONSTRAINTS)
    columns |= {"Multiplier": 1.0} if algorithm.penalty and algorithm.penalty.multiplier else {}
    columns |= {"ShieldRate": 0.5} if algorithm.shield else {}
    found = heeded(read_run(made(tmp_path / "a", algo=name, method={}, **columns)))
    expected = Way.CONSTRAINT if algorithm.constraint else Way.PRICE if algorithm.penalty else Way.NONE
    assert found.way is (Way.SHIELD if algorithm.shield else expected)
    assert (found.quantity != "the constraint's surrogate") == bool(algorithm.constraint or algorithm.penalty)


def test_every_mode_of_ascpo_has_words(tmp_path):
    modes = ("reference", "paper", "moment", "cantelli", "chance")
    words = [heeded(read_run(made(tmp_path / mode, method={"mode": mode, "k": 3.0}))).quantity for mode in modes]
    assert words[0] == "the mean of an episode's largest cost"
    assert words[1] == words[2] == "mean + 3 · mean square of an episode's largest cost"
    assert words[3] == "what an episode's largest cost stays under with probability 0.8"
    assert words[4] == "the chance that an episode breaks a limit"


def test_epochs_of_the_same_kind_are_one_stretch_with_its_means(tmp_path):
    run = read_run(
        made(
            tmp_path / "a",
            epochs=4,
            Case=[1, 1, 2, 2],
            CostPredicted=[-0.3, -0.1, 0, 0],
            CostActual=[-0.2, 0.0, 0, 0],
            Asked=[0.4, 0.2, 0, 0],
            EpRet=[1, 2, 3, 4],
        )
    )
    first, second = told(run)
    assert first[:3] == (0, 1, "Recovering, with nearly all of the region")
    assert (
        "On average a step was to lower the chance that an episode breaks a limit by 0.3; it predicted −0.2 and "
        "brought −0.1 on the same data, with ν = 0.2." in first[3]
    )
    assert "The constraints could get 97.0 % of the radius." in first[3]
    assert "Measured: return 1 → 2, cost of an episode 0.4 → 0.4" in first[3]
    assert second[:3] == (2, 3, "Held at the bound, with nearly all of the region")
    assert "On average a step was to hold the chance that an episode breaks a limit" in second[3]


def test_room_that_time_outs_make_is_a_stretch_of_its_own(tmp_path):
    # The least share is 0.97 · (1 − 0.25).
    run = read_run(made(tmp_path / "a", AskShare=[0.7275, 0.7275, 0.97, 0.97]))
    assert [phase[:3] for phase in told(run)] == [
        (0, 1, "Recovering, with room for the reward"),
        (2, 3, "Recovering, with nearly all of the region"),
    ]


def test_a_stretch_counts_what_was_too_short_to_be_one(tmp_path):
    cases = [1] * 20 + [3] + [1] * 19
    ((first, last, title, words),) = told(read_run(made(tmp_path / "a", epochs=40, Case=cases)))
    assert (first, last) == (0, 39)
    assert title.startswith("Recovering")
    assert "among them 1 step free." in words


def test_steps_that_were_refused_are_told(tmp_path):
    run = read_run(made(tmp_path / "a", epochs=40, Accepted=[1] * 30 + [0] * 10))
    assert [phase[:3] for phase in told(run)] == [
        (0, 29, "Recovering, with nearly all of the region"),
        (30, 39, "No step was taken, with nearly all of the region"),
    ]
    assert "10 of 10 were not taken" in told(run)[1][3]


def test_prices_rise_fall_and_rest(tmp_path):
    run = read_run(
        made(
            tmp_path / "a",
            algo="trpo-lagrangian",
            method={},
            epochs=6,
            Multiplier=[0, 1, 2, 2, 2, 1],
            **NO_CONSTRAINTS,
        )
    )
    assert [phase[:3] for phase in told(run)] == [
        (0, 1, "The price rises"),
        (2, 3, "The price rests"),
        (4, 5, "The price falls"),
    ]
    assert "The price of the mean cost of an episode went from 0 to 1." in told(run)[0][3]


def test_a_shield_learns_and_acts(tmp_path):
    run = read_run(
        made(
            tmp_path / "a",
            algo="trpo-sl",
            method={},
            ShieldRate=[0, 0, 0.5, 0.7],
            ShieldShift=0.1,
            **NO_CONSTRAINTS,
        )
    )
    assert [phase[:3] for phase in told(run)] == [(0, 1, "The shield learns"), (2, 3, "The shield acts")]
    assert "It changed 60.0 % of the actions, by 0.1 on average." in told(run)[1][3]


def test_an_algorithm_that_heeds_nothing_has_stretches_of_time_outs(tmp_path):
    run = read_run(made(tmp_path / "a", algo="trpo", TimeoutRate=[1, 0.9, 0.1, 0], **NO_CONSTRAINTS))
    assert [phase[:3] for phase in told(run)] == [
        (0, 1, "The reward alone, while most episodes run out of time"),
        (2, 3, "The reward alone"),
    ]


def test_milestones_say_when_the_promise_was_first_kept(tmp_path):
    kept = read_run(made(tmp_path / "a", SafeRate=[0.5, 0.8, 0.7, 0.9], EpRet=[1, 5, 2, 3]))
    assert [line.replace("\u00a0", " ") for line in milestones(kept)] == [
        "At least 80 % of the episodes kept all limits first in epoch 1, and in 2 epochs.",
        "The highest return, 5, was in epoch 1.",
    ]
    never = read_run(made(tmp_path / "b", SafeRate=[0.5, 0.6, 0.7, 0.1]))
    assert "never reached; the most were 70.0 % in epoch 2." in milestones(never)[0].replace("\u00a0", " ")


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 1)), min_size=1, max_size=60), st.integers(1, 8))
def test_stretches_cover_all_epochs_once_and_are_long_enough(kinds, shortest):
    found = stretches(kinds, shortest)
    assert [start for _, start, _ in found] == [0, *(stop for _, _, stop in found[:-1])]
    assert found[-1][2] == len(kinds)
    assert len(found) == 1 or min(stop - start for _, start, stop in found) >= shortest
    assert all(a[0] != b[0] for a, b in itertools.pairwise(found))
    assert all(kind in kinds[start:stop] for kind, start, stop in found)


def test_long_enough_stretches_are_left_as_they_are():
    kinds = [("a", 0)] * 3 + [("b", 0)] * 2 + [("a", 1)] * 3
    assert stretches(kinds, 2) == [(("a", 0), 0, 3), (("b", 0), 3, 5), (("a", 1), 5, 8)]
    assert stretches(kinds, 3) == [(("a", 0), 0, 5), (("a", 1), 5, 8)]


def test_the_verb_tells_an_epoch_several_or_all(tmp_path, capsys):
    path = str(made(tmp_path / "run", epochs=4, Case=[1, 1, 2, 2]))
    verb.main([path, "2"])
    one = capsys.readouterr().out
    assert one.startswith("run: Point-1-Hazard, ascpo, seed 0\n\nEpoch 2, after 300 steps: held\n  Policy   Over 20")
    assert "Epoch 3," not in one
    verb.main([path, "--from", "1", "--to", "2"])
    assert [line[:8] for line in capsys.readouterr().out.splitlines() if line.startswith("Epoch")] == [
        "Epoch 1,",
        "Epoch 2,",
    ]
    verb.main([path, "--from", "3"])
    assert "Epoch 3," in capsys.readouterr().out
    verb.main([path])
    whole = capsys.readouterr().out
    assert "Epochs 0 to 1: Recovering" in whole
    assert "Epochs 2 to 3: Held at the bound" in whole
    assert whole.endswith(f"One epoch in full: ascpo journal {path} EPOCH\n")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["9"], "no epoch 9 .*it has 0 to 3"),
        (["1", "--from", "2"], "either an EPOCH"),
        (["--from", "3", "--to", "1"], "comes after"),
        (["--to", "7"], "no epoch 7"),
    ],
)
def test_the_verb_refuses_epochs_that_make_no_sense(tmp_path, words, error):
    path = str(made(tmp_path / "run"))
    with pytest.raises(BadSetting, match=error):
        verb.main([path, *words])

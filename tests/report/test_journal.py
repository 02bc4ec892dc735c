import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascpo.cli import journal as verb
from ascpo.cli.journal import lines
from ascpo.report.data import read_run
from ascpo.report.journal import CASES, entry
from ascpo.report.timeline import milestones, split, timeline
from ascpo.runs.description import Description, write
from ascpo.runs.serialization import BadSetting
from ascpo.trust_region.dual import Case
from tests.report.made import NO_CONSTRAINTS, made, several


def said(run, epoch):
    """The text of each topic, with plain spaces."""
    return {topic: text.replace("\u00a0", " ") for topic, text in entry(run, epoch).parts}


def phases(run):
    """The time line with plain spaces: (first, last, title, text)."""
    return [
        (phase.first, phase.last, phase.title, " ".join((*phase.sentences, phase.outcome)).replace("\u00a0", " "))
        for phase in timeline(run)
    ]


def test_an_entry_compares_the_policies_before_and_after_a_step(tmp_path):
    run = read_run(
        made(tmp_path / "a", EpRet=[1, 1.5, 1, 1], EpCost=[0.4, 0.3, 0.4, 0.4], SafeRate=[0.7, 0.75, 0.9, 0.9])
    )
    assert entry(run, 0).title == "Epoch 0, after 100 steps: recovering"
    assert said(run, 0) == {
        "Policy": "Over 20 episodes, the mean return was 1 and the mean cost 0.4. The mean largest cost of an episode "
        "was 0.1 with a standard deviation of 0.1. The worst state cost 0.4. 70.0 % of the episodes kept the limit in "
        "every state; the target is 80 %. 5.0 % ran into the time limit.",
        "Target": "In this step, the probability that an episode violates a limit had to fall by 0.3. The constraints "
        "could use 97.0 % of the trust region's radius.",
        "Step": "Recovering: the constraints come first, and the reward gets the rest of the trust region. The "
        "multipliers were λ = 0.5 for the trust region and ν = 0.2 for costs. The policy moved by a mean KL of 0.01; "
        "the limit is 0.02. The line search shortened the step once, to 50.0 % of its length.",
        "Surrogate": "For the change of the constraint's surrogate, the linear model predicted −0.25, and the line "
        "search measured −0.125. The loss fell by 0.002.",
        "Critics": "On unseen episodes, the critics explained 80.0 % of the return's variance and 50.0 % of the "
        "costs'.",
        "Next": "Epoch 1 measured a return of 1.5 (+0.5), a cost of 0.3 (−0.1), a largest cost of 0.1 (0), and 75.0 % "
        "of the episodes within all limits (+5.0 points).",
    }


def test_the_entry_of_the_last_epoch_has_no_next_one(tmp_path):
    assert "last epoch so far" in said(read_run(made(tmp_path / "a", epochs=2)), 1)["Next"]


@pytest.mark.parametrize(
    ("asked", "text"),
    [(0.3, "had to fall by 0.3"), (-0.2, "had to rise by at most 0.2"), (0.0, "had to stay where it was")],
)
def test_an_entry_says_whether_a_quantity_should_fall_stay_or_rise_little(tmp_path, asked, text):
    assert text in said(read_run(made(tmp_path / "a", Asked=asked)), 0)["Target"]


@pytest.mark.parametrize(
    ("ask", "target"),
    [
        ({}, "feedback from the measured episodes"),
        ({"closed": False}, "the bound, capped at a share of the trust region"),
        ({"closed": False, "share": None}, "the bound itself"),
    ],
)
def test_the_journal_says_which_target_a_run_has(tmp_path, ask, target):
    run = read_run(made(tmp_path / "a", settings={"ask": ask}))
    assert f"The target of a step is {target}." in lines(run, [0], 200)[1]


def test_every_case_of_a_step_has_a_meaning():
    assert set(CASES) == set(Case)


@pytest.mark.parametrize("case", list(Case))
def test_a_title_names_the_case(tmp_path, case):
    run = read_run(made(tmp_path / "a", Case=int(case)))
    name, meaning = CASES[case]
    assert entry(run, 0).title.endswith(name)
    assert meaning in said(run, 0)["Step"]


def test_a_projected_step_has_cases_of_its_own(tmp_path):
    run = read_run(made(tmp_path / "a", algo="pcpo", Case=2))
    assert said(run, 0)["Step"].startswith("Projected: the step for the reward is projected onto the nearest point")
    assert "the mean cost of an episode" in said(run, 0)["Target"]


def test_an_entry_says_if_no_step_was_accepted(tmp_path):
    step = said(read_run(made(tmp_path / "a", Accepted=0, KL=0.0, LineSearch=100)), 0)["Step"]
    assert "No step was accepted" in step
    assert "shortened" not in step


def test_a_full_step_was_not_shortened(tmp_path):
    assert "kept the full step" in said(read_run(made(tmp_path / "a", LineSearch=0)), 0)["Step"]


def test_an_entry_names_each_of_several_constraints(tmp_path):
    parts = said(read_run(made(tmp_path / "a", **several(Asked_hazard=0.1, Asked_pillar=0.0, Nu_pillar=3.0))), 0)
    assert "had to fall by 0.1 (hazard) and stay where it was (pillar)" in parts["Target"]
    assert "ν = 0.2 (hazard), ν = 3 (pillar)" in parts["Step"]
    assert "kept all limits" in parts["Policy"]


def test_without_constraints_there_is_no_target(tmp_path):
    run = read_run(made(tmp_path / "a", algo="trpo", **NO_CONSTRAINTS))
    assert list(said(run, 0)) == ["Policy", "Step", "Surrogate", "Critics", "Next"]
    assert said(run, 0)["Step"].startswith("Reward only: the step raises the reward and ignores costs.")
    assert entry(run, 0).title.endswith("reward only")


def test_an_entry_says_how_the_multiplier_changes(tmp_path):
    run = read_run(made(tmp_path / "a", algo="trpo-lagrangian", Multiplier=[0, 2, 2, 1], **NO_CONSTRAINTS))
    texts = [said(run, epoch)["Penalty"] for epoch in range(4)]
    assert texts[0] == (
        "The objective has a penalty for the mean cost of an episode. Its multiplier was 0 in this step and rose to 2 "
        "for the next one."
    )
    assert texts[1].endswith("was 2 in this step and hardly changed for the next one.")
    assert texts[2].endswith("was 2 in this step and fell to 1 for the next one.")
    assert texts[3].endswith("was 1 in this step.")


def test_a_penalty_without_a_multiplier_says_so(tmp_path):
    run = read_run(made(tmp_path / "a", algo="trpo-ipo", **NO_CONSTRAINTS))
    assert said(run, 0)["Penalty"].endswith("The penalty has no multiplier.")
    assert phases(run)[0][2] == "The objective penalises costs"


def test_an_entry_counts_the_iterations_of_a_clipped_step(tmp_path):
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
    assert said(run, 1)["Step"].endswith(
        "The descent made 20 of 80 iterations, and stopped because the policy had moved enough."
    )


def test_an_entry_describes_the_shield_and_the_cvar(tmp_path):
    columns = {"ShieldRate": [0, 0.25, 0, 0], "ShieldShift": 0.5, "VaR": 1.5, "CVaR": 3.0}
    run = read_run(made(tmp_path / "a", algo="trpo-sl", **columns, **NO_CONSTRAINTS))
    assert said(run, 0)["Shield"] == "The shield changed no action."
    assert said(run, 1)["Shield"] == "The shield changed 25.0 % of the actions, by 0.5 on average."
    assert said(run, 0)["CVaR"] == "The value at risk was 1.5; the episodes that cost more had a mean of 3."


def test_a_critic_that_is_worse_than_the_mean_explains_nothing(tmp_path):
    assert "nothing of the costs'" in said(read_run(made(tmp_path / "a", EVCost=-0.5)), 0)["Critics"]


def test_an_unknown_epoch_is_refused_with_the_epochs_of_the_run(tmp_path):
    run = read_run(made(tmp_path / "a", epochs=3))
    for epoch in (3, -1):
        with pytest.raises(BadSetting, match=rf"has no epoch {epoch}. It has the epochs 0 to 2"):
            entry(run, epoch)


def test_an_algorithm_that_this_program_does_not_know_describes_itself(tmp_path):
    path = made(tmp_path / "a", algo="mine", Multiplier=[1, 2, 3, 4], **NO_CONSTRAINTS)
    write(path, Description("mine", "penalises near misses", "penalty", "the number of near misses", "", "constrained"))
    run = read_run(path)
    assert said(run, 0)["Penalty"].startswith("The objective has a penalty for the number of near misses.")
    ((_, _, title, text),) = phases(run)
    assert title == "The multiplier rises"
    assert "The multiplier of the number of near misses went from 1 to 4." in text
    assert lines(run, [], 200)[1] == "mine penalises near misses."


def test_epochs_of_the_same_kind_are_one_phase_with_its_means(tmp_path):
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
    first, second = phases(run)
    assert first[:3] == (0, 1, "Recovering, with nearly all of the trust region")
    assert (
        "On average, a step had to lower the probability that an episode violates a limit by 0.3. The linear model "
        "predicted a change of −0.2; on the same data the change was −0.1, with ν = 0.2." in first[3]
    )
    assert "The constraints could use 97.0 % of the radius." in first[3]
    assert "Measured: return 1 → 2, cost 0.4 → 0.4" in first[3]
    assert second[:3] == (2, 3, "Bounded by the constraints, with nearly all of the trust region")
    assert "On average, a step had to keep the probability that an episode violates a limit where it was." in second[3]


def test_a_share_that_time_outs_reduce_makes_a_phase_of_its_own(tmp_path):
    # The least share is 0.97 · (1 − 0.25).
    run = read_run(made(tmp_path / "a", AskShare=[0.7275, 0.7275, 0.97, 0.97]))
    assert [phase[:3] for phase in phases(run)] == [
        (0, 1, "Recovering, with room for the reward"),
        (2, 3, "Recovering, with nearly all of the trust region"),
    ]


def test_a_target_without_a_share_has_phases_of_time_outs(tmp_path):
    own = {"ask": {"closed": False, "share": None}}
    run = read_run(made(tmp_path / "a", settings=own, AskShare="nan", TimeoutRate=[1, 0.9, 0.1, 0]))
    assert [phase[:3] for phase in phases(run)] == [
        (0, 1, "Recovering, while most episodes run out of time"),
        (2, 3, "Recovering"),
    ]


def test_a_phase_includes_the_steps_of_phases_that_were_too_short(tmp_path):
    cases = [1] * 20 + [3] + [1] * 19
    ((first, last, title, text),) = phases(read_run(made(tmp_path / "a", epochs=40, Case=cases)))
    assert (first, last) == (0, 39)
    assert title.startswith("Recovering")
    assert "The phase includes 1 step free." in text


def test_rejected_steps_are_a_phase(tmp_path):
    run = read_run(made(tmp_path / "a", epochs=40, Accepted=[1] * 30 + [0] * 10))
    assert [phase[:3] for phase in phases(run)] == [
        (0, 29, "Recovering, with nearly all of the trust region"),
        (30, 39, "No step was accepted, with nearly all of the trust region"),
    ]
    assert "the optimiser rejected 10 of 10 steps" in phases(run)[1][3]


def test_phases_say_whether_multipliers_rise_fall_or_stay(tmp_path):
    run = read_run(
        made(
            tmp_path / "a",
            algo="trpo-lagrangian",
            epochs=6,
            Multiplier=[0, 1, 2, 2, 2, 1],
            **NO_CONSTRAINTS,
        )
    )
    assert [phase[:3] for phase in phases(run)] == [
        (0, 1, "The multiplier rises"),
        (2, 3, "The multiplier is steady"),
        (4, 5, "The multiplier falls"),
    ]
    assert "The multiplier of the mean cost of an episode went from 0 to 1." in phases(run)[0][3]


def test_phases_say_whether_a_shield_learns_or_acts(tmp_path):
    run = read_run(
        made(
            tmp_path / "a",
            algo="trpo-sl",
            ShieldRate=[0, 0, 0.5, 0.7],
            ShieldShift=0.1,
            **NO_CONSTRAINTS,
        )
    )
    assert [phase[:3] for phase in phases(run)] == [(0, 1, "The shield learns"), (2, 3, "The shield acts")]
    assert "The shield changed 60.0 % of the actions, by 0.1 on average." in phases(run)[1][3]


def test_an_algorithm_that_ignores_costs_has_phases_of_time_outs(tmp_path):
    run = read_run(made(tmp_path / "a", algo="trpo", TimeoutRate=[1, 0.9, 0.1, 0], **NO_CONSTRAINTS))
    assert [phase[:3] for phase in phases(run)] == [
        (0, 1, "Reward only, while most episodes run out of time"),
        (2, 3, "Reward only"),
    ]


def test_milestones_say_when_the_target_probability_was_first_reached(tmp_path):
    kept = read_run(made(tmp_path / "a", SafeRate=[0.5, 0.8, 0.7, 0.9], EpRet=[1, 5, 2, 3]))
    assert [line.replace("\u00a0", " ") for line in milestones(kept)] == [
        "At least 80 % of the episodes kept all limits in 2 epochs, first in epoch 1.",
        "Epoch 1 had the highest return, 5.",
    ]
    never = read_run(made(tmp_path / "b", SafeRate=[0.5, 0.6, 0.7, 0.1]))
    assert milestones(never)[0].replace("\u00a0", " ") == (
        "No epoch reached the target of 80 % of the episodes within all limits. The best was epoch 2 with 70.0 %."
    )


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 1)), min_size=1, max_size=60), st.integers(1, 8))
def test_phases_cover_all_epochs_once_and_are_long_enough(kinds, shortest):
    found = split(kinds, shortest)
    assert [start for _, start, _ in found] == [0, *(stop for _, _, stop in found[:-1])]
    assert found[-1][2] == len(kinds)
    assert len(found) == 1 or min(stop - start for _, start, stop in found) >= shortest
    assert all(a[0] != b[0] for a, b in itertools.pairwise(found))
    assert all(kind in kinds[start:stop] for kind, start, stop in found)


def test_phases_that_are_long_enough_stay_as_they_are():
    kinds = [("a", 0)] * 3 + [("b", 0)] * 2 + [("a", 1)] * 3
    assert split(kinds, 2) == [(("a", 0), 0, 3), (("b", 0), 3, 5), (("a", 1), 5, 8)]
    assert split(kinds, 3) == [(("a", 0), 0, 5), (("a", 1), 5, 8)]


def test_the_command_prints_one_epoch_several_epochs_or_the_timeline(tmp_path, capsys):
    path = str(made(tmp_path / "run", epochs=4, Case=[1, 1, 2, 2]))
    verb.main([path, "2"])
    one = capsys.readouterr().out
    assert one.startswith("run: Point-1-Hazard, ascpo, seed 0\nascpo bounds")
    assert "\n\nEpoch 2, after 300 steps: bounded\n  Policy     Over 20" in one
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
    assert "Epochs 2 to 3: Bounded by the constraints" in whole
    assert whole.endswith(f"More about one epoch: ascpo journal {path} EPOCH\n")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["9"], "no epoch 9. It has the epochs 0 to 3"),
        (["1", "--from", "2"], "either an EPOCH"),
        (["--from", "3", "--to", "1"], "comes after"),
        (["--to", "7"], "no epoch 7"),
    ],
)
def test_the_command_refuses_impossible_epochs(tmp_path, arguments, error):
    path = str(made(tmp_path / "run"))
    with pytest.raises(BadSetting, match=error):
        verb.main([path, *arguments])

"""A certificate in words: what was done, what that shows, what it means, and what it does not mean.

The words are part of a certificate's file. Those of format 1 stay as they were.
"""

from typing import Protocol

from ascpo.evaluation.binding import RunBinding
from ascpo.evaluation.bound import rounded_down
from ascpo.evaluation.plan import CertificatePlan, Format

EARLIER_FORMAT = (
    "This certificate has the earlier format 1. Its confidence does not count how often the run was looked at, and it "
    "is not bound to its run. `ascpo certify` makes one of the present format."
)


class Counted(Protocol):
    """What a certificate says about one constraint."""

    @property
    def name(self) -> str: ...
    @property
    def bound(self) -> float: ...


def findings(
    plan: CertificatePlan, run: RunBinding, violations: int, bound: float, constraints: tuple[Counted, ...]
) -> list[str]:
    """What was done and what it shows."""
    limits = " and ".join(f"{name} ≤ {limit:g}" for name, limit in zip(plan.cost_names, plan.limits, strict=True))
    breaks, where = "some state broke", "in every state"
    if plan.limits_on == "episode":
        breaks, where = "the sum of the costs broke", "in the sum of its costs"
    how = "drawn by the policy" if plan.actions == "sampled" else "the policy's mean ones"
    how = f"given by {run.policy}" if run.policy else how
    lines = [
        f"{plan.episodes} episodes of {plan.env} were planned and played, with actions {how}, from scenes drawn for "
        f"this alone. In {violations} of them {breaks} {limits}.",
        f"With confidence {plan.confidence:.4g}, an episode keeps {limits} {where} with a probability of at "
        f"least {rounded_down(bound)}.",
        f"Asked for was {plan.probability:.4g}, which allows {plan.allowed} violations: "
        f"{'CERTIFIED' if bound >= plan.probability else 'NOT certified'}.",
        *(_together_1(plan) if plan.format == 1 else _together(plan, run)),
    ]
    if len(constraints) > 1:
        each = ", ".join(f"{one.name} {rounded_down(one.bound)}" for one in constraints)
        lines.append(f"Each constraint by itself is kept with at least: {each} (all of these together).")
    return lines


def _together(plan: CertificatePlan, run: RunBinding) -> list[str]:
    """Which statements hold together with this confidence."""
    of, about = (f"at {run.policy}", "it") if run.policy else ("of this run", "the run")
    lines = [
        f"This was look {plan.look} {of}. All statements about {about} that ask for this confidence or more, however "
        f"many looks there were and will be, hold together with confidence {plan.confidence:.4g}; this one by itself "
        f"has {plan.each:.4g}."
    ]
    if len(plan.family) > 1:
        lines.append(
            f"The statements about the {len(plan.family)} policies that were certified with one command hold together "
            f"with the same confidence."
        )
    if run.earlier:
        many = f"{run.earlier} certificate{'s' if run.earlier > 1 else ''}"
        lines.append(
            f"The run has {many} of the earlier format, with an error of {'their' if run.earlier > 1 else 'its'} own, "
            f"which this confidence does not include."
        )
    return [*lines, *_foreign_policy(run.policy)]


def _foreign_policy(policy: str) -> list[str]:
    """How to repeat the certificate of a policy that no run of this package has trained."""
    if not policy:
        return []
    same = "a file with the same content"
    if policy.startswith("python:"):
        same = "a function that takes the same actions where it is tried out"
    return [
        f"No run of this package has trained {policy}, so `ascpo certify --check` cannot find it. Whoever has it can "
        f"certify it again under this name: {same} plays the same episodes, and another count is refused."
    ]


def _together_1(plan: CertificatePlan) -> list[str]:
    """The same in format 1."""
    if len(plan.family) <= 1 and plan.look == 1:
        return []
    return [
        f"The confidence is that of all {len(plan.family)} policies' statements together, with {plan.look} "
        f"{'certificate' if plan.look == 1 else 'certificates'} each; this one by itself has {plan.each:.4g}."
    ]


def meaning(confidence: float, version: Format = 2, policy: str = "") -> list[str]:
    """What follows from any certificate, and what does not. `policy` names a foreign one."""
    again, bounds = "policies were tested like this again and again", "such bounds would be above the truth"
    if version == 2:
        again = "runs were tested like this again and again, and each of them as often as anybody likes"
        bounds = "runs would ever get a bound above the truth"
    lines = [
        f"It means: if {again}, at most {100 * (1 - confidence):.3g} of 100 {bounds}, whatever the policies are.",
        "It does not mean: anything about a single scene (some may be unsafe always), about robots, sensors or worlds "
        "that differ from the simulated one, about how bad a violation is, or about a policy that was chosen because "
        "its certificate looked best. For that, name all candidates in one command, or certify the chosen one anew.",
    ]
    if version == 2:
        named, these = ("list of looks", "it") if policy else ("run's config, log and list of looks", "these")
        lines.append(
            "It cannot show: how many other runs were trained, or whether somebody deleted the list of looks. Whoever "
            f"trains a hundred runs and shows one has looked a hundred times. The certificate names the {named}, so "
            f"ask for {these}."
        )
    return lines

import jax.numpy as jnp
import pytest
from numpy.testing import assert_allclose

from ascpo.experience.episodes import Summary
from ascpo.training.ask import Ask, asked, unknown


def episodes(exceeding=(0.0,), time_limited=0.0):
    one, many = jnp.ones(()), jnp.asarray(exceeding, jnp.float32)
    return Summary(
        finished=jnp.array(10),
        count=one,
        reward=one,
        cost=many,
        maximum=many,
        square=many,
        length=one,
        exceeding=many,
        violating=one,
        time_limited=jnp.asarray(time_limited, jnp.float32),
        quantiles=jnp.tile(many, (5, 1)),
    )


def after(ask, *epochs, m=1, probability=0.98):
    trend = unknown(m)
    for epoch in epochs:
        trend = trend.after(epoch, ask)
    share, wanted = asked(trend, ask, probability)
    return share, wanted


def test_while_far_too_many_episodes_violate_the_constraint_gets_its_whole_share():
    assert_allclose(after(Ask(share=0.9), episodes([0.5]))[1], [0.9], rtol=1e-5)


def test_once_few_enough_do_it_asks_for_nothing():
    assert_allclose(after(Ask(), episodes([0.02]))[1], [0.0], atol=1e-5)


def test_in_between_it_asks_for_a_part():
    assert_allclose(after(Ask(share=0.9), episodes([0.03]))[1], [0.45], rtol=1e-4)


def test_several_constraints_divide_what_may_go_wrong():
    _, wanted = after(Ask(share=0.9), episodes([0.01, 0.02]), m=2)
    assert_allclose(wanted, [0.0, 0.9], atol=1e-4)


def test_a_policy_that_runs_into_the_time_limit_gets_more_room_for_reward():
    ask = Ask(share=0.8, relief=0.25, patience=0.1)
    assert_allclose(after(ask, episodes(time_limited=0.9))[0], 0.6, rtol=1e-5)
    assert_allclose(after(ask, episodes(time_limited=0.05))[0], 0.7, rtol=1e-5)
    assert_allclose(after(ask, episodes())[0], 0.8, rtol=1e-5)


def test_measurements_are_smoothed_and_the_first_one_counts_in_full():
    ask = Ask(share=1.0, memory=0.5)
    assert_allclose(after(ask, episodes([0.75]), probability=0.5)[1], [0.5], rtol=1e-5)
    # Weights ¼ and ½, so the mean is (0.75 + 2·0.6) / 3 = 0.65.
    assert_allclose(after(ask, episodes([0.75]), episodes([0.6]), probability=0.5)[1], [0.3], rtol=1e-4)


def test_in_an_open_loop_bounds_ask_for_themselves():
    share, wanted = after(Ask(closed=False, share=0.9), episodes([0.5]))
    assert wanted is None
    assert_allclose(share, 0.9, rtol=1e-5)


def test_without_a_share_nothing_is_bounded():
    assert after(Ask(closed=False, share=None), episodes([0.5])) == (None, None)


@pytest.mark.parametrize("wrong", [{"share": 0.0}, {"share": 1.5}, {"memory": 1.0}])
def test_settings_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ValueError, match="must"):
        Ask(**wrong)


def test_a_closed_loop_needs_a_share():
    with pytest.raises(ValueError, match="needs a share"):
        Ask(share=None)

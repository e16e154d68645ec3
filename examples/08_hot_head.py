"""A behaviour turns the head; the joint gets hot, and the body takes it.

The behaviour holds HeadYaw with Lock: it would refuse every other behaviour. Somebody
holds the head fast, so that its motor gives full torque and reaches 76 °C. Then the
virtual owner `hotEngine` has the joint: the behaviour's token is revoked, its next
command is refused with the reason, and the gate holds the joint where it is with a
fifth of its torque. The behaviour asks anew and waits. Below 70 °C it gets a new token.

One sees the trace of the reservations, with no line of the behaviour about heat.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the stories

from examples.stories.hot_head import run_head_story
from examples.stories.trace_lines import story_lines
from nao_testbed import load_robot


def main() -> None:
    story = run_head_story(load_robot())
    for line in story_lines(story.events, story.tick_s):
        print(line)

    print(f"\ntaken at {story.hot_degc:.0f} °C, given back at {story.cool_degc:.0f} °C")
    print(f"token {story.first_token} is dead, token {story.new_token} is new\n")
    print(f"{'HeadYaw in one second':<24}{'turns':>10}{'stiffness':>12}")
    for when, seen in (
        ("before", story.before),
        ("while hot", story.while_hot),
        ("cool again", story.after),
    ):
        print(f"{when:<24}{seen.turned_rad:6.2f} rad{seen.stiffness[-1]:12.2f}")


if __name__ == "__main__":
    main()

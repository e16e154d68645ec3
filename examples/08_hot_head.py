"""Overheat a joint: its behaviour loses the token, waits, and gets a new one.

The behaviour holds HeadYaw with Lock: it refuses every other behaviour. A hand blocks
the head, so that its motor gives full torque and reaches 76 °C. Then the virtual owner
`hotEngine` takes the joint: the behaviour's token is revoked, its next command is
refused with the reason, and the gate holds the joint in place with a fifth of its
torque. The behaviour requests the joint again and waits for a new token below 70 °C.

The lesson prints the trace of the reservations. The behaviour has no code about heat.
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

    print(f"\nfrozen at {story.hot_degc:.0f} °C, released at {story.cool_degc:.0f} °C")
    print(f"token {story.first_token} was revoked, {story.new_token} granted\n")
    print(f"{'HeadYaw in one second':<24}{'turns':>10}{'stiffness':>12}")
    for when, seen in (
        ("before", story.before),
        ("while hot", story.while_hot),
        ("cool again", story.after),
    ):
        print(f"{when:<24}{seen.turned_rad:6.2f} rad{seen.stiffness[-1]:12.2f}")


if __name__ == "__main__":
    main()

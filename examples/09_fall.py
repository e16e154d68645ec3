"""Push a robot over: owners of the state Stand lose it immediately.

`keep standing` holds the state Stand and the legs with Lock and refuses every demand.
A fall is not a demand: the posture monitor sees the torso tilt, no state is active any
more, and the whole token is revoked. `get up` requests the state Back and the legs
before the push; the request is granted when the robot lies on its back.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # for the stories

from examples.stories.fall import FallStoryCfg, run_fall_story
from examples.stories.trace_lines import story_lines
from nao_testbed import load_robot
from nao_testbed.controllers.arbitration.tokens import Refusal


def main() -> None:
    cfg = FallStoryCfg()
    story = run_fall_story(load_robot(), cfg)
    for line in story_lines(story.events, story.tick_s):
        print(line)

    force = abs(cfg.force_newton[0])
    print(f"\npushed at {story.pushed_s:.2f} s with {force:.0f} N for {cfg.push_s} s")
    refused = story.standing.refused
    reason = refused.reason if refused else Refusal.NO_TOKEN
    print(f"the next command of `keep standing`: {reason}")
    print(f"final state: {story.state}")


if __name__ == "__main__":
    main()

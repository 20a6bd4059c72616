"""``python -m workbench.training``: arguments in, a model directory out, progress on stderr."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from workbench.lab.training.loop import TrainSettings, smoke
from workbench.lab.training.train import train


def settings_from(arguments: list[str]) -> TrainSettings:
    """The command line's words as settings."""
    parser = argparse.ArgumentParser(prog="python -m workbench.training")
    default = TrainSettings(out=Path("model"))
    parser.add_argument("out", type=Path, help="folder for checkpoint, log and model")
    parser.add_argument("--steps", type=int, default=default.steps)
    parser.add_argument("--batch", type=int, default=default.batch)
    parser.add_argument("--seed", type=int, default=default.seed)
    parser.add_argument("--minutes", type=float, default=None)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--smoke", action="store_true", help="a few steps of a tiny model")
    given = parser.parse_args(arguments)
    settings = TrainSettings(
        out=given.out,
        steps=given.steps,
        batch=given.batch,
        seed=given.seed,
        minutes=given.minutes,
        resume=given.resume,
    )
    return smoke(settings) if given.smoke else settings


def main(arguments: list[str]) -> int:
    """Train; one line of progress every ten steps."""
    for done in train(settings_from(arguments)):
        if done.step % 10 == 0 or done.step == done.steps:
            speed = done.tokens / max(done.seconds, 1e-9)
            print(
                f"step {done.step}/{done.steps} loss {done.loss:.3f} rate {done.rate:.2f} "
                f"{speed:.0f} tokens/s",
                file=sys.stderr,
                flush=True,
            )
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

/* A run as it streams in: Gradio passes texts of a few lines each and may skip some. Each record of the run is taken
   once and in order. */

import { on } from "./state.js";

const LEAST = 33; // milliseconds between two calls of `arrived`

/** `doors.take(record)` is called with every record of the run that was begun last, and `doors.arrived()` after
      records, at most 30 times a second. `doors.missed({ run, from })` asks the server for lines that no text had.
      The event named `doors.over` is emitted at the end of every stream (also where the queue is full or the server has
      ended); if the run's last record does not come with it, `doors.dropped(words, advice)` is called. */
export function createStream(props, watch, doors) {
  /** @type {string | null} */
  let name = null;
  let heard = 0,
    asking = false,
    frame = 0,
    drawn = 0,
    begun = 0,
    over = 0;

  function draw(now) {
    if (now - drawn < LEAST) {
      frame = requestAnimationFrame(draw);
      return;
    }
    frame = 0;
    drawn = now;
    if (name) doors.arrived();
  }

  /** Take the lines of a text from a position on; the line there has this number. */
  function take(text, at, number) {
    for (let end = text.indexOf("\n", at); name && end >= 0; end = text.indexOf("\n", at), number++) {
      if (number === heard) {
        heard++;
        doors.take(JSON.parse(text.slice(at, end)));
      }
      at = end + 1;
    }
    if (!frame) frame = requestAnimationFrame(draw);
  }

  async function ask() {
    const run = name;
    asking = true;
    const answer = await doors.missed({ run, from: heard });
    if (run !== name) return;
    asking = false;
    if (answer.fault) {
      dropped();
      return;
    }
    take(answer.lines, 0, answer.from);
    arrived();
  }

  function arrived() {
    const value = props.value || "",
      first = value.indexOf("\n"),
      second = value.indexOf("\n", first + 1);
    if (second < 0 || !name) return;
    let head, from;
    try {
      [head, from] = [JSON.parse(value.slice(0, first)), JSON.parse(value.slice(first, second))];
    } catch {
      return;
    }
    if (head.run !== name) return; // an older run that has not stopped yet
    if (from.n <= heard) take(value, second + 1, from.n);
    else if (!asking) ask();
  }
  watch("value", arrived);

  const dropped = () =>
    heard
      ? doors.dropped("the server ended it", "is it still running?")
      : doors.dropped("the server did not begin it", "others may be waiting; try again in a few seconds");

  /** The stream is over: a last record that is still missing does not come. */
  function ended(run) {
    if (run !== name || over < begun) return;
    if (asking) setTimeout(() => ended(run), 500);
    else dropped();
  }
  on(doors.over, () => {
    over += 1;
    const run = name;
    if (run) setTimeout(() => ended(run), 500);
  });

  return {
    /** A name for a run that is about to be requested. */
    begin() {
      begun += 1;
      name = `r${Math.random().toString(36).slice(2)}`;
      heard = 0;
      asking = false;
      return name;
    },
    /** Take no more records of the run; returns its name. */
    end() {
      const ended = name;
      name = null;
      return ended;
    },
  };
}

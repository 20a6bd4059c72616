/* A run as it streams in: its records are taken as they arrive, and shown at most 30 times a second. */

import { records } from "./connection.js";
import { state } from "./state.js";

/** ``take`` gets each record, ``arrived`` is called after some, at most 30 times a second; ``dropped`` says why the
    stream ended before the run did, and whether it had begun.
    @typedef {{ take(record: object): void, arrived(): void,
      dropped(words: string, advice: string, begun: boolean): void }} StreamDoors */

const LEAST = 33; // milliseconds between two calls of `arrived`

/** The stream of the run that was begun last. @param {string} name @param {StreamDoors} doors */
export function createStream(name, doors) {
  /** Ends the stream that is read. @type {AbortController | null} */
  let reading = null;
  let frame = 0,
    drawn = 0;

  function draw(now) {
    frame = now - drawn < LEAST ? requestAnimationFrame(draw) : 0;
    if (frame) return;
    drawn = now;
    if (reading) doors.arrived();
  }

  /** Take the records until the last one, after which the run is over and ``end`` was called. */
  async function read(sent, mine) {
    const batches = records(name, { model: state.model, ...sent }, mine.signal);
    // no next batch: the end, or the connection was lost, or closed because the stream was ended
    const next = () => batches.next().catch(() => ({ value: undefined }));
    let begun = false;
    for (let { value } = await next(); value; { value } = await next()) {
      for (const record of value) if (reading === mine) doors.take(record);
      begun = true;
      frame ||= requestAnimationFrame(draw);
    }
    if (reading !== mine) return;
    if (begun) doors.dropped("the server ended it", "is it still running?", true);
    else doors.dropped("the server did not begin it", "others may be waiting; try again in a few seconds", false);
  }

  return {
    /** Request a run and take its records, until its end. */
    begin(sent) {
      reading?.abort();
      reading = new AbortController();
      return read(sent, reading);
    },
    /** Take no more records; the server stops its work. */
    end() {
      reading?.abort();
      reading = null;
    },
  };
}

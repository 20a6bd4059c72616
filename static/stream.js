/* The records of a run as they arrive; they are shown at most 30 times a second. */

import { records } from "./connection.js";
import { state } from "./state.js";

/** ``take`` gets each record. ``arrived`` is called after one or more records. ``dropped`` is called if the stream ends
    before ``end`` does it, with the reason and whether a record had arrived.
    @typedef {{ take(record: object): void, arrived(): void,
      dropped(words: string, advice: string, begun: boolean): void }} StreamListener */

/** The least time between two calls of ``arrived``. */
const INTERVAL_MS = 33;

/** At most one stream at a time. @param {string} name the path of the request @param {StreamListener} listener */
export function createStream(name, listener) {
  /** Ends the stream that is read. @type {AbortController | null} */
  let current = null;
  let frame = 0,
    drawnAt = 0;

  function draw(now) {
    frame = now - drawnAt < INTERVAL_MS ? requestAnimationFrame(draw) : 0;
    if (frame) return;
    drawnAt = now;
    if (current) listener.arrived();
  }

  /** Take records until the stream ends. A listener calls ``end`` at the last record of a run. */
  async function read(fields, controller) {
    const batches = records(name, { model: state.model, ...fields }, controller.signal);
    // no next batch: the end, or the connection was lost, or closed because the stream was ended
    const next = () => batches.next().catch(() => ({ value: undefined }));
    let begun = false;
    for (let { value } = await next(); value; { value } = await next()) {
      for (const record of value) if (current === controller) listener.take(record);
      begun = true;
      frame ||= requestAnimationFrame(draw);
    }
    if (current !== controller) return;
    if (begun) listener.dropped("the server ended it", "is it still running?", true);
    else listener.dropped("the server did not begin it", "others may be waiting; try again in a few seconds", false);
  }

  return {
    /** Request a run and take its records; a stream that is read ends. */
    begin(fields) {
      current?.abort();
      current = new AbortController();
      return read(fields, current);
    },
    /** Take no more records; the server stops its work. */
    end() {
      current?.abort();
      current = null;
    },
  };
}

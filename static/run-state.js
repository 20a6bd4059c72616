/* The state of the run card as one value: what it does (``kind``) and which token is selected (``cursor``). Only
   ``transition`` computes a new one.

      idle ──take──▶ taking ──taken──▶ idle        one token is requested
      idle ──play──▶ running ──finish──▶ idle      tokens stream in

   A run may start while a token is requested, for another branch: the request is then dropped. The cursor
   moves in every state, but the next token, which is not taken yet, cannot be selected while a run goes on. */

/** @typedef {{ kind: "none" } | { kind: "token", index: number } | { kind: "next" }} Cursor
    ``next`` is the token after the last one: its chances are shown. */
/** @typedef {{ kind: "idle", cursor: Cursor }
      | { kind: "taking", cursor: Cursor }
      | { kind: "running", cursor: Cursor, before: number, started: number }} RunState
    ``before`` is the number of tokens when the run began,
    ``started`` the time in milliseconds. */
/** @typedef {{ type: "select nothing" }
      | { type: "select", index: number }
      | { type: "select next" }
      | { type: "take" }
      | { type: "taken" }
      | { type: "play", before: number, time: number }
      | { type: "begin", time: number }
      | { type: "finish" }} RunEvent
    ``begin``: the server's first record, from which the rate is counted. */

/** @type {Cursor} */
const NOTHING = { kind: "none" };

/** @type {RunState} */
export const IDLE = { kind: "idle", cursor: NOTHING };

/** The state after an event. An event without a meaning in a state does not change it.
    @param {RunState} run @param {RunEvent} event @returns {RunState} */
export function transition(run, event) {
  switch (event.type) {
    case "select nothing":
      return { ...run, cursor: NOTHING };
    case "select":
      return { ...run, cursor: { kind: "token", index: event.index } };
    case "select next":
      return run.kind === "running" ? run : { ...run, cursor: { kind: "next" } };
    case "take":
      return run.kind === "idle" ? { kind: "taking", cursor: run.cursor } : run;
    case "taken":
      return run.kind === "taking" ? { kind: "idle", cursor: run.cursor } : run;
    case "play":
      return {
        kind: "running",
        cursor: run.cursor.kind === "next" ? NOTHING : run.cursor,
        before: event.before,
        started: event.time,
      };
    case "begin":
      return run.kind === "running" ? { ...run, started: event.time } : run;
    case "finish":
      return run.kind === "running" ? { kind: "idle", cursor: run.cursor } : run;
  }
}

/** Whether nothing is requested from the model.
    @param {RunState} run */
export const isIdle = (run) => run.kind === "idle";

/** The index of the selected token, -1 for none and for the next one.
    @param {RunState} run */
export const selectedIn = (run) => (run.cursor.kind === "token" ? run.cursor.index : -1);

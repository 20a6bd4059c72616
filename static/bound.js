/* The interface of a part: functions of its state, each called with the state before its own arguments. */

/** @template State @template {Record<string, (state: State, ...details: never[]) => unknown>} Functions
    @param {State} state @param {Functions} functions
    @returns {Bound<State, Functions>} */
export const bound = (state, functions) =>
  /** @type {Bound<State, Functions>} */ (
    Object.fromEntries(Object.entries(functions).map(([name, act]) => [name, act.bind(null, state)]))
  );

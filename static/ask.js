/* The questions to the server, and which of their answers are used: those of the newest request. */

import { emit, state } from "./state.js";

/** @import { Answer, Failure } from "./wire" */

/** @template R, T @typedef {(request: R, signal?: AbortSignal | null) => Promise<T>} Question */
/** @typedef {<R, T>(question: Question<R, T>, sent: NoInfer<R>) => Promise<Answer<T>>} Ask
    @typedef {<T>(promise: Promise<T>) => Promise<T>} Wait */

/** Milliseconds before a question that the server was too busy to take is asked again. */
const WAITS = [1000, 2000, 4000, 8000];
/** @param {number} time milliseconds */
export const sleep = (time) => new Promise((resolve) => setTimeout(resolve, time));

/** Milliseconds before a question without an answer is asked again: its worker ended, and a proxy chooses another. */
const LOST = [500, 2000];

/** The answer to a question, which is asked again if none arrives.
    @template T @param {() => Promise<T>} question @param {AbortSignal | null} signal @returns {Promise<T>} */
async function answered(question, signal) {
  for (const wait of LOST) {
    try {
      const answer = await question();
      if ((answer !== undefined && answer !== null) || signal?.aborted) return answer;
    } catch (error) {
      if (signal?.aborted) throw error;
    }
    await sleep(wait);
    signal?.throwIfAborted();
  }
  return question();
}

/** Ask the server; what it could not answer becomes a sentence instead of an exception: ``fault``, and ``why`` as for a
    refusal. A busy server is asked again a few times, and "busy" is emitted with the number of questions that wait
    there. The question ends with the signal.
    @template R, T @param {Question<R, T>} question @param {NoInfer<R>} sent
    @param {AbortSignal | null} [signal] @returns {Promise<Answer<T>>} */
export async function askServer(question, sent, signal = null) {
  const request = () => /** @type {Promise<Failure | undefined>} */ (question({ model: state.model, ...sent }, signal));
  /** @type {Failure | undefined} */
  let answer;
  const slow = setTimeout(() => emit("slow answer"), 1500);
  try {
    answer = await answered(request, signal);
    for (const wait of WAITS) {
      if (answer?.busy === undefined || signal?.aborted) break;
      emit("busy", answer.busy);
      await sleep(wait * (0.75 + Math.random() / 2)); // many browsers do not come back at the same moment
      signal?.throwIfAborted();
      answer = await answered(request, signal);
    }
  } catch {
    answer = { fault: "the server did not answer; is it still running?" };
  } finally {
    clearTimeout(slow);
  }
  answer ??= { fault: "a fault of the workbench itself; the server's log says more" };
  const explained = answer.fault ? { ok: false, why: answer.fault, ...answer } : answer;
  return /** @type {Answer<T>} */ (/** @type {unknown} */ (explained));
}

/** Thrown in a request that a newer one has replaced. */
class ReplacedError extends Error {}

/** Requests of which the newest counts. A request is a function that asks the server once or several times. When a
    newer one begins, or with ``drop``, the older one ends at its ``await``: its connection is closed, and neither its
    answer nor its error is used. So is a request whose subject has changed when the answer arrives.
    @param {{ busy?: (waiting: boolean) => void, subject?: () => unknown }} [options] ``busy`` shows whether a request
      waits, ``subject`` returns what requests are about */
export function createLatest({ busy = () => {}, subject = () => null } = {}) {
  /** @type {AbortController | null} */
  let newest = null;

  return {
    /** Begin a request. ``act`` gets ``ask``, as ``askServer``, and ``wait`` for other promises; what follows their
        ``await`` runs only in the newest request. Returns the result of ``act``, or undefined if it was replaced.
        @template R @param {(ask: Ask, wait: Wait) => Promise<R>} act @returns {Promise<R | undefined>} */
    async run(act) {
      newest?.abort();
      const request = new AbortController(),
        about = subject();
      const { signal } = request;
      newest = request;
      busy(true);
      /** @type {Promise<never>} */
      const replaced = new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(new ReplacedError()));
      });
      /** @type {Wait} */
      const wait = async (promise) => {
        const result = await Promise.race([promise, replaced]);
        if (subject() !== about) throw new ReplacedError();
        return result;
      };
      replaced.catch(() => {}); // a request may be replaced while it waits for nothing
      try {
        return await act((question, sent) => wait(askServer(question, sent, signal)), wait);
      } catch (error) {
        if (!(error instanceof ReplacedError)) throw error;
      } finally {
        if (newest === request) {
          newest = null;
          busy(false);
        }
      }
    },
    /** End the request that waits, if there is one. */
    drop() {
      if (!newest) return;
      newest.abort();
      newest = null;
      busy(false);
    },
    /** Whether a request waits. */
    get waits() {
      return newest !== null;
    },
  };
}

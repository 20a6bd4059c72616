/* A run as it streams in: Gradio passes texts of a few lines each and may skip some. Each record of the run is taken
   once and in order. The end of the server is noticed behind proxies as well. */

import { createLatest } from "./ask.js";
import { on, randomName } from "./state.js";

/** @import { Ask } from "./ask.js" */
/** @import { Answer, Missed } from "./wire" */

/** ``take`` gets each record, ``arrived`` is called after some, ``missed`` asks for lines that Gradio skipped, ``over``
    is the event that ends the stream, ``dropped`` says why the server ended it, and whether it had begun.
    @typedef {{ take(record: object): void, arrived(): void, over: string,
      missed(ask: Ask, from: object): Promise<Answer<Missed>>,
      dropped(words: string, advice: string, begun: boolean): void }} StreamDoors */

/** @typedef {{
      catchingUp: ReturnType<typeof createLatest>, name: string | null, heard: number, frame: number,
      drawn: number, begun: number, over: number, props: { value: string }, doors: StreamDoors,
    }} Stream */

const LEAST = 33; // milliseconds between two calls of `arrived`

/** Gradio's message without the name of an event ends all events; they fail, without a notice on the page. */
const FAILED = { msg: "process_completed", success: false, output: { error: null, visible: false } };

/** The messages of Gradio's event stream, with an end: if it ends early, all its events fail, and it is closed.
    @param {ReadableStream<Uint8Array>} body @returns {ReadableStream<Uint8Array>} */
function withEnd(body) {
  const reader = body.getReader(),
    decoder = new TextDecoder(),
    encoder = new TextEncoder();
  let text = "",
    closed = false;
  /** The next part of the stream, undefined at its end. */
  async function next() {
    try {
      return (await reader.read()).value;
    } catch (fault) {
      if (fault instanceof DOMException) throw fault; // aborted: Gradio's client has read the last message
    }
  }
  return new ReadableStream({
    async pull(out) {
      let part, end;
      do {
        part = await next();
        text += decoder.decode(part, { stream: true });
        end = text.lastIndexOf("\n\n") + 2;
      } while (part && end < 2);
      if (part) {
        const whole = text.slice(0, end);
        text = text.slice(end);
        closed = whole.includes('"close_stream"');
        out.enqueue(encoder.encode(whole));
        return;
      }
      const messages = closed ? [] : [FAILED, { msg: "close_stream" }];
      out.enqueue(encoder.encode(messages.map((each) => `data: ${JSON.stringify(each)}\n\n`).join("")));
      out.close();
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** Makes the early end of Gradio's event stream the end of its events.

    A worker that ends takes the stream with it. Where the proxy before it ends the stream without an error, Gradio's
    client reports nothing, and reads no event ever again; after an error, it loads the page again. */
export function watchEventStream() {
  const plain = window.fetch;
  window.fetch = async (...asked) => {
    const answer = await plain(...asked);
    if (!answer.ok || !answer.body || !answer.url.includes("/queue/data")) return answer;
    return new Response(withEnd(answer.body), answer);
  };
}

/** @param {Stream} stream */
function draw(stream, now) {
  if (now - stream.drawn < LEAST) {
    stream.frame = requestAnimationFrame((now) => draw(stream, now));
    return;
  }
  stream.frame = 0;
  stream.drawn = now;
  if (stream.name) stream.doors.arrived();
}

/** Take the lines of a text from a position on; the line there has this number. @param {Stream} stream */
function take(stream, text, at, number) {
  for (let end = text.indexOf("\n", at); stream.name && end >= 0; end = text.indexOf("\n", at), number++) {
    if (number === stream.heard) {
      stream.heard++;
      stream.doors.take(JSON.parse(text.slice(at, end)));
    }
    at = end + 1;
  }
  if (!stream.frame) stream.frame = requestAnimationFrame((now) => draw(stream, now));
}

/** @param {Stream} stream */
const catchUp = (stream) =>
  stream.catchingUp.run(async (ask) => {
    const answer = await stream.doors.missed(ask, { run: stream.name, from: stream.heard });
    if (answer.fault) dropped(stream);
    else take(stream, answer.lines, 0, answer.from);
  });

/** @param {Stream} stream */
function arrived(stream) {
  const value = stream.props.value || "",
    first = value.indexOf("\n"),
    second = value.indexOf("\n", first + 1);
  if (second < 0 || !stream.name) return;
  let head, from;
  try {
    [head, from] = [JSON.parse(value.slice(0, first)), JSON.parse(value.slice(first, second))];
  } catch {
    return;
  }
  if (head.run !== stream.name) return; // an older run that has not stopped yet
  if (from.n <= stream.heard) take(stream, value, second + 1, from.n);
  else if (!stream.catchingUp.waits) catchUp(stream).then(() => arrived(stream));
}

/** @param {Stream} stream */
const dropped = (stream) =>
  stream.heard
    ? stream.doors.dropped("the server ended it", "is it still running?", true)
    : stream.doors.dropped("the server did not begin it", "others may be waiting; try again in a few seconds", false);

/** The stream is over: what it did not send is requested, until the server has no more. @param {Stream} stream */
async function ended(stream, run) {
  if (run !== stream.name || stream.over < stream.begun) return;
  const before = stream.heard;
  if (stream.heard && !stream.catchingUp.waits) await catchUp(stream);
  if (run !== stream.name) return;
  if (stream.catchingUp.waits || stream.heard > before) setTimeout(() => ended(stream, run), 500);
  else dropped(stream);
}

// milliseconds between two calls of `arrived`
/** `doors.take(record)` is called with every record of the run that was begun last, and `doors.arrived()` after
      records, at most 30 times a second. `doors.missed(ask, { run, from })` asks the server for lines that no text had.
      The event named `doors.over` is emitted at the end of every stream (also where the queue is full or the server has
      ended); if the run's last record does not come with it and the server has no further ones,
      `doors.dropped(words, advice, begun)` is called; `begun` says whether the run had records. */
export function createStream(props, watch, doors) {
  const catchingUp = createLatest();
  /** @type {Stream} */
  const stream = {
    catchingUp,
    name: null,
    heard: 0,
    frame: 0,
    drawn: 0,
    begun: 0,
    over: 0,
    props,
    doors,
  };
  watch("value", () => arrived(stream));
  on(doors.over, () => {
    stream.over += 1;
    const run = stream.name;
    if (run) setTimeout(() => ended(stream, run), 500);
  });
  return {
    /** A name for a run that is about to be requested. */
    begin() {
      stream.begun += 1;
      stream.name = randomName();
      stream.heard = 0;
      catchingUp.drop();
      return stream.name;
    },
    /** Take no more records of the run; returns its name. */
    end() {
      const ended = stream.name;
      stream.name = null;
      catchingUp.drop();
      return ended;
    },
  };
}

/* The work: a grammar with all settings beside it, as links, drafts and exports hold it; and its link. */

import { copyText, showNotice } from "./dom.js";
import { notations } from "./notations.js";
import { stagesOf } from "./stages.js";
import { cards, cleanTitle, emit, state, TABS, wholeOf } from "./state.js";
import { formatNumber } from "./tokens.js";

const MOST_TESTS = 50,
  LONGEST_TEXT = 50000;
const text = (value, most = LONGEST_TEXT) => (typeof value === "string" && value.length <= most ? value : null);
const number = (value, low, high) => (typeof value === "number" && value >= low && value <= high ? value : undefined);
const whole = (value, low, high) => (Number.isInteger(value) ? number(value, low, high) : undefined);

/** A test in either shape that was ever written: a text, or a text with what is expected of it. */
function test(held) {
  if (typeof held === "string") return { text: held, expect: null };
  const expect = held?.expect === "accept" || held?.expect === "reject" ? held.expect : null;
  return text(held?.text) === null ? null : { text: held.text, expect };
}

function settings(held) {
  const kept = {
    temperature: number(held?.temperature, 0, 5),
    seed: whole(held?.seed, 0, 2 ** 31 - 1),
    max_tokens: whole(held?.max_tokens, 1, 1024),
    constraint:
      typeof held?.constraint === "string" && /^[a-z_]{1,40}$/.test(held.constraint) ? held.constraint : undefined,
    lookahead: whole(held?.lookahead, 0, 1000),
    repetition_penalty: number(held?.repetition_penalty, 0.1, 10),
    top_k: whole(held?.top_k, 1, 1000000),
    top_p: number(held?.top_p, 0.001, 1),
    min_p: number(held?.min_p, 0, 1),
    small_tokens: held?.small_tokens === true || undefined,
    finish: typeof held?.finish === "boolean" ? held.finish : undefined,
    monitor: typeof held?.monitor === "string" && /^[a-z]{1,40}$/.test(held.monitor) ? held.monitor : undefined,
    draft: text(held?.draft, 500) || undefined,
    reasoning: text(held?.reasoning?.closing, 100)
      ? {
          opening: text(held.reasoning.opening, 100) ?? "",
          closing: held.reasoning.closing,
          budget: whole(held.reasoning.budget, 0, 1024) ?? 64,
        }
      : undefined,
  };
  const { prefix, suffix } = held?.hole ?? {};
  if (text(prefix, 5000) !== null && text(suffix, 5000) !== null) Object.assign(kept, { hole: { prefix, suffix } });
  return JSON.parse(JSON.stringify(kept));
}

/** Keywords, as the option ``unasserted`` has them. */
const WORDS = /^[A-Za-z]{1,30}(, [A-Za-z]{1,30}){0,30}$/;

/** The options of the notation; earlier versions wrote ``style`` for the one option that notations had. */
function options({ notation, options, style }) {
  const { choices, numbers, words } = notations[notation];
  const held = options ?? (style ? { [Object.keys(choices)[0]]: style } : {});
  return Object.fromEntries(
    Object.entries(choices)
      .filter(([name, values]) => Object.hasOwn(held, name) && values.slice(1).includes(held[name]))
      .map(([name]) => [name, held[name]])
      .concat(numbers.filter((name) => whole(held[name], 1, 9999)).map((name) => [name, held[name]]))
      .concat(words.filter((name) => WORDS.test(held[name] ?? "")).map((name) => [name, held[name]])),
  );
}

/** What came from outside (a link, a storage), or null where it is no work of this page's. */
function checked(held) {
  if (typeof held?.notation !== "string" || !Object.hasOwn(notations, held.notation) || text(held.text) === null)
    return null;
  const tests = (Array.isArray(held.tests) ? held.tests : []).slice(0, MOST_TESTS).map(test);
  return {
    notation: held.notation,
    start: text(held.start, 200) || "start",
    options: options(held),
    text: held.text,
    ownTitle: cleanTitle(held.ownTitle),
    prompt: text(held.prompt) ?? "",
    system: text(held.system),
    tests: tests.filter(Boolean),
    settings: settings(held.settings),
    tab: TABS.includes(held.tab) ? held.tab : "",
    ...(held.compare ? { compare: comparison(held.compare) } : {}),
  };
}

/** What is set side by side; only where the view that does so is open. */
function comparison(held) {
  const methods = (Array.isArray(held.methods) ? held.methods : [])
    .filter((name) => typeof name === "string" && name.length <= 80)
    .slice(0, 100);
  const { temperature, seed, ...others } = settings(held);
  return JSON.parse(
    JSON.stringify({
      methods,
      temperature,
      seed,
      ...stagesOf(others),
      seeds: whole(held.seeds, 1, 30),
      max_tokens: whole(held.max_tokens, 1, 512),
      prompts: text(held.prompts) ?? undefined,
      whose: held.whose === "example" ? "example" : undefined,
    }),
  );
}

/** In the form of an example of the gallery, so that it is opened like one. */
/** A work as an example to be opened; ``title`` names it if the author has not. */
const asExample = (work, title) => ({
  name: "",
  title,
  note: "",
  group: "Yours",
  accepts: [],
  rejects: [],
  ...work,
  max_tokens: work.settings.max_tokens,
});

/** The work on the page. */
function now() {
  const { ownTitle, prompt, system, tests, tab } = state,
    grammar = wholeOf(state);
  return (
    checked({
      ...grammar,
      ownTitle,
      prompt,
      system,
      tests,
      tab,
      settings: cards.run?.settings?.() ?? {},
      compare: cards.compare?.settings(),
    }) ?? { ...grammar, text: "", ownTitle, prompt: "", system: null, tests: [], settings: {}, tab }
  );
}

/** Two works are the same draft whatever tab is open and however the model is run. */
const written = (work) =>
  JSON.stringify([
    work.notation,
    work.start,
    Object.entries(work.options).sort(),
    work.text.trimEnd(),
    work.ownTitle,
    work.prompt,
    work.system,
    work.tests.map(({ text, expect }) => [text, expect]),
  ]);
const same = (one, other) => written(one) === written(other);

export const work = { checked, asExample, now, same };

/* The link: the work deflated into the fragment of the address, which browsers do not send to a server. */

const VERSION = "2"; // links without a number are the first version's: tests were texts alone
const LONGEST_LINK = 1 << 20; // bytes a link may unfold to; a few bytes of deflate can spell gigabytes
const LONG = 2000,
  TOO_LONG = 8000; // characters: chats and trackers cut the one, some servers refuse the other

const letters = (bytes) => {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
};
const bytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));

/** All bytes through a stream, up to ``LONGEST_LINK``. */
async function through(data, stream) {
  const parts = [],
    reader = new Blob([data]).stream().pipeThrough(stream).getReader();
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > LONGEST_LINK) {
      reader.cancel();
      throw new RangeError("more than a link holds");
    }
    parts.push(value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

/** FNV-1a: a link that lost a letter on its way must not open as another grammar. */
function check(text) {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return (hash >>> 0).toString(36);
}

/** The fields that differ from the defaults; the others are left out of a link. */
function brief(work) {
  const usual = { start: "start", ownTitle: "", prompt: "", system: null, tab: "" };
  const kept = Object.entries(work).filter(
    ([name, value]) => value !== usual[name] && (typeof value !== "object" || Object.keys(value).length),
  );
  return JSON.stringify(Object.fromEntries(kept));
}

/** The part after the #: ``g=2.CHECK.LETTERS``. */
export async function linkFragment(shared = work.now()) {
  const text = brief(shared);
  const packed = await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
  return `g=${VERSION}.${check(text)}.${letters(packed)}`;
}

async function unfolded(fragment) {
  const [version, sum, packed] = fragment.includes(".") ? fragment.split(".") : ["1", "", fragment];
  if (version !== VERSION && version !== "1") throw new RangeError("a later version's");
  const text = new TextDecoder("utf-8", { fatal: true }).decode(
    await through(bytes(packed ?? ""), new DecompressionStream("deflate-raw")),
  );
  if (version === VERSION && sum !== check(text)) throw new RangeError("not as it was sent");
  return JSON.parse(text);
}

/** Inside a Space the page is in a frame; the visible address is that of the frame's owner. */
const owner = () =>
  state.space ? `https://huggingface.co/spaces/${state.space}` : location.origin + location.pathname;
const framed = () => window.parent !== window && location.hostname.endsWith(".hf.space");

/** Put the fragment into the address, the owner's too: huggingface.co listens for this message. */
function show(fragment) {
  history.replaceState(null, "", location.pathname + location.search + (fragment && `#${fragment}`));
  if (framed()) window.parent.postMessage({ hash: fragment && `#${fragment}` }, "https://huggingface.co");
}

/** The address of the page with everything a person wrote on it. */
export const workLink = async () => `${owner()}#${await linkFragment()}`;

/** The Share button: the link is put into the address and the clipboard; a notice says if it is long. */
export async function shareWork(button) {
  const fragment = await linkFragment(),
    link = `${owner()}#${fragment}`;
  show(fragment);
  await copyText(link, button);
  const size = formatNumber(link.length);
  if (link.length > TOO_LONG)
    showNotice(`The link has ${size} characters; many programs will cut it. Export the grammar as a file instead.`);
  else if (link.length > LONG)
    showNotice(`Copied. The link has ${size} characters; chats and issue trackers may cut it.`);
  else
    showNotice(
      `Copied: a link of ${size} characters that contains the grammar, prompt, tests and ` +
        "settings. Nothing is stored on a server.",
    );
  return link;
}
/** Remove the link from the address: it no longer matches the page. */
export function dropLink() {
  if (location.hash.startsWith("#g=")) show("");
}

/** What a link holds, as an example; null without a link, and for one that cannot be read. */
export async function linkedWork() {
  if (!location.hash.startsWith("#g=")) return null;
  try {
    const held = work.checked(await unfolded(location.hash.slice(3)));
    if (held) return { ...work.asExample(held, "Shared grammar"), from: "link", first: true };
  } catch {
    /* reported below */
  }
  showNotice(
    "This link cannot be read: it is incomplete, or a later version wrote it. Ask for the " +
      "link again; the page shows an example instead.",
  );
  return null;
}

// a link put into the address of a page that is open already
window.addEventListener("hashchange", async () => {
  const held = await linkedWork();
  if (held) emit("open", held);
});

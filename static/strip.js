/* The token strip: tokens are added one at a time, one of them is selected, each has a colour. Makes no requests: its
   caller passes what a selection does. On a phone, a bar with the text and the selected token. */

import { sentence } from "./callout.js";
import { el, scrollIntoColumn } from "./dom.js";
import { shades } from "./measures.js";
import { on, state } from "./state.js";
import { glyphs, readOf, spelledText, tokenNodes } from "./tokens.js";

/** The most characters of a run in the bar of a phone; the pixels that it and the links below it cover. */
const MOST_PEEKED = 80,
  COVERED = 100;

/** `doors.select(index, focus)` is called when a token is chosen; `doors.key(event, index)` for other keys. */
export function createStrip(box, doors) {
  let selected = -1,
    shade = "surprisal",
    steps = [],
    rules = [],
    waiting = /** @type {HTMLElement | null} */ (null);
  const name = (step, index) =>
    `token ${index + 1}: ${glyphs(step.token)}, ${shades.all[shade].words(step)}` +
    (step.forced ? ", the only one allowed" : "") +
    (step.cut ? ", the model preferred a different token" : "") +
    (step.hand ? ", taken by hand" : "") +
    (step.free === undefined ? "" : ", reasoning before the grammar's text") +
    ({ refused: ", refused by the grammar", alone: ", scored by the model alone" }[step.read] ?? "");

  function paint(token, step, index) {
    token.className =
      "tok " +
      colour(step) +
      (step.forced ? " fr" : "") +
      (step.cut ? " cut" : "") +
      (step.hand ? " hand" : "") +
      (step.free === undefined ? "" : " free") +
      (step.read ? ` ${step.read}` : "") +
      (token.classList.contains("trap") ? " trap" : "");
    token.setAttribute("aria-label", name(step, index));
    const first =
      shade === "rule" && shades.rule(step) && (index === 0 || shades.rule(steps[index - 1]) !== shades.rule(step));
    if (first) token.dataset.n = String(rules.indexOf(shades.rule(step)) + 1);
    else delete token.dataset.n;
  }
  function colour(step) {
    if (shade !== "rule") return `b${shades.all[shade].bin(step)}`;
    const its = shades.rule(step);
    if (its && !rules.includes(its)) rules.push(its);
    return shades.colourOfRule(rules, its);
  }

  function add(step, index) {
    const token = el("span", {
      role: "option",
      "aria-selected": "false",
      tabindex: index === 0 && selected < 0 ? "0" : "-1",
      "data-i": String(index),
    });
    token.append(tokenNodes(step.token));
    steps[index] = step;
    paint(token, step, index);
    if (waiting) waiting.before(token);
    else box.append(token);
  }

  /** Keep the first few tokens and forget the rest. */
  function clear(keep = 0) {
    next(false);
    while (box.children.length > keep) box.lastElementChild.remove();
    steps = steps.slice(0, keep);
    for (const token of box.querySelectorAll(".trap")) token.classList.remove("trap", "first");
    rules = shades.rulesOf(steps);
    mark(-1, false);
  }

  /** Show or hide the place of the token that is not taken yet. */
  function next(shown) {
    if (!shown) {
      waiting?.remove();
      waiting = null;
      return;
    }
    if (waiting) return;
    const made = el(
      "span",
      {
        class: "tok next",
        role: "option",
        "aria-selected": "false",
        tabindex: "-1",
        "aria-label": "the next token, not taken yet",
      },
      "next",
    );
    made.dataset.i = String(steps.length);
    box.append(made);
    waiting = made;
  }

  function mark(index, focus) {
    const old = box.children[selected];
    old?.setAttribute("aria-selected", "false");
    if (old) old.tabIndex = -1;
    selected = index;
    if (waiting) waiting.dataset.i = String(steps.length);
    const now = box.children[index];
    (now || box.firstElementChild)?.setAttribute("tabindex", "0");
    if (!now) return;
    if (box.firstElementChild !== now) box.firstElementChild.tabIndex = -1;
    now.setAttribute("aria-selected", "true");
    if (focus) now.focus({ preventScroll: true });
    reveal(now);
  }
  /** Scroll the strip, never the page under a reader's eyes. */
  function reveal(token) {
    const frame = box.parentElement;
    if (frame && frame.scrollHeight > frame.clientHeight) scrollIntoColumn(frame, token, 8);
  }

  /** Colour by something else. */
  function by(key) {
    shade = key;
    rules = shades.rulesOf(steps);
    for (const [index, step] of steps.entries()) paint(box.children[index], step, index);
  }

  /** Mark where a run repeated itself. */
  function traps(found) {
    for (const token of box.querySelectorAll(".trap")) token.classList.remove("trap", "first");
    for (const trap of found)
      for (let i = trap.from; i <= trap.to; i++)
        box.children[i]?.classList.add("trap", ...(i === trap.from ? ["first"] : []));
  }

  /** Mark the tokens that a node of the parse tree read. */
  on("tree node", (node) => {
    let end = 0;
    for (const [index, step] of steps.entries()) {
      const start = end;
      end += (readOf(step) ?? "").length / 2;
      const [low, high] = node && node.test === null ? node.bytes : [0, 0];
      box.children[index]?.classList.toggle("innode", start < high && low < end);
    }
  });

  const at = (event) => event.target.closest("[data-i]");
  box.addEventListener("click", (event) => {
    const hit = at(event);
    if (hit) doors.select(Number(hit.dataset.i), true);
  });
  box.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const last = box.children.length - 1;
    const here = selected >= 0 ? selected : Number(at(event)?.dataset.i ?? 0);
    const alert = (by) => {
      for (let i = here + by; i >= 0 && i <= last; i += by) if (box.children[i].matches(".cut, .first")) return i;
      return here;
    };
    const next = {
      ArrowRight: Math.min(last, selected < 0 ? 0 : here + 1),
      ArrowLeft: Math.max(0, here - 1),
      Home: 0,
      End: last,
      "]": alert(1),
      "[": alert(-1),
    }[event.key];
    if (next === undefined || last < 0) {
      doors.key?.(event, here);
      return;
    }
    event.preventDefault();
    doors.select(next, true);
  });
  return { add, clear, mark, next, by, traps };
}

/** On a phone the run card is below the first screen: until its Run is in view, a bar over the lower edge has the text
    of the run, what the selected token says, and Run. */
export function createRunBar(find, run) {
  const bar = find(".runbar"),
    [go, peek] = bar.querySelectorAll("button"),
    [wrote, about] = peek.querySelectorAll("span"),
    card = bar.parentElement;
  function show(step) {
    const text = spelledText(state.steps.map((each) => each.token)).trim();
    wrote.textContent = state.running ? text.slice(-MOST_PEEKED) : text.slice(0, MOST_PEEKED);
    if (step?.wanted) about.replaceChildren(...sentence(step));
    else about.textContent = state.running ? "the model is writing…" : "Run: the model writes under the grammar";
  }
  const reveal = () => scrollTo({ top: card.getBoundingClientRect().top + scrollY - 8 });
  peek.addEventListener("click", reveal);
  go.addEventListener("click", () => {
    run();
    reveal();
  });
  on("step", show);
  new IntersectionObserver(
    ([seen]) => {
      bar.hidden = seen.isIntersecting || seen.boundingClientRect.top < 0;
    },
    { rootMargin: `0px 0px -${COVERED}px` },
  ).observe(find(".go"));
  show(null);
}

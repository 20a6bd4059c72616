/* The lessons: a list of them on the left, one step at a time on the right, with its address and its questions. */

import { createLatest } from "./ask.js";
import { el, isTyping, printAlone, roving } from "./dom.js";
import { createFilm } from "./film.js";
import { createFullScreen } from "./full-screen.js";
import { colour } from "./notations.js";
import { emit, on, onBegun, state } from "./state.js";
import { saved } from "./storage.js";

/** @import { Context } from "./wire" */

/* A question of a lesson. The engine decides which answers are right, and says why one is not. */
const HOW = {
  several: "Choose all that are right.",
  text: "Type a text.",
  tokens: "Type tokens, with spaces between.",
  number: "Type a number.",
};

export function createQuiz(question, ask, solved, { checked, done }) {
  const reply = el("div", { class: "reply", role: "status" });
  const form = el("form", {
    class: "quiz",
    "aria-label": "Question",
    onsubmit: (event) => {
      event.preventDefault();
      check();
    },
  });
  const button = el("button", { type: "submit", class: "primary" }, "Check");
  const latest = createLatest({
    busy: (waiting) => {
      button.disabled = waiting;
    },
  });
  let read;

  if (question.form === "several") {
    const box = el("div", { class: "options", role: "group", "aria-label": question.ask });
    const options = question.options.map((text, i) =>
      el(
        "button",
        {
          type: "button",
          role: "checkbox",
          "aria-checked": "false",
          tabindex: i ? "-1" : "0",
          onclick: (event) => toggle(event.currentTarget),
        },
        el("i", { "aria-hidden": "true" }),
        el("code", {}, text),
      ),
    );
    const toggle = (option) => {
      option.setAttribute("aria-checked", String(option.getAttribute("aria-checked") !== "true"));
      stop(option);
      reply.replaceChildren();
    };
    const stop = (chosen) => {
      for (const each of options) each.tabIndex = each === chosen ? 0 : -1;
    };
    box.append(...options);
    roving(box, stop);
    read = () => options.flatMap((option, i) => (option.getAttribute("aria-checked") === "true" ? [i] : []));
    form.append(
      el("p", { class: "ask" }, question.ask),
      el("p", { class: "quiet small" }, HOW.several),
      box,
      el("div", { class: "acts" }, button),
    );
  } else {
    // no type: Gradio's reset of forms paints every [type=text] white
    const input = el("input", {
      maxlength: "200",
      spellcheck: "false",
      autocapitalize: "off",
      autocomplete: "off",
      inputmode: question.form === "number" ? "decimal" : null,
      "aria-label": question.ask,
      placeholder: HOW[question.form],
    });
    read = () => input.value;
    form.append(el("p", { class: "ask" }, question.ask), el("div", { class: "acts" }, input, button));
  }
  form.append(reply);
  if (solved) reply.append(el("p", { class: "good" }, "✓ You have answered this one."));

  const check = () => latest.run(async (request) => tell(await request(ask, { answer: read() })));
  function tell(answer) {
    if (answer.fault || !answer.ok) {
      reply.replaceChildren(el("p", { class: "no" }, `✗ ${answer.fault || answer.why}`));
      return;
    }
    const notes = answer.notes.map((note) => el("li", {}, el("code", {}, note.option), " ", note.why));
    reply.replaceChildren(
      el("p", { class: answer.right ? "good" : "no" }, (answer.right ? "✓ " : "✗ ") + answer.say),
      notes.length ? el("ul", {}, ...notes) : "",
    );
    checked();
    if (answer.right) done();
  }
  return form;
}

/** Words with `code` and *terms*; everything enters as text. */
export function words(text) {
  return text.split(/(`[^`]+`|\*[^*\s][^*]*\*)/).map((piece) => {
    // a space at the edge of a token would vanish
    if (/^`.+`$/.test(piece))
      return el("code", { class: piece.length < 30 ? "whole" : null }, piece.slice(1, -1).replace(/^ | $/g, "·"));
    if (/^\*.+\*$/.test(piece)) return el("em", {}, piece.slice(1, -1));
    return piece;
  });
}

/** @param {Context} context */
export function mountLearn({ element, server }) {
  const FEW = 12; // merge rules shown together
  const shelf = element.querySelector(".shelves"),
    pick = element.querySelector(".pick"),
    page = element.querySelector(".lesson");
  let lessons = [],
    lesson = /** @type {any} */ (null),
    step = 0,
    film = /** @type {any} */ (null);

  // -- what has been done ---------------------------------------------------------------------
  const done = () => saved.get("lessons done", {}) || {};
  const isDone = (name, number) => Boolean(done()[name]?.includes(number));
  function tick(name, number) {
    const kept = done();
    if (isDone(name, number)) return;
    kept[name] = [...(kept[name] || []), number];
    saved.set("lessons done", kept);
    list();
    marks();
  }

  /** Lessons by shelf; on phones, where a list of twenty would be the whole screen, as a choice. */
  function list() {
    const kept = done(),
      shelves = [...new Set(lessons.map((each) => each.shelf))];
    const progressOf = (each) => {
      const count = (kept[each.name] || []).filter((n) => n < each.steps.length).length;
      return {
        whole: count === each.steps.length,
        count,
        text: count === each.steps.length ? "✓" : count ? `${count}/${each.steps.length}` : "",
      };
    };
    const entry = (each) => {
      const { whole, count, text } = progressOf(each);
      return el(
        "li",
        {},
        el(
          "button",
          {
            type: "button",
            "aria-current": lesson?.name === each.name ? "page" : null,
            "aria-busy": requested === each.name ? "true" : null,
            "data-lesson": each.name,
            onclick: () => open(each.name, 0),
          },
          el("span", { class: "n" }, String(lessons.indexOf(each) + 1)),
          el("span", { class: "t" }, each.title),
          el(
            "span",
            {
              class: whole ? "m good" : "m",
              "aria-label": whole ? "done" : count ? `${count} of ${each.steps.length} steps done` : null,
            },
            text,
          ),
        ),
      );
    };
    const of = (title) => lessons.filter((each) => each.shelf === title);
    const focused = document.activeElement?.closest(".shelves [data-lesson]")?.dataset.lesson;
    shelf.replaceChildren(
      ...shelves.map((title, i) =>
        el(
          "section",
          { "aria-labelledby": `wb-shelf-${i}` },
          el("h3", { id: `wb-shelf-${i}` }, title),
          el("ol", {}, ...of(title).map(entry)),
        ),
      ),
    );
    pick.replaceChildren(
      ...shelves.map((title) =>
        el(
          "optgroup",
          { label: title },
          ...of(title).map((each) =>
            el(
              "option",
              { value: each.name, selected: (requested || lesson?.name) === each.name },
              `${lessons.indexOf(each) + 1}  ${each.title} ${progressOf(each).text}`,
            ),
          ),
        ),
      ),
    );
    if (focused) shelf.querySelector(`[data-lesson="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    const here = shelf.querySelector("[aria-current]"),
      box = element.querySelector(".shelf");
    if (
      here &&
      (here.offsetTop < box.scrollTop || here.offsetTop + here.offsetHeight > box.scrollTop + box.clientHeight)
    )
      box.scrollTop = here.offsetTop - 60;
  }
  pick.addEventListener("change", () => open(pick.value, 0));

  // -- one step ---------------------------------------------------------------------------------
  /** What is a list in a cell (two spaces between) becomes chips. */
  const pieces = (text) =>
    text.includes("  ") ? text.split("  ").map((piece) => el("span", { class: "chip" }, piece)) : [text];
  /** A table; columns that give the answer of the question away are shown when it has been checked. */
  function worked(table, checked) {
    const covered = (i) => table.hidden.includes(i) && !checked,
      later = (i) => (covered(i) ? "later" : null);
    // words that are wider than a column break anywhere
    const breaks = (text) => (/\S{11}/.test(text) ? "long" : null);
    const read = (sign, word) => [sign, el("span", { class: "sr" }, word)];
    const cell = (text, i) => {
      const [kind, ...content] = covered(i + 1)
        ? ["later", el("span", { "aria-hidden": "true" }, "?"), ...read("", "hidden until you check the question")]
        : text === "✓"
          ? ["good", ...read(text, " yes")]
          : text === "✗"
            ? ["no", ...read(text, " no")]
            : [text.length < 10 ? "short" : breaks(text), ...pieces(text)];
      return el("td", { class: kind, "data-head": table.heads[i + 1] }, ...content);
    };
    const body = table.rows.map((row) =>
      el("tr", {}, el("th", { scope: "row", class: breaks(row[0]) }, row[0]), ...row.slice(1).map(cell)),
    );
    return el(
      "div",
      { class: "worked", tabindex: "0", role: "region", "aria-label": table.caption },
      el(
        "table",
        {},
        el("caption", {}, table.caption),
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            ...table.heads.map((head, i) =>
              el(
                "th",
                { scope: "col", class: later(i), title: covered(i) ? "Shown when you check the question" : null },
                head,
              ),
            ),
          ),
        ),
        el("tbody", {}, ...body),
      ),
    );
  }
  /** The language and the tokens a step is about; lit are the rules being read, marked what could have read on. */
  function given(one) {
    const { text, notation, tokens, merges } = one.given;
    const listing = el("pre", {
      class: "paint",
      tabindex: "0",
      role: "region",
      "aria-label": notation === "regex" ? "The regex of this step" : "The grammar of this step",
    });
    function paint(rules, spans) {
      const edges = [...new Set(spans.flatMap(({ start, end }) => [start, end]))].sort((one, other) => one - other),
        rows = [/** @type {HTMLElement[]} */ ([])];
      let at = 0;
      for (const [piece, name] of colour(text, notation)) {
        const cuts = [at, ...edges.filter((edge) => edge > at && edge < at + piece.length), at + piece.length];
        for (const [i, end] of cuts.slice(1).entries()) {
          const marked = spans.some((span) => span.start <= cuts[i] && end <= span.end);
          const className = [name, marked && "place"].filter(Boolean).join(" ") || null;
          const parts = piece.slice(cuts[i] - at, end - at).split("\n");
          for (const [j, part] of parts.entries()) {
            if (j) rows.push([]);
            if (part) rows[rows.length - 1].push(el("span", { class: className }, part));
          }
        }
        at += piece.length;
      }
      listing.replaceChildren(
        ...rows.map((parts) => {
          const row = el("span", { class: "row" }, ...parts, "\n"),
            name = row.querySelector(".rule")?.textContent.trim();
          row.classList.toggle("outer", rules.includes(name));
          row.classList.toggle("live", rules.length > 0 && name === rules.at(-1));
          return row;
        }),
      );
    }
    paint([], []);
    const box = el(
      "div",
      { class: "given" },
      text ? listing : null,
      tokens.length
        ? el(
            "p",
            { class: "vocabulary" },
            el("span", { class: "quiet" }, "tokens "),
            ...tokens.map((token) => el("span", { class: "chip" }, token)),
          )
        : null,
      merges.length ? ranked(merges) : null,
    );
    return { box, light: (frame, spans = []) => paint(frame.rules, spans) };
  }
  /** Merge rules in rank order; many of them fold away. */
  function ranked(merges) {
    const chips = merges.map((rule, i) => el("span", { class: "chip" }, `${i + 1} ${rule}`));
    if (merges.length <= FEW)
      return el("p", { class: "vocabulary" }, el("span", { class: "quiet" }, "merges "), ...chips);
    return el(
      "details",
      { class: "merges" },
      el("summary", {}, `${merges.length} merge rules`),
      el("p", { class: "vocabulary" }, ...chips),
    );
  }
  /** The elements of a step, and its film if it has one. */
  function leaf(number) {
    const { name, pages } = lesson,
      one = pages[number],
      asked = (question) => (sent) => server[question]({ ...sent, lesson: name, step: number });
    const about = given(one),
      made = one.figure
        ? createFilm(asked("lesson_figure"), one.caption, {
            framed: about.light,
            why: one.explained ? asked("lesson_why") : undefined,
          })
        : null;
    const opens =
      one.open &&
      el(
        "button",
        {
          type: "button",
          class: "bench",
          onclick: () => emit("open", { ...one.open, title: `From the lesson: ${one.title}`, from: "lesson" }),
        },
        "Open in the workbench",
      );
    const text = el(
      "div",
      { class: "words" },
      el("h3", {}, one.title),
      ...one.paragraphs.map((each) => el("p", {}, ...words(each))),
      about.box,
      el("p", { class: "source quiet" }, "Source: ", one.source),
      opens,
    );
    const solved = isDone(name, number);
    let table = one.table && worked(one.table, solved || !one.question);
    function uncover() {
      if (one.table?.hidden.length) {
        const whole = worked(one.table, true);
        table.replaceWith(whole);
        table = whole;
      }
    }
    const quiz =
      one.question &&
      createQuiz(one.question, asked("lesson_answer"), solved, {
        checked: uncover,
        done: () => tick(name, number),
      });
    const right = el("div", { class: "shown" }, made?.figure ?? null, table ?? null, made || one.table ? null : quiz);
    return {
      box: el("section", { class: one.broad ? "leaf broad" : "leaf" }, text, right, made || one.table ? quiz : null),
      film: made,
    };
  }

  function marks() {
    for (const button of page.querySelectorAll(".steps button")) {
      const number = Number(button.dataset.step),
        had = isDone(lesson.name, number);
      button.classList.toggle("done", had);
      button.setAttribute("aria-label", `Step ${number + 1}: ${lesson.steps[number]}${had ? ", done" : ""}`);
      button.setAttribute("aria-current", String(number === step));
      button.tabIndex = number === step ? 0 : -1;
    }
  }
  const present = el(
    "button",
    {
      type: "button",
      class: "present",
      "data-leave": "Leave (Esc)",
      title: "Show the lesson in full screen, one step at a time; the arrow keys go on, Esc leaves",
    },
    "Present",
  );
  createFullScreen(page, present, {
    key: (event) => presented(event.key),
    changed: () => show(".present"),
  });
  /** A key while a lesson is presented: the figure's frames, then the next step. */
  function presented(key) {
    const by = { ArrowRight: 1, ArrowLeft: -1, PageDown: 1, PageUp: -1 }[key];
    if (!by) return false;
    if (!film?.step(by)) turn(step + by, "h3");
    return true;
  }
  const figures = createLatest({ busy: (waiting) => page.classList.toggle("loading", waiting) });
  function show(focus) {
    const one = leaf(step),
      last = lesson.pages.length - 1,
      after = lessons[lessons.findIndex((each) => each.name === lesson.name) + 1];
    film = one.film;
    const steps = el(
      "div",
      { class: "steps", role: "group", "aria-label": "Steps of this lesson" },
      ...lesson.steps.map((title, i) =>
        el("button", { type: "button", "data-step": String(i), title, onclick: () => turn(i) }, String(i + 1)),
      ),
    );
    roving(steps, (button) => turn(Number(button.dataset.step), ".steps [aria-current='true']"));
    const forward =
      step < last
        ? el(
            "button",
            { type: "button", class: "primary next", onclick: () => turn(step + 1, "h3") },
            "Next",
            el("kbd", {}, "n"),
          )
        : after
          ? el(
              "button",
              { type: "button", class: "primary next", onclick: () => open(after.name, 0, "h2") },
              `Next lesson: ${after.title}`,
            )
          : el(
              "button",
              { type: "button", class: "primary next", onclick: () => emit("look", "workbench") },
              "On to the workbench",
            );
    page.replaceChildren(
      el(
        "header",
        { class: "head" },
        el("div", {}, el("h2", { tabindex: "-1" }, lesson.title), el("p", { class: "aim" }, lesson.aim)),
        present,
        el("button", { type: "button", class: "print", onclick: () => printLesson("") }, "Print"),
        el(
          "button",
          {
            type: "button",
            class: "print",
            title: "Print each step on a page of its own, or save the pages as a PDF",
            onclick: () => printLesson("slides"),
          },
          "Print slides",
        ),
      ),
      steps,
      one.box,
      el(
        "div",
        { class: "turn" },
        el(
          "button",
          { type: "button", class: "back", disabled: step === 0, onclick: () => turn(step - 1, "h3") },
          "Back",
          el("kbd", {}, "p"),
        ),
        el("span", { class: "quiet" }, `Step ${step + 1} of ${lesson.pages.length}`),
        forward,
      ),
    );
    marks();
    page.querySelector("h3").tabIndex = -1;
    if (focus) page.querySelector(focus)?.focus({ preventScroll: focus !== "h3" });
    // nothing below a figure is seen before the figure has its height: nothing moves
    figures.drop();
    if (film) figures.run((_ask, wait) => wait(film.load()));
    if (!lesson.pages[step].question) tick(lesson.name, step);
    address();
  }
  function turn(number, focus) {
    if (!lesson || number < 0 || number >= lesson.pages.length || (number === step && page.querySelector(".leaf")))
      return;
    step = number;
    show(focus);
    if (focus === "h3") scrollTo({ top: 0 });
  }

  /** The lesson that is requested, marked in the list until it is there. */
  let requested = "";
  const opening = createLatest({
    busy: (waiting) => {
      page.setAttribute("aria-busy", String(waiting));
      if (!waiting) requested = "";
      list();
    },
  });
  /** @param {string} name @param {number} [number] @param {string | null} [focus] */
  function open(name, number = 0, focus = null) {
    if (!lessons.some((each) => each.name === name)) name = lessons[0]?.name;
    requested = name;
    return opening.run(async (ask) => {
      if (lesson?.name !== name) {
        const answer = await ask(server.lesson, { lesson: name });
        if (answer.fault || !answer.ok) {
          fault(answer.fault || answer.why);
          return;
        }
        lesson = answer;
      }
      step = Math.max(0, Math.min(lesson.pages.length - 1, Math.trunc(number) || 0));
      show(focus);
      scrollTo({ top: 0 });
    });
  }
  const fault = (why) =>
    page.replaceChildren(
      el("p", { class: "no" }, `✗ ${why}`),
      el("button", { type: "button", onclick: () => begin() }, "Try again"),
    );

  /** A whole lesson on paper, or as slides with one step a page: every step with its figure as it ends. */
  async function printLesson(form) {
    const leaves = lesson.pages.map((_, number) => leaf(number));
    const sheet = el(
      "div",
      { class: `wb sheets ${form}` },
      el("h2", {}, lesson.title),
      el("p", { class: "aim" }, lesson.aim),
      ...leaves.map((each) => each.box),
    );
    page.replaceChildren(sheet);
    const isReady = await opening.run(async (_ask, wait) => {
      await wait(
        Promise.all(
          leaves.map(async (each) => {
            await each.film?.load();
            each.film?.last();
          }),
        ),
      );
      return true;
    });
    if (!isReady) return;
    printAlone(form ? sheet : null);
    show();
  }

  // -- the place in the address -------------------------------------------------------------------
  const place = () => new URLSearchParams(location.search);
  function address() {
    saved.set("lesson at", [lesson.name, step]);
    if (state.view !== "learn" || (document.body.dataset.shelf ?? "lessons") !== "lessons") return;
    const asked = place();
    asked.set("learn", lesson.name);
    asked.set("step", String(step + 1));
    history.replaceState(null, "", `?${asked}${location.hash}`);
  }
  function leave() {
    const asked = place();
    if (!asked.has("learn")) return;
    asked.delete("learn");
    asked.delete("step");
    const rest = String(asked);
    history.replaceState(null, "", (rest ? `?${rest}` : location.pathname) + location.hash);
  }

  let begun = false;
  /** Ask for the list; then open the lesson that is named, that of the address, or the last one that was read. */
  const begin = (name = "") =>
    opening.run(async (ask) => {
      begun = true;
      const answer = await ask(server.lesson_list, {});
      if (answer.fault || !answer.ok) {
        begun = false;
        fault(answer.fault || answer.why);
        return;
      }
      lessons = answer.lessons;
      const asked = place(),
        [last = lessons[0].name, step = 0] = saved.get("lesson at", null) ?? [];
      const wanted = asked.get("learn");
      if (name) open(name, 0, "h2");
      else if (wanted) open(wanted, Number(asked.get("step") || 1) - 1);
      else open(last, Number(step));
    });
  on("open lesson", (name) => (lessons.length ? open(name, 0, "h2") : begin(name)));
  on("view", (view) => {
    if (view !== "learn") {
      leave();
      return;
    }
    if (begun) {
      if (lesson) show();
    } else begin();
  });
  // a link to a lesson opens it, whatever the workbench begins with
  if (place().has("learn")) {
    const asked = location.search;
    const look = () => {
      history.replaceState(null, "", asked + location.hash);
      emit("look", "learn");
    };
    on("ready", look);
    onBegun(look);
  }

  document.addEventListener("keydown", (event) => {
    if (
      state.view !== "learn" ||
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      document.querySelector("dialog[open]")
    )
      return;
    const on = document.activeElement;
    if (isTyping()) return;
    const own = on?.closest(".pic, .options, .steps, .hand, .worked, .views");
    const act = {
      n: () => turn(step + 1, "h3"),
      p: () => turn(step - 1, "h3"),
      ArrowRight: () => !own && film?.step(1),
      ArrowLeft: () => !own && film?.step(-1),
    }[event.key];
    if (act && act() !== false) event.preventDefault();
  });
}

/* What a person wrote, kept in their own browser: the view switches, the draft as it is typed, and
   drafts with names. Nothing of it reaches the server. */

/* A drawer of the browser's own storage. Where that is blocked or full it forgets, and says so. */
(() => {
  const PREFIX = "wb:1:"; // another number when what is kept changes its shape
  const store = (() => {
    try {
      const s = window.localStorage;
      s.setItem(`${PREFIX}?`, "");
      s.removeItem(`${PREFIX}?`);
      return s;
    } catch {
      return null;
    }
  })();

  wb.saved = {
    /** Whether anything can be kept here at all. */
    possible: Boolean(store),
    get(key, otherwise = null) {
      try {
        const kept = store?.getItem(PREFIX + key);
        return kept === null || kept === undefined ? otherwise : JSON.parse(kept);
      } catch {
        return otherwise;
      }
    },
    /** Keep a value; false where the browser refuses (storage blocked, or full). */
    set(key, value) {
      try {
        store.setItem(PREFIX + key, JSON.stringify(value));
        return true;
      } catch {
        return false;
      }
    },
    remove(key) {
      try {
        store?.removeItem(PREFIX + key);
      } catch {
        /* blocked meanwhile: then it is gone anyway */
      }
    },
    /** Forget all that this page ever kept, of earlier versions too. */
    clear() {
      try {
        for (const key of Object.keys(store ?? {})) if (/^wb[:-]/.test(key)) store.removeItem(key);
      } catch {
        /* the same */
      }
    },
  };
})();

/* The work: a grammar with all a person set beside it. What links, drafts and exports hold. */
(() => {
  const MOST_TESTS = 50,
    LONGEST = 50000;
  const text = (value, most = LONGEST) => (typeof value === "string" && value.length <= most ? value : null);
  const number = (value, low, high) => (typeof value === "number" && value >= low && value <= high ? value : undefined);

  /** A test in either shape that was ever written: a text, or a text with what is expected of it. */
  function test(held) {
    if (typeof held === "string") return { text: held, expect: null };
    const expect = held?.expect === "accept" || held?.expect === "reject" ? held.expect : null;
    return text(held?.text) === null ? null : { text: held.text, expect };
  }

  function settings(held) {
    const kept = {
      temperature: number(held?.temperature, 0, 5),
      seed: number(held?.seed, 0, 2 ** 31 - 1),
      max_tokens: number(held?.max_tokens, 1, 1024),
      constraint:
        typeof held?.constraint === "string" && /^[a-z_]{1,40}$/.test(held.constraint) ? held.constraint : undefined,
      lookahead: number(held?.lookahead, 0, 1000),
      small_tokens: held?.small_tokens === true || undefined,
    };
    return JSON.parse(JSON.stringify(kept));
  }

  /** What came from outside (a link, a storage), or null where it is no work of this page's. */
  function checked(held) {
    if (!held || typeof held !== "object" || !Object.hasOwn(wb.notations, held.notation) || text(held.text) === null)
      return null;
    const tests = (Array.isArray(held.tests) ? held.tests : []).slice(0, MOST_TESTS).map(test);
    return {
      notation: held.notation,
      start: text(held.start, 200) || "start",
      style: wb.notations[held.notation].styles?.slice(1).find(({ name }) => name === held.style)?.name ?? "",
      text: held.text,
      prompt: text(held.prompt) ?? "",
      tests: tests.filter(Boolean),
      settings: settings(held.settings),
      tab: typeof held.tab === "string" && /^[a-z_]{1,40}$/.test(held.tab) ? held.tab : "",
      ...(held.compare ? { compare: comparison(held.compare) } : {}),
    };
  }

  /** What is set side by side; only where the view that does so is open. */
  function comparison(held) {
    const methods = (Array.isArray(held.methods) ? held.methods : [])
      .filter((name) => typeof name === "string" && name.length <= 80)
      .slice(0, 100);
    const { temperature, seed } = settings(held);
    return JSON.parse(
      JSON.stringify({
        methods,
        temperature,
        seed,
        seeds: number(held.seeds, 1, 30),
        max_tokens: number(held.max_tokens, 1, 512),
        prompts: text(held.prompts) ?? undefined,
        whose: held.whose === "example" ? "example" : undefined,
      }),
    );
  }

  /** As an example of the gallery has it, so that whoever opens examples opens this too. */
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

  /** What stands on the page now. */
  function now() {
    const { prompt, tests, tab } = wb.state,
      grammar = wb.grammarOf(wb.state);
    return (
      checked({
        ...grammar,
        prompt,
        tests,
        tab,
        settings: wb.run?.settings?.() ?? {},
        compare: wb.compare?.settings(),
      }) ?? { ...grammar, text: "", prompt: "", tests: [], settings: {}, tab }
    );
  }

  /** Two works are the same draft whatever tab is open and however the model is run. */
  const written = (work) =>
    JSON.stringify([
      work.notation,
      work.start,
      work.style,
      work.text.trimEnd(),
      work.prompt,
      work.tests.map(({ text, expect }) => [text, expect]),
    ]);
  const same = (one, other) => written(one) === written(other);

  wb.work = { checked, asExample, now, same };
})();

/* Drafts: the one being typed, and those with a name. */
(() => {
  const { saved, work } = wb;
  const WAIT = 700; // milliseconds without a key until the draft is kept
  const LONGEST_NAME = 80,
    EARLIER = "Earlier draft";
  const FULL = "the draft was not saved: browser storage is full or blocked";
  let opened = null; // what was opened last: no draft until something in it is changed
  let changed = false; // whether it was, since then
  let forgotten = false;

  const names = () => {
    const held = saved.get("yours", {});
    return held && typeof held === "object" ? held : {};
  };
  const put = (held) => {
    const done = saved.set("yours", held);
    wb.emit("drafts", list());
    return done;
  };
  const last = () => {
    const held = saved.get("draft"),
      draft = work.checked(held);
    return draft && { ...draft, when: Number(held.when) || 0, left: Boolean(held.left) };
  };

  /** The drafts with a name, the newest first. */
  function list() {
    return Object.entries(names())
      .map(([name, held]) => ({ name, when: Number(held?.when) || 0, ...work.checked(held) }))
      .filter((draft) => draft.notation)
      .sort((a, b) => b.when - a.when);
  }

  const called = (name) => name.trim().slice(0, LONGEST_NAME);

  /** Keep what stands on the page under a name; a sentence where that cannot be done, else "". */
  function save(name) {
    if (!called(name)) return "a draft needs a name";
    const here = work.now();
    if (!put({ ...names(), [called(name)]: { ...here, when: Date.now() } })) return FULL;
    opened = here;
    changed = false;
    discard();
    return "";
  }
  function remove(name) {
    const held = names();
    delete held[name];
    put(held);
  }
  function rename(name, other) {
    const held = names(),
      next = called(other);
    if (!next || !(name in held)) return "a draft needs a name";
    if (next === name) return "";
    if (next in held) return `there is a draft named ${next}`;
    held[next] = held[name];
    delete held[name];
    return put(held) ? "" : FULL;
  }
  function open(name) {
    const held = work.checked(names()[name]);
    if (held) wb.emit("open", { ...work.asExample(held, name), from: "draft" });
  }

  const asDraft = (draft) => ({
    ...work.asExample(draft, "Your draft"),
    draft: true,
    from: "draft",
    compare: undefined,
  });
  /** The draft a visit begins with, as an example to be opened; null where it was left for another grammar. */
  function kept() {
    const draft = last();
    return draft && !draft.left && draft.text.trim() ? asDraft(draft) : null;
  }
  /** Open the draft that was left. */
  function reopen() {
    const draft = last();
    if (draft) wb.emit("open", asDraft(draft));
  }
  function discard() {
    saved.remove("draft");
    wb.emit("draft", null);
  }
  /** Discard the draft that stands on the page, and begin as a visitor does. */
  function restart() {
    forgotten = true;
    saved.remove("draft");
    location.replace(location.pathname + location.search);
  }

  /** Keep the draft as it stands, if anything in it is a person's own. */
  function keep() {
    if (forgotten || !opened) return;
    const here = work.now();
    if (work.same(here, opened)) {
      if (changed && !opened.own) discard(); // all taken back
      changed = false;
      return;
    }
    if (!here.text.trim() && !here.prompt && !here.tests.length) return;
    const before = last();
    if (!changed && before?.left) put({ ...names(), [EARLIER]: before }); // one draft makes room for another
    if (saved.set("draft", { ...here, when: Date.now() }) && !changed) {
      wb.emit("draft", null);
      // the address no longer says what stands here; read again, it would hide the draft
      wb.unlink();
    }
    changed = true;
  }
  const soon = wb.debounce(WAIT, keep);

  /** Another grammar was opened: a draft it takes the place of stays, but no visit begins with it. */
  function moved(example) {
    if (opened) soon.now();
    const draft = last();
    if (draft && !example.draft) saved.set("draft", { ...draft, left: true });
    if (draft?.left && example.draft) saved.set("draft", { ...draft, left: false });
    wb.emit("draft", draft ? { when: draft.when, open: Boolean(example.draft) } : null);
    opened = null;
    changed = false;
    setTimeout(() => {
      opened = { ...work.now(), own: Boolean(example.draft) };
    }, 0); // when every part has it
  }

  function forget() {
    forgotten = true;
    saved.clear();
    location.replace(location.pathname + location.search);
  }

  wb.on("example", moved);
  // "Break it" is the page's change, not a person's
  wb.on("rewrite", () =>
    setTimeout(() => {
      if (opened && !changed) opened = { ...work.now(), own: opened.own };
    }, 0),
  );
  wb.on("ready", () => {
    for (const name of ["input", "change", "click"])
      document.addEventListener(name, () => soon(), { capture: true, passive: true });
    // a page that is put away may never be asked again
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "hidden") soon.now();
    });
    window.addEventListener("pagehide", () => soon.now());
  });

  wb.drafts = { list, open, save, remove, rename, kept, reopen, discard, restart, keep: () => soon.now(), forget };
})();

/* The ground of the page: one shared state, one bus, and how anything typed becomes visible text.
   Everything a person or a model wrote enters the page through textContent, never as markup. */
window.wb = (() => {
  const listeners = new Map();
  const state = {
    gallery: [],
    methods: [],
    example: null,
    notation: "regex",
    start: "start",
    style: "",
    text: "",
    tests: [],
    prompt: "",
    compiled: null,
    drawn: null,
    pending: false,
    tab: "characters",
    steps: [],
    selected: -1,
    running: false,
    model: "",
    view: "workbench",
  };

  const on = (name, listener) => {
    if (!listeners.has(name)) listeners.set(name, []);
    listeners.get(name).push(listener);
  };
  const emit = (name, detail) => {
    for (const listener of listeners.get(name) || []) listener(detail);
  };

  /** The grammar of whatever holds one, as the server is asked about it; two are one if their keys are. */
  const grammarOf = ({ text, notation, start, style }) => ({ text, notation, start, style: style || "" });
  const key = (held) => {
    const { text, notation, start, style } = grammarOf(held);
    return [notation, start, style, text].join("\n");
  };

  /** An element with properties, data-/aria- attributes and children (text nodes for strings). */
  function el(tag, properties = {}, ...children) {
    const made = document.createElement(tag);
    for (const [key, value] of Object.entries(properties)) {
      if (value === undefined || value === null || value === false) continue;
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else if (key === "class") made.className = value;
      else made.setAttribute(key, value === true ? "" : value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  }

  const CLASS_OF = { " ": "ws", "\n": "ws nl", "\t": "ws tab" };
  const SHAPELESS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}]/u;

  /** Text as nodes: white space marked but still itself (so a copy is the real text), the unseen spelt out. */
  function visible(text) {
    const nodes = document.createDocumentFragment();
    let plain = "";
    const flush = () => {
      if (plain) nodes.append(plain);
      plain = "";
    };
    for (const character of text) {
      const name = CLASS_OF[character];
      if (!name && !SHAPELESS.test(character)) {
        plain += character;
        continue;
      }
      flush();
      if (name) nodes.append(el("span", { class: name }, character));
      else
        nodes.append(
          el("span", { class: "byte" }, `<U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}>`),
        );
    }
    flush();
    return nodes;
  }

  const bytesOf = (hex) => hex.match(/../g).map((pair) => parseInt(pair, 16));

  /** A token as nodes: its text, or each byte where it is no text by itself, or the end sign. */
  function tokenNodes(token) {
    if (token.end) return el("span", { class: "end" }, "end");
    if (token.hex === undefined) return visible(token.text);
    const nodes = document.createDocumentFragment();
    for (const byte of bytesOf(token.hex)) {
      const shown =
        byte > 32 && byte < 127 ? String.fromCharCode(byte) : `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`;
      nodes.append(byte > 32 && byte < 127 ? shown : el("span", { class: "byte" }, shown));
    }
    return nodes;
  }

  /** The same on one line, for lists: spaces as dots, breaks as signs. */
  function glyphs(token) {
    if (token.end) return "end";
    if (token.hex !== undefined)
      return bytesOf(token.hex)
        .map((b) =>
          b > 32 && b < 127 ? String.fromCharCode(b) : `<0x${b.toString(16).toUpperCase().padStart(2, "0")}>`,
        )
        .join("");
    return token.text
      .replace(/[ \n\t]/g, (c) => ({ " ": "·", "\n": "⏎", "\t": "⇥" })[c])
      .replace(/[\p{Cc}\p{Cf}]/gu, (c) => `<U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}>`);
  }

  /** The bytes of a token as hexadecimal digits; null for the end. */
  const hexOf = (token) =>
    token.end
      ? null
      : (token.hex ??
        [...new TextEncoder().encode(token.text)].map((byte) => byte.toString(16).padStart(2, "0")).join(""));
  /** The bytes of a token; none of the end. */
  const tokenBytes = (token) =>
    token.end ? [] : token.hex !== undefined ? bytesOf(token.hex) : [...new TextEncoder().encode(token.text)];
  /** The text that tokens spell together. */
  const spelt = (tokens) => new TextDecoder().decode(new Uint8Array(tokens.flatMap(tokenBytes)));

  const percent = (p) => (p === 0 ? "0 %" : p < 0.001 ? "< 0.1 %" : `${(100 * p).toFixed(1)} %`);
  const number = new Intl.NumberFormat("en-US").format;
  const bits = (b) => (b === null ? "∞" : b < 0.05 ? "0.0" : b.toFixed(1));

  /** Call a function again only when nothing more came for so many milliseconds. */
  function debounce(wait, act) {
    let timer = 0;
    const later = (...args) => {
      clearTimeout(timer);
      timer = setTimeout(() => act(...args), wait);
    };
    later.now = (...args) => {
      clearTimeout(timer);
      act(...args);
    };
    return later;
  }

  async function copy(text, button) {
    let done = true;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // no clipboard without https or permission: the old way still works
      const area = el("textarea", { style: "position:fixed;opacity:0" });
      area.value = text;
      document.body.append(area);
      area.select();
      done = document.execCommand("copy");
      area.remove();
    }
    if (!button) return;
    const told = button.textContent;
    button.textContent = done ? "Copied" : "Could not copy";
    setTimeout(() => {
      button.textContent = told;
    }, 1200);
  }

  function download(name, type, text) {
    const link = el("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 5000);
  }

  /** Arrow keys over a row of buttons of which one is a tab stop. */
  function roving(box, choose) {
    box.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const items = [...box.querySelectorAll("button:not(:disabled)")];
      if (!step || !items.includes(document.activeElement)) return;
      event.preventDefault();
      const next = items[(items.indexOf(document.activeElement) + step + items.length) % items.length];
      next.focus();
      choose(next);
    });
  }

  /** Bring an item into sight in its row, and the row alone: scrollIntoView would pull the page along. */
  function bring(row, item, margin = 0) {
    const place = item.getBoundingClientRect(),
      seen = row.getBoundingClientRect();
    row.scrollLeft += Math.min(0, place.left - seen.left - margin) + Math.max(0, place.right - seen.right + margin);
  }

  function choose(box, attribute, chosen) {
    for (const button of box.querySelectorAll("button")) {
      button.setAttribute(attribute, String(button === chosen));
      button.tabIndex = button === chosen ? 0 : -1;
    }
  }

  /** A row of choices of which one is taken: buttons that hold their key in an attribute. `act(key)` hears which is
      taken; given back is a way to show one as taken. */
  function radios(box, attribute, options, act) {
    const show = (key) =>
      choose(
        box,
        "aria-checked",
        [...box.children].find((button) => button.getAttribute(attribute) === key),
      );
    const take = (button) => {
      const key = button.getAttribute(attribute);
      show(key);
      act(key);
    };
    box.replaceChildren(
      ...options.map(([key, label]) =>
        el(
          "button",
          { type: "button", role: "radio", "aria-checked": "false", tabindex: "-1", [attribute]: key },
          label,
        ),
      ),
    );
    box.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button) take(button);
    });
    roving(box, take);
    return show;
  }

  /** A button and what it opens: one click, Escape or a click elsewhere closes it, arrows go through it. */
  function menu(box) {
    const [button, list] = box.children;
    const toggle = (wanted) => {
      list.hidden = !wanted;
      button.setAttribute("aria-expanded", String(wanted));
    };
    button.addEventListener("click", () => {
      toggle(list.hidden);
      if (!list.hidden) list.querySelector("button:not(:disabled), input")?.focus();
    });
    document.addEventListener("click", (event) => {
      if (!box.contains(event.target)) toggle(false);
    });
    box.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !list.hidden) {
        toggle(false);
        button.focus();
        event.stopPropagation();
      }
    });
    roving(list, () => {});
    toggle(false);
    return { close: () => toggle(false) };
  }

  /** Ask the server; what it could not answer becomes a sentence instead of an exception. */
  async function ask(question, sent) {
    let answer;
    const slow = setTimeout(() => emit("slow answer"), 1500);
    try {
      answer = await question({ model: state.model, ...sent });
    } catch {
      return { fault: "the server did not answer; is it still running?" };
    } finally {
      clearTimeout(slow);
    }
    return answer ?? { fault: "a fault of the workbench itself; the server's log says more" };
  }

  const KERNELS = "Compiling the engine's kernels: once per installation, for up to a minute.";
  let words = "";
  /** Whether the server compiles its kernels, which all questions wait for. Panes that wait hear "kernels" with the
      words to show, at every look at the server while it compiles, and with "" at the end. */
  function compiling(now) {
    if (!now && !words) return;
    words = now ? KERNELS : "";
    emit("kernels", words);
  }

  /** When the page's own sheets are there; Gradio loads them beside the scripts and waits for neither. */
  const styled = () =>
    Promise.all(
      [...document.querySelectorAll("link[href*='wb/']")].map(
        (sheet) =>
          new Promise((go) => {
            if (sheet.sheet) {
              go();
              return;
            }
            for (const end of ["load", "error"]) sheet.addEventListener(end, go, { once: true });
          }),
      ),
    );

  const parts = {};
  const mounted = new Set();
  /** Called by each Gradio component when it is on the page; the page starts when all are, and has
      its look: before that nothing has its size, and a visitor would see it slide into place. */
  async function mount(name, context) {
    parts[name](context);
    mounted.add(name);
    if (Object.keys(parts).some((each) => !mounted.has(each))) return;
    await styled();
    emit("ready");
    window.wb.ready = true;
    for (const part of document.querySelectorAll(".wb")) part.style.visibility = "";
  }

  return {
    state,
    on,
    emit,
    grammarOf,
    key,
    el,
    visible,
    tokenNodes,
    glyphs,
    bytesOf,
    hexOf,
    tokenBytes,
    spelt,
    percent,
    number,
    bits,
    debounce,
    copy,
    download,
    roving,
    bring,
    choose,
    radios,
    menu,
    ask,
    compiling,
    parts,
    mount,
  };
})();

/* The theme is set before anything is painted: what was chosen last, or what the system says. */
(() => {
  const kept = () => {
    try {
      return localStorage.getItem("wb-theme");
    } catch {
      return null;
    }
  };
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    const dark = (kept() || (system.matches ? "dark" : "light")) === "dark";
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    document.body?.classList.toggle("dark", dark);
    wb.emit("theme", dark);
  };
  wb.toggleTheme = () => {
    const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    try {
      localStorage.setItem("wb-theme", next);
    } catch {
      /* private window: it lasts as long as the page */
    }
    document.documentElement.dataset.theme = next;
    document.body.classList.toggle("dark", next === "dark");
    wb.emit("theme", next === "dark");
  };
  system.addEventListener("change", apply);
  apply();
})();

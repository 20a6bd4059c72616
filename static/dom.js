/* Elements and what is done with them: rows of buttons, menus, notices, the clipboard, files.
   Text that a person or a model wrote enters the page through textContent, never as markup. */

/** An element with properties, data-/aria- attributes and children (text nodes for strings). */
export function el(tag, properties = {}, ...children) {
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

/** An element of SVG with attributes and children. */
export function svgEl(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes))
    if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** Call a function when no call has come for ``wait`` milliseconds; ``now`` calls it immediately. */
export function debounce(wait, act) {
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

/** The element that an event was sent to.
    @param {Event} event @returns {Element} */
export function targetOf({ target }) {
  if (target instanceof Element) return target;
  throw new TypeError(`expected an event of an element, not of ${target}`);
}

/** Whether keys go to a field, so that they are no keys of the page. */
export const isTyping = () => /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? "");

export async function copyText(text, button) {
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
  const label = button.textContent;
  button.textContent = done ? "Copied" : "Could not copy";
  setTimeout(() => {
    button.textContent = label;
  }, 1200);
}

/** Edit a name in the place of the element that shows it. Enter keeps it, and so does leaving the field; Escape does
    not, and then ``done`` gets null. ``focused``: whether the field had the focus at the end.
    @param {HTMLElement} element @param {{ value: string, longest: number, label: string }} written
    @param {(name: string | null, focused: boolean) => void} done */
export function editName(element, { value, longest, label }, done) {
  const input = el("input", {
    type: "text",
    class: "rename",
    maxlength: longest,
    "aria-label": label,
    spellcheck: "false",
  });
  input.value = value;
  let open = true;
  const close = (keep) => {
    if (!open) return;
    open = false;
    const focused = document.activeElement === input;
    input.replaceWith(element);
    done(keep ? input.value.trim() : null, focused);
  };
  input.addEventListener("blur", () => close(true));
  input.addEventListener("keydown", (event) => {
    event.stopPropagation(); // arrows and letters are the name's
    if (event.key === "Enter" || event.key === "Escape") {
      event.preventDefault();
      close(event.key === "Enter");
    }
  });
  element.replaceWith(input);
  input.focus();
  input.select();
}

export function download(name, type, text) {
  const link = el("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 5000);
}

/** Print, and nothing but ``sheet`` where one is given: pages do not break inside Gradio's containers.
    @param {HTMLElement | null} sheet */
export function printAlone(sheet) {
  if (sheet) {
    document.body.append(sheet);
    document.body.toggleAttribute("data-printing", true);
  }
  print();
  sheet?.remove();
  document.body.toggleAttribute("data-printing", false);
}

/** Arrow keys over a row of buttons of which one is a tab stop. */
export function roving(box, choose) {
  box.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const items = [...box.querySelectorAll("button:not(:disabled, [hidden])")];
    if (!step || !items.includes(document.activeElement)) return;
    event.preventDefault();
    const next = items[(items.indexOf(document.activeElement) + step + items.length) % items.length];
    next.focus();
    choose(next);
  });
}

/** The toolbar pattern: a row of buttons is one tab stop, and the arrow keys go through it. ``selector`` names the
    buttons, which may come and go. An arrow leaves a field only where its caret cannot move.
    @param {HTMLElement} box @param {string} name @param {string} selector */
export function createToolbar(box, name, selector) {
  box.setAttribute("role", "toolbar");
  box.setAttribute("aria-label", name);
  const items = () => /** @type {HTMLButtonElement[]} */ ([...box.querySelectorAll(selector)]);
  const usable = () => items().filter((button) => !button.disabled && button.checkVisibility());
  let visited = /** @type {HTMLButtonElement | null} */ (null);
  /** The tab stop is the button that had the focus last, at first the first one. */
  function update() {
    const buttons = usable(),
      stop = buttons.find((button) => button === visited) ?? buttons[0] ?? items()[0];
    for (const button of items()) {
      const index = button === stop ? 0 : -1;
      if (button.getAttribute("tabindex") !== String(index)) button.tabIndex = index;
    }
  }
  box.addEventListener("focusin", ({ target }) => {
    const button = items().find((each) => each === target);
    if (!button) return;
    visited = button;
    update();
  });
  const staysIn = (key) => {
    const field = document.activeElement;
    if (!(field instanceof HTMLInputElement)) return false;
    return !(key === "ArrowLeft" && field.selectionEnd === 0) && !(key === "ArrowRight" && field.value === "");
  };
  box.addEventListener("keydown", (event) => {
    const buttons = usable(),
      index = buttons.indexOf(/** @type {any} */ (document.activeElement));
    const next = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (index < 0 || next === undefined || staysIn(event.key)) return;
    event.preventDefault();
    buttons[(next + buttons.length) % buttons.length].focus();
  });
  const watched = { subtree: true, childList: true, attributes: true, attributeFilter: ["disabled", "hidden"] };
  new MutationObserver(update).observe(box, watched);
  update();
}

/** Bring an item into sight in its row, and the row alone: scrollIntoView would pull the page along. */
export function scrollIntoRow(row, item, margin = 0) {
  const place = item.getBoundingClientRect(),
    seen = row.getBoundingClientRect();
  row.scrollLeft += Math.min(0, place.left - seen.left - margin) + Math.max(0, place.right - seen.right + margin);
}

/** The same for what scrolls up and down. */
export function scrollIntoColumn(column, item, margin = 0) {
  const place = item.getBoundingClientRect(),
    seen = column.getBoundingClientRect();
  column.scrollTop += Math.min(0, place.top - seen.top - margin) + Math.max(0, place.bottom - seen.bottom + margin);
}

export function markChosen(box, attribute, chosen) {
  for (const button of box.querySelectorAll("button")) {
    button.setAttribute(attribute, String(button === chosen));
    button.tabIndex = button === chosen ? 0 : -1;
  }
}

/** A row of choices of which one is taken: buttons that hold their key in an attribute. `act(key)` hears which is
    taken; given back is a way to show one as taken. */
export function radios(box, attribute, options, act) {
  const show = (key) =>
    markChosen(
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
      el("button", { type: "button", role: "radio", "aria-checked": "false", tabindex: "-1", [attribute]: key }, label),
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
export function createMenu(box) {
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

/** A dialog with a close button: it opens scrolled to its top, with the focus on its heading. */
export function createDialog(dialog) {
  document.body.append(dialog); // outside Gradio's containers, which could clip it
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog || event.target.closest(".close")) dialog.close();
  });
  return () => {
    if (dialog.open) return;
    dialog.showModal();
    dialog.scrollTop = 0;
    dialog.querySelector("h2").focus();
  };
}

/** @type {HTMLElement | undefined} */
let noticeBox;
let noticeTimer = 0;
/** A sentence at the lower edge of the page, for a while; read aloud too. */
export function showNotice(text) {
  /** @type {HTMLElement} */
  const box = noticeBox ?? el("div", { class: "wb notice", role: "status" });
  if (!noticeBox) document.body.append(box);
  noticeBox = box;
  box.textContent = text;
  box.classList.add("on");
  clearTimeout(noticeTimer);
  noticeTimer = setTimeout(() => box.classList.remove("on"), Math.max(4000, 60 * text.length));
}

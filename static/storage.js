/* Values in the browser's own storage. Where that is blocked or full nothing is kept, and ``set`` returns false. */

const PREFIX = "wb:1:"; // another number when what is kept changes its shape
/** Null where the browser refuses, and in a replay, which keeps nothing. */
const store = (() => {
  if (document.getElementById("recording")) return null;
  try {
    const s = window.localStorage;
    s.setItem(`${PREFIX}?`, "");
    s.removeItem(`${PREFIX}?`);
    return s;
  } catch {
    return null;
  }
})();

export const saved = {
  /** Whether anything can be kept here at all. */
  possible: Boolean(store),
  /** The kept value, whose shape its user checks.
      @param {string} key @param {any} [otherwise] @returns {any} */
  get(key, otherwise = null) {
    try {
      const kept = store?.getItem(PREFIX + key);
      return kept === null || kept === undefined ? otherwise : JSON.parse(kept);
    } catch {
      return otherwise;
    }
  },
  /** Keep a value; false where the browser refuses (storage blocked, or full).
      @param {string} key @param {unknown} value */
  set(key, value) {
    try {
      if (!store) return false;
      store.setItem(PREFIX + key, JSON.stringify(value));
      return true;
    } catch {
      return false;
    }
  },
  /** @param {string} key */
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
      for (const key of Object.keys(store ?? {})) if (/^wb[:-]/.test(key)) store?.removeItem(key);
    } catch {
      /* the same */
    }
  },
};

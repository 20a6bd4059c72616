/* What a reason lights in the editor and in the picture. Several parts show reasons at once: when one of them goes, the
   lights are those of the reason that was shown before it. */

import { emit, grammarKey, state } from "./state.js";

/** @import { Why } from "./wire" */

/** The reasons that are shown, the newest last. */
const lit = /** @type {{ record: Why, key: string }[]} */ ([]);

/** The lights of one part: `show` lights a reason in the place of the part's last one, `hide` takes it away. */
export function createWhyLight() {
  let own = /** @type {{ record: Why, key: string } | null} */ (null);
  const drop = () => {
    const index = own ? lit.indexOf(own) : -1;
    if (index >= 0) lit.splice(index, 1);
    own = null;
    return index >= 0;
  };
  return {
    /** @param {Why} record */
    show(record) {
      drop();
      own = { record, key: grammarKey(state) };
      lit.push(own);
      emit("why", record);
    },
    hide() {
      if (!drop()) return;
      const last = lit[lit.length - 1];
      emit("why", last?.key === grammarKey(state) ? last.record : null);
    },
  };
}

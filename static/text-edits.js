/* What an edit leaves of a text: what it shares with the text after it, and where marks then are. */

/** How many code units two texts share at their beginning, and at their end.
    @param {string} one @param {string} other */
export function sharedLengths(one, other) {
  const most = Math.min(one.length, other.length);
  let head = 0,
    tail = 0;
  while (head < most && one[head] === other[head]) head++;
  while (tail < most - head && one[one.length - 1 - tail] === other[other.length - 1 - tail]) tail++;
  return [head, tail];
}

/** Marks at the places of their text after an edit; those of text that was edited are gone.
    @template {{ from: number, to: number }} Mark @param {Mark[]} marks @param {string} before @param {string} after */
export function shiftMarks(marks, before, after) {
  const [head, tail] = sharedLengths(before, after);
  const by = after.length - before.length,
    from = before.length - tail;
  return marks.flatMap((mark) =>
    mark.to <= head ? [mark] : mark.from >= from ? [{ ...mark, from: mark.from + by, to: mark.to + by }] : [],
  );
}

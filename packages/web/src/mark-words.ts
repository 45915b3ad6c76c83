// Marks what a search found inside the rows that are drawn, by the browser's own highlights: nothing
// in the page's elements changes, so React's tree and the agent's text stay as they are.

export const FOUND_HIGHLIGHT = 'engram-found';

/** What is left of a query once it is drawn: the signs of Markdown are not on the screen. */
export function drawnQuery(query: string): string {
  return query.trim().toLowerCase().replace(/[*_`]/g, '');
}

/** Start and end of each place where `needle` (lower case) stands in the text; places do not overlap. */
export function placesOf(text: string, needle: string): readonly (readonly [number, number])[] {
  if (needle === '') return [];
  // Lower case may be longer than the text ("İ"): places would then be off, so such a text is taken as it is.
  const lower = text.toLowerCase();
  const hay = lower.length === text.length ? lower : text;
  const places: (readonly [number, number])[] = [];
  for (let at = hay.indexOf(needle); at !== -1; at = hay.indexOf(needle, at + needle.length)) {
    places.push([at, at + needle.length]);
  }
  return places;
}

function rangesIn(row: Element, needle: string): readonly Range[] {
  const nodes: { readonly node: Node; readonly from: number }[] = [];
  let text = '';
  const walker = document.createTreeWalker(row, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    nodes.push({ node, from: text.length });
    text += node.nodeValue ?? '';
  }
  return placesOf(text, needle).flatMap(([from, to]) => {
    const first = nodes.findLast((part) => part.from <= from);
    const last = nodes.findLast((part) => part.from < to);
    if (first === undefined || last === undefined) return [];
    const range = document.createRange();
    range.setStart(first.node, from - first.from);
    range.setEnd(last.node, to - last.from);
    return [range];
  });
}

/**
 * Keeps the words of `query` marked in every `[data-row]` below `box` while rows come and go; the
 * returned function takes the marks away. Browsers without highlights show the row's frame alone.
 */
export function markWords(box: Element, query: string): () => void {
  const needle = drawnQuery(query);
  if (needle === '' || !('highlights' in CSS)) return () => undefined;
  let frame: number | undefined;
  function mark(): void {
    frame = undefined;
    const ranges = [...box.querySelectorAll('[data-row]')].flatMap((row) => rangesIn(row, needle));
    CSS.highlights.set(FOUND_HIGHLIGHT, new Highlight(...ranges));
  }
  mark();
  const observer = new MutationObserver(() => {
    frame ??= requestAnimationFrame(mark);
  });
  observer.observe(box, { childList: true, subtree: true, characterData: true });
  return () => {
    observer.disconnect();
    if (frame !== undefined) cancelAnimationFrame(frame);
    CSS.highlights.delete(FOUND_HIGHLIGHT);
  };
}

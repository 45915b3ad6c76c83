// Text an agent named or wrote, with hidden characters shown by name and its direction kept apart
// from what stands around it.

import { words } from '../strings.js';
import { toVisibleText } from '../visible-text.js';

export function VisibleText({ text }: { readonly text: string }) {
  const visible = toVisibleText(text);
  if (visible.hiddenCount === 0) return <bdi>{text}</bdi>;
  const names = [...new Set(visible.parts.flatMap((part) => part.hidden ?? []))].join(', ');
  return (
    <>
      {visible.parts.map((part, at) =>
        part.hidden === undefined ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text never move
          <bdi key={at}>{part.text}</bdi>
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text never move
          <span key={at} className="hidden-char">
            {part.hidden}
          </span>
        ),
      )}{' '}
      {visible.deceptive && (
        <span className="chip border-waiting-mark! text-waiting!" title={words.hiddenBadge(names)}>
          ⚠ {words.hiddenBadgeShort}
        </span>
      )}
    </>
  );
}

// A moment, told relatively, with the exact time in its title.

import { exactTime, relativeTime } from '../format.js';
import { useNow } from '../use-server.js';

export function TimeAgo({ at }: { readonly at: string }) {
  const now = useNow();
  return (
    <time dateTime={at} title={exactTime(at)} className="text-muted whitespace-nowrap text-[12px]">
      {relativeTime(at, now)}
    </time>
  );
}

// The server was updated under an open page: says so and offers the page that belongs to it.

import type { ServerStatus } from '../api-types.js';
import { words } from '../strings.js';

const PAGE_VERSION: unknown = import.meta.env.PAGE_VERSION;

export function VersionLine({ status }: { readonly status: ServerStatus }) {
  if (typeof PAGE_VERSION !== 'string' || status.version === PAGE_VERSION) return null;
  return (
    <p
      role="status"
      className="bg-waiting-soft text-waiting border-line flex flex-wrap items-center gap-x-3 border-b px-4 py-1 text-[12.5px]"
    >
      {words.newerServer(PAGE_VERSION, status.version)}
      <button type="button" className="underline" onClick={() => location.reload()}>
        {words.reload}
      </button>
    </p>
  );
}

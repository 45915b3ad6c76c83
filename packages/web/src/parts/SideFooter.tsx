// The quiet foot of the list: theme, version, and which isolation runs the agents.

import type { ServerStatus } from '../api-types.js';
import { setPreferences, THEMES, usePreferences } from '../preferences.js';
import { words } from '../strings.js';

export function SideFooter({
  status,
  onHelp,
}: {
  readonly status: ServerStatus | undefined;
  readonly onHelp: () => void;
}) {
  const { theme } = usePreferences();
  return (
    <div className="border-line text-muted border-t px-3 py-2 text-[12px]">
      {status?.isolation !== undefined && (
        <p className="line-clamp-2 pb-1" title={words.isolation(status.isolation)}>
          {words.isolation(status.isolation)}
        </p>
      )}
      <div className="flex items-center gap-2">
        <span className="min-w-0 grow truncate">{status !== undefined && words.version(status.version)}</span>
        <select
          aria-label={words.theme.label}
          className="bg-surface rounded"
          value={theme}
          onChange={(event) => {
            const next = THEMES.find((known) => known === event.target.value);
            if (next !== undefined) setPreferences({ theme: next });
          }}
        >
          {THEMES.map((known) => (
            <option key={known} value={known}>
              {words.theme[known]}
            </option>
          ))}
        </select>
        <button type="button" className="btn btn-quiet min-h-6! px-1.5!" aria-label={words.help.title} onClick={onHelp}>
          ?
        </button>
      </div>
    </div>
  );
}

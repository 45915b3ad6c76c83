// +N −M with a true minus sign; a side that is zero is not shown.

import { words } from '../strings.js';

interface Props {
  readonly additions: number;
  readonly deletions: number;
  readonly approximate?: boolean;
}

export function Counts({ additions, deletions, approximate = false }: Props) {
  return (
    <span className="whitespace-nowrap font-mono text-[12px]">
      {approximate && <span className="text-muted">{words.change.approximate} </span>}
      {additions > 0 && <span className="text-added">+{additions}</span>}
      {additions > 0 && deletions > 0 && ' '}
      {deletions > 0 && <span className="text-removed">−{deletions}</span>}
    </span>
  );
}

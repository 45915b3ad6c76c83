// A path that may be cut in its folders but never in its file name.

import { splitPath } from '../format.js';
import { VisibleText } from './VisibleText.js';

export function PathText({ path }: { readonly path: string }) {
  const { folder, name } = splitPath(path);
  return (
    <span className="flex min-w-0 font-mono text-[12.5px]" title={path}>
      {folder !== '' && (
        <span className="text-muted min-w-0 truncate">
          <VisibleText text={folder} />
        </span>
      )}
      <span className="max-w-full shrink-0 truncate">
        <VisibleText text={name} />
      </span>
    </span>
  );
}

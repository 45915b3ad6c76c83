// The files that go with the next message, above the field: how far each is, and a way to take it off.

import type { AttachedFile } from '../attached-files.js';
import { byteSize } from '../format.js';
import { words } from '../strings.js';
import { VisibleText } from './VisibleText.js';

interface Props {
  readonly files: readonly AttachedFile[];
  readonly disabled: boolean;
  readonly onRemove: (key: string) => void;
}

export function ChosenFiles({ files, disabled, onRemove }: Props) {
  if (files.length === 0) return null;
  return (
    <ul aria-label={words.files.chosen} className="flex flex-wrap gap-1 px-1.5 pb-1">
      {files.map((file) => (
        <li
          key={file.key}
          className="border-line flex max-w-full items-center gap-2 rounded-[6px] border pl-2 text-[12.5px]"
        >
          <span className="min-w-0 truncate">
            <VisibleText text={file.name} />
          </span>
          <span role="status" className={`shrink-0 ${file.status === 'failed' ? 'text-danger' : 'text-muted'}`}>
            {file.status === 'uploading' && words.files.uploading}
            {file.status === 'stored' && byteSize(file.size)}
            {file.status === 'failed' && words.files.failed(file.why)}
          </span>
          <button
            type="button"
            className="btn btn-quiet min-h-6! px-1.5!"
            aria-label={words.files.remove(file.name)}
            disabled={disabled}
            onClick={() => onRemove(file.key)}
          >
            <span aria-hidden>✕</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

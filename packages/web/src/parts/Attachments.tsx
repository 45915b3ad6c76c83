// Files beside a message: an image as a small picture that opens whole, anything else by its name as a
// download. What the server calls an image is one by its bytes; nothing here can become markup.

import { useState } from 'react';
import { api } from '../api-client.js';
import { byteSize } from '../format.js';
import { words } from '../strings.js';
import { toVisibleString } from '../visible-text.js';

const IMAGE = /^image\/(png|jpeg|gif|webp)$/;

interface ImageProps {
  readonly sessionId: string;
  readonly attachmentId: string;
  readonly name: string;
}

/** Says so in words when the picture is not there (any more). */
function Picture({ sessionId, attachmentId, name }: ImageProps) {
  const [missing, setMissing] = useState(false);
  const url = api.attachmentUrl(sessionId, attachmentId);
  if (missing) return <span className="chip">{words.files.missing(name)}</span>;
  return (
    <a href={url} target="_blank" rel="noopener noreferrer" title={name}>
      <img
        src={url}
        alt={name}
        loading="lazy"
        decoding="async"
        className="border-line bg-code h-40 max-w-full rounded-[6px] border object-contain"
        onError={() => setMissing(true)}
      />
    </a>
  );
}

interface Props {
  readonly sessionId: string;
  readonly label: string;
  readonly attachments: readonly {
    readonly attachment_id: string;
    readonly name?: string;
    readonly media_type: string;
    readonly size: number;
  }[];
}

export function Attachments({ sessionId, label, attachments }: Props) {
  return (
    <ul aria-label={label} className="flex flex-wrap items-end gap-2 py-1">
      {attachments.map(({ attachment_id, name, media_type, size }, at) => {
        const shown = toVisibleString(name ?? words.files.resultImage(at + 1));
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: the files of one message never move
          <li key={at} className="max-w-full">
            {IMAGE.test(media_type) ? (
              <Picture sessionId={sessionId} attachmentId={attachment_id} name={shown} />
            ) : (
              <a
                href={api.attachmentUrl(sessionId, attachment_id)}
                download={shown}
                className="chip hover:bg-hover inline-flex max-w-full gap-2 no-underline"
              >
                <span className="truncate">{shown}</span>
                <span className="shrink-0">{byteSize(size)}</span>
              </a>
            )}
          </li>
        );
      })}
    </ul>
  );
}

// What a file is, told from its bytes alone: what a sender calls it is never believed. Pure.

/** The images that every browser draws and the models read; the only types a page shows in place. */
export const IMAGE_TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] as const;

const utf8 = new TextDecoder('utf-8', { fatal: true });

function startsWith(bytes: Uint8Array, at: number, signature: string): boolean {
  for (let i = 0; i < signature.length; i += 1) {
    if (bytes[at + i] !== signature.charCodeAt(i)) return false;
  }
  return true;
}

function isText(bytes: Uint8Array): boolean {
  if (bytes.includes(0)) return false;
  try {
    utf8.decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** One of the images, `application/pdf`, `text/plain` for UTF-8, else `application/octet-stream`. */
export function mediaTypeOf(bytes: Uint8Array): string {
  if (startsWith(bytes, 0, '\x89PNG\r\n\x1a\n')) return 'image/png';
  if (startsWith(bytes, 0, '\xff\xd8\xff')) return 'image/jpeg';
  if (startsWith(bytes, 0, 'GIF87a') || startsWith(bytes, 0, 'GIF89a')) return 'image/gif';
  if (startsWith(bytes, 0, 'RIFF') && startsWith(bytes, 8, 'WEBP')) return 'image/webp';
  if (startsWith(bytes, 0, '%PDF-')) return 'application/pdf';
  return isText(bytes) ? 'text/plain' : 'application/octet-stream';
}

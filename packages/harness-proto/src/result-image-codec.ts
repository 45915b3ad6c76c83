// Images of a tool's result on the wire: references, never bytes.

import type { ResultImage } from './events.js';
import type { Read } from './reader.js';
import type { Write } from './writer.js';

/** Two lengths and a number. */
const IMAGE_MIN_BYTES = 24;
export const readImages: Read<ResultImage[]> = (reader) =>
  reader.list(IMAGE_MIN_BYTES, (item) => ({
    attachment_id: item.string(),
    media_type: item.string(),
    size: item.u64(),
  }));
export const writeImages: Write<readonly ResultImage[]> = (writer, images) =>
  writer.list(images, (item, image) => {
    item.string(image.attachment_id);
    item.string(image.media_type);
    item.u64(image.size);
  });

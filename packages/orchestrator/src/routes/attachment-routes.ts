// Files of a session: put there before the prompt that names them, read back by the page. Bytes are
// never shown as anything but what they are: images that every browser draws stand in place, all
// else is a download, and neither can run anything (see SAFE_HEADERS).

import { IMAGE_TYPES, MAX_ATTACHMENT_BYTES } from '@engram/coordinator';
import { AttachmentReply } from '../api-schemas.js';
import { OCTET_STREAM, tooLargeFile } from '../http-edge.js';
import { invalidBody, notFound, Problem } from '../problem.js';
import { type ApiRoute, sessionRoute } from '../route-table.js';

const IMAGES: ReadonlySet<string> = new Set(IMAGE_TYPES);

const SAFE_HEADERS = {
  'content-security-policy': "default-src 'none'; sandbox",
  // The name of a file is its content: it never changes.
  'cache-control': 'private, max-age=31536000, immutable',
} as const;

const upload = sessionRoute(
  {
    method: 'POST',
    path: '/api/v1/sessions/{id}/attachments',
    operationId: 'uploadAttachment',
    summary: 'Give the session a file, for a prompt to name; the same bytes again are the same file',
    action: 'session.converse',
    uploadBytes: MAX_ATTACHMENT_BYTES,
    replies: { 201: { description: 'Stored', schema: AttachmentReply } },
  },
  async ({ raw, session }, { desk }) => {
    if (!(raw.body instanceof Uint8Array)) {
      throw new Problem('unsupported_media_type', { detail: `Send the file's bytes as ${OCTET_STREAM}.` });
    }
    if (raw.body.length === 0) throw invalidBody('(body)', 'the file is empty');
    const stored = await desk.putAttachment(session.id, raw.body);
    if (!stored.ok) {
      if (stored.reason === 'not_found') throw notFound();
      if (stored.reason === 'too_large') throw tooLargeFile(MAX_ATTACHMENT_BYTES);
      throw new Problem('too_large', {
        detail: 'The files of this session together are at their limit. Start another session for more.',
      });
    }
    const { attachment_id, media_type, size } = stored;
    return { status: 201, body: { attachment_id, media_type, size } };
  },
);

const read = sessionRoute(
  {
    method: 'GET',
    path: '/api/v1/sessions/{id}/attachments/{attachment_id}',
    operationId: 'readAttachment',
    summary: 'The bytes of a file: an image as what it is, all else as a download',
    action: 'session.read',
    replies: { 200: { description: 'The bytes', contentType: '*/*' } },
  },
  async ({ session, param }, { desk }) => {
    const found = await desk.readAttachment(session.id, param('attachment_id'));
    if (found === undefined) throw notFound();
    const image = IMAGES.has(found.media_type);
    return {
      status: 200,
      body: found.bytes,
      contentType: image ? found.media_type : OCTET_STREAM,
      headers: { ...SAFE_HEADERS, ...(image ? {} : { 'content-disposition': 'attachment' }) },
    };
  },
);

export const attachmentRoutes: readonly ApiRoute[] = [upload, read];

// Ids made by the page, so that sending the same thing twice is one effect. Works without a secure
// context too (a page opened by address over plain HTTP has no randomUUID).
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

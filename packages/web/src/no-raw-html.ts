// Stands in for the markdown renderer's HTML parser: what an agent writes never becomes markup, so the
// parser is not part of the build at all. A default export, because that is what is replaced.

export default function keepRawHtmlAsText() {
  return undefined;
}

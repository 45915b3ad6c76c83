// Stands in for the grammars and engines of the highlighter that the diff viewer offers and we do
// not use: with it the build has a few dozen files instead of a thousand. Should the viewer ever ask
// for one, it fails, and the diff is shown as plain text.

function unavailable(): never {
  throw new Error('this highlighter is not part of the build');
}

export const bundledLanguages = {};
export const createOnigurumaEngine = unavailable;
export const createJavaScriptRegexEngine = unavailable;

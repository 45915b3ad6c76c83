// What is known to hold on which version of Claude Code, claim by claim: for the bare CLI the probes of
// the test kit, for the whole stack the life cycles of life-cycle.mjs. A version in between that behaves
// otherwise is news, and `npm run compat` says so. Pure.

export const DEFAULT_VERSIONS = ['2.1.89', '2.1.183', '2.1.187', '2.1.215', '2.1.332'];

export function compareVersions(a, b) {
  const [x, y] = [a, b].map((version) => version.split('.').map(Number));
  for (let at = 0; at < 3; at += 1) if (x[at] !== y[at]) return x[at] - y[at];
  return 0;
}

const always = () => true;
const from = (first) => (version) => compareVersions(version, first) >= 0;
const between = (first, last) => (version) =>
  compareVersions(version, first) >= 0 && compareVersions(version, last) <= 0;

/** Known on both sides; the versions in between were never looked at. */
const upTo = (last, firstWithout) => (version) => {
  if (compareVersions(version, last) <= 0) return true;
  return compareVersions(version, firstWithout) >= 0 ? false : undefined;
};

/** Probe name → whether its claim holds on a version. Tools that start while the message still streams came and went. */
const PROBES = {
  'defer-resume': always,
  'early-defer': between('2.1.181', '2.1.200'),
  'held-defer': always,
  'beside-bash-early': upTo('2.1.215', '2.1.332'),
  'beside-bash-last': always,
  'two-questions': always,
  'held-resume': always,
  'hooks-stay-on': always,
  'echo-names-the-turn': always,
  'question-tool': from('2.1.187'),
};

/** Old versions repeat the words of a denial in a reminder beside its result: the model reads them twice. */
const SAID_ONCE = from('2.1.183');
const LIVES = { 'dismissed with a reason': SAID_ONCE, 'interrupted, then another prompt': SAID_ONCE };

/** Whether a life cycle goes as it should; it does, unless the CLI stands in the way. */
export function expectLife(name, version) {
  return LIVES[name]?.(version) ?? true;
}

/** Undefined for a probe that this table does not know: it is told, and expected of no version. */
export function expectProbe(name, version) {
  return PROBES[name]?.(version);
}

/** Of a row `{holds?, expected?}`; without `holds` it could not be run, without `expected` nothing is known. */
export function judge({ holds, expected }) {
  if (holds === undefined) return 'failed';
  if (expected === undefined) return 'new';
  return holds === expected ? 'as expected' : 'CHANGED';
}

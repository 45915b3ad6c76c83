// The arrows between packages, and a few rules on how modules may be reached. The table is the one in
// ARCHITECTURE.md; tests/architecture.int.test.ts sees that it bites. Cycles are oxlint's affair, which can
// tell a type import from a real one.

/** Package → packages whose modules its sources may import. */
const arrows = {
  'harness-proto': [],
  'harness-claude': ['harness-proto'],
  coordinator: ['harness-proto'],
  'host-agent': ['coordinator', 'harness-proto'],
  orchestrator: ['coordinator', 'harness-proto'],
  web: ['harness-proto'],
  'demo-model': [],
  cli: ['harness-proto', 'harness-claude', 'coordinator', 'host-agent', 'orchestrator', 'demo-model'],
};

const arrowRules = Object.entries(arrows).map(([name, allowed]) => ({
  name: `arrows-${name}`,
  comment: `${name} may import ${allowed.length > 0 ? allowed.join(', ') : 'no other package'}.`,
  severity: 'error',
  from: { path: `^packages/${name}/src/` },
  to: { path: '^packages/', pathNot: `^packages/(${[name, ...allowed].join('|')})/` },
}));

export default {
  forbidden: [
    ...arrowRules,
    {
      name: 'by-name',
      comment: 'Packages import one another by name: through dist, never into each other’s sources.',
      severity: 'error',
      from: { path: '^packages/([^/]+)/src/' },
      to: { path: '^packages/[^/]+/(src|test)/', pathNot: '^packages/$1/src/' },
    },
    {
      name: 'no-test-in-product',
      comment: 'Product code does not import tests or what only tests need.',
      severity: 'error',
      from: { path: '^packages/(?!testkit)[^/]+/src/' },
      to: { path: '(^packages/testkit/|^tests/|node_modules/(vitest|fast-check|playwright-core)/)' },
    },
    { name: 'resolvable', severity: 'error', from: {}, to: { couldNotResolve: true, pathNot: '\\?worker$' } },
  ],
  options: {
    parser: 'swc',
    tsPreCompilationDeps: true,
    doNotFollow: { path: '(node_modules|^packages/[^/]+/dist)' },
    exclude: { path: '(^packages/[^/]+/test/fixtures)' },
    enhancedResolveOptions: {
      extensions: ['.ts', '.tsx', '.d.ts', '.mjs', '.js', '.css'],
      exportsFields: ['exports'],
      conditionNames: ['types', 'import', 'default'],
      mainFields: ['module', 'main', 'types', 'typings'],
    },
  },
};

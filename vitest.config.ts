// Three kinds of test, told by suffix: unit (no I/O to speak of), int (real PostgreSQL, real
// processes, real CLI in one package), e2e (the whole stack, with a browser where there is a page).
import { defineConfig } from 'vitest/config';

const common = { environment: 'node' as const, pool: 'forks' as const };

export default defineConfig({
  test: {
    reporters: ['default'],
    projects: [
      {
        test: {
          ...common,
          name: 'unit',
          sequence: { groupOrder: 0 },
          include: ['packages/*/test/**/*.unit.test.{ts,tsx}', 'tests/**/*.unit.test.ts'],
          testTimeout: 20_000,
        },
      },
      {
        test: {
          ...common,
          name: 'int',
          sequence: { groupOrder: 1 },
          include: ['packages/*/test/**/*.int.test.ts', 'tests/**/*.int.test.ts'],
          testTimeout: 90_000,
          hookTimeout: 90_000,
          maxWorkers: 2,
        },
      },
      {
        test: {
          ...common,
          name: 'e2e',
          sequence: { groupOrder: 2 },
          include: ['packages/*/test/**/*.e2e.test.ts', 'tests/**/*.e2e.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 120_000,
          maxWorkers: 1,
        },
      },
    ],
  },
});

// `npm test`: installs everything, builds, fetches the agents' CLIs, finds a browser, runs the static
// checks and all tests. The last line is `N passed, N failed` and nothing else; the exit code agrees
// with it. A run in which no test was executed is a failure. Options for people:
//   --only unit,int,e2e,check   a part of it     anything else is handed to vitest (a file name, -t …)
//   --matrix                    every pinned CLI version also where the newest alone is the rule

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`engram: this is Node ${process.versions.node}; Engram needs 20.19 or newer.`);
  console.log('0 passed, 1 failed');
  process.exit(1);
}

const { spawn } = await import('node:child_process');
const { existsSync, mkdtempSync, readFileSync, rmSync } = await import('node:fs');
const { tmpdir } = await import('node:os');
const { join, relative } = await import('node:path');
const { root, ScriptError } = await import('./repository.mjs');
const { buildEveryPackage, installAndBuild } = await import('./prepare-tools.mjs');
const { cleanEnvironment } = await import('./clean-environment.mjs');

const parts = ['check', 'unit', 'int', 'e2e'];
const counts = { passed: 0, failed: 0 };
const unsteady = [];
const say = (line) => process.stdout.write(`${line}\n`);

function readArguments(args) {
  let chosen = parts;
  let matrix = false;
  const rest = [];
  for (let index = 0; index < args.length; index += 1) {
    if (args[index] === '--only') {
      chosen = (args[index + 1] ?? '').split(',');
      index += 1;
      const wrong = chosen.filter((part) => !parts.includes(part));
      if (wrong.length > 0) throw new ScriptError(`--only takes ${parts.join(', ')}; not "${wrong.join(', ')}".`);
    } else if (args[index] === '--matrix') {
      matrix = true;
    } else {
      rest.push(args[index]);
    }
  }
  return { chosen, rest, matrix };
}

async function prepare(chosen) {
  await installAndBuild(say);
  if (chosen.includes('int') || chosen.includes('e2e')) {
    const { fetchAgents } = await import('./fetch-agents.mjs');
    await fetchAgents(undefined, say);
  }
  if (chosen.includes('e2e')) {
    const { ensureBrowser } = await import('./ensure-browser.mjs');
    const { executable } = await ensureBrowser(say);
    say(`browser: ${executable}`);
  }
}

/** So many test files may fail and be run once more; more of them are not chance. */
const SECOND_CHANCES = 2;

/**
 * One vitest project. Tests with real processes can fail by the machine's doing: when one or two files of
 * such a project fail, they run once more, alone. What then passes counts as passed and is named as
 * unsteady, so that nobody overlooks it; what fails twice has failed.
 */
async function runProject(project, options, folder) {
  const first = await runVitest(project, options, join(folder, `${project}.json`));
  const again = first.failures.map((failure) => failure.file);
  if (project === 'unit' || again.length === 0 || again.length > SECOND_CHANCES) return first;
  say(`${project}: once more, alone: ${again.map((file) => relative(root, file)).join(', ')}`);
  const second = await runVitest(project, { ...options, files: again }, join(folder, `${project}-again.json`));
  for (const { file, tests } of first.failures) {
    const now = second.failures.find((failure) => failure.file === file)?.tests ?? [];
    unsteady.push(...tests.filter((name) => !now.includes(name)).map((name) => `${relative(root, file)} › ${name}`));
  }
  // What passed the first time in these files was run again too: only the failures are taken over.
  return {
    passed: first.passed + Math.max(0, first.failed - second.failed),
    failed: second.failed,
    failures: second.failures,
  };
}

/** Its JSON report is what counts, its own output is for people. */
async function runVitest(project, { rest, matrix, files = [] }, report) {
  const args = [
    'run',
    '--project',
    project,
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
    ...rest,
    ...files,
  ];
  const code = await new Promise((resolve) => {
    const child = spawn(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), ...args], {
      cwd: root,
      env: { ...cleanEnvironment(process.env), ...(matrix ? { ENGRAM_TEST_MATRIX: '1' } : {}) },
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    const pass = (signal) => child.kill(signal);
    process.on('SIGINT', pass);
    process.on('SIGTERM', pass);
    child.on('error', (error) => {
      say(`vitest could not be started: ${error.message}`);
      resolve(1);
    });
    child.on('close', (exitCode) => {
      process.off('SIGINT', pass);
      process.off('SIGTERM', pass);
      resolve(exitCode ?? 1);
    });
  });
  return readReport(report, code, project);
}

function readReport(report, code, project) {
  if (!existsSync(report)) return { passed: 0, failed: 1, failures: [] };
  const { numPassedTests, numFailedTests, numPendingTests, testResults } = JSON.parse(readFileSync(report, 'utf8'));
  const failures = testResults
    .filter((file) => file.status === 'failed')
    .map((file) => ({
      file: file.name,
      tests: file.assertionResults.filter((test) => test.status === 'failed').map((test) => test.fullName),
    }));
  // A file that could not be loaded has no tests to fail; it counts as one failure.
  const broken = failures.filter((failure) => failure.tests.length === 0).length;
  if (numPendingTests > 0) say(`${project}: ${numPendingTests} skipped`);
  let failed = numFailedTests + broken;
  if (failed === 0 && (code !== 0 || numPassedTests === 0)) failed = 1;
  return { passed: numPassedTests, failed, failures };
}

const add = ({ passed, failed }) => {
  counts.passed += passed;
  counts.failed += failed;
};

let folder;
try {
  const { chosen, rest, matrix } = readArguments(process.argv.slice(2));
  folder = mkdtempSync(join(tmpdir(), 'engram-test-'));
  await prepare(chosen);
  if (chosen.includes('check')) {
    const { runChecks } = await import('./check.mjs');
    add(await runChecks(say));
  } else {
    await buildEveryPackage();
  }
  for (const project of parts.filter((part) => part !== 'check' && chosen.includes(part)))
    add(await runProject(project, { rest, matrix }, folder));
} catch (error) {
  say(`engram: ${error instanceof ScriptError ? error.message : error.stack}`);
  counts.failed += 1;
} finally {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
}
for (const test of unsteady) say(`UNSTEADY, failed once and passed once: ${test}`);
if (counts.passed + counts.failed === 0) counts.failed = 1;
process.stdout.write(`${counts.passed} passed, ${counts.failed} failed\n`, () =>
  process.exit(counts.failed === 0 ? 0 : 1),
);

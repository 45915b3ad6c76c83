// Finds or makes a Chromium for the tests and writes down how to start it: CHROMIUM_PATH, else one on
// the system, else the build inside the npm package @sparticuz/chromium, unpacked into .cache together
// with the libraries it ships. What is found is started once; if libraries are missing and this is root on a
// Debian-like system they are installed by apt. It never gives up quietly: no browser is an error.
//
// The result is `.cache/browser.json`: {"executable", "env"}.

import { execFile } from 'node:child_process';
import {
  accessSync,
  chmodSync,
  constants,
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { createBrotliDecompress } from 'node:zlib';
import { cacheDir, root, ScriptError } from './repository.mjs';
import { runCommand } from './run-command.mjs';

const run = promisify(execFile);
const systemNames = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const macBrowser = '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome';

function onSystem() {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  return [...folders.flatMap((folder) => systemNames.map((name) => join(folder, name))), macBrowser].filter(
    isExecutable,
  );
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Loads a page as the tests do; gives undefined when that works, else what went wrong. */
async function failureOf(browser) {
  const { chromium } = await import('playwright-core');
  try {
    const started = await chromium.launch({
      executablePath: browser.executable,
      chromiumSandbox: false,
      timeout: 30_000,
      env: { ...process.env, ...browser.env },
    });
    try {
      const page = await started.newPage();
      await page.setContent('<p>engram</p>');
      const text = await page.textContent('p');
      return text === 'engram' ? undefined : 'it started but did not show a page';
    } finally {
      await started.close();
    }
  } catch (error) {
    const lines = error.message
      .split('\n')
      .filter((line) => /error while loading|\[err\]|ENOENT|EACCES|Timeout/.test(line));
    return (lines.length > 0 ? lines : error.message.split('\n')).slice(0, 3).join('\n  ');
  }
}

/** Unpacks the browser of the npm package; the folder appears only when it is whole. */
async function unpacked(say) {
  const source = join(root, 'node_modules/@sparticuz/chromium');
  if (process.platform !== 'linux' || process.arch !== 'x64' || !existsSync(source)) return undefined;
  const version = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8')).version;
  const folder = join(cacheDir, `chromium-${version}`);
  if (!existsSync(folder)) {
    say('unpacking Chromium …');
    const fresh = `${folder}.${process.pid}`;
    mkdirSync(fresh, { recursive: true });
    await pipeline(
      createReadStream(join(source, 'bin/chromium.br')),
      createBrotliDecompress(),
      createWriteStream(join(fresh, 'chromium')),
    );
    chmodSync(join(fresh, 'chromium'), 0o755);
    for (const name of ['al2023', 'swiftshader', 'fonts']) await unpackTar(join(source, `bin/${name}.tar.br`), fresh);
    writeFileSync(join(fresh, 'fonts.conf'), fontSettings(folder));
    try {
      renameSync(fresh, folder);
    } catch {
      rmSync(fresh, { recursive: true, force: true });
    }
  }
  return { executable: join(folder, 'chromium'), env: existsSync('/etc/fonts') ? {} : { FONTCONFIG_PATH: folder } };
}

/** For a machine without fonts: the package's one family, found where it was unpacked. */
function fontSettings(folder) {
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>${folder}/fonts</dir><cachedir>${folder}/fonts-cache</cachedir></fontconfig>
`;
}

async function unpackTar(archive, into) {
  const tar = `${into}/unpacking.tar`;
  await pipeline(createReadStream(archive), createBrotliDecompress(), createWriteStream(tar));
  await run('tar', ['-xf', tar, '-C', into, '--no-same-owner']);
  rmSync(tar);
}

async function apt(packages) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const update = await runCommand('/usr/bin/apt-get', ['update', '-qq'], { env });
  if (update.code !== 0) return update.output;
  const result = await runCommand(
    '/usr/bin/apt-get',
    ['install', '-y', '-qq', '--no-install-recommends', ...packages],
    { env },
  );
  return result.code === 0 ? undefined : result.output;
}

/** Gives `{ executable, env? }` of a browser that was seen to work. */
export async function ensureBrowser(say = () => {}) {
  const failures = [];
  const works = async (browser) => {
    const failure = await failureOf(browser);
    if (failure !== undefined) failures.push(`${browser.executable}: ${failure}`);
    return failure === undefined;
  };
  const chosen = process.env.CHROMIUM_PATH;
  if (chosen !== undefined && chosen !== '') {
    const browser = { executable: chosen };
    if (await works(browser)) return remember(browser);
    throw new ScriptError(
      `CHROMIUM_PATH does not work:\n  ${failures.join('\n  ')}`,
      'name a working Chromium, or unset CHROMIUM_PATH',
    );
  }
  for (const executable of onSystem()) if (await works({ executable })) return remember({ executable });

  const own = await unpacked(say);
  if (own !== undefined) {
    // The system's own libraries first: those in the package were built for another distribution.
    const withLibraries = { ...own, env: { ...own.env, LD_LIBRARY_PATH: join(dirname(own.executable), 'lib') } };
    for (const browser of [own, withLibraries]) if (await works(browser)) return remember(browser);
  }
  if (process.getuid?.() === 0 && isExecutable('/usr/bin/apt-get')) {
    say('installing the libraries Chromium needs …');
    const problem = await apt(['libnss3', 'libnspr4', 'libexpat1']);
    if (problem !== undefined) failures.push(`apt-get: ${problem.trim().split('\n').at(-1)}`);
    if (own !== undefined && problem === undefined && (await works({ executable: own.executable })))
      return remember({ executable: own.executable });
    say('installing Chromium …');
    const second = await apt(['chromium']);
    if (second !== undefined) failures.push(`apt-get: ${second.trim().split('\n').at(-1)}`);
    for (const executable of onSystem()) if (await works({ executable })) return remember({ executable });
  }
  throw new ScriptError(
    `No Chromium works here.\n  ${failures.join('\n  ')}`,
    'install Chromium (Debian: apt-get install chromium) or name one in CHROMIUM_PATH',
  );
}

function remember(browser) {
  const { executable, env = {} } = browser;
  mkdirSync(cacheDir, { recursive: true });
  const path = join(cacheDir, 'browser.json');
  writeFileSync(`${path}.${process.pid}`, `${JSON.stringify({ executable, env })}\n`);
  renameSync(`${path}.${process.pid}`, path);
  return browser;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    const browser = await ensureBrowser((line) => process.stderr.write(`engram: ${line}\n`));
    process.stdout.write(`${browser.executable}\n`);
  } catch (error) {
    process.stderr.write(`engram: ${error instanceof ScriptError ? error.message : error.stack}\n`);
    process.exitCode = 1;
  }
}

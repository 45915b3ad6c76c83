// Shown when the server does not know this browser: how to get a link that it does.

import { words } from '../strings.js';
import { CopyButton } from './CopyButton.js';

export function LoginPage() {
  return (
    <main className="mx-auto max-w-[60ch] px-6 py-16">
      <h1 className="text-[18px] font-semibold">{words.login.title}</h1>
      <p className="pt-2">{words.login.text}</p>
      <p className="pt-4">{words.login.how}</p>
      <div className="codebox mt-1">
        <pre>{words.login.command}</pre>
        <CopyButton text={words.login.command} className="copy bg-raised!" />
      </div>
      <button type="button" className="btn btn-main mt-4" onClick={() => location.reload()}>
        {words.login.again}
      </button>
    </main>
  );
}

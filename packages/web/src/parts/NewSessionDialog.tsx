// What should be done, and where. The request carries one key for its life, so that a retry after a
// lost reply does not start a second agent.

import { useRef, useState } from 'react';
import { api, reasonOf, untilStored } from '../api-client.js';
import type { Session, Workspace } from '../api-types.js';
import { newId } from '../new-id.js';
import { keepPrompt, loadPrompts } from '../recent-prompts.js';
import { words } from '../strings.js';
import { addTemplate, loadTemplates, saveTemplates, type Template, templateName } from '../templates.js';
import { Dialog } from './Dialog.js';

const text = words.newSessionDialog;
const KINDS = ['path', 'git', 'empty'] as const;

interface Props {
  readonly sessions: readonly Session[];
  readonly defaultPath: string | undefined;
  readonly onClose: () => void;
  readonly onCreated: (session: Session) => void;
}

/** Folders and repositories used before, newest first. */
export function recentWorkspaces(sessions: readonly Session[], kind: 'path' | 'git'): readonly string[] {
  const found = new Set<string>();
  for (const { workspace } of sessions) {
    if (workspace.kind === 'path' && kind === 'path') found.add(workspace.path);
    if (workspace.kind === 'git' && kind === 'git') found.add(workspace.url);
  }
  return [...found].slice(0, 6);
}

export function NewSessionDialog({ sessions, defaultPath, onClose, onCreated }: Props) {
  const lastUsed = sessions.find(({ workspace }) => workspace.kind !== 'empty')?.workspace;
  const [prompt, setPrompt] = useState('');
  const [kind, setKind] = useState<Workspace['kind']>(lastUsed?.kind ?? 'path');
  const [path, setPath] = useState(lastUsed?.kind === 'path' ? lastUsed.path : (defaultPath ?? ''));
  const [url, setUrl] = useState(lastUsed?.kind === 'git' ? lastUsed.url : '');
  const [ref, setRef] = useState('');
  const [model, setModel] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | undefined>();
  const [prompts] = useState(loadPrompts);
  const [templates, setTemplates] = useState(loadTemplates);
  const key = useRef(newId());

  function workspace(): Workspace | string {
    switch (kind) {
      case 'empty':
        return { kind };
      case 'path':
        return path.trim() === '' ? text.needPath : { kind, path: path.trim() };
      case 'git':
        if (url.trim() === '') return text.needUrl;
        return { kind, url: url.trim(), ...(ref.trim() === '' ? {} : { ref: ref.trim() }) };
    }
  }

  function keepTemplates(next: readonly Template[]) {
    saveTemplates(next);
    setTemplates(next);
  }

  function keepAsTemplate() {
    const where = workspace();
    if (prompt.trim() === '') return setError(text.needPrompt);
    if (typeof where === 'string') return setError(where);
    setError(undefined);
    const template = { name: templateName(prompt), prompt, workspace: where, model: model.trim() };
    keepTemplates(addTemplate(templates, template));
  }

  function use({ prompt: kept, workspace: where, model: of }: Template) {
    setPrompt(kept);
    setKind(where.kind);
    if (where.kind === 'path') setPath(where.path);
    if (where.kind === 'git') {
      setUrl(where.url);
      setRef(where.ref ?? '');
    }
    setModel(of);
  }

  async function start() {
    const where = workspace();
    if (prompt.trim() === '') return setError(text.needPrompt);
    if (typeof where === 'string') return setError(where);
    setBusy(true);
    setError(undefined);
    const body = { prompt, workspace: where, ...(model.trim() === '' ? {} : { model: model.trim() }) };
    try {
      const session = await untilStored(() => api.createSession(body, key.current));
      keepPrompt(prompt);
      onCreated(session);
    } catch (cause) {
      // A refused request is over; what is sent next, perhaps changed, is another one.
      key.current = newId();
      setError(reasonOf(cause));
      setBusy(false);
    }
  }

  return (
    <Dialog title={text.title} onClose={onClose}>
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          void start();
        }}
      >
        <label className="flex flex-col gap-1">
          <span className="font-semibold">{text.prompt}</span>
          <textarea
            data-autofocus
            rows={4}
            className="field field-sizing-content max-h-[40dvh] min-h-24 resize-none"
            placeholder={text.promptPlaceholder}
            value={prompt}
            onChange={(event) => setPrompt(event.target.value)}
            onKeyDown={(event) => {
              if (event.key === 'Enter' && (event.metaKey || event.ctrlKey)) void start();
            }}
          />
        </label>
        {prompt === '' && (
          <Templates
            templates={templates}
            onUse={use}
            onForget={(name) => keepTemplates(templates.filter((template) => template.name !== name))}
          />
        )}
        {prompt === '' && <Recent title={text.recentPrompts} values={prompts} current="" onPick={setPrompt} />}
        <fieldset>
          <legend className="font-semibold">{text.where}</legend>
          <div className="flex gap-4 py-1">
            {KINDS.map((known) => (
              <label key={known} className="flex items-center gap-1.5">
                <input
                  type="radio"
                  name="workspace"
                  className="accent-(--accent)"
                  checked={kind === known}
                  onChange={() => setKind(known)}
                />
                {text.kinds[known]}
              </label>
            ))}
          </div>
          {kind === 'path' && <TextField label={text.path} value={path} onChange={setPath} hint={text.pathHint} mono />}
          {kind === 'git' && (
            <div className="flex flex-col gap-2">
              <TextField label={text.gitUrl} value={url} onChange={setUrl} mono />
              <TextField label={text.gitRef} value={ref} onChange={setRef} mono />
            </div>
          )}
          {kind === 'empty' && <p className="text-muted">{text.emptyHint}</p>}
          {kind !== 'empty' && (
            <Recent
              title={text.recent}
              mono
              values={recentWorkspaces(sessions, kind)}
              current={kind === 'path' ? path : url}
              onPick={kind === 'path' ? setPath : setUrl}
            />
          )}
        </fieldset>
        <TextField label={text.model} value={model} onChange={setModel} placeholder={text.modelPlaceholder} />
        {error !== undefined && (
          <p role="alert" className="text-danger">
            {error}
          </p>
        )}
        <div className="flex justify-end gap-2">
          <button
            type="button"
            className="btn btn-quiet -ml-2.5"
            disabled={prompt.trim() === '' || templates.some((template) => template.prompt === prompt)}
            onClick={keepAsTemplate}
          >
            {templates.some((template) => template.prompt === prompt) ? text.templateKept : text.keepTemplate}
          </button>
          <span className="grow" />
          <button type="button" className="btn" onClick={onClose}>
            {words.cancel}
          </button>
          <button type="submit" className="btn btn-main" disabled={busy}>
            {busy ? text.starting : text.start}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

interface TemplatesProps {
  readonly templates: readonly Template[];
  readonly onUse: (template: Template) => void;
  readonly onForget: (name: string) => void;
}

function Templates({ templates, onUse, onForget }: TemplatesProps) {
  if (templates.length === 0) return null;
  return (
    <div>
      <span className="text-muted text-[12px]">{text.templates}</span>
      <ul aria-label={text.templates}>
        {templates.map((template) => (
          <li key={template.name} className="flex items-center gap-1">
            <button
              type="button"
              className="hover:bg-hover min-w-0 grow truncate rounded px-1 py-0.5 text-left"
              onClick={() => onUse(template)}
            >
              {template.name}
            </button>
            <button
              type="button"
              className="btn btn-quiet min-h-6! px-1.5! text-[12px]"
              aria-label={text.forgetTemplate(template.name)}
              onClick={() => onForget(template.name)}
            >
              {text.forgetShort}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly placeholder?: string;
  readonly hint?: string;
  readonly mono?: boolean;
}

function TextField({ label, value, onChange, placeholder, hint, mono = false }: FieldProps) {
  return (
    <label className="flex flex-col gap-1">
      <span className="text-muted text-[12px]">{label}</span>
      <input
        type="text"
        spellCheck={false}
        autoCapitalize="off"
        className={`field ${mono ? 'font-mono text-[12.5px]' : ''}`}
        value={value}
        placeholder={placeholder}
        aria-label={label}
        onChange={(event) => onChange(event.target.value)}
      />
      {hint !== undefined && <span className="text-muted text-[12px]">{hint}</span>}
    </label>
  );
}

function Recent({
  title,
  mono = false,
  values,
  current,
  onPick,
}: {
  title: string;
  mono?: boolean;
  values: readonly string[];
  current: string;
  onPick: (value: string) => void;
}) {
  const others = values.filter((value) => value !== current);
  if (others.length === 0) return null;
  return (
    <div className="pt-2">
      <span className="text-muted text-[12px]">{title}</span>
      <ul aria-label={title}>
        {others.map((value) => (
          <li key={value}>
            <button
              type="button"
              className={`hover:bg-hover w-full truncate rounded px-1 py-0.5 text-left ${mono ? 'font-mono text-[12.5px]' : ''}`}
              onClick={() => onPick(value)}
            >
              {value}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}

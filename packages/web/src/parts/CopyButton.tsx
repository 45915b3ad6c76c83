// Copies a text and says so for a moment.

import { useState } from 'react';
import { words } from '../strings.js';

interface Props {
  readonly text: string;
  readonly label?: string;
  readonly className?: string;
}

export function CopyButton({ text, label = words.copy, className = '' }: Props) {
  const [copied, setCopied] = useState(false);
  async function copy() {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      setTimeout(() => setCopied(false), 1_500);
    } catch {
      setCopied(false);
    }
  }
  return (
    <button
      type="button"
      className={`btn btn-quiet min-h-6! px-1.5! text-[12px] ${className}`}
      onClick={() => void copy()}
    >
      {copied ? words.copied : label}
    </button>
  );
}

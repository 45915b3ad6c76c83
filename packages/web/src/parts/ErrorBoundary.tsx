// Keeps a failure to the part it happened in. The fallback says what was lost and offers one way on.

import { Component, type ReactNode } from 'react';
import { words } from '../strings.js';

interface Props {
  readonly children: ReactNode;
  readonly fallback?: ReactNode;
}

export class ErrorBoundary extends Component<Props, { readonly failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError(): { failed: boolean } {
    return { failed: true };
  }

  override render(): ReactNode {
    if (!this.state.failed) return this.props.children;
    return this.props.fallback ?? <p className="text-muted py-1">{words.broken}</p>;
  }
}

export function PageBroken() {
  return (
    <main className="mx-auto max-w-[60ch] p-8">
      <h1 className="text-[16px] font-semibold">{words.brokenPage}</h1>
      <button type="button" className="btn mt-4" onClick={() => location.reload()}>
        {words.reload}
      </button>
    </main>
  );
}

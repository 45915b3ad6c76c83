// Starts the page. What its first screen needs is asked for before anything is drawn.

import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './App.js';
import { ErrorBoundary, PageBroken } from './parts/ErrorBoundary.js';
import { loadMarkdown } from './parts/Markdown.js';
import { loadPreferences } from './preferences.js';
import { parseRoute } from './route.js';
import { prefetchSession } from './session-feed.js';
import { prefetchSessions } from './use-server.js';
import './styles.css';

const client = new QueryClient();
const route = parseRoute(location.pathname);
if (route.name === 'session') prefetchSession(route.id);
prefetchSessions(client);
if (route.name === 'session') loadMarkdown().catch(() => undefined);
loadPreferences();
const root = document.getElementById('root');
if (root === null) throw new Error('the page has no #root');
createRoot(root).render(
  <StrictMode>
    <ErrorBoundary fallback={<PageBroken />}>
      <QueryClientProvider client={client}>
        <App />
      </QueryClientProvider>
    </ErrorBoundary>
  </StrictMode>,
);

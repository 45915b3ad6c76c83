// Builds the page to dist/. The diff viewer and the markdown renderer are chunks of their own,
// loaded when first needed; nothing is inlined into the HTML, so the page runs under a strict CSP.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

// The same file that the server reads its version from: a page and its server say the same.
const installed: { version: string } = JSON.parse(
  readFileSync(fileURLToPath(new URL('../cli/package.json', import.meta.url)), 'utf8'),
);

export default defineConfig({
  define: { 'import.meta.env.PAGE_VERSION': JSON.stringify(installed.version) },
  plugins: [react(), tailwindcss()],
  worker: { format: 'es' },
  resolve: {
    alias: [
      { find: /^rehype-raw$/, replacement: fileURLToPath(new URL('src/no-raw-html.ts', import.meta.url)) },
      {
        find: /^shiki\/(langs|wasm|engine\/oniguruma|engine\/javascript)$/,
        replacement: fileURLToPath(new URL('src/no-shiki.ts', import.meta.url)),
      },
    ],
  },
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 4000,
  },
});

// Builds the page to dist/. The diff viewer and the markdown renderer are chunks of their own,
// loaded when first needed; nothing is inlined into the HTML, so the page runs under a strict CSP.
import { fileURLToPath } from 'node:url';
import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
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

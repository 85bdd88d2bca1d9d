import { defineConfig } from 'vite';

// `npm run dev` shows the sources; the API comes from a terrace that runs on its usual port.
const server = 'http://127.0.0.1:8080';
const api = Object.fromEntries(['/v1', '/props', '/metrics', '/app/chats'].map((path) => [path, server]));

export default defineConfig({
  base: './', // works below any path, for proxies
  esbuild: { jsx: 'automatic', jsxImportSource: 'preact' },
  server: { proxy: api },
  build: {
    target: 'es2022',
    modulePreload: false, // one script: nothing to load ahead
    assetsInlineLimit: 0,
    rollupOptions: {
      output: {
        // Fixed names: the files are committed, and their entity tags follow the content.
        entryFileNames: 'app/app.js',
        assetFileNames: 'app/app[extname]',
        inlineDynamicImports: true,
      },
    },
  },
});

/** Build configuration of the dashboard. `npx vite web --config web/vite.config.mjs` starts a development server. */
import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

/** The API server for development: the one that `npm start` starts. */
const API = 'http://127.0.0.1:3369'

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  plugins: [react()],
  // The server replaces this with a new nonce in each response.
  html: { cspNonce: '__CSP_NONCE__' },
  build: {
    target: 'es2022',
    assetsDir: 'assets',
    // Disables data URLs, which the Content-Security-Policy forbids.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      // Modules of the domain have no side effects, so unused parts can be dropped.
      treeshake: { moduleSideEffects: (id) => !id.includes('/src/core/') },
    },
  },
  server: { proxy: { '/v1': API, '/docs': API, '/openapi.json': API } },
})

/** How the dashboard is built; `npx vite web --config web/vite.config.mjs` serves it while it is worked on. */
import { fileURLToPath } from 'node:url'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

/** A server to ask while developing: the one that `npm start` starts. */
const API = 'http://127.0.0.1:3369'

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  plugins: [react()],
  // The server puts a fresh nonce here with each answer.
  html: { cspNonce: '__CSP_NONCE__' },
  build: {
    target: 'es2022',
    assetsDir: 'assets',
    // Nothing may be inlined as data: the policy allows files only.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rolldownOptions: {
      // The domain is pure: what a screen does not use of it stays out.
      treeshake: { moduleSideEffects: (id) => !id.includes('/src/core/') },
    },
  },
  server: { proxy: { '/v1': API, '/docs': API, '/openapi.json': API } },
})

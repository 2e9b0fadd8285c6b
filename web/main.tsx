import './app/theme.css'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app/app.tsx'
import './components/last-focus.ts'

const place = document.getElementById('app')
if (place === null) throw new Error('the page has no element for the dashboard')
createRoot(place).render(
  <StrictMode>
    <App />
  </StrictMode>,
)

/** Icons of buttons, drawn as lines in the colour of the text. */

const PATHS = {
  bell: 'M12 3.5a2 2 0 0 1 2 2 6 6 0 0 1 4 5.6V14l1.8 3H4.2L6 14v-2.9a6 6 0 0 1 4-5.6 2 2 0 0 1 2-2ZM9.5 20a2.6 2.6 0 0 0 5 0',
  plus: 'M12 5v14M5 12h14',
  play: 'M8 5.5v13l10.5-6.5Z',
  resume: 'M5.500 5.500v13M10 5.500v13L19.500 12Z',
  pause: 'M9 5v14M15 5v14',
  more: 'M5.5 12h.01M12 12h.01M18.5 12h.01',
  search: 'M10.5 17a6.5 6.5 0 1 1 0-13 6.5 6.5 0 0 1 0 13ZM15.3 15.3 20 20',
  sun: 'M12 16.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9ZM12 2.5v2M12 19.5v2M4.2 4.2l1.4 1.4M18.4 18.4l1.4 1.4M2.5 12h2M19.5 12h2M4.2 19.8l1.4-1.4M18.4 5.6l1.4-1.4',
  moon: 'M20 14.2A8.2 8.2 0 0 1 9.8 4 8.3 8.3 0 1 0 20 14.2Z',
  overview: 'M4 13.5 8.5 9l4 4L20 5.5M15 5.5h5v5',
  tasks: 'M9 6h11M9 12h11M9 18h11M4.5 6h.01M4.5 12h.01M4.5 18h.01',
  runs: 'M4 17h5M4 12h11M4 7h7M19 15.5v4l3-2Z',
  nodes: 'M5 4.5h14v6H5zM5 13.5h14v6H5zM8.5 7.5h.01M8.5 16.5h.01',
  queues: 'M3.5 6.500h9M3.5 12h9M3.5 17.500h9M17 8l4 4-4 4',
  targets: 'M12 20a8 8 0 1 0 0-16 8 8 0 0 0 0 16ZM12 15.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7ZM12 12h.01',
  file: 'M6.500 3.500h7l4.500 4.500v12.500h-11.500ZM13.500 3.500V8H18',
  copy: 'M9 9h10.5v10.5H9zM15 9V4.5H4.5V15H9',
  check: 'm5 12.5 4.5 4.5L19 7',
  cross: 'M6 6l12 12M18 6 6 18',
  edit: 'M4 20h4L19 9l-4-4L4 16ZM13 7l4 4',
  trash: 'M4.5 7h15M9.5 7V4.5h5V7M6.5 7l1 13h9l1-13M10 11v5M14 11v5',
  up: 'M12 19V5M6 11l6-6 6 6',
  down: 'M12 5v14M6 13l6 6 6-6',
  dead: 'M5 5h14v10.5h-4L12 19l-3-3.500H5ZM9.500 8.500l5 4M14.500 8.500l-5 4',
  settings: 'M4 7h9M17 7h3M4 12h3M11 12h9M4 17h7M15 17h5M15 5v4M9 10v4M13 15v4',
  chevron: 'm6 9.500 6 6 6-6',
  skip: 'M5 5.500v13L14 12ZM18.500 5.500v13',
  history: 'M4.500 12a7.500 7.500 0 1 0 2.300-5.400M4.200 3.500V8h4.500M12 8v4.500l3 1.800',
  again: 'M19.5 12a7.5 7.5 0 1 1-2.3-5.4M19.8 3.5V8h-4.5',
  person: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8ZM4.500 20.500a7.500 7.500 0 0 1 15 0',
  key: 'M7.500 16a4 4 0 1 1 0-8 4 4 0 0 1 0 8ZM11.500 12H20.500v3.500M16.500 12v2.500',
  clone: 'M8 8h11.5v11.5H8zM4.5 15.5v-11h11',
} as const

export type IconName = keyof typeof PATHS

export function Icon({ name, size = 18 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      strokeWidth={1.9}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  )
}

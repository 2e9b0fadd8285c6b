const SIZE = 4

/** What a bar of something that was skipped is filled with: its own word for a state that has no colour of its own. */
export const HATCHED = 'url(#hatched)'

/** Defines it, once for the whole page. */
export function Hatching() {
  return (
    <svg width={0} height={0} style={{ position: 'absolute' }} aria-hidden="true">
      <defs>
        <pattern
          id="hatched"
          width={SIZE}
          height={SIZE}
          patternUnits="userSpaceOnUse"
          patternTransform="rotate(45)"
        >
          <rect width={SIZE} height={SIZE} fill="var(--panel-2)" />
          <path d={`M${SIZE / 2} 0V${SIZE}`} stroke="var(--idle)" strokeWidth={SIZE / 2} />
        </pattern>
      </defs>
    </svg>
  )
}

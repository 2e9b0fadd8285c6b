const SIZE = 4

/** The fill of bars for skipped runs, a state without its own colour. */
export const HATCHED = 'url(#hatched)'

/** Defines the pattern once for the whole page. */
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

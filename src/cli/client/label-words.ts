/** Labels in a sentence: `the label gpu`, `the labels gpu, os=linux and region=eu`. */
export function theLabels(labels: readonly string[]): string {
  const [last = '', ...others] = labels.toReversed()
  if (others.length === 0) return `the label ${last}`
  return `the labels ${others.toReversed().join(', ')} and ${last}`
}

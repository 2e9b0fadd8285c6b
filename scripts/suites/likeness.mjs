/**
 * The names, those first that share the most pairs of neighbouring letters with the word.
 *
 * @param {string} word
 * @param {string[]} names
 */
export function byLikeness(word, names) {
  const wanted = pairsOf(word)
  const likeness = (/** @type {string} */ name) => {
    const pairs = pairsOf(name)
    const shared = pairs.filter((pair) => wanted.includes(pair)).length
    return shared / (pairs.length + wanted.length)
  }
  return names.toSorted((a, b) => likeness(b) - likeness(a))
}

const pairsOf = (/** @type {string} */ word) => Array.from(word.slice(1), (letter, i) => word[i] + letter)

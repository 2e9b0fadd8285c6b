/** Time zones by the name of their city: "Tokyo" for Asia/Tokyo. Each city name occurs only once in the list of zones. */

/** Zones that the runtime lists under an older name. */
const RENAMED = ['Asia/Kolkata', 'Asia/Kathmandu', 'Asia/Yangon', 'Asia/Ho_Chi_Minh', 'Europe/Kyiv']

let byCity: ReadonlyMap<string, string> | undefined

/** The zone of a city, in any capitalisation; undefined if no zone is named after it. */
export function zoneOfCity(city: string): string | undefined {
  byCity ??= new Map(
    [...Intl.supportedValuesOf('timeZone'), ...RENAMED].flatMap((zone): [string, string][] => {
      const name = zone.split('/').slice(1).at(-1)
      return name === undefined || zone.startsWith('Etc/')
        ? []
        : [[name.replaceAll('_', ' ').toLowerCase(), zone]]
    }),
  )
  return byCity.get(city.toLowerCase().replace(/\s+/g, ' '))
}

/**
 * Maximum number of words in a city's name, as in "Port of Spain" or "Dar es Salaam"; "Argentina/ComodRivadavia" is an
 * exception.
 */
export const MAX_CITY_WORDS = 3

/**
 * Time zones by the city that names them: "Tokyo" for Asia/Tokyo. No two zones of the list are named after cities
 * of one name.
 */

/** Cities whose zone the runtime lists under an older name. */
const RENAMED = ['Asia/Kolkata', 'Asia/Kathmandu', 'Asia/Yangon', 'Asia/Ho_Chi_Minh', 'Europe/Kyiv']

let byCity: ReadonlyMap<string, string> | undefined

/** The zone of a city, whatever its case; undefined when no zone is named after it. */
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

/** "Argentina/ComodRivadavia" aside, no city has more words than "Port of Spain" or "Dar es Salaam". */
export const MAX_CITY_WORDS = 3

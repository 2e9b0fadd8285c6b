/** The largest value of a column of the type `integer`. */
export const MAX_INTEGER = 2_147_483_647

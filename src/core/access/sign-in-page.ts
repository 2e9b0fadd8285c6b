/** Path of the page of the dashboard on which people sign in. */
export const SIGN_IN_PAGE = '/sign-in'
